// Package masters gives a measurement OpenSSH's warm connections: an "ssh -M"
// process for each host, as ControlPersist leaves them behind.
//
// Masters own their processes and the folder of their sockets; Stop ends both.
package masters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"bolt/bench/farm"
)

// Masters are connections to all hosts of a farm. They are clients' daemons, so
// their processor time is charged to the tools that use them.
type Masters struct {
	Config string // for ssh -F: the farm's configuration with the path of the sockets
	dir    string
	cmds   []*exec.Cmd
}

const (
	// startsAtOnce is the number of masters that are started at a time.
	startsAtOnce = 20
	// patience is the maximum time for their login.
	patience = time.Minute
)

// Start connects to all hosts of a farm.
func Start(ctx context.Context, f *farm.Farm) (*Masters, error) {
	// The path is short: a socket's path has at most 107 bytes, and ssh binds a
	// longer temporary name.
	dir, err := os.MkdirTemp("/tmp", "bolt-cm.")
	if err != nil {
		return nil, err
	}
	m := &Masters{dir: dir, Config: filepath.Join(dir, "config")}
	text, err := os.ReadFile(f.SSHConfig())
	if err == nil {
		var b strings.Builder
		fmt.Fprintf(&b, "ControlPath %s/%%h\n%s", dir, text)
		for _, o := range strings.Split(farm.CheapSSH, "-o ") {
			if name, value, ok := strings.Cut(strings.TrimSpace(o), "="); ok {
				fmt.Fprintf(&b, "    %s %s\n", name, value)
			}
		}
		err = os.WriteFile(m.Config, []byte(b.String()), 0o600)
	}
	for len(f.Hosts) > len(m.cmds) && err == nil {
		begin := len(m.cmds)
		for _, h := range f.Hosts[begin:min(begin+startsAtOnce, len(f.Hosts))] {
			cmd := exec.CommandContext(ctx, "ssh", "-F", m.Config, "-MNn", h)
			cmd.Stderr = os.Stderr
			if err = cmd.Start(); err != nil {
				break
			}
			m.cmds = append(m.cmds, cmd)
		}
		if err == nil {
			err = m.wait(ctx, f.Hosts[begin:len(m.cmds)])
		}
	}
	if err != nil {
		return nil, errors.Join(err, m.Stop())
	}
	return m, nil
}

// wait returns when the masters of the hosts have their sockets. A master makes
// its socket after the login.
func (m *Masters) wait(ctx context.Context, hosts []string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, h := range hosts {
		for {
			if _, err := os.Stat(filepath.Join(m.dir, h)); err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("the master connection to %s did not come: %w", h, ctx.Err())
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	return nil
}

// PIDs returns the IDs of the processes.
func (m *Masters) PIDs() []int {
	pids := make([]int, len(m.cmds))
	for i, c := range m.cmds {
		pids[i] = c.Process.Pid
	}
	return pids
}

// Stop ends the processes and removes their sockets.
func (m *Masters) Stop() error {
	for _, c := range m.cmds {
		c.Process.Kill()
	}
	for _, c := range m.cmds {
		c.Wait() // killed on purpose
	}
	return os.RemoveAll(m.dir)
}
