package main

import (
	"errors"
	"fmt"
	"os"

	"bolt/project"
	"bolt/transport/all"
)

// dialer returns the dialer for targets: the transports, through the pool
// daemon if it is used.
func (a *app) dialer() (*all.Dialer, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	}
	d, err := all.New(all.List(), all.Options{
		Home: home(a.sys), Dir: dir, Environ: a.sys.environ(), AgentSocket: a.sys.env("SSH_AUTH_SOCK"),
		Passphrase: a.Ask.Passphrase(home(a.sys)), Warn: a.logs.WarnEach, Logger: a.log,
	})
	if err != nil || a.config.Pool.Mode == project.PoolOff {
		return d, err
	}
	daemon, err := a.pool()
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.Through(daemon.Through(a.config.Pool.Mode != project.PoolAuto, a.logs.WarnOnce))
	return d, nil
}
