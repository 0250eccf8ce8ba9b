package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/event"
	"bolt/inventory"
	"bolt/output"
	"bolt/plans"
	"bolt/plans/executor"
	"bolt/plans/runs"
	"bolt/tasks/natives"
	"bolt/transport"
)

// playOptions are the options of running or resuming a plan.
type playOptions struct {
	verbose bool
	unknown string // the treatment of a step that had begun when the run was cut off
	limits  acting.Limits
}

func (o *playOptions) Bind(b *cli.Binder) {
	b.Switch("verbose", &o.verbose)
	o.limits.Bind(b)
}

func (o *playOptions) Check() error {
	_, err := o.limits.Parse()
	return err
}

// planOptions are the options of plan run.
type planOptions struct {
	playOptions
	plan    string
	params  paramOptions
	journal bool
	targets acting.Targets
}

func (o *planOptions) Bind(b *cli.Binder) {
	o.playOptions.Bind(b)
	b.Arg(&o.plan)
	o.params.Bind(b)
	b.Switch("journal", &o.journal)
	o.targets.Bind(b)
}

// CheckTargets rejects selection options without targets: a plan does not need targets,
// and ignores targets that only the selection options name.
func (o *planOptions) CheckTargets() error {
	if !o.targets.Named() && o.targets.Choosing() {
		return hinted(usagef("Options such as '--limit' need targets of which they leave some"), "name them with --targets (-t), or with --where among all of the inventory")
	}
	return nil
}

func wordsOfPlan(args []string) error {
	if first(args) == "" {
		return usagef("Must specify a plan to run")
	}
	if !plans.ValidName(args[0]) {
		return hinted(usagef("Invalid plan '%s'", args[0]), "a plan is called MODULE or MODULE::NAME, in lowercase letters, digits and underscores; bolt plan show lists them")
	}
	return pairs(args[1:], "plan")
}

// runs returns the runs of the project's plans.
func (a *app) runs() *runs.Ledger {
	return runs.New(runs.Options{
		Library: a.plans, Project: a.project.Dir, Console: a.Console, JSON: a.format().Data, Names: a.names(), Redact: a.sources.Redact, Warn: a.logs.Warn,
	})
}

// runPlan runs a plan and shows its return value.
func runPlan(ctx context.Context, a *app, o *planOptions) error {
	p, err := a.runs().Find(ctx, o.plan)
	if err != nil {
		return err
	}
	words := plans.Words{Pairs: o.params.pairs}
	if words.Params, err = o.params.object(ctx, a); err != nil {
		return err
	}
	if words.Targets, err = a.planTargets(ctx, &o.targets); err != nil {
		return err
	}
	r, err := a.runs().Run(p, words)
	if err != nil {
		return err
	}
	if o.journal {
		if err := r.Record(ctx, a.recordedOptions()); err != nil {
			return err
		}
		defer r.Close()
	}
	return a.play(ctx, &o.playOptions, r)
}

// play runs a plan and shows its return value.
func (a *app) play(ctx context.Context, o *playOptions, r *runs.Run) error {
	limits, err := o.limits.Parse()
	if err != nil {
		return err
	}
	inv, err := a.sources.Inventory(ctx)
	if err != nil {
		return err
	}
	dialer, err := a.connecting().Dialer()
	if err != nil {
		return err
	}
	defer dialer.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	screen, err := a.running().ShowPlan(o.verbose, stop)
	if err != nil {
		return err
	}
	defer screen.Close()
	record := a.auditing().Recorder()
	a.sys.remote.Store(true)
	options := a.executorOptions(inv, dialer)
	options.Stream, options.Limits, options.Unknown, options.Ask = a.running().Streams(), limits, o.unknown, a.Asker(a.sources.Redact)
	// An action that the audit log rejects is not shown as begun.
	options.Sink = event.Fan(record, a.running().Rerun(), event.Redact(event.Fan(screen, &output.Log{Logs: a.logs}), a.sources.Redact))
	err = r.Play(ctx, a.languageOptions(), options)
	if errors.Is(err, runs.ErrFailed) || err == nil && a.config.Audit.Required && record.Lost() {
		return errPrinted
	}
	return err
}

// executorOptions returns the options of all runs of plans, without a sink.
func (a *app) executorOptions(inv *inventory.Inventory, dialer transport.Dialer) executor.Options {
	return executor.Options{
		Inventory: inv, Tasks: a.tasks, Modules: a.modules, Dialer: dialer, Resolve: a.sources.Plugins().Resolve, PuppetDB: a.sources.PuppetDB(),
		Concurrency: a.config.Concurrency, Timeout: a.timeout(), Natives: natives.All(a.project.Dir), Helpers: a.applying().Helpers(), Interpret: a.config.ScriptInterpreter,
		Downloads: filepath.Join(a.project.Dir, "downloads"), Getenv: a.sys.lookup, Log: a.log,
		Catalogs: executor.Catalogs{Facts: a.collecting().Action, Apply: a.applying().Action, States: a.applying().States},
	}
}

// planTargets returns the names of the targets that options select, for the plan's
// parameter for targets; nil without such an option.
func (a *app) planTargets(ctx context.Context, o *acting.Targets) ([]string, error) {
	words, named, err := a.sources.Patterns(ctx, o)
	if err != nil || !named && !o.Where.Given {
		return nil, err
	}
	plain := o.Names != nil && !o.Choosing()
	if plain && !strings.ContainsAny(strings.Join(words, ""), "!&[") {
		return plans.AsWritten(words), nil
	}
	inv, err := a.sources.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	if plain && !inv.Extended(words) {
		return plans.AsWritten(words), nil
	}
	targets, err := a.sources.Find(ctx, o, inv, words, named)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.Name
	}
	return names, nil
}
