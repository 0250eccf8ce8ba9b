package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"bolt/bench/measure"
	"bolt/rollout"
	"bolt/rollout/driver"
	"bolt/rollout/gate"
	"bolt/rollout/ledger"
	"bolt/rollout/strategy"
	"bolt/store/files"
)

// crowd is the number of nodes of the part status.
const crowd = 10_000

// status measures "bolt rollout status" of a rollout of many nodes that has ended. The nodes are simulated.
func (b *bench) status(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "bolt-bench.")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := simulate(ctx, dir); err != nil {
		return err
	}
	var list []*contestant
	for _, format := range []string{"human", "json"} {
		list = append(list, &contestant{
			name:    "bolt rollout status --format " + format,
			program: measure.Program{Argv: []string{b.bolt, "rollout", "status", "--state", dir, "--format", format}, Dir: dir},
		})
	}
	runs := 10 * b.runs // they are short
	if err := turns(ctx, runs, true, list...); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\n### Status of a rollout of %d nodes, %d turns\n\n", crowd, runs)
	var rows [][]string
	for _, c := range list {
		m := measure.Median(c.samples)
		rows = append(rows, []string{c.name, seconds(m.Wall), seconds(m.CPU), mib(m.MaxRSS)})
	}
	return measure.Markdown(b.out, 1, []string{"command", "wall s", "CPU s", "peak MiB"}, rows)
}

// simulate makes a store with a rollout of many nodes that has succeeded.
func simulate(ctx context.Context, dir string) error {
	st, err := strategy.Read([]byte("strategy: {waves: [{count: 1}, {percent: 10}, {rest: true}], concurrency: {max: 100}}"), "s.yaml")
	if err != nil {
		return err
	}
	spec := rollout.Spec{Rollout: ledger.NewID("bench", time.Now()), Release: fmt.Sprintf("%064d", 2), Sequence: 2, Strategy: *st, Author: "bench"}
	for i := range crowd {
		spec.Nodes = append(spec.Nodes, rollout.Node{
			Name: fmt.Sprintf("node%05d.example.com", i), Release: spec.Release, Catalog: fmt.Sprintf("%064d", i),
			Previous: fmt.Sprintf("%064d", 1), PreviousCatalog: fmt.Sprintf("%064d", i+1),
		})
	}
	c, err := rollout.New(spec)
	if err != nil {
		return err
	}
	s, err := files.Open(ctx, dir)
	if err != nil {
		return err
	}
	if err := ledger.In(s).Create(ctx, c, "bench"); err != nil {
		return err
	}
	end, err := driver.Drive(ctx, driver.Options{Logs: s, Rollout: spec.Rollout, Session: "s", Holder: "bench", User: "bench", Fleet: instant{}, Checks: instant{}})
	if err == nil && end.Phase != rollout.Succeeded {
		err = fmt.Errorf("the rollout is %s: %s", end.Phase, end.Reason)
	}
	return err
}

// instant simulates nodes on which a run takes no time.
type instant struct{}

func (instant) Apply(_ context.Context, r *driver.Run) driver.Result {
	r.Began()
	return driver.Result{Outcome: rollout.OutcomeDone, Changed: true, Changes: 1, Catalog: r.Node.Catalog}
}

func (instant) Ask(context.Context, *driver.Run) driver.Result {
	return driver.Result{Outcome: rollout.OutcomeLost}
}

func (instant) Hook(context.Context, *driver.Hook) error { return nil }

func (instant) Measure(context.Context, *driver.Measurement) (gate.Outcome, any, string) {
	return gate.Successful, nil, ""
}
