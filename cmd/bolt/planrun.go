package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"bolt/environment"
	"bolt/event"
	"bolt/format/fault"
	"bolt/inventory"
	"bolt/output"
	"bolt/plans"
	"bolt/plans/executor"
	"bolt/plans/journal"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
	"bolt/run"
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
func runPlan(ctx context.Context, a *app, args []string) error {
	p, err := a.plans().Find(ctx, args[0])
	if err != nil {
		return a.placed(err)
	}
	words := plans.Words{Pairs: args[1:]}
	if words.Params, err = a.params(ctx, args[1:]); err != nil {
		return err
	}
	if words.Targets, err = a.planTargets(ctx); err != nil {
		return err
	}
	given, err := a.plans().Given(p, words)
	if err != nil {
		return err
	}
	var j *journal.Run
	if a.values.on("journal", false) {
		if j, err = a.newJournal(ctx, p, given); err != nil {
			return err
		}
		defer j.Close()
	}
	return a.play(ctx, p, given, j)
}

// play runs a plan with parameters and shows what it returns. j records it, if it
// is not nil.
func (a *app) play(ctx context.Context, p *plans.Plan, given *value.Hash, j *journal.Run) error {
	inv, err := a.inventory(ctx)
	if err != nil {
		return err
	}
	dialer, err := a.dialer()
	if err != nil {
		return err
	}
	defer dialer.close()
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
	view := newPlanObserver(ctx, a, p.Name, stop)
	view.language = language
	defer view.close()
	audited, err := a.audited(ctx, 0, a.auditOfPlan(p, given, j), nil)
	if err != nil {
		return err
	}
	x := executor.New(executor.Options{
		Environment: environment.New(environment.Options{
			Modules: a.modules, Hiera: a.config.HieraConfig, Keys: a.project.Dir, Plans: true, Getenv: a.sys.lookup, Now: j.Clock(time.Now), Language: &language.PlanLanguage,
		}),
		Language: language, Plans: a.plans(), Inventory: inv, Tasks: a.tasks(), Modules: a.modules, Dialer: dialer, Resolve: a.plugins().Resolve,
		PuppetDB: a.puppetDB(), Concurrency: a.config.Concurrency, Timeout: a.timeout(), Natives: a.natives(), Interpret: a.config.ScriptInterpreter, Stream: a.config.Stream || a.format() == output.NDJSON,
		Downloads: filepath.Join(a.project.Dir, "downloads"), Limits: a.limits(), Getenv: a.sys.lookup,
		Audit: a.auditStep, Journal: j, Unknown: a.values.last("unknown"), Observer: view, Warn: view.warn, Log: a.log,
	})
	defer x.Close()
	a.sys.remote.Store(true)
	v, err := x.Run(ctx, p, given)
	cut, err := a.ended(ctx, j, err)
	err = view.came(ctx, x, v, err)
	if lost := audited.ended(ctx, err != nil); lost != nil {
		a.audit.lost.Store(true)
		a.logs.Warn(auditWarning, lost.Error())
	}
	if err == nil && a.config.Audit.Required && a.audit.lost.Load() {
		err = errFailedTargets
	}
	if cut && !j.Refused() {
		fmt.Fprintf(a.console, "The run was cut off. It goes on with: bolt plan resume %s\n", j.ID)
	}
	return err
}

// came prints the result of a plan: the value that it returned, or the error that
// ended it. A plan that returns has succeeded, even if it returns failed results or
// an error that it has caught.
func (v *planObserver) came(ctx context.Context, x *executor.Executor, returned value.Value, err error) error {
	if err != nil {
		return v.failed(ctx, err)
	}
	if results, ok := executor.Results(returned); ok {
		v.rerun(results)
		return written(v.view.Results(results, nil))
	}
	v.app.forgetRerun()
	if r, ok := executor.OneResult(returned); ok {
		return written(v.view.Result(r))
	}
	if f, ok := x.ErrorOf(returned); ok {
		return written(v.view.Returned(v.app.redacted(f.Msg), f.Place(), v.app.failureData(f)))
	}
	if r, ok := executor.Container(returned); ok {
		return written(v.view.Container(r.Image, r.Value, r.Map(), nil))
	}
	data, err := executor.ToWrite(returned)
	if err != nil {
		return fault.New("bolt/invalid-plan-result", "The plan returned a value that cannot be written as JSON: %v", err)
	}
	return written(v.view.Value(data))
}

// planTargets are the names that options lead to, for the plan's parameter for
// targets; nil without such an option.
func (a *app) planTargets(ctx context.Context) ([]string, error) {
	words, named, err := a.patterns(ctx)
	switch {
	case err != nil:
		return nil, err
	case !named && !a.values.has("where"):
		return nil, nil
	}
	plain := a.values.has("targets") && !choosing(a.values)
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
	targets, err := a.find(ctx, inv, words, named)
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

// rerun records results for --rerun.
func (v *planObserver) rerun(results []*event.Result) {
	targets := make([]*inventory.Target, len(results))
	outcome := make(map[*inventory.Target]bool, len(results))
	for i, r := range results {
		targets[i], outcome[r.Target] = r.Target, r.OK()
	}
	v.app.saveRerun(targets, outcome)
}

// forgetRerun forgets the run before: this one has no outcome for each target.
func (a *app) forgetRerun() {
	if !a.config.SaveRerun {
		return
	}
	if err := a.config.Rerun.Forget(); err != nil {
		a.logs.WarnOnce("unwriteable_file", err.Error())
	}
}

// failed shows what ended the plan.
func (v *planObserver) failed(ctx context.Context, err error) error {
	f, ok := errors.AsType[*executor.Failure](err)
	if !ok {
		return err
	}
	if v.stopped(err) {
		return v.tellStop(f)
	}
	if results, ok := f.Results(); ok {
		v.rerun(results)
		if err := v.view.Results(results, v.app.failureData(f)); err != nil {
			return written(err)
		}
		v.explain(ctx, f, false)
		return errFailedTargets
	}
	v.app.forgetRerun()
	if r, ok := f.Container(); ok {
		if err := v.view.Container(v.app.redacted(r.Image), r.Value, r.Map(), v.app.failureData(f)); err != nil {
			return written(err)
		}
		v.explain(ctx, f, false)
		return errPrinted
	}
	if err := v.view.Failed(v.app.redacted(f.Msg), f.Place(), v.app.failureData(f)); err != nil {
		return written(err)
	}
	v.explain(ctx, f, true)
	return errPrinted
}

// stopped reports whether an error of the plan is that it was stopped.
func (v *planObserver) stopped(err error) bool {
	if v.ctx.Err() == nil {
		return false
	}
	e, ok := errors.AsType[*eval.Error](err)
	return errors.Is(err, run.ErrStopped) || errors.Is(err, context.Canceled) || ok && e.Kind == "canceled"
}

// tellStop shows how far the plan had come when it was stopped, and records the
// targets of the steps that were cut off for --rerun.
func (v *planObserver) tellStop(f *executor.Failure) error {
	told := *f
	told.Kind, told.Msg = "bolt/cancelled-error", "The plan "+v.plan+" was stopped; what follows in it was not begun."
	stop := v.course.Stop(told.Msg, told.Place(), v.app.failureData(&told))
	var targets []*inventory.Target
	outcome := make(map[*inventory.Target]bool)
	for _, r := range stop.Results() {
		before, known := outcome[r.Target]
		if !known {
			targets = append(targets, r.Target)
		}
		outcome[r.Target] = r.OK() && (before || !known)
	}
	if targets == nil {
		v.app.forgetRerun()
	}
	v.app.saveRerun(targets, outcome)
	if err := v.view.Stopped(stop); err != nil {
		return written(err)
	}
	return errPrinted
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
