package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bolt/bench/measure"
)

// A contestant is one way to do some work.
type contestant struct {
	name    string
	program measure.Program
	behind  []int  // other processes that work for it
	burst   int    // runs in each turn; 0: one
	warm    string // program's last argument in the run that is not counted, if a whole run takes minutes; "" means no change

	samples []measure.Sample
	behinds []time.Duration // processor time of the other processes for a run
}

// calm is the pause after each turn, in which the other processes of a
// contestant finish their work.
const calm = 100 * time.Millisecond

// turns runs contestants in turns, after one run of each that is not counted.
func turns(ctx context.Context, runs int, list []*contestant) error {
	for turn := range runs + 1 {
		for _, c := range list {
			if err := c.turn(ctx, turn > 0); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return nil
}

func (c *contestant) turn(ctx context.Context, counts bool) error {
	before, err := measure.Sum(c.behind)
	if err != nil {
		return err
	}
	burst, p := max(c.burst, 1), c.program
	if !counts {
		burst = 1
		if c.warm != "" {
			p.Argv = append(slices.Clone(p.Argv[:len(p.Argv)-1]), c.warm)
		}
	}
	for range burst {
		s, err := measure.Run(ctx, p)
		if err != nil {
			return err
		}
		if counts {
			c.samples = append(c.samples, s)
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(calm):
	}
	after, err := measure.Sum(c.behind)
	if counts {
		c.behinds = append(c.behinds, (after-before)/time.Duration(burst))
	}
	return err
}

// A cost is the cost of a run, as medians.
type cost struct {
	wall, own, behind time.Duration
	peak              int64
}

func (c *contestant) cost() cost {
	m := measure.Median(c.samples)
	behind := slices.Sorted(slices.Values(c.behinds))[len(c.behinds)/2]
	return cost{m.Wall, m.CPU, behind, m.MaxRSS}
}

func (c cost) cpu() time.Duration { return c.own + c.behind }

// less returns the difference of two costs.
func (c cost) less(b cost) cost {
	return cost{c.wall - b.wall, c.own - b.own, c.behind - b.behind, c.peak}
}

// over divides a cost.
func (c cost) over(n int) cost {
	d := time.Duration(n)
	return cost{c.wall / d, c.own / d, c.behind / d, c.peak}
}

// cells returns the figures of a cost, and their ratios to another cost.
func (c cost) cells(base cost) []string {
	return []string{ms(c.wall), ms(c.own), ms(c.behind), times(c.wall, base.wall), times(c.cpu(), base.cpu())}
}

// costHeader returns the headings for cells.
func costHeader(base string) []string {
	return []string{"wall ms", "CPU ms", "CPU ms behind", "wall ÷ " + base, "CPU ÷ " + base}
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()*1e3) }

func times(d, base time.Duration) string {
	if base <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(d)/float64(base))
}

func mib(n int64) string { return fmt.Sprintf("%.0f", float64(n)/(1<<20)) }
