package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bolt/bench/daemon"
	"bolt/bench/farm"
	"bolt/bench/measure"
)

// A scene is a farm to which a daemon holds connections, with plans.
type scene struct {
	*farm.Farm
	o      options
	daemon *daemon.Daemon
	pid    int // the daemon's
}

// open starts a daemon for a farm, and the connections. It owns the farm from
// then on, also if there is an error.
func open(ctx context.Context, o options, f *farm.Farm) (s *scene, err error) {
	s = &scene{Farm: f, o: o}
	if s.daemon, err = daemon.New(o.bolt, f.Home()); err == nil {
		err = s.daemon.Start(ctx)
	}
	var status daemon.Status
	if err == nil {
		status, err = s.daemon.Status(ctx)
	}
	if err == nil {
		s.pid = status.PID
		_, err = measure.Run(ctx, s.bolt("command", "run", "true"))
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

// bolt returns an action of bolt on all targets, through the daemon.
func (s *scene) bolt(args ...string) measure.Program {
	argv := append([]string{s.o.bolt}, args...)
	return measure.Program{Argv: append(argv, "-t", "all", "-i", s.Inventory(), "--pool", "required"), Env: s.daemon.Env(), Dir: s.Dir}
}

// plan writes a plan of the module bench, and returns a run of it. body is in
// the language, and has $targets.
func (s *scene) plan(name, body string, options ...string) (measure.Program, error) {
	modules, err := writePlan(s.Dir, name, body)
	return s.bolt(append([]string{"plan", "run", "bench::" + name, "-m", modules}, options...)...), err
}

// writePlan writes a plan below dir, and returns the path of its modules.
func writePlan(dir, name, body string) (modules string, err error) {
	modules = filepath.Join(dir, "modules")
	plans := filepath.Join(modules, "bench", "plans")
	if err := os.MkdirAll(plans, 0o755); err != nil {
		return "", err
	}
	text := fmt.Sprintf("plan bench::%s(Optional[TargetSpec] $targets = undef) {\n%s}\n", name, body)
	return modules, os.WriteFile(filepath.Join(plans, name+".pp"), []byte(text), 0o644)
}

// commands returns the body of a plan of n steps.
func commands(n int, line string) string {
	return strings.Repeat(fmt.Sprintf("  run_command('%s', $targets)\n", line), n)
}
