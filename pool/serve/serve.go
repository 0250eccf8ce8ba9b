// Package serve assembles the pool daemon: a pool of ssh connections, and the
// server through which the programs of one user use them.
package serve

import (
	"context"
	"io"
	"log/slog"
	"net"
	"time"

	"bolt/pool"
	"bolt/pool/daemon"
	"bolt/pool/spawn"
	"bolt/pool/wire"
	"bolt/transport"
	"bolt/transport/ssh"
)

// Options are the settings of a Server.
type Options struct {
	Place    spawn.Place
	Listener net.Listener // of socket activation; nil to listen at Place.Socket
	// Err receives the log, unless Spawned is set: then the log goes to the file of
	// Place.
	Err     io.Writer
	Spawned bool
	Level   slog.Level // of the log
	Build   string     // version of the program

	MaxConnections      int
	IdleTimeout, MaxAge time.Duration
}

// A Server is a pool daemon. It owns its pool, its dialer and its log.
type Server struct {
	*daemon.Server
	close func()
}

// New makes a Server that listens. Close must follow.
func New(o Options) (*Server, error) {
	if o.Listener != nil {
		o.Place = spawn.PlaceOf(o.Listener.Addr().String())
	}
	if !o.Spawned {
		o.Place.Log = ""
	}
	log, closeLog, err := logger(o)
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
		Socket: o.Place.Socket, Listener: o.Listener,
		Pool: pooled, Router: routerOf(dialer), IdleTimeout: o.IdleTimeout,
		Build: o.Build, Made: spawn.Made(), Log: o.Place.Log,
		Limits: wire.Limits{MaxConnections: o.MaxConnections, IdleTimeout: o.IdleTimeout, MaxAge: o.MaxAge},
		Logger: log,
	})
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// Close ends all connections. It is called after Run has returned.
func (s *Server) Close() { s.close() }

// routerOf returns the function that makes a dialer for each client.
func routerOf(dialer *ssh.Dialer) daemon.RouterFunc {
	return func(c wire.Caller, answer func(string) (transport.Secret, bool), warn func(id, text string)) transport.Router {
		environ := c.Env
		if environ == nil {
			environ = []string{} // the caller's is empty; nil would be ours
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

// logger logs to the daemon's file, or to Err if there is none.
func logger(o Options) (*slog.Logger, func(), error) {
	opts := &slog.HandlerOptions{Level: o.Level}
	if o.Place.Log == "" {
		return slog.New(slog.NewTextHandler(o.Err, opts)), func() {}, nil
	}
	file, err := spawn.OpenLog(o.Place.Log)
	if err != nil {
		return nil, nil, err
	}
	return slog.New(slog.NewTextHandler(file, opts)), func() { _ = file.Close() }, nil
}
