package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bolt/apply/remote/embedded"
	"bolt/cli"
	"bolt/cli/acting"
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

// agedOptions are about facts of an age: those that are missing or older.
type agedOptions struct {
	olderThan string
	age       *time.Duration // nil without --older-than
}

func (o *agedOptions) bind(b *cli.Binder) {
	var given cli.Optional
	if b.Optional("older-than", &given); given.Given {
		age, err := project.ParseAge(given.Text)
		if err != nil {
			b.Fail(usagef("Invalid parameter specified for option '--older-than': %v", err))
		}
		o.olderThan, o.age = given.Text, &age
	}
}

// stopped is the error of work that was ended, of which who ended it knows.
func stopped(err error) error {
	if errors.Is(err, run.ErrStopped) {
		return errPrinted
	}
	return err
}

// cachedFacts returns stored facts of a target, for the choice of targets. It is safe for concurrent use.
func (a *app) cachedFacts(ctx context.Context, name string, names []string) (*ordered.Map, error) {
	a.keptMu.Lock()
	defer a.keptMu.Unlock()
	if a.kept == nil {
		a.kept = facts.NewChosen(a.factStore(), a.config.FactMaxAge)
	}
	m, err := a.kept.Of(ctx, name, names)
	return m, stopped(err)
}

type collectOptions struct {
	acting.Options
	agedOptions
	from string
}

func (o *collectOptions) bind(b *cli.Binder) {
	o.Options.Bind(b)
	o.agedOptions.bind(b)
	b.Text("from", &o.from)
}

func collectFacts(ctx context.Context, a *app, o *collectOptions) error {
	store := a.factStore()
	if err := store.Prepare(store.Now); err != nil {
		return err
	}
	name, object := "task", facts.Task
	if o.from == facts.FromPuppetDB {
		name, object = facts.Task, facts.FromPuppetDB
	}
	among := func(ctx context.Context, targets []*inventory.Target) ([]*inventory.Target, error) {
		older, err := store.Older(ctx, targets, o.age)
		if err == nil && len(older) < len(targets) {
			a.log.Info("facts are young enough", "targets", len(targets)-len(older))
		}
		if err == nil && len(older) == 0 && len(targets) > 0 && !a.format().Data {
			fmt.Fprintf(a.Console, "Nothing is collected: no facts are older than %s.\n", o.olderThan)
		}
		return older, err
	}
	return a.actAmong(ctx, &o.Options, name, object, among, func(targets []*inventory.Target) (run.Action, error) {
		if o.from == facts.FromPuppetDB {
			query, err := facts.NewQuery(ctx, targets, func(ctx context.Context, certnames []string) (*ordered.Map, error) {
				return a.puppetDB().Facts(ctx, certnames, "")
			})
			if err != nil {
				return nil, err
			}
			return store.Keep(query, facts.FromPuppetDB, version), nil
		}
		task, helper, err := a.factsActions(ctx, o.from)
		if err != nil {
			return nil, err
		}
		if helper == nil {
			return store.Keep(task, facts.FromTask, version), nil
		}
		return store.Collect(task, helper, version), nil
	})
}

// factsActions returns the task that collects facts, and the function that collects them through the helper. The function
// is nil if the task is used for all targets. from is the value of --from.
func (a *app) factsActions(ctx context.Context, from string) (task run.Action, helper func(context.Context, *run.Site) (*ordered.Map, error), err error) {
	t, err := a.tasks().Find(ctx, facts.Task)
	if err != nil {
		return nil, nil, err
	}
	if task, err = a.taskAction(ctx, a.tasks(), t, &ordered.Map{}, false); err != nil {
		return nil, nil, err
	}
	helpers, missing := embedded.Built()
	switch {
	case from == facts.FromHelper && missing != nil:
		return nil, nil, missing
	case from == facts.FromTask, from == "" && (missing != nil || !t.Module.BuiltIn()):
		return task, nil, nil
	}
	return task, a.applying().Collector(helpers), nil
}

// collection is the action of collecting facts for a plan.
func (a *app) collection(ctx context.Context) (run.Action, error) {
	task, helper, err := a.factsActions(ctx, "")
	if err != nil {
		return nil, err
	}
	return facts.NewCollection(task, helper), nil
}

type showFactsOptions struct {
	agedOptions
	targets acting.Targets
	facts   []string
}

func (o *showFactsOptions) bind(b *cli.Binder) {
	o.agedOptions.bind(b)
	o.targets.Bind(b)
	b.Texts("fact", &o.facts)
}

func showFacts(ctx context.Context, a *app, o *showFactsOptions) error {
	columns, err := facts.ParseColumns(o.facts)
	if err != nil {
		return hinted(usagef("Invalid parameter specified for option '--fact': %v", err), `a fact is written os.release.full, processors.models[0] or mountpoints["/srv"].size`)
	}
	targets, err := a.targets(ctx, &o.targets)
	if err != nil {
		return err
	}
	store := a.factStore()
	if targets, err = store.Older(ctx, targets, o.age); err != nil {
		return stopped(err)
	}
	store.WarnDamaged(func(_, _ string) {}) // they come again
	defer store.WarnDamaged(a.logs.Warn)
	view := store.View(ctx, targets, columns, a.format().Data, a.config.FactMaxAge)
	return stopped(written(listing.PrintFacts(a.sys.out, a.listOptions(), view)))
}

type forgetOptions struct {
	agedOptions
	targets acting.Targets
}

func (o *forgetOptions) bind(b *cli.Binder) {
	o.agedOptions.bind(b)
	o.targets.Bind(b)
}

func forgetFacts(ctx context.Context, a *app, o *forgetOptions) error {
	store := a.factStore()
	n := 0
	switch {
	case o.targets.Named() || o.targets.Choosing():
		targets, err := a.targets(ctx, &o.targets)
		if err != nil {
			return err
		}
		if n, err = store.ForgetAll(ctx, targets, o.age); err != nil {
			return stopped(err)
		}
	case o.age != nil:
		var err error
		if n, err = store.ForgetBefore(ctx, store.Now.Add(-*o.age)); err != nil {
			return stopped(err)
		}
	default:
		return hinted(usagef("Command requires a targeting option: '--targets', '--rerun', or '--query'; or --older-than"),
			"bolt facts forget -t all removes the facts of all targets of the inventory; --older-than 0 also removes the facts of all other targets")
	}
	return written(listing.PrintForgotten(a.sys.out, a.listOptions(), n))
}

// cacheDir is a directory in the user's cache; "" if there is none.
func (a *app) cacheDir(name string) string {
	return project.UserCache(a.sys.env("XDG_CACHE_HOME"), home(a.sys), name)
}
