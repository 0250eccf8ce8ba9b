// Package lookups carries out the command that looks up a key for targets or for a plan.
//
// Mistakes of the user are *cli.UsageError. If no value was found, the error is cli.ErrFailed.
package lookups

import (
	"context"
	"fmt"
	"io"
	"strings"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/cli/running"
	"bolt/environment"
	"bolt/environment/unknown"
	"bolt/event"
	"bolt/lookup"
	"bolt/output"
	"bolt/output/listing"
)

// An Invocation has the parts of one invocation of bolt that the command uses.
type Invocation struct {
	Out     io.Writer
	Code    environment.Options // of the project
	Running *running.Invocation // with the project's configuration and inventory
}

// Need is the Check of the command: it checks a key, and variables for the lookup. Other arguments are ignored, as in
// Puppet Bolt.
func Need(args []string) error {
	if len(args) == 0 {
		return cli.Errorf("Must specify a key to look up")
	}
	if name, _, is := strings.Cut(args[0], "="); is {
		return cli.Hinted(cli.Errorf("Must specify a key to look up"), "%s is the variable %s: the key must come before it", args[0], name)
	}
	if _, _, err := lookup.ParseVariables(args[1:]); err != nil {
		return cli.Errorf("%v", err)
	}
	return nil
}

// Options are the options of lookup.
type Options struct {
	key            string
	variables      []string // NAME=VALUE
	planned        bool     // as in a plan, without a target
	explain        bool
	explainOptions bool
	targets        acting.Targets
	results        acting.Results
}

// Bind reads the flags and arguments.
func (o *Options) Bind(b *cli.Binder) {
	b.Arg(&o.key)
	b.Rest(1, &o.variables)
	b.Switch("plan-hierarchy", &o.planned)
	b.Switch("explain", &o.explain)
	b.Switch("explain-options", &o.explainOptions)
	o.targets.Bind(b)
	o.results.Bind(b)
}

// Check rejects options that contradict each other.
func (o *Options) Check() error { return o.results.Check() }

// CheckTargets rejects targets beside --plan-hierarchy, and requires targets without it.
func (o *Options) CheckTargets() error {
	switch {
	case o.planned && (o.targets.Named() || o.targets.Choosing()):
		return cli.Errorf("The 'lookup' command accepts either targeting option OR --plan-hierarchy.")
	case o.planned && o.results.Folds() != "":
		return cli.Errorf("Options '%s' and '--plan-hierarchy' contradict each other: a lookup without targets has a single result", o.results.Folds())
	case !o.targets.Named() && !o.planned:
		return cli.Hinted(cli.Errorf("Command requires a targeting option: '--targets', '--rerun', or '--query'; or --plan-hierarchy"),
			"--targets (-t) names the targets for which the key is looked up; --plan-hierarchy looks it up once, as a plan does")
	}
	return nil
}

// Formats returns the formats of a list with --plan-hierarchy: one value is not a stream of events.
func (o *Options) Formats(all []string) ([]string, string) {
	if o.planned {
		return output.Names(output.Lists), "with --plan-hierarchy there is one answer, and no stream of events: --format json prints it"
	}
	return all, ""
}

// Look looks up a key, and prints the values.
func (v *Invocation) Look(ctx context.Context, o *Options) error {
	r := v.Running
	variables, ignored, err := lookup.ParseVariables(o.variables)
	if err != nil {
		return cli.Errorf("%v", err)
	}
	if len(ignored) > 0 {
		r.Logs.WarnOnce("lookup_word", fmt.Sprintf("%s is ignored: one key is looked up; variables are given as NAME=VALUE.", ignored[0]))
	}
	code := v.Code
	code.Plans = o.planned
	s := lookup.New(lookup.Options{
		Environment: environment.New(code), Key: o.key, Given: variables, Explain: o.explain || o.explainOptions, OnlyOptions: o.explainOptions,
		JSON: r.Format.Data, Timeout: r.Timeout, Config: r.Config.HieraConfig, Source: r.Sources.Name(),
		ExplainError: (&unknown.Names{Modules: code.Modules, Modulepath: r.Config.Modulepath}).Explain, Warn: r.Logs.Warn, Logger: r.Logs.Logger(),
	})
	if !o.planned {
		return v.onTargets(ctx, s, o)
	}
	found, err := s.InPlan(ctx)
	if err == nil || found.Text != "" && !r.Format.Data {
		if err := listing.PrintValue(v.Out, r.Format, r.Terminal(), found.Text, found.Data); err != nil {
			return err
		}
	}
	return err
}

// onTargets looks a key up for the targets of the command line.
func (v *Invocation) onTargets(ctx context.Context, s *lookup.Search, o *Options) error {
	r := v.Running
	inv, err := r.Sources.Inventory(ctx)
	if err != nil {
		return err
	}
	known := inv.AllTargets() // before others are found
	targets, err := r.Sources.Targets(ctx, &o.targets)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		r.Sources.WarnNone()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	shown, err := r.Show(&o.results, len(targets), stop)
	if err != nil {
		return err
	}
	defer shown.Close()
	failed, err := s.Run(ctx, targets, event.Fan(r.Rerun(), shown))
	if err != nil {
		return err
	}
	if names := lookup.Unlisted(targets, known); names != "" {
		r.Logs.Warn("lookup_unlisted", fmt.Sprintf("%s: not in %s, so bolt knows only the name.", names, r.Sources.Name()))
	}
	if failed {
		return cli.ErrFailed
	}
	return nil
}
