// Package daemon gives a measurement a pool daemon of its own: bolt starts it
// by itself, in a private runtime directory, on the first use with Env.
//
// A Daemon owns that directory and whatever daemon serves there; Stop ends
// both. It is safe for concurrent use.
package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"bolt/bench/measure"
)

// A Daemon is the place of one daemon. Others may come to live there when it
// is killed.
type Daemon struct {
	bolt, dir, home string
}

// New makes a place for a daemon of a bolt program, that dials as a user
// whose home directory is home.
func New(bolt, home string) (*Daemon, error) {
	// Below /tmp and short: a socket's path has at most 107 bytes (unix(7)).
	dir, err := os.MkdirTemp("/tmp", "bolt-run.")
	if err != nil {
		return nil, err
	}
	return &Daemon{bolt: bolt, dir: dir, home: home}, nil
}

// Known reports whether a bolt program has a daemon at all.
func Known(ctx context.Context, bolt string) bool {
	out, err := exec.CommandContext(ctx, bolt, "command", "run", "--help").Output()
	return err == nil && bytes.Contains(out, []byte("--pool "))
}

// Env is what bolt must find in its environment to use this daemon.
func (d *Daemon) Env() []string {
	return []string{"XDG_RUNTIME_DIR=" + d.dir, "HOME=" + d.home, "SSH_AUTH_SOCK="}
}

// Runtime is the runtime directory in which the daemon has its place.
func (d *Daemon) Runtime() string { return d.dir }

// Status is what measurements want of "bolt pool status --format json".
type Status struct {
	PID         int        `json:"pid"`
	Goroutines  int        `json:"goroutines"`
	Files       int        `json:"open_files"`
	Memory      int64      `json:"memory_bytes"`
	Clients     int        `json:"clients"`
	InFlight    int        `json:"in_flight"`
	Connections []struct{} `json:"connections"`
}

// Start starts the daemon if it does not run.
func (d *Daemon) Start(ctx context.Context) error {
	_, err := d.pool(ctx, "start")
	return err
}

// Status asks the daemon; it is an error if none runs.
func (d *Daemon) Status(ctx context.Context) (Status, error) {
	var s Status
	out, err := d.pool(ctx, "status", "--format", "json")
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(out, &s); err != nil {
		return s, fmt.Errorf("read the daemon's status: %w: %.200s", err, out)
	}
	if s.PID == 0 {
		return s, fmt.Errorf("the daemon's status names no process: %.200s", out)
	}
	return s, nil
}

// leaving is how long a daemon may take to end when it is told to.
const leaving = 30 * time.Second

// Stop ends the daemon, if one runs, and removes its place. It is an error if
// the daemon's process outlives it.
func (d *Daemon) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaving)
	defer cancel()
	s, err := d.Status(ctx)
	if err != nil {
		return os.RemoveAll(d.dir) // none runs
	}
	_, err = d.pool(ctx, "stop")
	for err == nil && measure.Alive(s.PID) {
		select {
		case <-ctx.Done():
			err = fmt.Errorf("the daemon, process %d, still runs %v after it was stopped", s.PID, leaving)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

func (d *Daemon) pool(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, d.bolt, append([]string{"pool"}, args...)...)
	cmd.Dir, cmd.Env = d.dir, append(os.Environ(), d.Env()...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("bolt pool %s: %w: %.500s", args[0], err, complaint.String())
	}
	return out, nil
}
