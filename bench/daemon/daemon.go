// Package daemon gives a measurement its own pool daemon: bolt starts the
// daemon in a private runtime directory, on the first use with Env.
//
// A Daemon owns that directory and every daemon that serves there; Stop ends
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

// A Daemon is the runtime directory of a daemon. If the daemon is killed,
// another can replace it.
type Daemon struct {
	bolt, dir, home string
}

// New makes a Daemon for a bolt program. Its connections are made as a user
// whose home directory is home.
func New(bolt, home string) (*Daemon, error) {
	// Below /tmp and short: a socket's path has at most 107 bytes (unix(7)).
	dir, err := os.MkdirTemp("/tmp", "bolt-run.")
	if err != nil {
		return nil, err
	}
	return &Daemon{bolt: bolt, dir: dir, home: home}, nil
}

// Known reports whether a bolt program supports a daemon.
func Known(ctx context.Context, bolt string) bool {
	out, err := exec.CommandContext(ctx, bolt, "command", "run", "--help").Output()
	return err == nil && bytes.Contains(out, []byte("--pool "))
}

// Env returns the environment with which bolt uses this daemon.
func (d *Daemon) Env() []string {
	return []string{"XDG_RUNTIME_DIR=" + d.dir, "HOME=" + d.home, "SSH_AUTH_SOCK="}
}

// Runtime returns the runtime directory of the daemon.
func (d *Daemon) Runtime() string { return d.dir }

// Status is the part of "bolt pool status --format json" that measurements
// use.
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

// Status queries the daemon. It returns an error if no daemon runs.
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

// leaving is the time in which a daemon must end after a stop command.
const leaving = 30 * time.Second

// Stop ends the daemon, if one runs, and removes its directory. It returns an
// error if the daemon's process still runs.
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
