// Package collecting carries out the commands that collect, show and forget the facts of targets, and reads
// their options. It also makes the action of collecting facts for plans.
//
// Usage errors are *cli.UsageError. If the user stops bolt, the error is run.ErrStopped.
package collecting

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"bolt/apply/remote/embedded"
	"bolt/cli"
	"bolt/cli/acting"
	"bolt/cli/tasking"
	"bolt/facts"
	"bolt/format/ordered"
	"bolt/internal/logging"
	"bolt/inventory"
	"bolt/output/listing"
	"bolt/project"
	"bolt/puppetdb"
	"bolt/run"
)

// An Invocation has the parts of one invocation of bolt that the commands use.
type Invocation struct {
	Version string // of bolt
	Out     io.Writer
	Console io.Writer // for messages between those of the log
	List    listing.Options
	Logs    *logging.Log
	Log     *slog.Logger
	Store   *facts.Store
	MaxAge  time.Duration // of facts that are not reported as old; 0 is no limit
	// Targets returns the targets that options name.
	Targets  func(context.Context, *acting.Targets) ([]*inventory.Target, error)
	PuppetDB func() *puppetdb.Instances
	Tasks    *tasking.Invocation
	// Helper returns the function that collects facts through the helper.
	Helper func(helpers *embedded.Set) func(context.Context, *run.Site) (*ordered.Map, error)
	// Act performs an action on the targets that among returns, and prints its results.
	Act func(ctx context.Context, o *acting.Options, name, object string, among func(context.Context, []*inventory.Target) ([]*inventory.Target, error),
		prepare func([]*inventory.Target) (run.Action, error)) error
}

// aged selects targets by the age of their stored facts. Targets without stored facts are selected, too.
type aged struct {
	olderThan string
	age       *time.Duration // nil without --older-than
}

func (o *aged) bind(b *cli.Binder) {
	var given cli.Optional
	if b.Optional("older-than", &given); given.Given {
		age, err := project.ParseAge(given.Text)
		if err != nil {
			b.Fail(cli.Errorf("Invalid parameter specified for option '--older-than': %v", err))
		}
		o.olderThan, o.age = given.Text, &age
	}
}

// From returns the values of --from.
func From() []string { return []string{facts.FromHelper, facts.FromTask, facts.FromPuppetDB} }

// CollectOptions are the options of facts collect.
type CollectOptions struct {
	acting.Options
	aged
	from string
}

// Bind reads the flags.
func (o *CollectOptions) Bind(b *cli.Binder) {
	o.Options.Bind(b)
	o.aged.bind(b)
	b.Text("from", &o.from)
}

// Collect carries out facts collect.
func (v *Invocation) Collect(ctx context.Context, o *CollectOptions) error {
	if err := v.Store.Prepare(v.Store.Now); err != nil {
		return err
	}
	name, object := "task", facts.Task
	if o.from == facts.FromPuppetDB {
		name, object = facts.Task, facts.FromPuppetDB
	}
	among := func(ctx context.Context, targets []*inventory.Target) ([]*inventory.Target, error) {
		older, err := v.Store.Older(ctx, targets, o.age)
		if err == nil && len(older) < len(targets) {
			v.Log.Info("facts are young enough", "targets", len(targets)-len(older))
		}
		if err == nil && len(older) == 0 && len(targets) > 0 && !v.List.Format.Data {
			fmt.Fprintf(v.Console, "Nothing is collected: no facts are older than %s.\n", o.olderThan)
		}
		return older, err
	}
	return v.Act(ctx, &o.Options, name, object, among, func(targets []*inventory.Target) (run.Action, error) {
		if o.from == facts.FromPuppetDB {
			query, err := facts.NewQuery(ctx, targets, func(ctx context.Context, certnames []string) (*ordered.Map, error) {
				return v.PuppetDB().Facts(ctx, certnames, "")
			})
			if err != nil {
				return nil, err
			}
			return v.Store.Keep(query, facts.FromPuppetDB, v.Version), nil
		}
		task, helper, err := v.actions(ctx, o.from)
		if err != nil {
			return nil, err
		}
		if helper == nil {
			return v.Store.Keep(task, facts.FromTask, v.Version), nil
		}
		return v.Store.Collect(task, helper, v.Version), nil
	})
}

// actions returns the task that collects facts, and the function that collects them through the helper. The function
// is nil if the task is used for all targets. from is the value of --from.
func (v *Invocation) actions(ctx context.Context, from string) (task run.Action, helper func(context.Context, *run.Site) (*ordered.Map, error), err error) {
	t, err := v.Tasks.Content.Tasks.Find(ctx, facts.Task)
	if err != nil {
		return nil, nil, err
	}
	action, err := v.Tasks.Action(ctx, t, &ordered.Map{}, false)
	if err != nil {
		return nil, nil, err
	}
	helpers, missing := embedded.Built()
	switch {
	case from == facts.FromHelper && missing != nil:
		return nil, nil, missing
	case from == facts.FromTask, from == "" && (missing != nil || !t.Module.BuiltIn()): // a module of the user can replace the task
		return action, nil, nil
	}
	return action, v.Helper(helpers), nil
}

// Action returns the action of collecting facts for a plan.
func (v *Invocation) Action(ctx context.Context) (run.Action, error) {
	task, helper, err := v.actions(ctx, "")
	if err != nil {
		return nil, err
	}
	return facts.NewCollection(task, helper), nil
}

// ShowOptions are the options of facts show.
type ShowOptions struct {
	aged
	targets acting.Targets
	facts   []string
}

// Bind reads the flags.
func (o *ShowOptions) Bind(b *cli.Binder) {
	o.aged.bind(b)
	o.targets.Bind(b)
	b.Texts("fact", &o.facts)
}

// Show carries out facts show.
func (v *Invocation) Show(ctx context.Context, o *ShowOptions) error {
	columns, err := facts.ParseColumns(o.facts)
	if err != nil {
		return cli.Hinted(cli.Errorf("Invalid parameter specified for option '--fact': %v", err), `a fact is written os.release.full, processors.models[0] or mountpoints["/srv"].size`)
	}
	targets, err := v.Targets(ctx, &o.targets)
	if err != nil {
		return err
	}
	if targets, err = v.Store.Older(ctx, targets, o.age); err != nil {
		return err
	}
	v.Store.WarnDamaged(func(_, _ string) {}) // they are collected again
	defer v.Store.WarnDamaged(v.Logs.Warn)
	return listing.PrintFacts(v.Out, v.List, v.Store.View(ctx, targets, columns, v.List.Format.Data, v.MaxAge))
}

// ForgetOptions are the options of facts forget.
type ForgetOptions struct {
	aged
	targets acting.Targets
}

// Bind reads the flags.
func (o *ForgetOptions) Bind(b *cli.Binder) {
	o.aged.bind(b)
	o.targets.Bind(b)
}

// Forget carries out facts forget.
func (v *Invocation) Forget(ctx context.Context, o *ForgetOptions) error {
	n := 0
	switch {
	case o.targets.Named() || o.targets.Choosing():
		targets, err := v.Targets(ctx, &o.targets)
		if err != nil {
			return err
		}
		if n, err = v.Store.ForgetAll(ctx, targets, o.age); err != nil {
			return err
		}
	case o.age != nil:
		var err error
		if n, err = v.Store.ForgetBefore(ctx, v.Store.Now.Add(-*o.age)); err != nil {
			return err
		}
	default:
		return cli.Hinted(cli.Errorf("Command requires a targeting option: '--targets', '--rerun', or '--query'; or --older-than"),
			"bolt facts forget -t all removes the facts of all targets of the inventory; --older-than 0 also removes the facts of all other targets")
	}
	return listing.PrintForgotten(v.Out, v.List, n)
}
