package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bolt/cli"
	"bolt/format/ordered"
	"bolt/output/listing"
	"bolt/plans"
	"bolt/plans/executor"
	"bolt/plans/journal"
	"bolt/puppet/value"
)

func wordsOfResume(args []string) error {
	if first(args) == "" {
		return hinted(usagef("Must specify a run to resume"), "bolt plan runs lists them; last is the one that was begun last")
	}
	return pairs(args[1:], "plan")
}

// kept is how long the journals of runs are kept that have finished.
const kept = 30 * 24 * time.Hour

func (a *app) journals() string { return filepath.Join(a.project.Dir, journal.Dir) }

// newJournal begins the journal of a run, and removes old ones.
func (a *app) newJournal(ctx context.Context, p *plans.Plan, given *value.Hash) (*journal.Run, error) {
	if err := journal.Prune(a.journals(), time.Now().Add(-kept)); err != nil {
		a.logs.WarnOnce("journal", err.Error())
	}
	h := journal.Header{Plan: p.Name, Options: a.recordedOptions()}
	h.Params, h.Secrets = executor.ParamsOf(p, given)
	j, err := journal.Create(ctx, a.journals(), h)
	if err == nil {
		fmt.Fprintf(a.Console, "This run is recorded as %s.\n", j.ID)
	}
	return j, err
}

// recordedOptions are the options of the command line that say how targets are
// reached and acted on, without passwords.
func (a *app) recordedOptions() *ordered.Map {
	m := &ordered.Map{}
	for _, f := range a.sys.flags() {
		switch f.Section {
		case secAuth, secEscalate, secContext, secTransport:
		default:
			continue
		}
		if f.Secret || f.On == onResume || f.On == onJournal || !a.values.Has(f.Name) {
			continue
		}
		list := make([]any, len(a.values[f.Name]))
		for i, text := range a.values[f.Name] {
			if f.Absolute != nil {
				text = f.Absolute(text)
			}
			list[i] = text
		}
		m.Set(f.Name, list)
	}
	return m
}

// withOptions opens an app with the options of a run, where the command line does
// not say something else.
func (a *app) withOptions(ctx context.Context, options *ordered.Map) (*app, error) {
	values := maps.Clone(a.values)
	for name, v := range options.All() {
		list, _ := v.([]any)
		if values.Has(name) || name == "project" {
			continue
		}
		for _, text := range list {
			if text, ok := text.(string); ok {
				values[name] = append(values[name], text)
			}
		}
	}
	again, err := openApp(ctx, values, a.sys, loud)
	if err != nil {
		return nil, err
	}
	again.config.Format = a.config.Format
	return again, nil
}

// resumePlan goes on with a run.
type resumeOptions struct {
	playOptions
	run     string
	secrets []string // NAME=VALUE
	retry   bool
	outcome cli.Optional
}

func (o *resumeOptions) bind(b *cli.Binder) {
	o.playOptions.bind(b)
	b.Arg(&o.run)
	b.Rest(1, &o.secrets)
	b.Switch("retry", &o.retry)
	b.Optional("unknown", &o.outcome)
	o.unknown = o.outcome.Text
}

func resumePlan(ctx context.Context, a *app, o *resumeOptions) error {
	id, err := journal.Find(a.journals(), o.run, a.warnJournal)
	if err != nil {
		return err
	}
	if o.outcome.Given && !slices.Contains(executor.Outcomes(), o.unknown) {
		return usagef("Invalid value '%s' of option '--unknown': it is one of %s", o.unknown, strings.Join(executor.Outcomes(), ", "))
	}
	j, err := journal.Open(ctx, a.journals(), id, o.retry)
	if err != nil {
		return err
	}
	defer j.Close()
	b, err := a.withOptions(ctx, j.Options)
	if err != nil {
		return err
	}
	defer b.close()
	defer b.savePlugins(ctx)
	// The limits of the run are those of its beginning.
	o.limits.Bind(cli.NewBinder(b.values, nil))
	return b.resume(ctx, o, j)
}

func (a *app) resume(ctx context.Context, o *resumeOptions, j *journal.Run) error {
	p, err := a.plans().Find(ctx, j.Plan)
	if err != nil {
		return a.placed(err)
	}
	for name := range j.Plans() {
		q, err := a.plans().Find(ctx, name)
		if err != nil {
			return a.placed(err)
		}
		digest, err := executor.TextDigest(ctx, q)
		if err != nil {
			return err
		}
		if err := j.Entered(name, digest); err != nil {
			return err
		}
	}
	words, err := a.secretWords(ctx, j, o.secrets)
	if err != nil {
		return err
	}
	given, err := a.plans().Given(p, plans.Words{Params: j.Params, Pairs: words})
	if err != nil {
		return err
	}
	if err := j.Again(); err != nil {
		return err
	}
	return a.play(ctx, &o.playOptions, p, given, j)
}

// secretWords are the parameters that were not recorded, each as NAME=VALUE.
func (a *app) secretWords(ctx context.Context, j *journal.Run, words []string) ([]string, error) {
	var names []string
	for _, w := range words {
		name, _, _ := strings.Cut(w, "=")
		if !slices.Contains(j.Secrets, name) {
			return nil, hinted(usagef("The parameter '%s' cannot be given to a run that is resumed: it has those of its beginning", name),
				"only secret ones are given again; to run the plan with others, run it anew")
		}
		names = append(names, name)
	}
	for _, name := range j.Secrets {
		if slices.Contains(names, name) {
			continue
		}
		secret, err := a.Ask.Secret(ctx, fmt.Sprintf("Please enter the parameter %s, which is secret and was not recorded: ", name))
		if err != nil {
			return nil, hinted(usagef("The parameter '%s' is secret and was not recorded: %v", name, err), "give it again: bolt plan resume %s %s=VALUE", j.ID, name)
		}
		words = append(words, name+"="+secret.Reveal())
	}
	return words, nil
}

func (a *app) runs() ([]journal.Summary, error) {
	return journal.List(a.journals(), a.warnJournal)
}

func (a *app) warnJournal(err error) { a.logs.Warn("journal", err.Error()) }

func showRuns(_ context.Context, a *app) error {
	list, err := a.runs()
	if err != nil {
		return err
	}
	return written(listing.PrintPlanRecords(a.sys.out, a.listOptions(), list))
}

// ended notes how a run has ended. cut is set if it was cut off, so that it can be
// resumed. The error is err, or else that of the journal.
func (a *app) ended(ctx context.Context, j *journal.Run, err error) (cut bool, _ error) {
	switch {
	case j == nil:
		return false, err
	case err == nil:
		return false, j.Over("", nil)
	case ctx.Err() != nil || executor.Unfinished(err):
		return true, err
	}
	if lost := j.Over(a.redacted(err.Error()), executor.FailedSteps(err)); lost != nil {
		a.warnJournal(lost)
	}
	return false, err
}
