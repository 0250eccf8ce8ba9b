package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bolt/bench/daemon"
	"bolt/bench/farm"
	"bolt/bench/measure"
)

// A scene is a farm to which a daemon holds connections, with a project.
type scene struct {
	*farm.Farm
	b         *bench
	daemon    *daemon.Daemon
	pid       int   // the daemon's
	listeners []int // the servers'
	carried   func() int64
	cleared   int
}

// A line is the network between bolt and the targets.
type line struct {
	roundTrip time.Duration
	rate      int64 // bits per second; 0 is no limit
}

// stage starts a farm of n targets, with a network, and a daemon. Each target keeps the helper and
// journals in its own directory.
func (b *bench) stage(ctx context.Context, n int, net line) (s *scene, err error) {
	f, err := farm.Real(ctx, n, true)
	if err != nil {
		return nil, err
	}
	s = &scene{Farm: f, b: b}
	s.listeners, err = f.Listeners()
	if err == nil {
		s.carried, err = f.Network(net.roundTrip, net.rate)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(f.Dir, "bolt-project.yaml"), []byte("name: bench\napply-settings:\n  dir: state\n"), 0o644)
	}
	if err == nil {
		s.daemon, err = daemon.New(b.bolt, f.Home())
	}
	if err == nil {
		err = s.daemon.Start(ctx)
	}
	var status daemon.Status
	if err == nil {
		status, err = s.daemon.Status(ctx)
		s.pid = status.PID
	}
	if err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

func (s *scene) close(ctx context.Context) error {
	var failures []error
	if s.daemon != nil {
		failures = append(failures, s.daemon.Stop(ctx))
	}
	return errors.Join(append(failures, s.Stop())...)
}

// noFacts is the option to use only the facts of the inventory.
const noFacts = "--no-collect-facts"

// bolt applies a manifest to all targets.
func (s *scene) bolt(manifest, pool string, options ...string) measure.Program {
	argv := []string{s.b.bolt, "apply", manifest, "-t", "all", "-i", s.Inventory(), "--pool", pool, "--no-verbose"}
	return measure.Program{Argv: append(argv, options...), Env: s.daemon.Env(), Dir: s.Dir}
}

// warmUp opens the connections.
func (s *scene) warmUp(ctx context.Context) error {
	_, err := measure.Run(ctx, measure.Program{Argv: []string{s.b.bolt, "command", "run", "true", "-t", "all", "-i", s.Inventory(), "--pool", "required"}, Env: s.daemon.Env(), Dir: s.Dir})
	return err
}

// tree returns the directory of the files of a target.
func (s *scene) tree(target string) string { return filepath.Join(s.Dir, "trees", target) }

// manifest writes a manifest of n files for each target.
func (s *scene) manifest(n int) (file string, err error) {
	file = filepath.Join(s.Dir, fmt.Sprintf("files%d.pp", n))
	return file, os.WriteFile(file, []byte(manifest(n, s.tree("${trusted['certname']}"))), 0o644)
}

// manifest declares a directory with n files.
func manifest(n int, dir string) string {
	return fmt.Sprintf(`$dir = "%s"
file { $dir: ensure => directory }
Integer[1, %d].each |$i| {
  file { "${dir}/f${i}":
    ensure  => file,
    content => "number ${i}\n",
    mode    => '0644',
  }
}
`, dir, n)
}

// clear removes the files of all targets by moving them. ext4 creates files slowly after many were removed,
// because it does not use their inodes again for some seconds.
func (s *scene) clear() error {
	s.cleared++
	trees := filepath.Join(s.Dir, "trees")
	err := os.Rename(trees, filepath.Join(s.Dir, fmt.Sprintf("trees-%d", s.cleared)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Mkdir(trees, 0o755)
}

// forget removes the helpers and their files.
func (s *scene) forget() error { return s.remove("state") }

// forgetCatalogs removes the catalogs that the helpers have stored.
func (s *scene) forgetCatalogs() error { return s.remove("state/catalogs") }

// remove removes a directory of the targets, below the directory in which their sessions start.
func (s *scene) remove(name string) error {
	states, err := filepath.Glob(filepath.Join(s.Dir, "targets", "*", name))
	for _, dir := range states {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// helperPeak returns the largest resident size of a helper on the targets while a program runs.
func (s *scene) helperPeak(ctx context.Context, p measure.Program) (peak int64, err error) {
	ended := make(chan error, 1)
	go func() {
		_, err := measure.Run(ctx, p)
		ended <- err
	}()
	for {
		select {
		case err := <-ended:
			return peak, err
		case <-time.After(time.Millisecond):
			family, err := measure.Family(s.listeners...)
			if err != nil {
				return peak, errors.Join(err, <-ended)
			}
			for _, pid := range family {
				if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && strings.HasPrefix(filepath.Base(exe), "helper-") {
					if size, err := measure.Peak(pid); err == nil { // otherwise it has ended
						peak = max(peak, size)
					}
				}
			}
		}
	}
}
