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

// The measured task, and a command that does the same.
const (
	taskName     = "bench::greet"
	taskScript   = "#!/bin/sh\necho \"hello $PT_name, $PT_count times\"\n"
	taskMetadata = `{"parameters": {"name": {"type": "String[1]"}, "count": {"type": "Integer[1,10]"}}}`
	sameCommand  = "/bin/echo hello you, 3 times"

	// A task with a file beside it.
	bulkyName     = "bench::bulky"
	bulkyScript   = "#!/bin/sh\nwc -c <\"$PT__installdir/bench/files/large\"\n"
	bulkyMetadata = `{"files": ["bench/files/large"]}`
	bulkySize     = 200 << 10
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
		if err := writeTask(filepath.Join(f.Dir, "modules")); err != nil {
			return errors.Join(append(failures, err, f.Stop())...)
		}
		rows, err := on(ctx, o, f, o.atOnce, wanted{masters: true}, func(s *scene) []tool { return s.taskTools(ctx) })
		all = append(all, rows...)
		failures = append(failures, err, f.Stop())
	}
	return errors.Join(append(failures, print(w, "A shell task with two parameters, and commands that do the same", o.pause, all))...)
}

// taskTools returns the ways to do the work of the task.
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

// writeTask writes the module with the tasks into a directory.
func writeTask(modules string) error {
	dir := filepath.Join(modules, "bench")
	err := errors.Join(os.MkdirAll(filepath.Join(dir, "tasks"), 0o755), os.MkdirAll(filepath.Join(dir, "files"), 0o755))
	for name, text := range map[string]string{
		"tasks/greet.sh": taskScript, "tasks/greet.json": taskMetadata, "tasks/bulky.sh": bulkyScript, "tasks/bulky.json": bulkyMetadata,
		"files/large": string(makeLarge()[:bulkySize]),
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	return err
}
