package connecting

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"bolt/cli"
	"bolt/internal/logging"
	"bolt/output/listing"
	"bolt/pool/control"
	"bolt/pool/serve"
)

// control returns the control of the user's daemon.
func (v *Invocation) control() (*control.Control, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	}
	return control.New(control.Options{
		Home: v.Home, Dir: dir, Environ: v.Environ, Getenv: v.Getenv, Build: v.Version,
		Project: v.Project, LogLevel: v.LogLevel,
		Passphrase: v.Passphrase, Warn: v.Logs.WarnEach, Logger: v.Logs.Logger(),
	})
}

// Start carries out pool start.
func (v *Invocation) Start(ctx context.Context, _ *cli.NoOptions) error {
	return v.report(ctx, (*control.Control).Start)
}

// Stop carries out pool stop.
func (v *Invocation) Stop(ctx context.Context, _ *cli.NoOptions) error {
	return v.report(ctx, (*control.Control).Stop)
}

// Drain carries out pool drain.
func (v *Invocation) Drain(ctx context.Context, _ *cli.NoOptions) error {
	return v.report(ctx, (*control.Control).Drain)
}

// report calls do for the user's daemon and prints the report.
func (v *Invocation) report(ctx context.Context, do func(c *control.Control, ctx context.Context) (report string, err error)) error {
	c, err := v.control()
	if err != nil {
		return err
	}
	report, err := do(c, ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(v.Out, report)
	return err
}

// Status carries out pool status. If no daemon runs, it returns cli.ErrFailed.
func (v *Invocation) Status(ctx context.Context, _ *cli.NoOptions) error {
	c, err := v.control()
	if err != nil {
		return err
	}
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	if err := listing.PrintPool(v.Out, v.How, &listing.Pool{Status: status, Socket: c.Socket(), Now: time.Now()}); err != nil {
		return err
	}
	if status == nil {
		return cli.ErrFailed
	}
	return nil
}

// Metrics carries out pool metrics.
func (v *Invocation) Metrics(ctx context.Context, _ *cli.NoOptions) error {
	c, err := v.control()
	if err != nil {
		return err
	}
	data, err := c.Metrics(ctx)
	if err != nil {
		return err
	}
	_, err = v.Out.Write(data)
	return err
}

// ShowLog carries out pool logs.
func (v *Invocation) ShowLog(ctx context.Context, _ *cli.NoOptions) error {
	c, err := v.control()
	if err != nil {
		return err
	}
	log, err := c.Log(ctx)
	if err != nil {
		return err
	}
	defer log.Close()
	_, err = io.Copy(v.Out, log)
	return err
}

// Serve carries out pool serve: it runs the daemon. It serves until a stop command, or until it was unused for
// its idle time.
func (v *Invocation) Serve(ctx context.Context, _ *cli.NoOptions) error {
	// Only its user may access its files, and a core dump would contain its secrets.
	unix.Umask(0o077)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	level := slog.LevelInfo
	if v.LogLevel != "" {
		level, _ = logging.ParseLevel(v.LogLevel) // it was checked when the flags were read
	}
	limits := v.Pool
	server, reported, err := serve.Start(serve.Options{
		Getenv: v.Getenv, Err: v.Err, Level: level, Build: v.Version,
		MaxConnections: limits.MaxConnections, IdleTimeout: limits.IdleTimeout, MaxAge: limits.MaxAge,
	})
	switch {
	case err != nil && reported:
		return cli.ErrFailed
	case err != nil:
		return control.Fault(err)
	}
	defer server.Close()
	if err := server.Run(ctx); err != nil {
		return control.Fault(err)
	}
	return nil
}
