package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"bolt/bench/ansible"
	"bolt/bench/masters"
	"bolt/bench/measure"
)

// copies measures one target, compared with playbooks of equal copy tasks.
func (b *bench) copies(ctx context.Context) (err error) {
	s, err := b.stage(ctx, 1, line{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.beside(ctx, b.resources, "new", b.runs, s.clear); err != nil {
		return err
	}
	return s.beside(ctx, b.resources, "unchanged", b.runs, nil)
}

// fleet measures many targets that have the desired state. Playbooks are measured with fewer files.
func (b *bench) fleet(ctx context.Context) (err error) {
	s, err := b.stage(ctx, b.targets, line{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.beside(ctx, b.resources, "unchanged", 0, nil); err != nil {
		return err
	}
	return s.beside(ctx, b.played, "unchanged", b.plays, nil)
}

// beside measures bolt and, if plays is not 0, that many turns of playbooks on warm connections to all
// targets.
func (s *scene) beside(ctx context.Context, files int, state string, plays int, prepare func() error) error {
	if err := s.clear(); err != nil {
		return err
	}
	manifest, err := s.manifest(files)
	if err != nil {
		return err
	}
	bolt := &contestant{name: "bolt, warm", program: s.bolt(manifest, "required", noFacts), near: []int{s.pid}, far: s.listeners, prepare: prepare}
	if err := turns(ctx, s.b.runs, true, bolt); err != nil {
		return err
	}
	if prepare == nil {
		if bolt.peak, err = s.helperPeak(ctx, bolt.program); err != nil {
			return err
		}
	}
	list := []*contestant{bolt}
	title := fmt.Sprintf("%d files on %s, %s, %d runs", files, plural(len(s.Hosts), "warm target"), state, s.b.runs)
	if plays > 0 {
		peers, err := s.playbooks(ctx, files, plays, prepare)
		if err != nil {
			return err
		}
		list = append(list, peers...)
		title += fmt.Sprintf(" of bolt and %d of each playbook", plays)
	}
	fmt.Fprintf(s.b.out, "\n### %s\n\n", title)
	return s.b.table(list)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// playbooks measures equal copy tasks, on open connections.
func (s *scene) playbooks(ctx context.Context, files, plays int, prepare func() error) (list []*contestant, err error) {
	m, err := masters.Start(ctx, s.Farm)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Stop()) }()
	file, err := s.playbook(files)
	if err != nil {
		return nil, err
	}
	environ := ansible.Environ("-F "+m.Config, s.Dir)
	mitogen := ansible.Mitogen(ctx)
	for _, p := range []struct {
		name    string
		environ []string
		left    bool // it cannot be done
	}{
		{name: "ansible-playbook"},
		{name: "ansible-playbook with mitogen", environ: mitogen, left: mitogen == nil},
	} {
		if p.left {
			fmt.Fprintf(os.Stderr, "apply: %s: not installed, left out\n", p.name)
			continue
		}
		c := &contestant{name: p.name, near: m.PIDs(), far: s.listeners, prepare: prepare, program: measure.Program{
			Argv: []string{"ansible-playbook", "-i", filepath.Join(s.Dir, "inventory.ini"), "-f", strconv.Itoa(len(s.Hosts)), file},
			Env:  append(p.environ, environ...), Dir: s.Dir,
		}}
		if err := turns(ctx, plays, false, c); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// playbook writes a playbook of n copy tasks that makes the files of the manifest, and its inventory.
func (s *scene) playbook(n int) (file string, err error) {
	var hosts, b strings.Builder
	for i, h := range s.Hosts {
		name := s.name(i)
		fmt.Fprintf(&hosts, "%s ansible_host=%s\n", name, h)
	}
	dir := s.tree("{{ inventory_hostname }}")
	fmt.Fprintf(&b, "- hosts: all\n  gather_facts: false\n  tasks:\n    - ansible.builtin.file: {path: '%s', state: directory}\n", dir)
	for i := range n {
		fmt.Fprintf(&b, "    - ansible.builtin.copy: {dest: '%s/f%d', content: \"number %d\\n\", mode: '0644'}\n", dir, i+1, i+1)
	}
	file = filepath.Join(s.Dir, "playbook.yml")
	return file, errors.Join(
		os.WriteFile(filepath.Join(s.Dir, "inventory.ini"), []byte(hosts.String()), 0o644),
		os.WriteFile(file, []byte(b.String()), 0o644))
}

// name returns the name of a target in the inventory of scripts/farm.sh: two thirds are web
// servers.
func (s *scene) name(i int) string {
	webs := (2*len(s.Hosts) + 2) / 3
	if i < webs {
		return fmt.Sprintf("web%02d", i+1)
	}
	return fmt.Sprintf("db%02d", i-webs+1)
}
