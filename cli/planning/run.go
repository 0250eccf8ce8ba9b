package planning

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"bolt/apply/fleet"
	"bolt/cli"
	"bolt/cli/acting"
	"bolt/cli/input"
	"bolt/environment/unknown"
	"bolt/event"
	"bolt/format/fault"
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

// Bind reads the flags and arguments.
func (o *playOptions) Bind(b *cli.Binder) {
	b.Switch("verbose", &o.verbose)
	o.limits.Bind(b)
}

// Check rejects invalid values.
func (o *playOptions) Check() error {
	_, err := o.limits.Parse()
	return err
}

// RunOptions are the options of plan run.
type RunOptions struct {
	playOptions
	plan    string
	params  input.Params
	journal bool
	targets acting.Targets
}

// Bind reads the flags and arguments.
func (o *RunOptions) Bind(b *cli.Binder) {
	o.playOptions.Bind(b)
	b.Arg(&o.plan)
	o.params.Bind(b)
	b.Switch("journal", &o.journal)
	o.targets.Bind(b)
}

// CheckTargets rejects selection options without targets: a plan does not need targets,
// and ignores targets that only the selection options name.
func (o *RunOptions) CheckTargets() error {
	if !o.targets.Named() && o.targets.Choosing() {
		return cli.Hinted(cli.Errorf("Options such as '--limit' need targets of which they leave some"), "name them with --targets (-t), or with --where among all of the inventory")
	}
	return nil
}

// Need is the Check of commands that take a plan and its parameters.
func Need(args []string) error {
	if len(args) == 0 || args[0] == "" {
		return cli.Errorf("Must specify a plan to run")
	}
	if !plans.ValidName(args[0]) {
		return cli.Hinted(cli.Errorf("Invalid plan '%s'", args[0]), "a plan is called MODULE or MODULE::NAME, in lowercase letters, digits and underscores; bolt plan show lists them")
	}
	return input.CheckPairs(args[1:], "plan")
}

// runs returns the runs of the project's plans.
func (v *Invocation) runs() *runs.Ledger {
	return runs.New(runs.Options{
		Library: v.Content.Plans, Project: v.Project.Dir, Console: v.Running.Console, JSON: v.How.Format.Data, Names: &unknown.Names{Modules: v.Content.Modules, Modulepath: v.Running.Config.Modulepath}, Redact: v.Running.Sources.Redact, Warn: v.Running.Logs.Warn,
	})
}

// Run carries out plan run: it runs a plan and shows its return value.
func (v *Invocation) Run(ctx context.Context, o *RunOptions) error {
	p, err := v.runs().Find(ctx, o.plan)
	if err != nil {
		return err
	}
	words := plans.Words{Pairs: o.params.Pairs}
	if words.Params, err = o.params.Object(ctx, v.Input); err != nil {
		return err
	}
	if words.Targets, err = v.targets(ctx, &o.targets); err != nil {
		return err
	}
	r, err := v.runs().Run(p, words)
	if err != nil {
		return err
	}
	if o.journal {
		if err := r.Record(ctx, v.Recorded()); err != nil {
			return err
		}
		defer r.Close()
	}
	return v.play(ctx, &o.playOptions, r)
}

// play runs a plan and shows its return value.
func (v *Invocation) play(ctx context.Context, o *playOptions, r *runs.Run) error {
	limits, err := o.limits.Parse()
	if err != nil {
		return err
	}
	inv, err := v.Running.Sources.Inventory(ctx)
	if err != nil {
		return err
	}
	dialer, err := v.Running.Dialer()
	if err != nil {
		return err
	}
	defer dialer.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	screen, err := v.Running.ShowPlan(o.verbose, stop)
	if err != nil {
		return err
	}
	defer screen.Close()
	record := v.Running.Recorder()
	v.Running.Begin()
	options := v.executorOptions(inv, dialer)
	options.Stream, options.Limits, options.Unknown, options.Ask = v.Running.Streams(), limits, o.unknown, v.Running.Asker(v.Running.Sources.Redact)
	// An action that the audit log rejects is not shown as begun.
	options.Sink = event.Fan(record, v.Running.Rerun(), event.Redact(event.Fan(screen, &output.Log{Logs: v.Running.Logs}), v.Running.Sources.Redact))
	err = r.Play(ctx, v.Content.Language, options)
	if errors.Is(err, runs.ErrFailed) || err == nil && v.Running.Config.Audit.Required && record.Lost() {
		return cli.ErrFailed
	}
	return err
}

// executorOptions returns the options of all runs of plans, without a sink.
func (v *Invocation) executorOptions(inv *inventory.Inventory, dialer transport.Dialer) executor.Options {
	return executor.Options{
		Inventory: inv, Tasks: v.Content.Tasks, Modules: v.Content.Modules, Dialer: dialer, Resolve: v.Running.Sources.Plugins().Resolve, PuppetDB: v.Running.Sources.PuppetDB(),
		Concurrency: v.Running.Config.Concurrency, Timeout: v.Running.Timeout, Natives: natives.All(v.Project.Dir), Helpers: v.Applying.Helpers(), Interpret: v.Running.Config.ScriptInterpreter,
		Downloads: filepath.Join(v.Project.Dir, "downloads"), Getenv: v.Content.Language.Getenv, Log: v.Running.Logs.Logger(),
		Catalogs: executor.Catalogs{Facts: v.Collecting.Action, Apply: v.applying, States: v.Applying.States},
	}
}

// targets returns the names of the targets that options select, for the plan's
// parameter for targets; nil without such an option.
func (v *Invocation) targets(ctx context.Context, o *acting.Targets) ([]string, error) {
	words, named, err := v.Running.Sources.Patterns(ctx, o)
	if err != nil || !named && !o.Where.Given {
		return nil, err
	}
	plain := o.Names != nil && !o.Choosing()
	if plain && !strings.ContainsAny(strings.Join(words, ""), "!&[") {
		return plans.AsWritten(words), nil
	}
	inv, err := v.Running.Sources.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	if plain && !inv.Extended(words) {
		return plans.AsWritten(words), nil
	}
	targets, err := v.Running.Sources.Find(ctx, o, inv, words, named)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.Name
	}
	return names, nil
}

// Value runs a plan without showing it, and returns its value. The parameters have the form of encoding/json. The error is
// the error of the plan.
func (v *Invocation) Value(ctx context.Context, name string, params map[string]any) (any, error) {
	p, err := v.runs().Find(ctx, name)
	if err != nil {
		return nil, err
	}
	given, err := input.Ordered(params)
	if err != nil {
		return nil, err
	}
	r, err := v.runs().Run(p, plans.Words{Params: given})
	if err != nil {
		return nil, err
	}
	inv, err := v.Running.Sources.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	dialer, err := v.Running.Dialer()
	if err != nil {
		return nil, err
	}
	defer dialer.Close()
	var value any
	var failure error
	options := v.executorOptions(inv, dialer)
	options.Sink = event.Func(func(_ context.Context, e event.Event) error {
		switch e := e.(type) {
		case event.Returned:
			value = e.Value
		case event.Failed:
			failure = fault.New("bolt/plan-failure", "%s", e.Msg)
		}
		return nil
	})
	err = r.Play(ctx, v.Content.Language, options)
	if failure != nil {
		return nil, failure
	}
	return value, err
}

// applying returns the action of an apply block. The inventory chooses the engine of each target.
func (v *Invocation) applying(m *fleet.Manifest, d *fleet.Delivery) (*fleet.Apply, error) {
	return v.Applying.Action(m, d, "")
}
