package shell

import (
	"strings"

	"bolt/transport"
)

// Quote quotes s as one word of a POSIX shell.
func Quote(s string) string {
	if s != "" && strings.IndexFunc(s, special) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// special reports whether a rune has, or may have, a meaning in a shell.
func special(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("_-./:,+@", r)
}

// quoteWords quotes words and joins them to a line.
func quoteWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

// dialect is the kind of syntax of a login shell.
type dialect uint8

const (
	posix dialect = iota
	csh           // csh(1): "!" and line ends have a meaning even inside quotes
	fish
)

// dialectOf returns the dialect of a login shell by its name. An unknown name
// counts as a POSIX shell.
func dialectOf(loginShell string) (dialect, error) {
	switch loginShell {
	case "csh", "tcsh":
		return csh, nil
	case "fish":
		return fish, nil
	case "powershell", "pwsh":
		return posix, &transport.Error{
			Class: transport.ClassUnsupported,
			Msg:   "login shell " + loginShell + " is not supported: commands, scripts and files need a Unix shell on the machine",
			Hint:  "Set login-shell to the Unix shell that the machine has, or remove it from the target's configuration.",
		}
	}
	return posix, nil
}

// quote quotes s as one word of the dialect.
func (d dialect) quote(s string) string {
	switch d {
	case csh:
		return "'" + strings.NewReplacer("'", `'\''`, "!", `\!`, "\n", "\\\n").Replace(s) + "'"
	case fish:
		return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
	}
	return Quote(s)
}

// underSh returns the line that replaces a login shell by sh, which runs a
// POSIX script.
func (d dialect) underSh(script string) string { return "exec /bin/sh -c " + d.quote(script) }
