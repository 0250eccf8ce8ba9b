package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bolt/cli"
	"bolt/output/listing"
	"bolt/plans/executor"
	"bolt/plans/runs"
)

func wordsOfResume(args []string) error {
	if first(args) == "" {
		return hinted(usagef("Must specify a run to resume"), "bolt plan runs lists them; last is the one that was begun last")
	}
	return pairs(args[1:], "plan")
}

// recordedOptions returns the options of the command line for reaching and acting
// on targets, without passwords.
func (a *app) recordedOptions() cli.Values {
	return a.values.Recorded(a.sys.flags(), func(f *cli.Flag) bool {
		return slices.Contains([]string{secAuth, secEscalate, secContext, secTransport}, f.Section) && f.On != onResume && f.On != onJournal
	})
}

// withOptions opens an app with the options of a run, unless the command line
// overrides them.
func (a *app) withOptions(ctx context.Context, options cli.Values) (*app, error) {
	delete(options, "project")
	again, err := openApp(ctx, a.values.Over(options), a.sys, loud)
	if err != nil {
		return nil, err
	}
	again.config.Format = a.config.Format
	return again, nil
}

type resumeOptions struct {
	playOptions
	run     string
	secrets []string // NAME=VALUE
	retry   bool
	outcome cli.Optional
}

func (o *resumeOptions) Bind(b *cli.Binder) {
	o.playOptions.Bind(b)
	b.Arg(&o.run)
	b.Rest(1, &o.secrets)
	b.Switch("retry", &o.retry)
	b.Optional("unknown", &o.outcome)
	o.unknown = o.outcome.Text
}

// resumePlan resumes a run.
func resumePlan(ctx context.Context, a *app, o *resumeOptions) error {
	id, err := a.runs().Named(o.run)
	if err != nil {
		return err
	}
	if o.outcome.Given && !slices.Contains(executor.Outcomes(), o.unknown) {
		return usagef("Invalid value '%s' of option '--unknown': it is one of %s", o.unknown, strings.Join(executor.Outcomes(), ", "))
	}
	begun, err := a.runs().Open(ctx, id, o.retry)
	if err != nil {
		return err
	}
	defer begun.Close()
	b, err := a.withOptions(ctx, begun.Options())
	if err != nil {
		return err
	}
	defer b.close()
	defer b.sources.Save(ctx)
	// The limits of the run are the limits at its beginning.
	o.limits.Bind(cli.NewBinder(b.values, nil))
	p, err := b.runs().Unchanged(ctx, begun)
	if err != nil {
		return err
	}
	words, err := b.secretWords(ctx, begun, o.secrets)
	if err != nil {
		return err
	}
	r, err := b.runs().Resume(p, begun, words)
	if err != nil {
		return err
	}
	return b.play(ctx, &o.playOptions, r)
}

// secretWords returns the parameters that were not recorded, each as NAME=VALUE.
func (a *app) secretWords(ctx context.Context, begun *runs.Recorded, words []string) ([]string, error) {
	missing, other := begun.Missing(words)
	if other != "" {
		return nil, hinted(usagef("The parameter '%s' cannot be given to a run that is resumed: it has those of its beginning", other),
			"only secret ones are given again; to run the plan with others, run it anew")
	}
	for _, name := range missing {
		secret, err := a.Ask.Secret(ctx, fmt.Sprintf("Please enter the parameter %s, which is secret and was not recorded: ", name))
		if err != nil {
			return nil, hinted(usagef("The parameter '%s' is secret and was not recorded: %v", name, err), "give it again: bolt plan resume %s %s=VALUE", begun.ID, name)
		}
		words = append(words, name+"="+secret.Reveal())
	}
	return words, nil
}

func showRuns(_ context.Context, a *app) error {
	list, err := a.runs().List()
	if err != nil {
		return err
	}
	return written(listing.PrintPlanRecords(a.sys.out, a.listOptions(), list))
}
