package run

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"bolt/transport"
)

// NotStarted says what to do about a file that a shell on the target could not
// run, by what it said; "" if that is not what happened.
func NotStarted(name string, data []byte, status transport.Status, stderr string) string {
	if status.Code != 126 && status.Code != 127 {
		return ""
	}
	line, _, _ := bytes.Cut(data[:min(len(data), 256)], []byte("\n"))
	interpreter, scripted := strings.CutPrefix(strings.ToValidUTF8(string(line), "?"), "#!")
	program, _, _ := strings.Cut(strings.TrimSpace(interpreter), " ")
	_, said, ok := strings.Cut(stderr, "/"+name+": ")
	if !ok && scripted && program != "" { // it was given to its interpreter
		_, said, ok = strings.Cut(stderr, program+": ")
	}
	if !ok {
		return ""
	}
	said, _, _ = strings.Cut(said, "\n")
	switch {
	case strings.Contains(said, "list too long"):
		return "What it is given is too large for variables of the environment; standard input takes more."
	case strings.HasSuffix(program, "/env") && strings.Contains(said, "No such file"): // it looks for the interpreter
	case !strings.Contains(said, "bad interpreter") && !strings.HasPrefix(said, "not found") &&
		!strings.HasPrefix(said, "No such file") && !strings.HasPrefix(said, "cannot execute"):
		return "" // the script itself says so
	}
	switch {
	case !scripted:
		return ""
	case strings.HasSuffix(interpreter, "\r"):
		return fmt.Sprintf("%s has the line ends of Windows, so that %q is asked for. Save it with those of Unix.", name, interpreter)
	}
	return fmt.Sprintf("The first line of %s asks for %s, which may not be there. Install it, or name another under interpreters, by the extension %s, in the target's configuration.",
		name, strings.TrimSpace(interpreter), path.Ext(name))
}
