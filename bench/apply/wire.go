package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bolt/bench/measure"
)

// farAway is a round-trip time that is long compared with the work.
const farAway = 200 * time.Millisecond

// narrow is a network like that of a branch office.
var narrow = line{roundTrip: 20 * time.Millisecond, rate: 10_000_000}

// wire measures the bytes of applies on one target, and their round trips: the additional time over a
// network with a long round-trip time.
func (b *bench) wire(ctx context.Context) error {
	near, err := b.crossings(ctx, line{})
	if err != nil {
		return err
	}
	far, err := b.crossings(ctx, line{roundTrip: farAway})
	if err != nil {
		return err
	}
	slow, err := b.crossings(ctx, narrow)
	if err != nil {
		return err
	}
	var rows [][]string
	for i, c := range near {
		trips := float64(far[i].wall-c.wall) / float64(farAway)
		rows = append(rows, []string{c.name, fmt.Sprint(c.bytes), seconds(c.wall), fmt.Sprintf("%.1f", trips), seconds(slow[i].wall)})
	}
	fmt.Fprintf(b.out, "\n### %d files on one target with an open connection: bytes in both directions, and round trips\n\n", b.resources)
	return measure.Markdown(b.out, 1, []string{"run", "bytes", "wall s", "round trips", "wall s, 10 Mbit/s and 20 ms"}, rows)
}

// A crossing is the network use of a run. The quickest run is used, because round trips are a
// difference.
type crossing struct {
	name  string
	bytes int64
	wall  time.Duration
}

func (b *bench) crossings(ctx context.Context, net line) (list []crossing, err error) {
	s, err := b.stage(ctx, 1, net)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	manifest, err := s.manifest(b.resources)
	if err != nil {
		return nil, err
	}
	apply, command, bare := s.bolt(manifest, "required"), s.bolt(manifest, "required"), s.bolt(manifest, "required", noFacts)
	command.Argv = append([]string{b.bolt, "command", "run", "true"}, command.Argv[3:]...)
	for _, w := range []struct {
		name    string
		prepare []func() error
		run     measure.Program
	}{
		{"first apply, with the helper", []func() error{s.clear, s.forget}, bare},
		{"a catalog that the target does not have, all files new", []func() error{s.clear, s.forgetCatalogs}, bare},
		{"a catalog that the target has, all files new", []func() error{s.clear}, bare},
		{"unchanged", nil, bare},
		{"unchanged, --noop", nil, s.bolt(manifest, "required", noFacts, "--noop")},
		{"unchanged, with facts", nil, apply},
		{"for comparison: bolt command run true", nil, command},
	} {
		best := crossing{name: w.name}
		for turn := range b.runs {
			c, err := s.cross(ctx, net.roundTrip, w.run, w.prepare)
			if err != nil {
				return nil, err
			}
			if turn == 0 || c.wall < best.wall {
				best.bytes, best.wall = c.bytes, c.wall
			}
		}
		list = append(list, best)
	}
	return list, nil
}

// cross measures one run.
func (s *scene) cross(ctx context.Context, roundTrip time.Duration, p measure.Program, prepare []func() error) (c crossing, err error) {
	for _, f := range prepare {
		if err := f(); err != nil {
			return c, err
		}
	}
	if err := s.warmUp(ctx); err != nil {
		return c, err
	}
	time.Sleep(2*roundTrip + calm) // the connection prepares itself
	before := s.carried()
	sample, err := measure.Run(ctx, p)
	if err != nil {
		return c, err
	}
	time.Sleep(2*roundTrip + calm)
	return crossing{bytes: s.carried() - before, wall: sample.Wall}, nil
}
