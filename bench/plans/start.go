package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"bolt/bench/measure"
)

// startBurst is the number of runs of short programs in a turn.
const startBurst = 10

// start measures the cost of the language at the start of a plan.
func start(ctx context.Context, o options, w io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "bolt-bench.")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if _, err := writePlan(dir, "empty", ""); err != nil {
		return err
	}
	modules, err := writePlan(dir, "here", "  run_command('true', 'localhost')\n")
	if err != nil {
		return err
	}
	contest := func(name string, args ...string) *contestant {
		p := measure.Program{Argv: append([]string{o.bolt}, args...), Env: []string{"HOME=" + dir, "SSH_AUTH_SOCK=", "BOLT_POOL=off"}, Dir: dir}
		return &contestant{name: name, program: p, burst: startBurst}
	}
	list := []*contestant{
		contest("bolt command run true, on this machine", "command", "run", "true", "-t", "localhost"),
		contest("bolt plan run, a plan without a step", "plan", "run", "bench::empty", "-m", modules),
		contest("bolt plan run, true on this machine", "plan", "run", "bench::here", "-m", modules),
		contest("bolt --version", "--version"),
	}
	if err := turns(ctx, o.runs, list); err != nil {
		return err
	}
	base := list[0].cost()
	var rows [][]string
	for _, c := range list {
		k := c.cost()
		rows = append(rows, []string{c.name, ms(k.wall), ms(k.own), mib(k.peak), times(k.wall, base.wall), times(k.own, base.own)})
	}
	fmt.Fprintf(w, "\n### A plan's start, %d runs\n\n", o.runs*startBurst)
	return measure.Markdown(w, 1, []string{"", "wall ms", "CPU ms", "peak MiB", "wall ÷ command run's", "CPU ÷ command run's"}, rows)
}
