// Package control starts, queries and ends the pool daemon of one user, and makes
// dialers that use it.
//
// Its errors are *fault.Error of the kind bolt/pool-error, which contain the hints of
// package pool/client as well. The package prints nothing: methods return a sentence
// that reports what they did. A Control holds nothing open between two calls.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"bolt/format/fault"
	"bolt/pool/client"
	"bolt/pool/spawn"
	"bolt/pool/wire"
	"bolt/transport"
)

// Kind is the kind of the errors about the daemon.
const Kind = "bolt/pool-error"

// Options describe the user and the program. All but Logger are required.
type Options struct {
	Home    string // of the user
	Dir     string // working directory
	Environ []string
	Getenv  func(name string) (value string, ok bool)
	Build   string // version of the program

	// Project and LogLevel are for a daemon that is started, see spawn.Options.
	Project, LogLevel string

	Passphrase func(ctx context.Context, path string) (transport.Secret, error)
	Warn       func(id, text string)
	Logger     *slog.Logger // nil discards
}

// A Control commands the daemon of one user.
type Control struct {
	o     Options
	place spawn.Place
}

// New returns a Control. It connects to nothing.
func New(o Options) (*Control, error) {
	place, err := spawn.PlaceIn(o.Getenv)
	if err != nil {
		return nil, Fault(err)
	}
	return &Control{o, place}, nil
}

// Socket returns the path of the socket on which the daemon listens, or would listen.
func (c *Control) Socket() string { return c.place.Socket }

// client returns a client of the daemon, which starts one if start is set.
func (c *Control) client(start bool) *client.Client {
	agent, _ := c.o.Getenv("SSH_AUTH_SOCK")
	o := client.Options{
		Socket: c.place.Socket, Build: c.o.Build, Made: spawn.Made(),
		Caller: wire.Caller{Home: c.o.Home, Dir: c.o.Dir, AgentSocket: agent, Env: c.o.Environ},
		Warn:   c.o.Warn, Logger: c.o.Logger, Passphrase: c.o.Passphrase,
	}
	if start {
		o.Start = func(ctx context.Context) error {
			return spawn.Start(ctx, spawn.Options{Place: c.place, Project: c.o.Project, LogLevel: c.o.LogLevel, Getenv: c.o.Getenv, Logger: c.o.Logger})
		}
	}
	return client.New(o)
}

// Through returns a function that makes a dialer through the daemon, which it starts
// if there is none. If the daemon cannot be used and is not required, the dialer uses
// direct, and passed gets the reason.
func (c *Control) Through(required bool, passed func(id, text string)) func(direct transport.Dialer) transport.DialCloser {
	return func(direct transport.Dialer) transport.DialCloser {
		if required {
			direct = nil
		}
		return client.NewFallback(c.client(true), direct, passed)
	}
}

// ask sends the daemon a command; running is false if there is none.
func (c *Control) ask(ctx context.Context, command string) (answer []byte, running bool, err error) {
	daemon := c.client(false)
	defer daemon.Close()
	err = daemon.Connect(ctx)
	if u, ok := errors.AsType[*client.Unavailable](err); ok && u.Absent {
		return nil, false, nil
	}
	if err == nil {
		answer, err = daemon.Control(ctx, command)
	}
	if err != nil {
		return nil, true, Fault(err)
	}
	return answer, true, nil
}

// Fault returns an error about the daemon with its kind and its hint.
func Fault(err error) error {
	msg := err.Error()
	if u, ok := errors.AsType[*client.Unavailable](err); ok && u.Hint != "" {
		msg += "\n" + u.Hint
	}
	return &fault.Error{Kind: Kind, Msg: msg, Err: err}
}

// Start starts a daemon unless one runs.
func (c *Control) Start(ctx context.Context) (report string, err error) {
	if _, running, err := c.ask(ctx, "ping"); err != nil {
		return "", err
	} else if running {
		return "The pool daemon runs already.", nil
	}
	daemon := c.client(true)
	defer daemon.Close()
	if err := daemon.Connect(ctx); err != nil {
		return "", Fault(err)
	}
	return fmt.Sprintf("The pool daemon has started: pid %d, socket %s.", daemon.Peer().PID, c.place.Socket), nil
}

// Stop ends the daemon and the actions that run through it.
func (c *Control) Stop(ctx context.Context) (report string, err error) {
	before, err := c.status(ctx, "stop")
	if before == nil || err != nil {
		return noDaemon, err
	}
	report = fmt.Sprintf("The pool daemon (pid %d) has stopped; its connections are closed.", before.PID)
	if n := before.InFlight; n > 0 {
		report += fmt.Sprintf(" Its running actions on targets (%d) were ended.", n)
	}
	return report, nil
}

// Drain lets the daemon end when the actions that run through it have ended.
func (c *Control) Drain(ctx context.Context) (report string, err error) {
	before, err := c.status(ctx, "drain")
	switch {
	case before == nil || err != nil:
		return noDaemon, err
	case before.InFlight > 0:
		return fmt.Sprintf("The pool daemon (pid %d) starts no new actions and ends when its running actions on targets (%d) have ended. To end it now: kill %d",
			before.PID, before.InFlight, before.PID), nil
	}
	return fmt.Sprintf("The pool daemon (pid %d) had no running actions and has ended.", before.PID), nil
}

const noDaemon = "No pool daemon runs."

// Status returns the state of the daemon, nil if there is none.
func (c *Control) Status(ctx context.Context) (*wire.Status, error) { return c.status(ctx, "status") }

// status sends the daemon a command that it answers with its status.
func (c *Control) status(ctx context.Context, command string) (*wire.Status, error) {
	data, running, err := c.ask(ctx, command)
	if err != nil || !running {
		return nil, err
	}
	return decode(data)
}

func decode(answer []byte) (*wire.Status, error) {
	s := new(wire.Status)
	if err := json.Unmarshal(answer, s); err != nil {
		return nil, fault.New(Kind, "The pool daemon's answer cannot be decoded: %v", err)
	}
	return s, nil
}

// Metrics returns the metrics of the daemon in the text format of Prometheus, also if
// there is no daemon.
func (c *Control) Metrics(ctx context.Context) ([]byte, error) {
	data, running, err := c.ask(ctx, "metrics")
	if err == nil && !running {
		data = []byte("# HELP bolt_pool_up Whether the pool daemon runs.\n# TYPE bolt_pool_up gauge\nbolt_pool_up 0\n")
	}
	return data, err
}

// Log returns the log of the daemon, also of one that has ended or does not answer.
// The caller must close it.
func (c *Control) Log(ctx context.Context) (io.ReadCloser, error) {
	data, running, err := c.ask(ctx, "status")
	if running && err == nil {
		s, err := decode(data)
		if err != nil {
			return nil, err
		}
		if s.Log == "" {
			return nil, fault.New(Kind, "The pool daemon (pid %d) logs to its standard error. If systemd runs it, read the log with 'journalctl --user -u bolt-pool'.", s.PID)
		}
	}
	f, err := os.Open(c.place.Log)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(Kind, "Could not find the log of a pool daemon at %s.", c.place.Log)
	}
	if err != nil {
		return nil, fault.File(c.place.Log, err, "The pool daemon's log '%s' cannot be read: %v", c.place.Log, fault.WithoutPath(err))
	}
	return f, nil
}
