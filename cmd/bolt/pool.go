package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"bolt/internal/logging"
	"bolt/output/listing"
	"bolt/pool/control"
	"bolt/pool/serve"
)

// poolVariable is the environment variable that sets the use of the pool: auto,
// off or required.
const poolVariable = "BOLT_POOL"

// pool returns the control of the user's daemon.
func (a *app) pool() (*control.Control, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	}
	return control.New(control.Options{
		Home: home(a.sys), Dir: dir, Environ: a.sys.environ(), Getenv: a.sys.lookup, Build: version,
		Project: a.project.Dir, LogLevel: a.global.logLevel.Text,
		Passphrase: a.Ask.Passphrase(home(a.sys)), Warn: a.logs.WarnEach, Logger: a.log,
	})
}

// onPool returns the action that calls do for the user's daemon and prints the report.
func onPool(do func(c *control.Control, ctx context.Context) (report string, err error)) action {
	return bare(func(ctx context.Context, a *app) error {
		c, err := a.pool()
		if err != nil {
			return err
		}
		report, err := do(c, ctx)
		if err != nil {
			return err
		}
		return a.say("%s", report)
	})
}

func runPoolStatus(ctx context.Context, a *app) error {
	c, err := a.pool()
	if err != nil {
		return err
	}
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	if err := listing.PrintPool(a.sys.out, a.listOptions(), &listing.Pool{Status: status, Socket: c.Socket(), Now: time.Now()}); err != nil {
		return written(err)
	}
	if status == nil {
		return errPrinted
	}
	return nil
}

func runPoolMetrics(ctx context.Context, a *app) error {
	c, err := a.pool()
	if err != nil {
		return err
	}
	data, err := c.Metrics(ctx)
	if err != nil {
		return err
	}
	_, err = a.sys.out.Write(data)
	return written(err)
}

func runPoolLogs(ctx context.Context, a *app) error {
	c, err := a.pool()
	if err != nil {
		return err
	}
	log, err := c.Log(ctx)
	if err != nil {
		return err
	}
	defer log.Close()
	_, err = io.Copy(a.sys.out, log)
	return written(err)
}

// runPoolServe runs the daemon. It serves until a stop command, or until it was unused for
// its idle time.
func runPoolServe(ctx context.Context, a *app) error {
	// Only its user may access its files, and a core dump would contain its secrets.
	unix.Umask(0o077)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	level := slog.LevelInfo
	if a.global.logLevel.Given {
		level, _ = logging.ParseLevel(a.global.logLevel.Text) // it was checked when the flags were read
	}
	limits := a.config.Pool
	server, reported, err := serve.Start(serve.Options{
		Getenv: a.sys.lookup, Err: a.sys.err, Level: level, Build: version,
		MaxConnections: limits.MaxConnections, IdleTimeout: limits.IdleTimeout, MaxAge: limits.MaxAge,
	})
	switch {
	case err != nil && reported:
		return errPrinted
	case err != nil:
		return control.Fault(err)
	}
	defer server.Close()
	if err := server.Run(ctx); err != nil {
		return control.Fault(err)
	}
	return nil
}
