package main

import (
	"context"

	"bolt/cli/collecting"
	"bolt/facts"
	"bolt/format/ordered"
	"bolt/run"
)

// collecting returns the parts of this invocation that the commands about facts use.
func (a *app) collecting() *collecting.Invocation {
	return &collecting.Invocation{
		Version: version, Out: results{a.sys.out}, Console: a.Console, List: a.listOptions(), Logs: a.logs, Log: a.log,
		Store: a.sources.Facts(), MaxAge: a.config.FactMaxAge, Targets: a.sources.Targets, PuppetDB: a.sources.PuppetDB, Task: a.factsTask,
		Helper: a.applying().Collector, Act: a.running().ActAmong,
	}
}

// factsTask returns the task that collects facts.
func (a *app) factsTask(ctx context.Context) (task run.Action, builtIn bool, err error) {
	t, err := a.tasks.Find(ctx, facts.Task)
	if err != nil {
		return nil, false, err
	}
	task, err = a.taskAction(ctx, a.tasks, t, &ordered.Map{}, false)
	return task, t.Module.BuiltIn(), err
}
