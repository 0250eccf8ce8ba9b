package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"bolt/bench/ansible"
	"bolt/bench/farm"
	"bolt/bench/measure"
)

// The task that is measured, and lines that do the same: one that begins a
// program, as nearly all do, and one that a shell which stays may run.
const (
	taskName     = "bench::greet"
	taskScript   = "#!/bin/sh\necho \"hello $PT_name, $PT_count times\"\n"
	taskMetadata = `{"parameters": {"name": {"type": "String[1]"}, "count": {"type": "Integer[1,10]"}}}`
	sameCommand  = "/bin/echo hello you, 3 times"
	sameLine     = "echo hello you, 3 times"
)

// tasks measures a shell task with parameters beside commands that do the same,
// warm and cold.
func tasks(ctx context.Context, o options, w io.Writer) error {
	var all []row
	var failures []error
	for _, n := range o.sizes {
		f, err := farm.Real(ctx, n, false)
		if err != nil {
			return errors.Join(append(failures, err)...)
		}
		dir := filepath.Join(f.Dir, "modules", "bench", "tasks")
		err = errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "greet.sh"), []byte(taskScript), 0o755),
			os.WriteFile(filepath.Join(dir, "greet.json"), []byte(taskMetadata), 0o644))
		if err != nil {
			return errors.Join(append(failures, err, f.Stop())...)
		}
		rows, err := on(ctx, o, f, o.atOnce, wanted{masters: true}, func(s *scene) []tool { return s.taskTools(ctx) })
		all = append(all, rows...)
		failures = append(failures, err, f.Stop())
	}
	return errors.Join(append(failures, print(w, "A shell task with two parameters, and commands that do the same", o.pause, all))...)
}

// taskTools are the ways to do what the task does.
func (s *scene) taskTools(ctx context.Context) []tool {
	var tools []tool
	ours := func(name string, action ...string) {
		for _, t := range s.ours(action...) {
			t.name += ", " + name
			tools = append(tools, t)
		}
	}
	if s.o.bolt != "" {
		ours("task run", "task", "run", taskName, "name=you", "count=3", "-m", filepath.Join(s.Dir, "modules"))
		ours("command run", "command", "run", sameCommand)
		ours("command run, in a shell that stays", "command", "run", sameLine)
	}
	if s.masters == nil || len(s.Hosts) > ansibleLimit {
		return tools
	}
	shell := []string{"-m", "shell", "-a", sameCommand}
	peers := s.asPeers([]tool{s.ansible("ansible shell", nil, shell...)})
	if mitogen := ansible.Mitogen(ctx); mitogen != nil {
		peers = append(peers, s.asPeers([]tool{s.ansible("ansible shell with mitogen", mitogen, shell...)})...)
	}
	cold := program("ansible shell, no master", measure.Program{
		Argv: append([]string{"ansible", "all", "-i", s.hostsFile(), "-f", strconv.Itoa(s.atOnce)}, shell...),
		Env:  ansible.Environ("-F "+s.SSHConfig()+" "+farm.CheapSSH, s.Dir),
	})
	cold.cold = true
	return append(append(tools, peers...), cold)
}
