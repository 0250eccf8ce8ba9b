package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"bolt/bench/measure"
)

// files measures one target with many files, which are new or have the desired state.
func (b *bench) files(ctx context.Context) (err error) {
	s, err := b.stage(ctx, 1, line{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	for _, n := range b.sizes {
		if err := s.files(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) files(ctx context.Context, n int) error {
	if err := s.clear(); err != nil {
		return err
	}
	manifest, err := s.manifest(n)
	if err != nil {
		return err
	}
	var pp *puppet
	if s.b.puppet != "" {
		if pp, err = s.puppet(n); err != nil {
			return err
		}
	}
	runs, sizes := s.b.runs, s.b.sizes
	if len(sizes) > 1 && n == slices.Max(sizes) {
		runs = s.b.large
	}
	for _, way := range []struct {
		name    string
		prepare func() error
		options []string
	}{
		{name: "new", prepare: s.clear},
		{name: "unchanged"},
		{name: "unchanged, --noop", options: []string{"--noop"}},
	} {
		list := []*contestant{
			{name: "bolt, warm", program: s.bolt(manifest, "required", way.options...), near: []int{s.pid}},
			{name: "bolt, warm, no facts", program: s.bolt(manifest, "required", append(way.options, noFacts)...), near: []int{s.pid}},
			{name: "bolt, no daemon, no facts", program: s.bolt(manifest, "off", append(way.options, noFacts)...)},
		}
		for _, c := range list {
			c.far, c.prepare = s.listeners, way.prepare
		}
		ours := len(list)
		if pp != nil {
			for _, own := range []bool{true, false} {
				name := "puppet apply"
				if !own {
					name += ", no facts"
				}
				list = append(list, &contestant{name: name, prepare: way.prepare, program: pp.apply(own, way.options...)})
			}
		}
		if err := turns(ctx, runs, true, list[:ours]...); err != nil { // the first run transfers the helper and the catalog
			return err
		}
		if err := turns(ctx, runs, false, list[ours:]...); err != nil {
			return err
		}
		for _, c := range list[:ours] {
			if way.prepare != nil {
				if err := way.prepare(); err != nil {
					return err
				}
			}
			if c.peak, err = s.helperPeak(ctx, c.program); err != nil {
				return err
			}
		}
		fmt.Fprintf(s.b.out, "\n### %d files, %s, %d runs each\n\n", n, way.name, runs)
		if err := s.b.table(list); err != nil {
			return err
		}
	}
	return nil
}

// A puppet is an installed Puppet with its own directories.
type puppet struct {
	program, dir, manifest string
}

// puppet prepares a Puppet for a manifest of n files, the same as those of the first
// target.
func (s *scene) puppet(n int) (*puppet, error) {
	p := &puppet{program: s.b.puppet, dir: filepath.Join(s.Dir, "puppet"), manifest: filepath.Join(s.Dir, fmt.Sprintf("puppet%d.pp", n))}
	facts := filepath.Join(p.dir, "var", "client_yaml", "facts")
	if err := os.MkdirAll(facts, 0o755); err != nil {
		return nil, err
	}
	return p, errors.Join(
		os.WriteFile(filepath.Join(facts, "node.yaml"), []byte("--- !ruby/object:Puppet::Node::Facts\nname: node\nvalues: {}\n"), 0o644),
		os.WriteFile(p.manifest, []byte(manifest(n, s.tree("web01"))), 0o644))
}

// apply returns a run. If own is not set, Puppet reads a file without facts.
func (p *puppet) apply(own bool, options ...string) measure.Program {
	argv := []string{p.program, "apply", p.manifest, "--certname", "node", "--log_level", "warning"}
	for _, d := range []string{"conf", "var", "log", "run"} {
		argv = append(argv, "--"+d+"dir", filepath.Join(p.dir, d))
	}
	if !own {
		argv = append(argv, "--facts_terminus", "yaml")
	}
	return measure.Program{Argv: append(argv, options...), Env: []string{"HOME=" + p.dir, "LC_ALL=C.UTF-8"}, Dir: p.dir}
}
