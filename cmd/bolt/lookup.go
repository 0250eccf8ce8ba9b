package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"bolt/environment"
	"bolt/event"
	"bolt/internal/safetext"
	"bolt/inventory"
	"bolt/lookup"
	"bolt/output"
	"bolt/output/listing"
)

// wordsOfLookup are a key, and variables for the lookup.
func wordsOfLookup(args []string) error {
	if len(args) == 0 {
		return usagef("Must specify a key to look up")
	}
	if name, _, is := strings.Cut(args[0], "="); is {
		return hinted(usagef("Must specify a key to look up"), "%s is the variable %s: the key stands before it", args[0], name)
	}
	for _, arg := range args[1:] {
		name, _, ok := strings.Cut(arg, "=")
		if !ok {
			return hinted(usagef("Unknown argument %s", arg), "one key is looked up; variables are given as NAME=VALUE")
		}
		if err := environment.CheckVariable(name); err != nil {
			return usagef("%v", err)
		}
	}
	return nil
}

func runLookup(ctx context.Context, a *app, o *lookupOptions) error {
	a.warnModulepath()
	wanted := lookup.Options{
		Environment: a.environment(o.planned), Key: o.key, Given: map[string]string{}, Explain: o.explain || o.explainOptions, OnlyOptions: o.explainOptions,
		JSON: a.format().IsJSON(), Timeout: a.timeout(), Config: a.config.HieraConfig, Source: a.inventorySource(),
		ExplainError: a.explain, Warn: a.logs.Warn, Logger: a.log,
	}
	for _, arg := range o.variables {
		name, val, _ := strings.Cut(arg, "=")
		wanted.Given[name] = val
	}
	s := lookup.New(wanted)
	if !o.planned {
		return a.lookupOnTargets(ctx, s, o.key, &o.results)
	}
	found, err := s.InPlan(ctx)
	if found.Hint != "" && a.format() != output.NDJSON {
		fmt.Fprintln(a.console, "hint:", found.Hint)
	}
	if err == nil || found.Text != "" && !wanted.JSON {
		if err := listing.PrintValue(a.sys.out, a.format(), a.terminal(), found.Text, found.Data); err != nil {
			return written(err)
		}
	}
	return err
}

// lookupOnTargets looks a key up for the targets of the command line.
func (a *app) lookupOnTargets(ctx context.Context, s *lookup.Search, key string, results *resultOptions) error {
	find, err := a.targeting(ctx)
	if err != nil {
		return err
	}
	var known []*inventory.Target
	if inv, err := a.inventory(ctx); err == nil {
		known = inv.AllTargets()
	}
	targets, err := find(ctx)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		a.warnNoTargets()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	shown, err := a.shown(results, len(targets), stop)
	if err != nil {
		return err
	}
	defer shown.close()
	sink := event.Fan(a.rerunSink(), shown)
	if err := sink.Event(ctx, event.ActionBegin{Action: event.Lookup, Object: key, Targets: targets}); err != nil {
		return err
	}
	failed := false
	begin := time.Now()
	for r := range s.OnTargets(ctx, targets) {
		failed = failed || !r.OK()
		if sink.Event(ctx, event.TargetEnd{Result: r}) != nil {
			break // ActionEnd returns the error again
		}
	}
	if err := sink.Event(ctx, event.ActionEnd{Elapsed: time.Since(begin), Failed: failed}); err != nil {
		return err
	}
	if a.format() != output.NDJSON {
		if names := lookup.Unlisted(targets, known); names != "" {
			fmt.Fprintf(a.console, "hint for %s: not in %s, so nothing but the name is known\n", safetext.TerminalString(names), safetext.TerminalString(a.inventorySource()))
		}
	}
	if failed {
		return errFailedTargets
	}
	return nil
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, os.ErrNotExist)
}
