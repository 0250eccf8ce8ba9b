// Package container is the transport for containers of docker, podman and lxd.
// It uses the command-line programs of these names (for lxd, the program lxc).
//
// Each command is one "exec" of the program, which runs a shell in the
// container. Package transport/shell does staging, run-as, cancellation and
// cleanup, as on any other machine. Dial queries the program once for the
// container. So it can distinguish a wrong name, a stopped container and a
// daemon that is down.
//
// A command in a container is ended by the end of its standard input, because
// the programs do not forward signals. The end comes when the program ends, in
// any way. The programs report the result of a command as a number; after a
// signal, it is 128 plus the number of the signal.
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

// Options are the options of a Dialer.
type Options struct {
	Environ []string     // for the programs, in the format of os.Environ
	Logger  *slog.Logger // nil discards
}

// Dialer opens connections to containers. The Protocol of a Dest is "docker",
// "podman" or "lxd". It is safe for concurrent use.
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

// Dial finds the running container whose name is the destination's Host, or
// whose ID begins with it.
func (d *Dialer) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	t := d.tools[to.Protocol]
	switch {
	case t == nil:
		return nil, &transport.Error{Class: transport.ClassUnsupported, Msg: fmt.Sprintf("%q is not a transport for containers", to.Protocol)}
	case to.Host == "" || strings.HasPrefix(to.Host, "-") || strings.ContainsRune(to.Host, 0):
		return nil, connectError(transport.ClassResolve, to.Host, nil, "it is not a container name", "")
	case strings.HasPrefix(to.User, "-"):
		return nil, connectError(transport.ClassUnsupported, to.Host, nil, fmt.Sprintf("%q is not a user name", to.User), "")
	case t.program == "lxc" && to.User != "" && !isNumber(to.User):
		return nil, connectError(transport.ClassUnsupported, to.Host, nil, "lxc does not accept user names",
			"Set the user ID instead of the name "+to.User+", or use run-as.")
	}
	path, err := exec.LookPath(t.program)
	if err != nil {
		return nil, connectError(transport.ClassConnect, to.Host, err, fmt.Sprintf("the program %s was not found on PATH", t.program),
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
	if isNumber(s.box.user) && s.box.user != "0" { // run-as needs the name
		if name, err := s.ask(ctx, append(t.exec(&s.box, false), "id", "-un")...); err == nil {
			s.box.user = strings.TrimSpace(name)
		} else {
			d.log.Debug("user has no name", "target", to.Host, "user", s.box.user, "err", err)
		}
	}
	o := shell.Options{Host: to.Host, User: s.box.user, Logger: d.log}
	return shell.NewConn(s, o), nil
}

// find queries the program for the container.
func (s *starter) find(ctx context.Context) (box, error) {
	t, to := s.tool, &s.to
	out, err := s.ask(ctx, t.find(to)...)
	if err != nil {
		return box{}, err
	}
	b, ok := t.parse(to, out)
	switch {
	case !ok:
		return box{}, connectError(transport.ClassProtocol, to.Host, nil, fmt.Sprintf("%s sent an unexpected answer: %s", t.program, quoted(out)),
			"Check whether another program with this name is on PATH.")
	case b.id == "":
		return box{}, s.missing(nil)
	case b.state == "paused" || b.state == "frozen":
		return box{}, connectError(transport.ClassConnect, to.Host, nil, "the container is "+b.state, "Unpause the container.")
	case b.state != "running":
		return box{}, connectError(transport.ClassConnect, to.Host, nil, fmt.Sprintf("the container is not running, it is %s", quoted(b.state)),
			fmt.Sprintf("Start it: %s %s", t.start, to.Host))
	}
	return b, nil
}

// ask runs the program to its end, within the connect timeout, and returns its
// output.
func (s *starter) ask(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := s.limited(ctx)
	defer cancel()
	out, said, err := process.Output(ctx, process.Options{Path: s.path, Args: append([]string{s.tool.program}, args...), Env: s.env})
	switch {
	case ctx.Err() != nil:
		return "", s.gaveUp(ctx)
	case errors.Is(err, process.ErrTooLong):
		return "", connectError(transport.ClassProtocol, s.to.Host, err, fmt.Sprintf("%s printed more than %d KiB", s.tool.program, process.MaxOutput>>10), "")
	case err != nil:
		return "", s.refused(err, said)
	}
	return out, nil
}

// limited returns ctx with the connect timeout.
func (s *starter) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.to.ConnectTimeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, s.to.ConnectTimeout, errTimeout)
}

var errTimeout = errors.New("no answer in time")
