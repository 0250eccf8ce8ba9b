package main

import (
	"context"
	"errors"
	"strings"

	"bolt/internal/fault"
	"bolt/internal/ordered"
	"bolt/inventory"
	"bolt/inventory/plugin"
	"bolt/run"
	"bolt/tasks"
	"bolt/transport/local"
)

// localTasks are tasks as plugins use them: they run on this machine, whatever
// the inventory says of it, which may be in the making.
type localTasks struct{ app *app }

var _ plugin.Tasks = localTasks{}

// Parameters implements plugin.Tasks.
func (l localTasks) Parameters(ctx context.Context, name string) (names []string, any, ok bool, err error) {
	t, err := l.app.tasks().Find(ctx, name)
	if f, is := errors.AsType[*fault.Error](err); is && f.Kind == tasks.UnknownTask {
		return nil, false, false, nil
	}
	if err != nil {
		return nil, false, false, err
	}
	for i := range t.Parameters {
		names = append(names, t.Parameters[i].Name)
	}
	return names, !t.Typed, true, nil
}

// Run implements plugin.Tasks.
func (l localTasks) Run(ctx context.Context, name string, params *ordered.Map, runAs string) (*ordered.Map, error) {
	library := l.app.tasks()
	t, err := library.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	declared, own := &ordered.Map{}, &ordered.Map{}
	for k, v := range params.All() {
		if strings.HasPrefix(k, "_") {
			own.Set(k, v)
		} else {
			declared.Set(k, v)
		}
	}
	checked, err := t.Check(declared)
	if f, is := errors.AsType[*fault.Error](err); is { // what is wrong is in the inventory, not on the command line
		return nil, &fault.Error{Kind: "bolt/validation-error", Msg: f.Msg, Details: f.Details, Err: err}
	}
	if err != nil {
		return nil, err
	}
	for k, v := range own.All() {
		checked.Set(k, v)
	}
	action, err := library.Run(ctx, t, checked, tasks.RunOptions{RunAs: runAs, Natives: l.app.natives()})
	if err != nil {
		return nil, err
	}
	here, err := l.target(ctx)
	if err != nil {
		return nil, err
	}
	var result *run.Result
	runner := run.New(local.NewDialer(local.Options{Logger: l.app.log}), run.Options{Log: l.app.log, Timeout: l.app.timeout()})
	runner.Run(ctx, action, []*inventory.Target{here}, func(e run.Event) {
		if e.Kind == run.Finished {
			result = e.Result
		}
	})
	if !result.OK() {
		return nil, &fault.Error{Kind: result.Err.Kind, Code: result.Err.Code, Msg: result.Err.Msg, Details: result.Err.Details}
	}
	return result.Value, nil
}

// target is this machine as it is, without any settings: those of files and of
// the command line (--run-as, --tmpdir) are about targets.
func (l localTasks) target(ctx context.Context) (*inventory.Target, error) {
	a := l.app
	inv, err := inventory.New(ctx, &ordered.Map{}, inventory.Options{
		Transport: "local", Project: a.project.Dir, Home: home(a.sys), Warn: a.logs.Warn,
	})
	if err != nil {
		return nil, err
	}
	targets, err := inv.Targets(ctx, []string{"localhost"})
	if err != nil {
		return nil, err
	}
	return targets[0], nil
}
