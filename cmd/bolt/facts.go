package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"bolt/facts"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/output/listing"
	"bolt/project"
	"bolt/run"
)

// factStore is the store of the project.
func (a *app) factStore() *facts.Store {
	return facts.Open(a.project.Dir, a.cacheDir("facts"), time.Now())
}

// older are the targets whose facts are missing or of the age that --older-than
// says; without that all of them.
func (a *app) older(ctx context.Context, store *facts.Store, targets []*inventory.Target) ([]*inventory.Target, error) {
	if !a.values.has("older-than") {
		return targets, nil
	}
	age, err := project.ParseAge(a.values.last("older-than"))
	if err != nil {
		return nil, err
	}
	return store.Older(ctx, targets, age)
}

// stopped is the error of work that was ended, of which who ended it knows.
func stopped(err error) error {
	if errors.Is(err, run.ErrStopped) {
		return errPrinted
	}
	return err
}

// cachedFacts is what the inventory asks about a target when targets are chosen.
func (a *app) cachedFacts(ctx context.Context, name string, names []string) (*ordered.Map, error) {
	if a.kept == nil {
		a.kept = facts.NewChosen(a.factStore(), a.config.FactMaxAge)
	}
	m, err := a.kept.Of(ctx, name, names)
	return m, stopped(err)
}

// warnKept tells that targets were chosen by facts that are old or damaged.
func (a *app) warnKept() {
	if a.kept != nil {
		a.kept.Warn(a.logs.Warn)
	}
}

func collectFacts(ctx context.Context, a *app, o *actionOptions) error {
	store := a.factStore()
	if err := store.Prepare(store.Now); err != nil {
		return err
	}
	from, name, object := facts.FromTask, "task", facts.Task
	if a.values.last("from") == facts.FromPuppetDB {
		from, name, object = facts.FromPuppetDB, facts.Task, facts.FromPuppetDB
	}
	among := func(ctx context.Context, targets []*inventory.Target) ([]*inventory.Target, error) {
		older, err := a.older(ctx, store, targets)
		if err == nil && len(older) < len(targets) {
			a.log.Info("facts are young enough", "targets", len(targets)-len(older))
		}
		if err == nil && len(older) == 0 && len(targets) > 0 && !a.format().IsJSON() {
			fmt.Fprintf(a.console, "Nothing is collected: no facts are older than %s.\n", a.values.last("older-than"))
		}
		return older, err
	}
	return a.actAmong(ctx, o, name, object, among, func(targets []*inventory.Target) (run.Action, error) {
		action, err := a.factsAction(ctx, from, targets)
		if err != nil {
			return nil, err
		}
		return store.Keep(action, from, version), nil
	})
}

// factsAction is what tells the facts of targets.
func (a *app) factsAction(ctx context.Context, from string, targets []*inventory.Target) (run.Action, error) {
	if from == facts.FromPuppetDB {
		db := a.puppetDB()
		return facts.NewQuery(ctx, targets, func(ctx context.Context, certnames []string) (*ordered.Map, error) {
			return db.Facts(ctx, certnames, "")
		})
	}
	library := a.tasks()
	t, err := library.Find(ctx, facts.Task)
	if err != nil {
		return nil, err
	}
	return a.taskAction(ctx, library, t, &ordered.Map{}, false)
}

func showFacts(ctx context.Context, a *app, _ []string) error {
	columns, err := facts.WellKnown()
	if a.values.has("fact") {
		columns, err = facts.ParseColumns(a.values["fact"])
	}
	if err != nil {
		return hinted(usagef("Invalid parameter specified for option '--fact': %v", err), `a fact is written os.release.full, processors.models[0] or mountpoints["/srv"].size`)
	}
	targets, err := a.targets(ctx)
	if err != nil {
		return err
	}
	store := a.factStore()
	if targets, err = a.older(ctx, store, targets); err != nil {
		return stopped(err)
	}
	store.WarnDamaged(func(_, _ string) {}) // they come again
	defer store.WarnDamaged(a.logs.Warn)
	view := store.View(ctx, targets, columns, a.format().IsJSON(), a.config.FactMaxAge)
	err = listing.PrintFacts(a.sys.out, a.listOptions(), view)
	if errors.Is(err, run.ErrStopped) {
		return errPrinted
	}
	return written(err)
}

func forgetFacts(ctx context.Context, a *app, _ []string) error {
	store := a.factStore()
	n := 0
	switch {
	case choosing(a.values) || a.values.has("targets") || a.values.has("query") || a.values.has("rerun"):
		targets, err := a.targets(ctx)
		if err != nil {
			return err
		}
		if targets, err = a.older(ctx, store, targets); err != nil {
			return stopped(err)
		}
		if n, err = store.ForgetAll(targets); err != nil {
			return err
		}
	case a.values.has("older-than"):
		age, err := project.ParseAge(a.values.last("older-than"))
		if err != nil {
			return err
		}
		if n, err = store.ForgetBefore(ctx, store.Now.Add(-age)); err != nil {
			return stopped(err)
		}
	default:
		return hinted(usagef("Command requires a targeting option: '--targets', '--rerun', or '--query'; or --older-than"),
			"bolt facts forget -t all removes the facts of all targets that the inventory knows, --older-than 0 those of all others, too")
	}
	return written(listing.PrintForgotten(a.sys.out, a.listOptions(), n))
}

// cacheDir is a directory in the user's cache (XDG Base Directory
// Specification); "" if there is none.
func (a *app) cacheDir(name string) string {
	dir := a.sys.env("XDG_CACHE_HOME")
	if !filepath.IsAbs(dir) {
		h := home(a.sys)
		if h == "" {
			return ""
		}
		dir = filepath.Join(h, ".cache")
	}
	return filepath.Join(dir, "bolt", name)
}
