package transport

import (
	"slices"
	"strings"
)

// specialNames are variables that some shells cannot set, or that change how a
// shell works.
var specialNames = []string{"_", "IFS", "ENV", "UID", "EUID", "GID", "EGID", "PPID", "OPTIND", "LINENO", "SHELLOPTS", "SECONDS", "RANDOM"}

// Exportable reports whether every shell can export a variable of this name. On a
// machine with a POSIX shell, bolt passes any other variable as an argument of env(1),
// and all users of the machine can read its value in the process list. So a secret must
// have an exportable name.
func Exportable(name string) bool {
	switch {
	case !isName(name), strings.HasPrefix(name, "BASH"):
		return false
	case strings.HasPrefix(name, "PS"): // PS1 to PS4, and future prompts
		return len(name) != 3 || name[2] < '0' || name[2] > '9'
	}
	return !slices.Contains(specialNames, name)
}

// isName reports whether a shell can have a variable of this name.
func isName(name string) bool {
	for i, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', i > 0 && '0' <= c && c <= '9':
		default:
			return false
		}
	}
	return name != ""
}
