// Package connecting makes the connections of an invocation, directly or through the daemon that keeps them open. It
// also carries out the commands that control the daemon.
package connecting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"bolt/internal/logging"
	"bolt/output/listing"
	"bolt/project"
	"bolt/transport"
	"bolt/transport/all"
)

// An Invocation has the parts of one invocation of bolt that connections and the commands for the daemon use.
type Invocation struct {
	Version  string // of bolt
	Home     string // of the user
	Environ  []string
	Getenv   func(name string) (value string, ok bool)
	Project  string // the directory
	Pool     project.Pool
	LogLevel string // of the command line; "" if it is not given
	// Passphrase prompts for the passphrase of a key.
	Passphrase func(ctx context.Context, path string) (transport.Secret, error)
	Logs       *logging.Log
	Out, Err   io.Writer
	How        listing.Options
}

// Dialer returns the dialer for targets: the transports, through the pool
// daemon if it is used.
func (v *Invocation) Dialer() (*all.Dialer, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	}
	agent, _ := v.Getenv("SSH_AUTH_SOCK")
	d, err := all.New(all.List(), all.Options{
		Home: v.Home, Dir: dir, Environ: v.Environ, AgentSocket: agent,
		Passphrase: v.Passphrase, Warn: v.Logs.WarnEach, Logger: v.Logs.Logger(),
	})
	if err != nil || v.Pool.Mode == project.PoolOff {
		return d, err
	}
	daemon, err := v.control()
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.Through(daemon.Through(v.Pool.Mode != project.PoolAuto, v.Logs.WarnOnce))
	return d, nil
}
