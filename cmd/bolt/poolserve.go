package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"bolt/format/fault"
	"bolt/internal/logging"
	"bolt/pool"
	"bolt/pool/daemon"
	"bolt/pool/wire"
	"bolt/transport"
	"bolt/transport/ssh"
)

// runPoolServe is the daemon: it serves until it is told to stop, or nobody
// has needed it for a while.
func runPoolServe(ctx context.Context, a *app, _ []string) error {
	// What it makes is for its user alone, and what it knows is not for a file.
	unix.Umask(0o077)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	server, closeAll, err := a.poolServer()
	tellReady(a.sys, err)
	switch {
	case err != nil && isSpawned(a.sys):
		return errPrinted // whoever started us has been told
	case err != nil:
		return &fault.Error{Kind: poolKind, Msg: err.Error(), Err: err}
	}
	defer closeAll()
	if err := server.Run(ctx); err != nil {
		return &fault.Error{Kind: poolKind, Msg: err.Error(), Err: err}
	}
	return nil
}

// poolServer wires the daemon. closeAll is to be called after it has run.
func (a *app) poolServer() (server *daemon.Server, closeAll func(), err error) {
	place, err := findPoolPlace(a.sys)
	if err != nil {
		return nil, nil, err
	}
	listener, err := inheritedSocket(a.sys)
	if err != nil {
		return nil, nil, err
	}
	if listener != nil {
		place = placeOf(listener.Addr().String())
	}
	if !isSpawned(a.sys) {
		place.log = ""
	}
	log, closeLog, err := a.poolLogger(place)
	if err != nil {
		return nil, nil, err
	}
	dialer, err := ssh.NewDialer(ssh.Options{Keep: true, Logger: log})
	if err != nil {
		closeLog()
		return nil, nil, err
	}
	limits := a.config.Pool
	pooled := pool.New(dialer, pool.Options{
		MaxConnections: limits.MaxConnections, IdleTimeout: limits.IdleTimeout, MaxAge: limits.MaxAge, Logger: log,
	})
	closeAll = func() {
		_ = pooled.Close()
		_ = dialer.Close()
		closeLog()
	}
	server, err = daemon.New(daemon.Options{
		Socket: place.socket, Listener: listener,
		Pool: pooled, Router: routerOf(dialer), IdleTimeout: limits.IdleTimeout,
		Build: version, Made: made(), Log: place.log,
		Limits: wire.Limits{MaxConnections: limits.MaxConnections, IdleTimeout: limits.IdleTimeout, MaxAge: limits.MaxAge},
		Logger: log,
	})
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	return server, closeAll, nil
}

// routerOf makes each client's view of the daemon's dialer.
func routerOf(dialer *ssh.Dialer) func(wire.Caller, func(string) (transport.Secret, bool), func(string, string)) transport.Router {
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

// isSpawned reports whether a command line has started us in the background.
func isSpawned(sys system) bool { return sys.env(readyVariable) != "" }

// poolLogger logs to the daemon's file, or to standard error when somebody
// runs it there.
func (a *app) poolLogger(place poolPlace) (*slog.Logger, func(), error) {
	level := slog.LevelInfo
	if a.values.has("log-level") {
		level, _ = logging.ParseLevel(a.values.last("log-level")) // it was checked when it was read
	}
	if place.log == "" {
		return slog.New(slog.NewTextHandler(a.sys.err, &slog.HandlerOptions{Level: level})), func() {}, nil
	}
	file, err := openPoolLog(place.log)
	if err != nil {
		return nil, nil, err
	}
	return slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: level})), func() { file.f.Close() }, nil
}

// inheritedSocket is the socket that systemd listens on for us
// (sd_listen_fds(3)), or nil.
func inheritedSocket(sys system) (net.Listener, error) {
	pid, err := strconv.Atoi(sys.env("LISTEN_PID"))
	if err != nil || pid != os.Getpid() {
		return nil, nil
	}
	if n := sys.env("LISTEN_FDS"); n != "1" {
		return nil, fmt.Errorf("socket activation: %q sockets were handed over, not one", n)
	}
	f := os.NewFile(3, "socket")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("socket activation: %w", err)
	}
	u, ok := l.(*net.UnixListener)
	if !ok || !filepath.IsAbs(u.Addr().String()) {
		l.Close()
		return nil, errors.New("socket activation: the socket is not a unix socket with a path")
	}
	u.SetUnlinkOnClose(false) // it is systemd's
	return u, nil
}
