package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"bolt/audit/recorder"
	"bolt/cli/acting"
	"bolt/environment"
	"bolt/event"
	"bolt/format/fault"
	"bolt/output"
	"bolt/plans"
	"bolt/plans/executor"
	"bolt/plans/journal"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
	"bolt/tasks/natives"
)

func wordsOfPlan(args []string) error {
	if first(args) == "" {
		return usagef("Must specify a plan to run")
	}
	if !plans.ValidName(args[0]) {
		return hinted(usagef("Invalid plan '%s'", args[0]), "a plan is called MODULE or MODULE::NAME, in lowercase letters, digits and underscores; bolt plan show lists them")
	}
	return pairs(args[1:], "plan")
}

// runPlan runs a plan and shows what it returns.
func runPlan(ctx context.Context, a *app, o *planOptions) error {
	p, err := a.plans().Find(ctx, o.plan)
	if err != nil {
		return a.placed(err)
	}
	words := plans.Words{Pairs: o.params.pairs}
	if words.Params, err = o.params.object(ctx, a); err != nil {
		return err
	}
	if words.Targets, err = a.planTargets(ctx, &o.targets); err != nil {
		return err
	}
	given, err := a.plans().Given(p, words)
	if err != nil {
		return err
	}
	var j *journal.Run
	if o.journal {
		if j, err = a.newJournal(ctx, p, given); err != nil {
			return err
		}
		defer j.Close()
	}
	return a.play(ctx, &o.playOptions, p, given, j)
}

// play runs a plan with parameters and shows what it returns. j records it, if it
// is not nil.
func (a *app) play(ctx context.Context, o *playOptions, p *plans.Plan, given *value.Hash, j *journal.Run) error {
	limits, err := o.limits.Parse()
	if err != nil {
		return err
	}
	inv, err := a.inventory(ctx)
	if err != nil {
		return err
	}
	dialer, err := a.dialer()
	if err != nil {
		return err
	}
	defer dialer.Close()
	language := executor.NewLanguage(func(ctx context.Context, name string) (*syntax.Program, string, error) {
		q, err := a.plans().Find(ctx, name)
		if err != nil || q.YAML == nil {
			return nil, "", err
		}
		program, err := q.YAML.Program()
		return program, q.Module.Name, err
	})
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	screen, err := a.ForPlan(output.Options{Format: a.format(), Verbose: o.verbose, Stream: a.config.Stream})
	if err != nil {
		return err
	}
	defer screen.Close()
	record := a.recorder()
	// What the audit log refuses is not shown as begun.
	sink := event.Fan(record, a.rerunSink(), event.Redact(event.Fan(shown{screen, stop}, &output.Log{Logs: a.logs}), a.redacted))
	if err := sink.Event(ctx, event.ActionBegin{Action: event.Plan, Object: p.Name, Do: recordedPlan(p, given, j)}); err != nil {
		return err
	}
	x := executor.New(executor.Options{
		Environment: environment.New(environment.Options{
			Modules: a.modules, Hiera: a.config.HieraConfig, Keys: a.project.Dir, Plans: true, Getenv: a.sys.lookup, Now: j.Clock(time.Now), Language: &language.PlanLanguage,
		}),
		Language: language, Plans: a.plans(), Inventory: inv, Tasks: a.tasks(), Modules: a.modules, Dialer: dialer, Resolve: a.plugins().Resolve,
		PuppetDB: a.puppetDB(), Concurrency: a.config.Concurrency, Timeout: a.timeout(), Natives: natives.All(a.project.Dir), Interpret: a.config.ScriptInterpreter, Stream: a.config.Stream || a.format() == output.NDJSON,
		Downloads: filepath.Join(a.project.Dir, "downloads"), Limits: limits, Getenv: a.sys.lookup,
		Journal: j, Unknown: o.unknown, Sink: sink, Ask: a.Asker(a.redacted), Log: a.log,
	})
	defer x.Close()
	a.sys.remote.Store(true)
	v, err := x.Run(ctx, p, given)
	cut, err := a.ended(ctx, j, err)
	ran := ranPlan{app: a, name: p.Name, x: x, sink: sink, language: language}
	err = ran.came(ctx, v, err)
	if lost := sink.Event(ctx, event.ActionEnd{Failed: err != nil}); err == nil {
		err = lost
	}
	if err == nil && a.config.Audit.Required && record.Lost() {
		err = errFailedTargets
	}
	if cut && !j.Refused() {
		fmt.Fprintf(a.Console, "The run was cut off. It goes on with: bolt plan resume %s\n", j.ID)
	}
	return err
}

// recordedPlan is the run of a plan as the audit log has it. j is its journal, or nil.
func recordedPlan(p *plans.Plan, given *value.Hash, j *journal.Run) event.Action {
	r := &recorder.Plan{Plan: p.Name}
	r.Params, r.Secrets = executor.ParamsOf(p, given)
	if j != nil {
		r.Journal = j.ID
	}
	return r
}

// A ranPlan is a plan that has been run, with the sinks that receive its
// outcome.
type ranPlan struct {
	app      *app
	name     string
	x        *executor.Executor
	sink     event.Sink
	language *executor.Language
}

// came shows the outcome of the plan: the value that it returned, or the error
// that ended it. A plan that returns has succeeded, even if it returns failed
// results or an error that it has caught.
func (p *ranPlan) came(ctx context.Context, returned value.Value, err error) error {
	if err == nil {
		e, err := p.x.Returned(returned)
		if err != nil {
			return p.app.fatal(ctx, p.sink, err)
		}
		return p.sink.Event(ctx, e)
	}
	f, ok := errors.AsType[*executor.Failure](err)
	if !ok {
		return err
	}
	if ctx.Err() != nil && executor.WasStopped(err) {
		if err := p.sink.Event(ctx, p.x.Stopped(p.name, f)); err != nil {
			return err
		}
		return errPrinted
	}
	e := f.Event()
	if err := p.sink.Event(ctx, e); err != nil {
		return err
	}
	p.explain(ctx, f, e.Results == nil && e.Container == nil)
	if e.Results != nil {
		return errFailedTargets
	}
	return errPrinted
}

// planTargets are the names that options lead to, for the plan's parameter for
// targets; nil without such an option.
func (a *app) planTargets(ctx context.Context, o *acting.Targets) ([]string, error) {
	words, named, err := a.patterns(ctx, o)
	switch {
	case err != nil:
		return nil, err
	case !named && !o.Where.Given:
		return nil, nil
	}
	plain := o.Names != nil && !o.Choosing()
	if plain && !strings.ContainsAny(strings.Join(words, ""), "!&[") {
		return asWritten(words), nil
	}
	inv, err := a.inventory(ctx)
	if err != nil {
		return nil, err
	}
	if plain && !inv.Extended(words) {
		return asWritten(words), nil
	}
	targets, err := a.find(ctx, o, inv, words, named)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.Name
	}
	return names, nil
}

// asWritten are words as the plan gets them, whose functions know what Puppet
// Bolt's do.
func asWritten(words []string) []string {
	for i, w := range words {
		words[i] = strings.Join(strings.Fields(w), ",") // a file has a line for each
	}
	return words
}

// placed is an error of a file with its place as people see it; programs find
// it in the details.
func (a *app) placed(err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || a.format().IsJSON() {
		return err
	}
	f := executor.Failure{}
	f.File, _ = e.Details.Value("file").(string)
	if line, ok := e.Details.Value("line").(int64); ok {
		f.Line = int(line)
	}
	if column, ok := e.Details.Value("column").(int64); ok {
		f.Column = int(column)
	}
	if f.File == "" {
		return err
	}
	shown := *e
	shown.Msg += "\n  " + f.Place()
	return &shown
}
