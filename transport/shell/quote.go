package shell

import (
	"strings"

	"bolt/transport"
)

// Quote makes s one word of a POSIX shell.
func Quote(s string) string {
	if s != "" && strings.IndexFunc(s, special) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// special reports whether a rune means something to a shell, or might.
func special(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("_-./:,+@", r)
}

// quoteWords joins words to a line in which each is one word.
func quoteWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

// dialect is what has to be known of a login shell to hand it a line.
type dialect uint8

const (
	posix dialect = iota
	csh           // csh(1): history and newlines live inside quotes, too
	fish
)

// dialectOf knows the login shells by their names; an unknown name is taken
// for a POSIX shell.
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

// quote makes s one word of the dialect.
func (d dialect) quote(s string) string {
	switch d {
	case csh:
		return "'" + strings.NewReplacer("'", `'\''`, "!", `\!`, "\n", "\\\n").Replace(s) + "'"
	case fish:
		return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
	}
	return Quote(s)
}

// underSh is the line that makes a login shell run a POSIX script in its
// place, with words as $0, $1 and so on.
func (d dialect) underSh(script string, words ...string) string {
	line := "exec /bin/sh -c " + d.quote(script)
	for _, w := range words {
		line += " " + d.quote(w)
	}
	return line
}
