package main

import (
	"context"
	"errors"
	"time"

	"bolt/cli/collecting"
	"bolt/facts"
	"bolt/format/ordered"
	"bolt/project"
	"bolt/run"
)

// factStore returns the fact store of the project.
func (a *app) factStore() *facts.Store {
	return facts.Open(a.project.Dir, a.cacheDir("facts"), time.Now())
}

// stopped replaces the error of stopped work by errPrinted, because the user who stopped it knows
// about it.
func stopped(err error) error {
	if errors.Is(err, run.ErrStopped) {
		return errPrinted
	}
	return err
}

// cachedFacts returns stored facts of a target, for the selection of targets. It is safe for concurrent
// use.
func (a *app) cachedFacts(ctx context.Context, name string, names []string) (*ordered.Map, error) {
	a.keptMu.Lock()
	defer a.keptMu.Unlock()
	if a.kept == nil {
		a.kept = facts.NewChosen(a.factStore(), a.config.FactMaxAge)
	}
	m, err := a.kept.Of(ctx, name, names)
	return m, stopped(err)
}

// collecting returns the parts of this invocation that the commands about facts use.
func (a *app) collecting() *collecting.Invocation {
	return &collecting.Invocation{
		Version: version, Out: results{a.sys.out}, Console: a.Console, List: a.listOptions(), Logs: a.logs, Log: a.log,
		Store: a.factStore(), MaxAge: a.config.FactMaxAge, Targets: a.targets, PuppetDB: a.puppetDB, Task: a.factsTask,
		Helper: a.applying().Collector, Act: a.actAmong,
	}
}

// factsTask returns the task that collects facts.
func (a *app) factsTask(ctx context.Context) (task run.Action, builtIn bool, err error) {
	t, err := a.tasks().Find(ctx, facts.Task)
	if err != nil {
		return nil, false, err
	}
	task, err = a.taskAction(ctx, a.tasks(), t, &ordered.Map{}, false)
	return task, t.Module.BuiltIn(), err
}

// cacheDir returns a directory in the user's cache; "" if there is none.
func (a *app) cacheDir(name string) string {
	return project.UserCache(a.sys.env("XDG_CACHE_HOME"), home(a.sys), name)
}
