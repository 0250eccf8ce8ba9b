package augeas

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bolt/apply/resource"
	"bolt/internal/safetext"
)

// limit ends an augtool that hangs.
const limit = 10 * time.Minute

// mark is a node outside of all files. Its value separates the outputs of commands.
const (
	markNode = "/bolt"
	mark     = "bolt-mark-5e1d"
)

// A script is the input of augtool.
type script struct{ b strings.Builder }

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)

// add adds a command.
func (s *script) add(name string, args ...string) {
	s.b.WriteString(name)
	for _, a := range args {
		s.b.WriteString(` "` + quoted.Replace(a) + `"`)
	}
	s.b.WriteByte('\n')
}

// mark ends a part of the output.
func (s *script) mark() { s.add("get", markNode) }

// begin loads the files: those of incl, those below the context if it is the path of a file, or all.
func (x *item) begin() *script {
	s := &script{}
	s.add("set", markNode, mark)
	switch {
	case x.incl != "":
		s.add("set", "/augeas/load/Xfm/lens", x.lens)
		s.add("set", "/augeas/load/Xfm/incl", x.incl)
	case x.simple():
		s.add("defvar", "bolt_others", fmt.Sprintf("/augeas/load/*['%s/' !~ glob(incl) + regexp('/.*')]", strings.TrimSuffix(strings.TrimPrefix(x.context, "/files"), "/")))
		s.add("rm", "$bolt_others[count($bolt_others) < count(/augeas/load/*)]")
	}
	s.add("load")
	return s
}

// simple reports whether the context is a path without conditions.
func (x *item) simple() bool {
	return strings.HasPrefix(x.context, "/files/") && !strings.ContainsAny(x.context, `'"[]*\`+"\n") && len(strings.Trim(x.context, "/")) > len("files/")
}

// An answer is what augtool printed.
type answer struct {
	parts []string // of the output, separated by marks
	err   error    // of a command that failed
}

// run runs augtool with a script. The error is for an augtool that was not run to its end.
func (x *item) run(ctx context.Context, h *resource.Host, s *script, changes bool) (*answer, error) {
	program := h.Find("augtool")
	if program == "" {
		return nil, errors.New("the program augtool is missing. Install the package augeas-tools (augeas) on the target")
	}
	argv := []string{program, "--noload", "--root", x.root}
	if x.incl != "" {
		argv[1] = "--noautoload"
	}
	if x.typeCheck {
		argv = append(argv, "--typecheck")
	}
	for _, dir := range x.loadPath {
		argv = append(argv, "--include", dir)
	}
	out, err := h.Run(ctx, &resource.Command{Argv: argv, Env: h.Environ(), Stdin: []byte(s.b.String()), Session: changes, Timeout: limit})
	if err != nil {
		return nil, fmt.Errorf("augtool: %w", err)
	}
	a := &answer{parts: strings.Split(string(out.Stdout), markNode+" = "+mark+"\n")}
	if out.Cut {
		return nil, errors.New("augtool printed too much")
	}
	if out.Code != 0 {
		a.err = x.failure(out)
	} else if want := strings.Count(s.b.String(), `get "`+markNode+`"`) + 1; len(a.parts) != want {
		return nil, errors.New("augtool printed an unexpected output")
	}
	return a, nil
}

// failure describes why commands failed: the messages of commands, and those of augeas about files.
func (x *item) failure(out *resource.Output) error {
	if x.secret {
		return errors.New("augtool failed. Its messages are not shown, because the changes are secret")
	}
	stdout := strings.ReplaceAll(string(out.Stdout), markNode+" = "+mark+"\n", "")
	var list []string
	for line := range strings.Lines(string(out.Stderr)) {
		if line = strings.TrimSpace(line); line != "" && line != "error: Failed to execute command" && !strings.HasPrefix(line, "saving failed") {
			list = append(list, line)
		}
	}
	if _, errs, found := strings.Cut("\n"+stdout, "\nError in "); found {
		list = append(list, "error in "+errs)
	}
	if len(list) == 0 {
		return out.Failure("augtool")
	}
	return fmt.Errorf("augtool: %s", safetext.Message(strings.Join(list, "; ")))
}

// matches reads the output of match: paths and their values.
func matches(text string) (paths, values []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		at, value, _ := strings.Cut(line, " = ")
		switch {
		case strings.HasPrefix(line, "/"):
			if value == "(none)" {
				value = ""
			}
			paths, values = append(paths, at), append(values, value)
		case len(values) > 0 && line != "  (no matches)": // a value with several lines
			values[len(values)-1] += "\n" + line
		}
	}
	return paths, values
}
