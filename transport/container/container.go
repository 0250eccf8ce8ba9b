// Package container is the transport into containers: docker, podman and lxd,
// through the command-line programs of these names (lxd's is lxc).
//
// Each command is one "exec" of the program, with a shell of the container at
// the other end; staging, run-as, cancellation and cleanup are transport/shell's,
// as on any other machine. Dial asks the program once for the container, which
// tells a mistyped name, a stopped container and a daemon that is down apart.
//
// What a container runs is told to end by the end of its standard input, which
// comes when the program ends in whatever way: the programs hand on no signals.
// How a command ended is known as the programs tell it: by a number, which is
// 128 and the number of the signal if it was one.
package container

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"strings"

	"bolt/transport"
	"bolt/transport/process"
	"bolt/transport/shell"
)

// Options are the Dialer's.
type Options struct {
	Environ []string     // of the programs, as os.Environ has it
	Logger  *slog.Logger // nil discards
}

// Dialer reaches containers; a Dest's Protocol is "docker", "podman" or "lxd". It
// is safe for concurrent use.
type Dialer struct {
	tools   map[string]*tool
	environ []string
	log     *slog.Logger
}

// NewDialer returns a Dialer.
func NewDialer(o Options) *Dialer {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Dialer{tools(), o.Environ, o.Logger}
}

// Dial finds the container that has the destination's Host for its name, or for
// the beginning of its ID, and that runs.
func (d *Dialer) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	t := d.tools[to.Protocol]
	switch {
	case t == nil:
		return nil, &transport.Error{Class: transport.ClassUnsupported, Msg: fmt.Sprintf("%q is no transport to containers", to.Protocol)}
	case to.Host == "" || strings.HasPrefix(to.Host, "-") || strings.ContainsRune(to.Host, 0):
		return nil, connectError(transport.ClassResolve, to.Host, nil, "it is no name of a container", "")
	case strings.HasPrefix(to.User, "-"):
		return nil, connectError(transport.ClassUnsupported, to.Host, nil, fmt.Sprintf("%q is no name of a user", to.User), "")
	case t.program == "lxc" && to.User != "" && !isNumber(to.User):
		return nil, connectError(transport.ClassUnsupported, to.Host, nil, "lxc takes no names of users",
			"Give the user's number instead of the name "+to.User+", or use run-as.")
	}
	path, err := exec.LookPath(t.program)
	if err != nil {
		return nil, connectError(transport.ClassConnect, to.Host, err, fmt.Sprintf("the program %s is not to be found on PATH", t.program),
			"Install it on this machine.")
	}
	given, _ := to.Options.(Tool)
	s := &starter{tool: t, path: path, env: d.environ, to: to, given: given, log: d.log}
	if t.service != "" && given.Service != "" {
		s.env = append(slices.Clone(d.environ), t.service+"="+given.Service)
	}
	if s.box, err = s.find(ctx); err != nil {
		return nil, err
	}
	if isNumber(s.box.user) && s.box.user != "0" { // run-as wants to know the name
		if name, err := s.ask(ctx, append(t.exec(&s.box, false), "id", "-un")...); err == nil {
			s.box.user = strings.TrimSpace(name)
		} else {
			d.log.Debug("user has no name", "target", to.Host, "user", s.box.user, "err", err)
		}
	}
	o := shell.Options{Host: to.Host, User: s.box.user, Logger: d.log}
	return shell.NewConn(s, o), nil
}

// find asks the program for the container.
func (s *starter) find(ctx context.Context) (box, error) {
	t, to := s.tool, &s.to
	out, err := s.ask(ctx, t.find(to)...)
	if err != nil {
		return box{}, err
	}
	b, ok := t.parse(to, out)
	switch {
	case !ok:
		return box{}, connectError(transport.ClassProtocol, to.Host, nil, fmt.Sprintf("%s does not answer as it should: %s", t.program, quoted(out)),
			"Is the program of this name on PATH another one?")
	case b.id == "":
		return box{}, s.missing(nil)
	case b.state == "paused" || b.state == "frozen":
		return box{}, connectError(transport.ClassConnect, to.Host, nil, "the container is "+b.state, "Let it go on first.")
	case b.state != "running":
		return box{}, connectError(transport.ClassConnect, to.Host, nil, fmt.Sprintf("the container does not run, it is %s", quoted(b.state)),
			fmt.Sprintf("Start it: %s %s", t.start, to.Host))
	}
	return b, nil
}

// ask runs the program to its end, within the time for connecting, and returns
// what it prints.
func (s *starter) ask(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := s.limited(ctx)
	defer cancel()
	out, said, err := process.Output(ctx, process.Options{Path: s.path, Args: append([]string{s.tool.program}, args...), Env: s.env})
	switch {
	case ctx.Err() != nil:
		return "", s.gaveUp(ctx)
	case errors.Is(err, process.ErrTooLong):
		return "", connectError(transport.ClassProtocol, s.to.Host, err, fmt.Sprintf("%s answers with more than %d KiB", s.tool.program, process.MaxOutput>>10), "")
	case err != nil:
		return "", s.refused(err, said)
	}
	return out, nil
}

// limited is ctx with the time for connecting.
func (s *starter) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.to.ConnectTimeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, s.to.ConnectTimeout, errTimeout)
}

var errTimeout = errors.New("no answer in time")
