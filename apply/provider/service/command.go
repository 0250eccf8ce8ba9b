package service

import (
	"context"
	"fmt"
	"strings"

	"bolt/apply/resource"
	"bolt/internal/safetext"
)

// A command is an argument list, or a line for the shell.
type command struct {
	argv   []string
	secret bool
}

func line(text string) command { return command{argv: []string{"/bin/sh", "-c", text}} }

func program(argv ...string) command { return command{argv: argv} }

func (c command) String() string {
	switch {
	case c.secret:
		return "[command redacted]"
	case len(c.argv) == 3 && c.argv[1] == "-c":
		return "'" + c.argv[2] + "'"
	}
	return strings.Join(c.argv, " ")
}

// run runs a command to its end, also if the connection is lost.
func run(ctx context.Context, h *resource.Host, c command) (*resource.Output, error) {
	r := &resource.Command{Argv: c.argv, Env: env(h), Session: true, Combined: true, Timeout: resource.ChangeLimit}
	if c.secret { // the arguments of a program can be seen by all users of the host
		const name = "_bolt_line"
		r.Argv = []string{"/bin/sh", "-c", name + `_=$` + name + `; unset ` + name + `; eval "$` + name + `_"`}
		r.Env = append(r.Env, name+"="+c.argv[2])
	}
	out, err := h.Run(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c, err)
	}
	return out, nil
}

// must runs a command. It is an error if the command fails.
func must(ctx context.Context, h *resource.Host, c command) error {
	out, err := run(ctx, h, c)
	if err != nil || out.Code == 0 {
		return err
	}
	printed := safetext.Message(strings.TrimSpace(string(out.Stdout)))
	if c.secret || printed == "" {
		return fmt.Errorf("%s exited with code %d", c, out.Code)
	}
	return fmt.Errorf("%s exited with code %d: %s", c, out.Code, printed)
}

// env returns the environment of the host without the variables that a login sets: services must not depend on
// the user that starts them.
func env(h *resource.Host) []string {
	env := make([]string, 0, len(h.Env))
	for _, e := range h.Env {
		switch name, _, _ := strings.Cut(e, "="); name {
		case "HOME", "USER", "LOGNAME", "RC_SVCNAME":
		default:
			env = append(env, e)
		}
	}
	return env
}
