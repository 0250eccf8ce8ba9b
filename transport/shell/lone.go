package shell

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"bolt/transport"
)

// Most small scripts are for a shell, come alone, and do not care where they
// are. Such a script may be run from a file that stays on the machine while its
// connection does, so that no directory is made for it and removed, which are
// two processes.

// maxLone bounds such a script.
const maxLone = 64 << 10

// scriptShells are interpreters that look for nothing beside a script.
var scriptShells = []string{"/bin/sh", "/bin/bash", "/bin/dash", "/usr/bin/sh", "/usr/bin/bash", "/usr/bin/dash"}

// whereabouts are what most scripts need that find themselves, or what lies
// beside them. One that does so in another way finds itself, and whatever it
// puts there is there in its next run, too.
var whereabouts = [][]byte{
	[]byte("$0"), []byte("${0"), []byte("${!"), []byte("$_"), []byte("${_"), []byte("@:"), []byte("@ :"), []byte("*:"), []byte("* :"),
	[]byte("BASH_"), []byte("caller"), []byte("/proc/"), []byte("/fd/"),
}

// LoneScript reports whether a command is nothing but one small script for a
// shell, which may stand alone.
func LoneScript(c *transport.Cmd) bool {
	if len(c.Files) != 1 || len(c.Argv) == 0 || c.TTY || c.KeepFiles || c.ScriptDir != "" {
		return false
	}
	f := &c.Files[0]
	return len(f.Data) <= maxLone && isFileName(f.Name) && strings.TrimPrefix(c.Argv[0], "./") == f.Name && readByShell(c.Interpreter)
}

// StandsAlone reports whether a script does not ask where it is.
func StandsAlone(text []byte) bool {
	return len(text) > 0 && !slices.ContainsFunc(whereabouts, func(word []byte) bool { return bytes.Contains(text, word) })
}

// isFileName reports whether a name is a word of any shell and in no directory.
func isFileName(name string) bool {
	return name != "" && name[0] != '.' && name[0] != '-' &&
		strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
}

// readByShell reports whether an interpreter is a shell, without options or with
// some that change nothing about where it reads from.
func readByShell(interpreter []string) bool {
	words := interpreter
	if len(words) > 1 && words[0] == "/usr/bin/env" {
		words = append([]string{"/bin/" + words[1]}, words[2:]...)
	}
	return len(words) > 0 && slices.Contains(scriptShells, words[0]) &&
		!slices.ContainsFunc(words[1:], func(s string) bool { return len(s) < 2 || strings.Trim(s, "eux") != "-" })
}

// findKept finds the script that is there already, if the command needs nothing
// else of a private directory.
func (p *plan) findKept() bool {
	if p.o.Kept != nil && p.as == nil && (len(p.c.Stdin) == 0 || p.input != "") {
		p.kept = p.o.Kept.Script()
	}
	return p.kept != ""
}

// seesKept ends the shell if it is not there any more, before it says that it
// has begun: so it is heard whichever stream is thrown away. Its name is no
// secret, so somebody else may have made another directory where it was; the
// user's own cannot be replaced in a directory like /tmp.
func (p *plan) seesKept() string {
	dir, file := Quote(path.Dir(path.Dir(p.kept))), Quote(p.kept)
	return `{ [ ! -h ` + dir + ` ] && [ -O ` + dir + ` ] && [ -f ` + file + ` ] && [ -r ` + file + ` ] && [ -s ` + file + ` ]; } || ` + refusal(p.token, stepStale)
}

// refusal is a command that tells on both streams that a step has failed, before
// the script has begun, and ends the shell.
func refusal(token, step string) string {
	return `{ trap - EXIT; for _bolt_i in 1 2; do command printf '%s#` + step + ` %s.\n' ` + token + ` ` + token + ` >&"$_bolt_i"; done; exit 0; }`
}
