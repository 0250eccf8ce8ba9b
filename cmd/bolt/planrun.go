package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"bolt/internal/environment"
	"bolt/internal/fault"
	"bolt/internal/ordered"
	"bolt/internal/output"
	"bolt/inventory"
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
		if j, err = a.newJournal(p, given); err != nil {
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
	view := &planObserver{app: a, language: language, out: output.NewPlanRun(output.Options{
		Format: a.format(), Out: a.sys.out, Err: a.console, Color: a.color(), Terminal: a.terminal(), Verbose: a.values.on("verbose", false), Stream: a.config.Stream,
	})}
	x := executor.New(executor.Options{
		Environment: environment.New(environment.Options{
			Modules: a.modules, Hiera: a.config.HieraConfig, Keys: a.project.Dir, Plans: true, Getenv: a.sys.lookup, Now: j.Clock(time.Now), Language: &language.PlanLanguage,
		}),
		Language: language, Plans: a.plans(), Inventory: inv, Tasks: a.tasks(), Modules: a.modules, Dialer: dialer, Resolve: a.plugins().Resolve,
		Concurrency: a.config.Concurrency, Timeout: a.timeout(), Natives: a.natives(), Interpret: a.config.ScriptInterpreter, Stream: a.config.Stream,
		Downloads: filepath.Join(a.project.Dir, "downloads"), Getenv: a.sys.lookup,
		Journal: j, Unknown: a.values.last("unknown"), Observer: view, Warn: a.logs.Warn, Log: a.log,
	})
	defer x.Close()
	a.sys.remote.Store(true)
	v, err := x.Run(ctx, p, given)
	if err = a.ended(ctx, j, err); err != nil {
		return view.failed(ctx, err)
	}
	if results, ok := executor.Results(v); ok {
		return view.results(results, nil)
	}
	a.forgetRerun()
	if f, ok := x.ErrorOf(v); ok {
		return view.failed(ctx, f)
	}
	if r, ok := executor.Container(v); ok {
		return written(view.out.Container(r.Image, r.Value, r.Map()))
	}
	return written(view.out.Value(executor.Data(v)))
}

// planTargets are the names that options lead to, for the plan's parameter for
// targets; nil without such an option.
func (a *app) planTargets(ctx context.Context) ([]string, error) {
	if !a.values.has("rerun") && !a.values.has("query") {
		return a.values["targets"], nil
	}
	targets, err := a.targets(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.Name
	}
	return names, nil
}

// planObserver shows a plan to who runs it.
type planObserver struct {
	app      *app
	out      *output.PlanRun
	language *executor.Language
}

func (v *planObserver) PlanStarted(name string)                      { v.out.PlanStarted(name) }
func (v *planObserver) PlanFinished(name string, took time.Duration) { v.out.PlanFinished(name, took) }

func (v *planObserver) StepStarted(s *executor.Step) {
	switch {
	case s.Quiet:
	case s.Recorded:
		v.out.StepRecorded(s.Description, s.Targets)
	default:
		v.out.StepStarted(s.Description, s.Targets)
	}
}

func (v *planObserver) Target(s *executor.Step, e run.Event) {
	if !s.Quiet && !s.Recorded {
		v.out.Event(e)
	}
}

func (v *planObserver) StepFinished(s *executor.Step, failures int, took time.Duration) {
	if !s.Quiet && !s.Recorded {
		v.out.StepFinished(s.Description, failures, took)
	}
}

func (v *planObserver) ContainerStarted(image string) { v.out.ContainerStarted(image) }

func (v *planObserver) ContainerFinished(r *executor.ContainerResult) {
	v.out.ContainerFinished(r.Image, r.Value)
}

func (v *planObserver) Message(text string, verbose bool) {
	if !verbose || v.app.values.on("verbose", false) {
		v.out.Message(text)
	}
}

func (v *planObserver) Log(l eval.Log) {
	if l.Kind != "" {
		v.app.logs.Warn(l.Kind, textOf(l))
		return
	}
	v.app.log.Log(context.Background(), severity(l.Level), l.Msg)
}

// Ask asks on the terminal.
func (v *planObserver) Ask(ctx context.Context, question string, sensitive bool) (answer string, ok bool, err error) {
	in := v.app.sys.in
	if !term.IsTerminal(int(in.Fd())) {
		return "", false, nil
	}
	if sensitive {
		secret, err := v.app.ask.secret(ctx, question)
		return secret.Reveal(), err == nil, err
	}
	r, stop, err := wakeable(ctx, in)
	if err != nil {
		return "", false, err
	}
	defer stop()
	fmt.Fprint(v.app.console, question)
	line, err := bufio.NewReaderSize(r, 1).ReadString('\n')
	if err != nil && !(errors.Is(err, io.EOF) && line != "") {
		return "", false, err
	}
	return strings.TrimRight(line, "\r\n"), true, nil
}

// results shows results that the plan has returned, or that ended it with a
// failure, and records them for --rerun.
func (v *planObserver) results(results []*run.Result, failure *executor.Failure) error {
	targets := make([]*inventory.Target, len(results))
	outcome := make(map[*inventory.Target]bool, len(results))
	ok := failure == nil
	for i, r := range results {
		targets[i], outcome[r.Target] = r.Target, r.OK()
		ok = ok && r.OK()
	}
	v.app.saveRerun(targets, outcome)
	var data *ordered.Map
	if failure != nil {
		data = failure.Map()
	}
	if err := v.out.Results(results, data); err != nil {
		return written(err)
	}
	if !ok {
		return errFailedTargets
	}
	return nil
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
	if results, ok := f.Results(); ok {
		err := v.results(results, f)
		v.explain(ctx, f, false)
		return err
	}
	v.app.forgetRerun()
	if r, ok := f.Container(); ok {
		if err := v.out.Container(r.Image, r.Value, f.Map()); err != nil {
			return written(err)
		}
		v.explain(ctx, f, false)
		return errPrinted
	}
	if err := v.out.Failed(f.Msg, f.Place(), f.Map()); err != nil {
		return written(err)
	}
	v.explain(ctx, f, true)
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
