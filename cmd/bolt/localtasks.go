package main

import (
	"context"
	"errors"
	"strings"

	"bolt/event"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/inventory/plugin"
	"bolt/run"
	"bolt/tasks"
	"bolt/transport/local"
	"bolt/transport/option"
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
	var result *event.Result
	runner := run.New(local.NewDialer(local.Options{Logger: l.app.log}), run.Options{Log: l.app.log, Timeout: l.app.timeout()})
	_ = runner.Run(ctx, action, []*inventory.Target{here}, event.Func(func(_ context.Context, e event.Event) error {
		if end, ok := e.(event.TargetEnd); ok {
			result = end.Result
		}
		return nil
	}))
	if !result.OK() {
		return nil, &fault.Error{Kind: result.Err.Kind, Code: result.Err.Code, Msg: result.Err.Msg, Details: result.Err.Details}
	}
	return result.Value, nil
}

// target returns this machine as a target whose only setting is the interpreters of
// the transport local. Other settings in files and on the command line (--run-as,
// --tmpdir) are for targets.
func (l localTasks) target(ctx context.Context) (*inventory.Target, error) {
	a := l.app
	config := make(map[string]*ordered.Map)
	if found := a.localInterpreters(ctx); found.Len() > 0 {
		config[local.Protocol] = ordered.Of("interpreters", found)
	}
	inv, err := inventory.New(ctx, &ordered.Map{}, inventory.Options{
		Transports: []option.Transport{local.Transport()}, Config: config, Project: a.project.Dir, Home: home(a.sys), Warn: a.logs.Warn,
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

// localInterpreters returns the interpreters of the transport local. The inventory's
// config for all targets overrides configuration files. An inventory that uses
// plugins for them is ignored, because it could need the plugin that is about to
// run. The code that reads the inventory reports its errors.
func (a *app) localInterpreters(ctx context.Context) *ordered.Map {
	all := &ordered.Map{}
	add := func(options *ordered.Map) {
		found, _ := options.Value("interpreters").(*ordered.Map)
		for ext, v := range found.All() {
			switch v.(type) {
			case string, []any:
				all.Set(ext, v)
			}
		}
	}
	add(a.config.Transports[local.Protocol])
	if data, _, err := a.inventoryData(ctx); err == nil {
		config, _ := data.Value("config").(*ordered.Map)
		options, _ := config.Value(local.Protocol).(*ordered.Map)
		add(options)
	}
	all.Delete("_plugin")
	return all
}
