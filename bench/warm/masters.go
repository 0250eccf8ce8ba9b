package main

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

// masters are OpenSSH's warm connections: one "ssh -M" process for each host,
// as ControlPersist leaves them behind. They are clients' daemons, so their
// processor time is charged to the tools that use them.
type masters struct {
	dir    string
	config string // for ssh -F: that of the farm with the sockets' place
	cmds   []*exec.Cmd
}

// mastersAtOnce is how many are started at a time.
const mastersAtOnce = 20

func startMasters(ctx context.Context, f *farm.Farm) (*masters, error) {
	// Short: a socket's path has at most 107 bytes, and ssh binds a longer
	// temporary name.
	dir, err := os.MkdirTemp("/tmp", "bolt-cm.")
	if err != nil {
		return nil, err
	}
	m := &masters{dir: dir, config: filepath.Join(dir, "config")}
	text, err := os.ReadFile(f.SSHConfig())
	if err == nil {
		var b strings.Builder
		fmt.Fprintf(&b, "ControlPath %s/%%h\n%s", dir, text)
		for _, o := range strings.Split(farm.CheapSSH, "-o ") {
			if name, value, ok := strings.Cut(strings.TrimSpace(o), "="); ok {
				fmt.Fprintf(&b, "    %s %s\n", name, value)
			}
		}
		err = os.WriteFile(m.config, []byte(b.String()), 0o600)
	}
	for len(f.Hosts) > len(m.cmds) && err == nil {
		begin := len(m.cmds)
		for _, h := range f.Hosts[begin:min(begin+mastersAtOnce, len(f.Hosts))] {
			cmd := exec.CommandContext(ctx, "ssh", "-F", m.config, "-MNn", h)
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
		return nil, errors.Join(err, m.stop())
	}
	return m, nil
}

// wait returns when the masters of the hosts have their sockets, which they
// make when they are logged in.
func (m *masters) wait(ctx context.Context, hosts []string) error {
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

func (m *masters) pids() []int {
	pids := make([]int, len(m.cmds))
	for i, c := range m.cmds {
		pids[i] = c.Process.Pid
	}
	return pids
}

func (m *masters) stop() error {
	for _, c := range m.cmds {
		c.Process.Kill()
	}
	for _, c := range m.cmds {
		c.Wait() // killed on purpose
	}
	return os.RemoveAll(m.dir)
}
