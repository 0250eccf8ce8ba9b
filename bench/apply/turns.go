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
	prepare func() error // before each run; nil: nothing
	near    []int        // other processes that work for it: daemons
	far     []int        // processes that start the work on the targets
	peak    int64        // memory of the helper

	samples []measure.Sample
	nears   []time.Duration
	fars    []time.Duration
}

// calm is the pause after each turn, in which the processes of a contestant finish.
const calm = 200 * time.Millisecond

// turns runs contestants in turns. If warm is set, the first run of each is not counted.
func turns(ctx context.Context, runs int, warm bool, list ...*contestant) error {
	for turn := range runs + 1 {
		for _, c := range list {
			if turn == 0 && !warm {
				continue
			}
			if err := c.turn(ctx, turn > 0); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return nil
}

func (c *contestant) turn(ctx context.Context, counts bool) error {
	if c.prepare != nil {
		if err := c.prepare(); err != nil {
			return err
		}
	}
	near, err := measure.Sum(c.near)
	if err != nil {
		return err
	}
	far, err := measure.FamilyCPU(c.far...)
	if err != nil {
		return err
	}
	sample, err := measure.Run(ctx, c.program)
	if err != nil {
		return err
	}
	time.Sleep(calm)
	if !counts {
		return nil
	}
	nearAfter, err := measure.Sum(c.near)
	if err != nil {
		return err
	}
	farAfter, err := measure.FamilyCPU(c.far...)
	c.samples = append(c.samples, sample)
	c.nears, c.fars = append(c.nears, nearAfter-near), append(c.fars, farAfter-far)
	return err
}

// A cost is the time and memory of a run, as medians.
type cost struct {
	wall, cpu, far time.Duration
	peak, helper   int64
}

func (c *contestant) cost() cost {
	m := measure.Median(c.samples)
	return cost{m.Wall, m.CPU + middle(c.nears), middle(c.fars), m.MaxRSS, c.peak}
}

func middle(list []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

var costHeader = []string{"wall s", "controller CPU s", "target CPU s", "controller peak MiB", "helper peak MiB", "wall ÷ bolt's", "CPU ÷ bolt's"}

// table prints the costs of contestants.
func (b *bench) table(list []*contestant) error {
	return measure.Markdown(b.out, 1, append([]string{"tool"}, costHeader...), rows(list))
}

// rows returns the costs of contestants with their ratios to the first.
func rows(list []*contestant) (rows [][]string) {
	base := list[0].cost()
	for _, c := range list {
		m := c.cost()
		rows = append(rows, []string{c.name, seconds(m.wall), seconds(m.cpu), seconds(m.far), mib(m.peak), mib(m.helper), ratio(m.wall, base.wall), ratio(m.cpu+m.far, base.cpu+base.far)})
	}
	return rows
}

func seconds(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", d.Seconds())
}

func mib(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", float64(n)/(1<<20))
}

func ratio(d, base time.Duration) string {
	return fmt.Sprintf("%.1f", float64(d)/float64(max(base, time.Microsecond)))
}
