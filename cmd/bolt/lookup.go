package main

import (
	"context"
	"fmt"
	"strings"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/event"
	"bolt/internal/safetext"
	"bolt/lookup"
	"bolt/output"
	"bolt/output/listing"
)

// wordsOfLookup checks a key, and variables for the lookup. Other arguments are ignored, as in
// Puppet Bolt.
func wordsOfLookup(args []string) error {
	if len(args) == 0 {
		return usagef("Must specify a key to look up")
	}
	if name, _, is := strings.Cut(args[0], "="); is {
		return hinted(usagef("Must specify a key to look up"), "%s is the variable %s: the key must come before it", args[0], name)
	}
	if _, _, err := lookup.ParseVariables(args[1:]); err != nil {
		return usagef("%v", err)
	}
	return nil
}

// lookupOptions are the options of lookup.
type lookupOptions struct {
	key            string
	variables      []string // NAME=VALUE
	planned        bool     // as in a plan, without a target
	explain        bool
	explainOptions bool
	targets        acting.Targets
	results        acting.Results
}

func (o *lookupOptions) Bind(b *cli.Binder) {
	b.Arg(&o.key)
	b.Rest(1, &o.variables)
	b.Switch("plan-hierarchy", &o.planned)
	b.Switch("explain", &o.explain)
	b.Switch("explain-options", &o.explainOptions)
	o.targets.Bind(b)
	o.results.Bind(b)
}

func (o *lookupOptions) Check() error { return o.results.Check() }

func (o *lookupOptions) CheckTargets() error {
	switch {
	case o.planned && (o.targets.Named() || o.targets.Choosing()):
		return usagef("The 'lookup' command accepts either targeting option OR --plan-hierarchy.")
	case o.planned && o.results.Folds() != "":
		return usagef("Options '%s' and '--plan-hierarchy' contradict each other: a lookup without targets has a single result", o.results.Folds())
	case !o.targets.Named() && !o.planned:
		return hinted(usagef("Command requires a targeting option: '--targets', '--rerun', or '--query'; or --plan-hierarchy"),
			"--targets (-t) names the targets for which the key is looked up; --plan-hierarchy looks it up once, as a plan does")
	}
	return nil
}

// Formats returns the formats of a list with --plan-hierarchy: one value is not a stream of events.
func (o *lookupOptions) Formats(all []string) ([]string, string) {
	if o.planned {
		return listFormats, "with --plan-hierarchy there is one answer, and no stream of events: --format json prints it"
	}
	return all, ""
}

func runLookup(ctx context.Context, a *app, o *lookupOptions) error {
	variables, ignored, err := lookup.ParseVariables(o.variables)
	if err != nil {
		return usagef("%v", err)
	}
	if len(ignored) > 0 {
		a.logs.WarnOnce("lookup_word", fmt.Sprintf("%s is ignored: one key is looked up; variables are given as NAME=VALUE.", ignored[0]))
	}
	s := lookup.New(lookup.Options{
		Environment: a.environment(o.planned), Key: o.key, Given: variables, Explain: o.explain || o.explainOptions, OnlyOptions: o.explainOptions,
		JSON: a.format().Data, Timeout: a.timeout(), Config: a.config.HieraConfig, Source: a.sources.Name(),
		ExplainError: a.names().Explain, Warn: a.logs.Warn, Logger: a.log,
	})
	if !o.planned {
		return a.lookupOnTargets(ctx, s, o)
	}
	found, err := s.InPlan(ctx)
	if found.Hint != "" && a.format() != output.NDJSON {
		fmt.Fprintln(a.Console, "hint:", found.Hint)
	}
	if err == nil || found.Text != "" && !a.format().Data {
		if err := listing.PrintValue(a.sys.out, a.format(), a.Terminal(), found.Text, found.Data); err != nil {
			return written(err)
		}
	}
	return err
}

// lookupOnTargets looks a key up for the targets of the command line.
func (a *app) lookupOnTargets(ctx context.Context, s *lookup.Search, o *lookupOptions) error {
	inv, err := a.sources.Inventory(ctx)
	if err != nil {
		return err
	}
	known := inv.AllTargets() // before others are found
	targets, err := a.sources.Targets(ctx, &o.targets)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		a.sources.WarnNone()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	shown, err := a.running().Show(&o.results, len(targets), stop)
	if err != nil {
		return err
	}
	defer shown.Close()
	failed, err := s.Run(ctx, targets, event.Fan(a.running().Rerun(), shown))
	if err != nil {
		return err
	}
	if a.format() != output.NDJSON {
		if names := lookup.Unlisted(targets, known); names != "" {
			fmt.Fprintf(a.Console, "hint for %s: not in %s, so nothing but the name is known\n", safetext.TerminalString(names), safetext.TerminalString(a.sources.Name()))
		}
	}
	if failed {
		return errFailedTargets
	}
	return nil
}
