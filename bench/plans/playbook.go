package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"bolt/bench/ansible"
	"bolt/bench/farm"
	"bolt/bench/masters"
	"bolt/bench/measure"
)

// playLine is the command of each task: a program, like nearly all commands.
const playLine = "/bin/echo hello"

// playbook measures a plan and playbooks of equal tasks, each on open
// connections.
func playbook(ctx context.Context, o options, w io.Writer) (err error) {
	f, err := farm.Real(ctx, o.played, false)
	if err != nil {
		return err
	}
	s, err := open(ctx, o, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	m, err := masters.Start(ctx, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Stop()) }()
	plan, err := s.plan("play", commands(o.tasks, playLine))
	if err != nil {
		return err
	}
	list := []*contestant{{name: "bolt plan run", program: plan, behind: []int{s.pid}}}
	environ := ansible.Environ("-F "+m.Config, s.Dir)
	for _, p := range []struct {
		name, module string
		environ      []string
		left         bool // it cannot be done
	}{
		{name: "ansible-playbook", module: "ansible.builtin.command"},
		{name: "ansible-playbook, raw: without Python", module: "ansible.builtin.raw"},
		{name: "ansible-playbook with mitogen", module: "ansible.builtin.command", environ: ansible.Mitogen(ctx), left: ansible.Mitogen(ctx) == nil},
	} {
		if p.left {
			fmt.Fprintf(os.Stderr, "plans: %s: not installed, left out\n", p.name)
			continue
		}
		file, err := s.writePlaybook(p.module, o.tasks)
		if err != nil {
			return err
		}
		short, err := s.writePlaybook(p.module, 1)
		if err != nil {
			return err
		}
		list = append(list, &contestant{name: p.name, behind: m.PIDs(), warm: short, program: measure.Program{
			Argv: []string{"ansible-playbook", "-i", filepath.Join(s.Dir, "hosts"), "-f", strconv.Itoa(o.played), file},
			Env:  append(p.environ, environ...), Dir: s.Dir,
		}})
	}
	if err := turns(ctx, o.plays, list); err != nil {
		return err
	}
	base := list[0].cost()
	var rows [][]string
	for _, c := range list {
		rows = append(rows, append([]string{c.name}, c.cost().cells(base)...))
	}
	fmt.Fprintf(w, "\n### %d tasks, `%s` on %d warm targets, %d turns\n\n", o.tasks, playLine, o.played, o.plays)
	return measure.Markdown(w, 1, append([]string{""}, costHeader("bolt's")...), rows)
}

// writePlaybook writes a playbook of n equal tasks.
func (s *scene) writePlaybook(module string, n int) (file string, err error) {
	var b strings.Builder
	b.WriteString("- hosts: all\n  gather_facts: false\n  tasks:\n")
	for range n {
		fmt.Fprintf(&b, "    - %s: %s\n", module, playLine)
	}
	file = filepath.Join(s.Dir, fmt.Sprintf("%s-%d.yml", module, n))
	return file, os.WriteFile(file, []byte(b.String()), 0o644)
}
