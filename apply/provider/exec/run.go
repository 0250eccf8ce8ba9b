package exec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"bolt/apply/provider/login"
	"bolt/apply/resource"
)

// A command is a line or a list.
type command struct {
	line string
	list []string // nil for a line
}

func (c *command) String() string {
	if c.list != nil {
		return fmt.Sprintf("%q", c.list)
	}
	return "'" + c.line + "'"
}

// program is the first word, as Puppet takes it: the end is a space, not a tab or the end of a line.
func (c *command) program() string {
	if c.list != nil {
		return c.list[0]
	}
	for _, quote := range []string{`"`, `'`} {
		if rest, is := strings.CutPrefix(c.line, quote); is {
			if word, _, found := strings.Cut(rest, quote); found && word != "" {
				return word
			}
		}
	}
	word, _, _ := strings.Cut(c.line, " ")
	return word
}

// forShell are the characters that make a line need a shell.
const forShell = "*?{}[]<>()~&|\\$;'`\"\n#=%"

// run runs a command or a check. An error means that it was not run to its end, or that the shell
// did not find a program.
func (x *item) run(ctx context.Context, h *resource.Host, c *command, check bool) (*resource.Output, error) {
	r := &resource.Command{Dir: x.cwd, Timeout: x.timeout, Session: !check, Combined: true}
	if !check && x.apart() {
		r.Combined, r.Both = false, true
	}
	r.Env = x.env(h)
	if err := x.argv(r, c); err != nil {
		return nil, err
	}
	if x.cwd != "" {
		if info, err := os.Stat(x.cwd); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("the working directory %s does not exist", x.cwd)
		}
	}
	as, err := login.Identity(ctx, h, x.user, x.group)
	if errors.Is(err, login.ErrUnknown) {
		// As in Puppet, this is the failure of the command and not of the resource. In noop, a check whose user
		// does not exist yet is a failed check: the same run can create the user.
		return &resource.Output{Stdout: []byte(err.Error() + "\n"), Code: 1}, nil
	}
	if err != nil {
		return nil, err
	}
	r.As = as
	if x.umask != "" {
		r.Argv = append([]string{"/bin/sh", "-c", `umask "$0"; exec "$@"`, x.umask}, r.Argv...)
	}
	out, err := h.Run(ctx, r)
	if errors.Is(err, syscall.ENOEXEC) { // a script without an interpreter line
		r.Argv = append([]string{"/bin/sh"}, r.Argv...)
		out, err = h.Run(ctx, r)
	}
	if err != nil {
		return nil, bare(err)
	}
	if out.Code == 127 {
		if x.secret {
			return nil, errors.New("exited with code 127, so a program was not found")
		}
		return nil, fmt.Errorf("exited with code 127, so a program was not found: %s", strings.TrimSpace(string(printed(out))))
	}
	return out, nil
}

// argv finds the program of a command.
func (x *item) argv(r *resource.Command, c *command) error {
	if x.shell {
		r.Argv = []string{"/bin/sh", "-c"}
		if c.list != nil {
			r.Argv = append(r.Argv, c.list...) // the first is the script, the others are its parameters
			return nil
		}
		x.script(r, c.line)
		return nil
	}
	program, err := x.find(c.program())
	if err != nil {
		return err
	}
	switch {
	case c.list != nil:
		r.Argv = append([]string{program}, c.list[1:]...)
	case strings.ContainsAny(c.line, forShell):
		r.Argv = []string{"/bin/sh", "-c"}
		x.script(r, c.line)
	default:
		words := strings.FieldsFunc(c.line, func(r rune) bool { return r == ' ' || r == '\t' })
		r.Argv = append([]string{program}, words[1:]...)
	}
	return nil
}

// script gives a line to the shell. A secret line is not among the arguments, which all users of the host can see.
func (x *item) script(r *resource.Command, line string) {
	if !x.secret {
		r.Argv = append(r.Argv, line)
		return
	}
	const name = "_bolt_line"
	r.Argv = append(r.Argv, name+`_=$`+name+`; unset `+name+`; eval "$`+name+`_"`)
	r.Env = append(r.Env, name+"="+line)
}

// find returns the path of a program.
func (x *item) find(program string) (string, error) {
	shown := program
	if x.secret {
		shown = "the program"
	}
	if path.IsAbs(program) && path.Clean(program) == program {
		info, err := os.Stat(program)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("%s does not exist", shown)
		case err != nil:
			return "", fmt.Errorf("%s: %w", shown, bare(err))
		case !info.Mode().IsRegular():
			return "", fmt.Errorf("%s is not a regular file", shown)
		case info.Mode()&0o111 == 0:
			return "", fmt.Errorf("%s is not executable", shown)
		}
		return program, nil
	}
	if x.path == nil {
		return "", fmt.Errorf("%s was not found", shown)
	}
	if path.IsAbs(program) {
		if executable(program) {
			return program, nil
		}
		return "", fmt.Errorf("%s does not exist, or is not executable", shown)
	}
	for _, dir := range x.path {
		if file := path.Join(dir, program); path.IsAbs(file) && executable(file) {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s is not in the path %s", shown, strings.Join(x.path, ":"))
}

// bare is an error without the path that it is about, which can be a part of a secret command.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// env returns the environment of the host without the variables that a login sets, and with those of the resource.
func (x *item) env(h *resource.Host) []string {
	env := make([]string, 0, len(h.Env)+len(x.environment)+1)
	for _, e := range h.Env {
		switch name, _, _ := strings.Cut(e, "="); name {
		case "HOME", "USER", "LOGNAME":
		default:
			env = append(env, e)
		}
	}
	if x.path != nil {
		env = append(env, "PATH="+strings.Join(x.path, ":"))
	}
	return append(env, x.environment...) // of two values, a program gets the later one
}
