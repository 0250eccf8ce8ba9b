package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"bolt/bench/farm"
	"bolt/bench/measure"
)

// steps measures a plan of many steps, the same runs in a bare loop, and as
// many processes of bolt command run. The cost of a further step is computed
// without the runs of one step, so it excludes the fixed cost of a process.
func steps(ctx context.Context, o options, w io.Writer) (err error) {
	f, err := farm.Real(ctx, o.targets, false)
	if err != nil {
		return err
	}
	s, err := open(ctx, o, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	return s.stepsOf(ctx, w, "true")
}

func (s *scene) stepsOf(ctx context.Context, w io.Writer, line string) error {
	n := s.o.steps
	l := loop{line: line, inventory: s.Inventory(), socket: filepath.Join(s.daemon.Runtime(), "bolt", "pool.sock")}
	list := make([]*contestant, 0, 5)
	for _, steps := range []int{n, 1} {
		looped, err := l.program(s.daemon.Env(), s.Dir, strconv.Itoa(steps))
		if err != nil {
			return err
		}
		planned, err := s.plan(fmt.Sprintf("steps%d", steps), commands(steps, line))
		if err != nil {
			return err
		}
		burst := max(1, 10/steps) // the figures of a single short run vary too much
		list = append(list, &contestant{name: "the loop", program: looped, behind: []int{s.pid}, burst: burst},
			&contestant{name: "bolt plan run", program: planned, behind: []int{s.pid}, burst: burst})
	}
	each := s.bolt("command", "run", line)
	script := "i=0; while [ $i -lt \"$0\" ]; do \"$@\" || exit; i=$((i + 1)); done"
	each.Argv = append([]string{"sh", "-c", script, strconv.Itoa(n)}, each.Argv...)
	list = append(list, &contestant{name: "bolt command run, as many processes", program: each, behind: []int{s.pid}})
	if err := turns(ctx, s.o.runs, list); err != nil {
		return err
	}
	many, manyPlan, one, onePlan, processes := list[0].cost(), list[1].cost(), list[2].cost(), list[3].cost(), list[4].cost()
	further, furtherPlan := many.less(one).over(n-1), manyPlan.less(onePlan).over(n-1)
	row := func(name, steps string, c, base cost) []string {
		return append([]string{name, steps}, c.cells(base)...)
	}
	fmt.Fprintf(w, "\n### A plan of %d steps, `%s` on %d warm targets (an exec each), %d turns\n\n", n, line, s.o.targets, s.o.runs)
	return measure.Markdown(w, 2, append([]string{"", "runs"}, costHeader("the loop's")...), [][]string{
		row("the loop", strconv.Itoa(n), many, many), row("bolt plan run", strconv.Itoa(n), manyPlan, many),
		row(list[4].name, strconv.Itoa(n), processes, many),
		row("the loop", "1", one, one), row("bolt plan run", "1", onePlan, one),
		row("the loop", "each further", further, further), row("bolt plan run", "each further", furtherPlan, further),
	})
}
