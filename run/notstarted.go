package run

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"bolt/transport"
)

// NotStarted returns a hint about a file that a shell on the target could not
// run. stderr is the shell's message. If the shell could run the file,
// NotStarted returns "".
func NotStarted(name string, data []byte, status transport.Status, stderr string) string {
	if status.Code != 126 && status.Code != 127 {
		return ""
	}
	line, _, _ := bytes.Cut(data[:min(len(data), 256)], []byte("\n"))
	interpreter, scripted := strings.CutPrefix(strings.ToValidUTF8(string(line), "?"), "#!")
	program, _, _ := strings.Cut(strings.TrimSpace(interpreter), " ")
	_, said, ok := strings.Cut(stderr, "/"+name+": ")
	if !ok && scripted && program != "" { // the interpreter ran the file
		_, said, ok = strings.Cut(stderr, program+": ")
	}
	if !ok {
		return ""
	}
	said, _, _ = strings.Cut(said, "\n")
	switch {
	case strings.Contains(said, "list too long"):
		return "The arguments or environment variables are too large. Pass the data on standard input."
	case strings.HasSuffix(program, "/env") && strings.Contains(said, "No such file"): // env looks for the interpreter
	case !strings.Contains(said, "bad interpreter") && !strings.HasPrefix(said, "not found") &&
		!strings.HasPrefix(said, "No such file") && !strings.HasPrefix(said, "cannot execute"):
		return "" // the message is from the script itself
	}
	switch {
	case !scripted:
		return ""
	case strings.HasSuffix(interpreter, "\r"):
		return fmt.Sprintf("%s has Windows line endings, so its interpreter would be %q. Save it with Unix line endings.", name, interpreter)
	}
	return fmt.Sprintf("The first line of %s requires %s, which may not exist on the target. Install it, or set interpreters for the extension %s in the target's configuration.",
		name, strings.TrimSpace(interpreter), path.Ext(name))
}
