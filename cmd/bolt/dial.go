package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bolt/project"
	"bolt/transport"
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
		Passphrase: a.passphrase, Warn: a.logs.WarnEach, Logger: a.log,
	})
	if err != nil || a.config.Pool.Mode == project.PoolOff {
		return d, err
	}
	daemon, err := a.pool()
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.Through(func(direct transport.Dialer) all.Closer {
		if a.config.Pool.Mode != project.PoolAuto {
			direct = nil // the daemon is required
		}
		return daemon.Dialer(direct, a.logs.WarnOnce)
	})
	return d, nil
}

// passphrase asks for that of a key file.
func (a *app) passphrase(ctx context.Context, path string) (transport.Secret, error) {
	if rel, err := filepath.Rel(home(a.sys), path); err == nil && !strings.HasPrefix(rel, "..") {
		path = filepath.Join("~", rel)
	}
	return a.Ask.Secret(ctx, fmt.Sprintf("Passphrase for the key %s: ", path))
}
