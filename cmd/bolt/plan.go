package main

import (
	"bytes"
	"context"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/output/listing"
	"bolt/plans"
)

// playOptions are those of running a plan, also of one that is resumed.
type playOptions struct {
	verbose bool
	unknown string // what becomes of a step that had begun when the run was cut off
	limits  acting.Limits
}

func (o *playOptions) bind(b *cli.Binder) {
	b.Switch("verbose", &o.verbose)
	o.limits.Bind(b)
}

func (o *playOptions) Check() error {
	_, err := o.limits.Parse()
	return err
}

// planOptions are those of plan run.
type planOptions struct {
	playOptions
	plan    string
	params  paramOptions
	journal bool
	targets acting.Targets
}

func (o *planOptions) bind(b *cli.Binder) {
	o.playOptions.bind(b)
	b.Arg(&o.plan)
	o.params.bind(b)
	b.Switch("journal", &o.journal)
	o.targets.Bind(b)
}

// checkTargets refuses a choice among no targets: a plan needs none, but does nothing with
// those that only the choice names.
func (o *planOptions) checkTargets() error {
	if !o.targets.Named() && o.targets.Choosing() {
		return hinted(usagef("Options such as '--limit' need targets of which they leave some"), "name them with --targets (-t), or with --where among all of the inventory")
	}
	return nil
}

func wordsOfPlanConvert(args []string) error {
	if first(args) == "" {
		return usagef("Must specify a plan.")
	}
	return cli.OneArgument(args)
}

// convertPlan prints a plan, as it is in every format: what reads it is the
// language.
func convertPlan(ctx context.Context, a *app, o *nameOption) error {
	p, err := a.plans().At(ctx, o.name)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := p.YAML.Convert(&text); err != nil {
		return err
	}
	_, err = text.WriteTo(a.sys.out)
	return written(err)
}

// plans is the library of the module path.
func (a *app) plans() *plans.Library {
	if a.planned == nil {
		a.planned = plans.NewLibrary(plans.Options{Modules: a.modules, Type: a.typeReader(), Warn: a.logs.Warn})
	}
	return a.planned
}

func showPlans(ctx context.Context, a *app, o *listOptions) error {
	if o.name != "" {
		p, err := a.plans().Find(ctx, o.name)
		if err != nil {
			return err
		}
		return written(listing.PrintPlan(a.sys.out, a.listOptions(), p))
	}
	list, err := publicPlans(ctx, a)
	if err != nil {
		return err
	}
	if list, err = listing.Offered(list, o.filter, "plans", a.config.PlanFilter); err != nil {
		return err
	}
	return written(listing.PrintPlanList(a.sys.out, a.listOptions(), &listing.PlanList{Plans: list, Modulepath: a.modules.Dirs()}))
}
