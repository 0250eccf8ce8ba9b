package main

import (
	"context"
	"errors"

	"bolt/cli"
	"bolt/format/yaml"
	"bolt/output/listing"
	"bolt/plans/executor"
	"bolt/plans/graph"
)

func showPlans(ctx context.Context, a *app, o *listOptions) error {
	if o.name != "" {
		p, err := a.plans.Find(ctx, o.name)
		if _, syntax := errors.AsType[*yaml.Error](err); syntax && !a.format().Data {
			return executor.Placed(err) // the message has no file
		} else if err != nil {
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

type planNewOptions struct {
	name   string
	puppet bool // in the Puppet language
}

func (o *planNewOptions) Bind(b *cli.Binder) {
	b.Arg(&o.name)
	b.Switch("pp", &o.puppet)
}

func runPlanNew(_ context.Context, a *app, o *planNewOptions) error {
	file, err := a.project.NewPlan(o.name, o.puppet)
	if err != nil {
		return err
	}
	return written(listing.PrintNewPlan(a.sys.out, a.listOptions(), o.name, file))
}

// convertPlan prints a plan. It is the same in every format, because the
// output is Puppet code.
func convertPlan(ctx context.Context, a *app, o *nameOption) error {
	p, err := a.plans.At(ctx, o.name)
	if err != nil {
		return err
	}
	return p.YAML.Convert(results{a.sys.out})
}

type graphOptions struct {
	plan   string
	as     string // one of graph.Formats, or ""
	nested bool
}

func (o *graphOptions) Bind(b *cli.Binder) {
	b.Arg(&o.plan)
	b.Text("as", &o.as)
	b.Switch("nested", &o.nested)
}

// graphPlan prints the picture of a plan. It is the same in every format,
// because another program reads it.
func graphPlan(ctx context.Context, a *app, o *graphOptions) error {
	p, err := a.plans.Find(ctx, o.plan)
	if err != nil {
		return err
	}
	program, err := p.Program()
	if err != nil {
		return err
	}
	options := graph.Options{Dir: a.project.Dir}
	if o.nested {
		options.Subplan = a.plans.Programs(ctx)
	}
	g, err := graph.Of(program, p.Name, options)
	if err != nil {
		return err
	}
	return written(g.Write(a.sys.out, o.as))
}
