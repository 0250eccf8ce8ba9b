package main

import (
	"context"
	"log/slog"

	"golang.org/x/sys/unix"

	"bolt/format/fault"
	"bolt/internal/logging"
	"bolt/pool/serve"
	"bolt/pool/spawn"
)

// runPoolServe is the daemon: it serves until it is told to stop, or nobody
// has needed it for a while.
func runPoolServe(ctx context.Context, a *app) error {
	// What it makes is for its user alone, and what it knows is not for a file.
	unix.Umask(0o077)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	spawned := a.sys.env(spawn.ReadyVariable) // a command line has started us in the background
	server, err := a.poolServer(spawned != "")
	spawn.TellReady(spawned, err)
	switch {
	case err != nil && spawned != "":
		return errPrinted // whoever started us has been told
	case err != nil:
		return &fault.Error{Kind: poolKind, Msg: err.Error(), Err: err}
	}
	defer server.Close()
	if err := server.Run(ctx); err != nil {
		return &fault.Error{Kind: poolKind, Msg: err.Error(), Err: err}
	}
	return nil
}

// poolServer makes the daemon.
func (a *app) poolServer(spawned bool) (*serve.Server, error) {
	place, err := a.poolPlace()
	if err != nil {
		return nil, err
	}
	listener, err := spawn.Inherited(a.sys.env("LISTEN_PID"), a.sys.env("LISTEN_FDS"))
	if err != nil {
		return nil, err
	}
	level := slog.LevelInfo
	if a.global.logLevel.Given {
		level, _ = logging.ParseLevel(a.global.logLevel.Text) // it was checked when it was read
	}
	limits := a.config.Pool
	return serve.New(serve.Options{
		Place: place, Listener: listener, Err: a.sys.err, Spawned: spawned, Level: level, Build: version,
		MaxConnections: limits.MaxConnections, IdleTimeout: limits.IdleTimeout, MaxAge: limits.MaxAge,
	})
}
