package planning

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bolt/cli"
	"bolt/cli/input"
	"bolt/output/listing"
	"bolt/plans/executor"
	"bolt/plans/runs"
)

// NeedRun is the Check of commands that take a recorded run and parameters.
func NeedRun(args []string) error {
	if len(args) == 0 || args[0] == "" {
		return cli.Hinted(cli.Errorf("Must specify a run to resume"), "bolt plan runs lists them; last is the one that was begun last")
	}
	return input.CheckPairs(args[1:], "plan")
}

// Outcomes returns the values of --unknown.
func Outcomes() []string { return executor.Outcomes() }

// ResumeOptions are the options of plan resume.
type ResumeOptions struct {
	playOptions
	run     string
	secrets []string // NAME=VALUE
	retry   bool
	outcome cli.Optional
}

// Bind reads the flags and arguments.
func (o *ResumeOptions) Bind(b *cli.Binder) {
	o.playOptions.Bind(b)
	b.Arg(&o.run)
	b.Rest(1, &o.secrets)
	b.Switch("retry", &o.retry)
	b.Optional("unknown", &o.outcome)
	o.unknown = o.outcome.Text
}

// Resume carries out plan resume: it resumes a run.
func (v *Invocation) Resume(ctx context.Context, o *ResumeOptions) error {
	id, err := v.runs().Named(o.run)
	if err != nil {
		return err
	}
	if o.outcome.Given && !slices.Contains(executor.Outcomes(), o.unknown) {
		return cli.Errorf("Invalid value '%s' of option '--unknown': it is one of %s", o.unknown, strings.Join(executor.Outcomes(), ", "))
	}
	begun, err := v.runs().Open(ctx, id, o.retry)
	if err != nil {
		return err
	}
	defer begun.Close()
	recorded := cli.Values(begun.Options())
	b, done, err := v.Again(ctx, recorded)
	if err != nil {
		return err
	}
	defer done()
	// The limits of the run are the limits at its beginning.
	o.limits.Bind(cli.NewBinder(b.Given, nil))
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
func (v *Invocation) secretWords(ctx context.Context, begun *runs.Recorded, words []string) ([]string, error) {
	missing, other := begun.Missing(words)
	if other != "" {
		return nil, cli.Hinted(cli.Errorf("The parameter '%s' cannot be given to a run that is resumed: it has those of its beginning", other),
			"only secret ones are given again; to run the plan with others, run it anew")
	}
	for _, name := range missing {
		secret, err := v.Running.Ask.Secret(ctx, fmt.Sprintf("Please enter the parameter %s, which is secret and was not recorded: ", name))
		if err != nil {
			return nil, cli.Hinted(cli.Errorf("The parameter '%s' is secret and was not recorded: %v", name, err), "give it again: bolt plan resume %s %s=VALUE", begun.ID, name)
		}
		words = append(words, name+"="+secret.Reveal())
	}
	return words, nil
}

// ShowRuns carries out plan runs.
func (v *Invocation) ShowRuns(_ context.Context, _ *cli.NoOptions) error {
	list, err := v.runs().List()
	if err != nil {
		return err
	}
	return listing.PrintPlanRecords(v.Out, v.How, list)
}
