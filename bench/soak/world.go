package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"bolt/bench/farm"
)

// Keepalives for the soak: a silent peer is disconnected after about six
// seconds.
const (
	aliveInterval = 2
	aliveMisses   = 3
)

// A world is a farm whose second half is reached through links that can fail.
type world struct {
	farm      *farm.Farm
	port      string // of the servers
	links     []*link
	names     []string // of the targets: direct ones, then those behind a link
	inventory string

	mu      sync.Mutex
	changes int // of ssh_config
}

func newWorld(ctx context.Context, o options) (w *world, err error) {
	f, err := farm.Real(ctx, o.targets, false)
	if err != nil {
		return nil, err
	}
	w = &world{farm: f, inventory: filepath.Join(f.Dir, "soak.yaml")}
	if err := w.build(); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *world) build() error {
	port, err := os.ReadFile(filepath.Join(w.farm.Dir, "port"))
	if err != nil {
		return err
	}
	w.port = strings.TrimSpace(string(port))
	user, err := w.farm.User()
	if err != nil {
		return err
	}
	key, err := os.ReadFile(filepath.Join(w.farm.Dir, "host_ed25519.pub"))
	if err != nil {
		return err
	}
	algorithm, rest, _ := strings.Cut(string(key), " ")
	blob, _, _ := strings.Cut(rest, " ")
	var inventory, known strings.Builder
	fmt.Fprintf(&inventory, "config:\n  transport: ssh\n  ssh:\n    user: %s\n    private-key: %s\n    host-key-check: true\n    tmpdir: %s\ntargets:\n",
		user, filepath.Join(w.farm.Dir, "id_ed25519"), w.tmp())
	for i, host := range w.farm.Hosts {
		name, address := fmt.Sprintf("direct%03d", i), host+":"+w.port
		if i >= len(w.farm.Hosts)/2 {
			l, err := newLink(address)
			if err != nil {
				return err
			}
			w.links = append(w.links, l)
			name, address = fmt.Sprintf("linked%03d", i), l.address()
			listenHost, listenPort, _ := strings.Cut(address, ":")
			fmt.Fprintf(&known, "[%s]:%s %s %s\n", listenHost, listenPort, algorithm, blob)
		}
		w.names = append(w.names, name)
		fmt.Fprintf(&inventory, "  - {name: %s, uri: 'ssh://%s'}\n", name, address)
	}
	records, err := os.OpenFile(filepath.Join(w.farm.Home(), ".ssh", "known_hosts"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = records.WriteString(known.String())
	return errors.Join(err, records.Close(), os.WriteFile(w.inventory, []byte(inventory.String()), 0o600), w.configure(0))
}

// tmp returns the directory of bolt's private directories on targets.
func (w *world) tmp() string { return filepath.Join(w.farm.Dir, "tmp") }

// configure rewrites ssh_config, atomically. A change is of one of two kinds:
// without an effect, or one that requires new connections.
func (w *world) configure(change int) error {
	text := fmt.Sprintf("# change %d\nHost 127.*\n    UserKnownHostsFile %s\n    StrictHostKeyChecking yes\n    IdentitiesOnly yes\n    ServerAliveInterval %d\n    ServerAliveCountMax %d\n    ConnectTimeout %d\n",
		change, filepath.Join(w.farm.Home(), ".ssh", "known_hosts"), aliveInterval, aliveMisses, 10-change/2%2)
	name := w.farm.SSHConfig()
	if err := os.WriteFile(name+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// reconfigure changes ssh_config once more.
func (w *world) reconfigure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes++
	return w.configure(w.changes)
}

// servers returns the process IDs of the farm's listening servers.
func (w *world) servers() []int {
	files, err := filepath.Glob(filepath.Join(w.farm.Dir, "sshd-*.pid"))
	if err != nil {
		return nil
	}
	var pids []int
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (w *world) close() error {
	for _, l := range w.links {
		l.close()
	}
	return w.farm.Stop()
}
