package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bolt/bench/measure"
)

// rollouts measures rollouts of a release whose catalogs the targets have, and plain applies. In each turn,
// all contestants run one after the other, and ratios are computed within a turn, so that other load of the
// machine affects both.
func (b *bench) rollouts(ctx context.Context) (err error) {
	s, err := b.stage(ctx, b.targets, line{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	manifest, err := s.manifest(b.resources)
	if err == nil {
		err = s.clear()
	}
	if err != nil {
		return err
	}
	apply := &contestant{name: "bolt apply", program: s.bolt(manifest, "required", noFacts)}
	create, start := apply.program, apply.program
	create.Argv = []string{b.bolt, "release", "create", manifest, "-t", "all", "-i", s.Inventory()}
	start.Argv = []string{b.bolt, "rollout", "start", "--ignore-drift", "--yes", "-i", s.Inventory(), "--pool", "required"}
	list := []*contestant{apply, {name: "bolt release create", program: create}, {name: "bolt rollout start", program: start}}
	for _, c := range list {
		c.near, c.far = []int{s.pid}, s.listeners
	}
	if err := turns(ctx, b.runs, true, list...); err != nil {
		return err
	}
	header := []string{"command", "wall s", "controller CPU s", "target CPU s", "wall ÷ apply's", "controller CPU ÷ apply's", "CPU ÷ apply's"}
	var rows [][]string
	for _, c := range list {
		m := c.cost()
		row := []string{c.name, seconds(m.wall), seconds(m.cpu), seconds(m.far)}
		for _, of := range []func(c *contestant, turn int) time.Duration{
			func(c *contestant, turn int) time.Duration { return c.samples[turn].Wall },
			func(c *contestant, turn int) time.Duration { return c.samples[turn].CPU + c.nears[turn] },
			func(c *contestant, turn int) time.Duration {
				return c.samples[turn].CPU + c.nears[turn] + c.fars[turn]
			},
		} {
			row = append(row, paired(c, apply, of))
		}
		rows = append(rows, row)
	}
	fmt.Fprintf(b.out, "\n### Rollout of %d unchanged files to %s, %d turns\n\n", b.resources, plural(len(s.Hosts), "warm target"), b.runs)
	return measure.Markdown(b.out, 1, header, rows)
}

// paired returns the median of the ratios of all turns.
func paired(c, base *contestant, of func(c *contestant, turn int) time.Duration) string {
	ratios := make([]float64, len(c.samples))
	for i := range ratios {
		ratios[i] = float64(of(c, i)) / float64(max(of(base, i), time.Microsecond))
	}
	slices.Sort(ratios)
	return fmt.Sprintf("%.2f", ratios[len(ratios)/2])
}
