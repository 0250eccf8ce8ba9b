// Package serve assembles the pool daemon: a pool of ssh connections, and the
// server through which the programs of one user use them.
package serve

import (
	"context"
	"io"
	"log/slog"
	"time"

	"bolt/pool"
	"bolt/pool/daemon"
	"bolt/pool/spawn"
	"bolt/pool/wire"
	"bolt/transport"
	"bolt/transport/ssh"
)

// Options are the settings of a Server. Getenv and Err are required.
type Options struct {
	Getenv func(name string) (value string, ok bool)
	Err    io.Writer  // receives the log, unless Start has a program to report to, see Start
	Level  slog.Level // of the log
	Build  string     // version of the program

	MaxConnections      int
	IdleTimeout, MaxAge time.Duration
}

// A Server is a pool daemon. It owns its pool, its dialer and its log.
type Server struct {
	*daemon.Server
	close func()
}

// Start makes a Server that listens on the socket of systemd if there is one, and
// otherwise on the path that the environment sets. Callers must call Close. If package
// spawn has started this process, the log goes to a file, Start reports its outcome to
// the waiting program, and reported is true.
func Start(o Options) (s *Server, reported bool, err error) {
	ready, _ := o.Getenv(spawn.ReadyVariable)
	s, err = listen(o, ready != "")
	spawn.TellReady(ready, err)
	return s, ready != "", err
}

func listen(o Options, spawned bool) (*Server, error) {
	place, err := spawn.PlaceIn(o.Getenv)
	if err != nil {
		return nil, err
	}
	pid, _ := o.Getenv("LISTEN_PID")
	fds, _ := o.Getenv("LISTEN_FDS")
	listener, err := spawn.Inherited(pid, fds)
	if err != nil {
		return nil, err
	}
	if listener != nil {
		place = spawn.PlaceOf(listener.Addr().String())
	}
	if !spawned {
		place.Log = ""
	}
	log, closeLog, err := logger(o, place.Log)
	if err != nil {
		return nil, err
	}
	dialer, err := ssh.NewDialer(ssh.Options{Keep: true, Logger: log})
	if err != nil {
		closeLog()
		return nil, err
	}
	pooled := pool.New(dialer, pool.Options{MaxConnections: o.MaxConnections, IdleTimeout: o.IdleTimeout, MaxAge: o.MaxAge, Logger: log})
	s := &Server{close: func() {
		_ = pooled.Close()
		_ = dialer.Close()
		closeLog()
	}}
	s.Server, err = daemon.New(daemon.Options{
		Socket: place.Socket, Listener: listener,
		Pool: pooled, Router: routerOf(dialer), IdleTimeout: o.IdleTimeout,
		Build: o.Build, Made: spawn.Made(), Log: place.Log,
		Limits: wire.Limits{MaxConnections: o.MaxConnections, IdleTimeout: o.IdleTimeout, MaxAge: o.MaxAge},
		Logger: log,
	})
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// Close ends all connections. Callers must call it after Run has returned.
func (s *Server) Close() { s.close() }

// routerOf returns the function that makes a dialer for each client.
func routerOf(dialer *ssh.Dialer) daemon.RouterFunc {
	return func(c wire.Caller, answer func(string) (transport.Secret, bool), warn func(id, text string)) transport.Router {
		environ := c.Env
		if environ == nil {
			environ = []string{} // the caller's environment is empty; nil would mean this process's
		}
		return dialer.As(ssh.Caller{
			Home: c.Home, Dir: c.Dir, Environ: environ, AgentSocket: c.AgentSocket,
			Passphrase: func(_ context.Context, path string) (transport.Secret, error) {
				if secret, ok := answer(path); ok {
					return secret, nil
				}
				return transport.Secret{}, ssh.ErrNobody
			},
			Warn: warn,
		})
	}
}

// logger logs to a file, or to Err if path is "".
func logger(o Options, path string) (*slog.Logger, func(), error) {
	opts := &slog.HandlerOptions{Level: o.Level}
	if path == "" {
		return slog.New(slog.NewTextHandler(o.Err, opts)), func() {}, nil
	}
	file, err := spawn.OpenLog(path)
	if err != nil {
		return nil, nil, err
	}
	return slog.New(slog.NewTextHandler(file, opts)), func() { _ = file.Close() }, nil
}
