package main

import (
	"context"
	"errors"
	"os"
	"time"

	"bolt/bench/measure"
	"bolt/event"
	"bolt/format/yaml"
	"bolt/inventory"
	"bolt/output"
	"bolt/pool/client"
	"bolt/pool/wire"
	"bolt/run"
	"bolt/transport/all"
)

// A loop is the baseline for a plan's steps: one process that repeats the work
// of "bolt command run" on all targets, through the same client of the daemon,
// with the same output.
type loop struct {
	runs              int
	line              string
	inventory, socket string // paths
}

// program returns this program as the loop, in the environment of other
// contestants.
func (l loop) program(env []string, dir string, runs string) (measure.Program, error) {
	self, err := os.Executable()
	return measure.Program{Argv: []string{self, "-loop", runs, "-line", l.line, "-inventory", l.inventory, "-socket", l.socket}, Env: env, Dir: dir}, err
}

func (l loop) run(ctx context.Context) (err error) {
	data, err := yaml.ReadMap(ctx, l.inventory, "inventory")
	if err != nil {
		return err
	}
	inv, err := inventory.New(ctx, data, inventory.Options{Transports: all.Tables(all.List()), File: l.inventory, Home: os.Getenv("HOME")})
	if err != nil {
		return err
	}
	targets, err := inv.Lookup(ctx, []string{"all"})
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	c := client.New(client.Options{Socket: l.socket, Build: "bench", Caller: wire.Caller{Home: os.Getenv("HOME"), Dir: dir, Env: os.Environ()}})
	defer func() { err = errors.Join(err, c.Close()) }()
	for range l.runs {
		if err := command(ctx, c, l.line, targets); err != nil {
			return err
		}
	}
	return nil
}

// command runs a command line on targets, and prints the results.
func command(ctx context.Context, c *client.Client, line string, targets []*inventory.Target) error {
	view, err := output.New(output.Options{Out: os.Stdout, Verbose: true})
	if err != nil {
		return err
	}
	if err := view.Event(ctx, event.ActionBegin{Action: "command", Object: line, Targets: targets}); err != nil {
		return err
	}
	begin := time.Now()
	var failure error
	err = run.New(c, run.Options{}).Run(ctx, &run.Command{Line: line}, targets, event.Func(func(ctx context.Context, e event.Event) error {
		if end, ok := e.(event.TargetEnd); ok && !end.Result.OK() {
			failure = errors.New(end.Result.Target.Name + ": " + end.Result.Err.Msg)
		}
		return view.Event(ctx, e)
	}))
	return errors.Join(failure, err, view.Event(ctx, event.ActionEnd{Elapsed: time.Since(begin)}))
}
