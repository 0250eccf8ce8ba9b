package main

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"bolt/cli"
	"bolt/format/ordered"
	"bolt/output/listing"
	"bolt/plans"
)

// playOptions are those of running a plan, also of one that is resumed.
type playOptions struct {
	verbose bool
	unknown string // what becomes of a step that had begun when the run was cut off
}

func (o *playOptions) bind(b *cli.Binder) { b.Switch("verbose", &o.verbose) }

// planOptions are those of plan run.
type planOptions struct {
	playOptions
	plan    string
	params  paramOptions
	journal bool
	named   bool // there are targets
	chose   bool // some of the targets
}

func (o *planOptions) bind(b *cli.Binder) {
	o.playOptions.bind(b)
	b.Arg(&o.plan)
	o.params.bind(b)
	b.Switch("journal", &o.journal)
	v := flagValues(b.Given())
	o.named, o.chose = v.named(), choosing(v)
}

// checkTargets refuses a choice among no targets: a plan needs none, but does nothing with
// those that only the choice names.
func (o *planOptions) checkTargets() error {
	if !o.named && o.chose {
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
		return written(listing.PrintPlan(a.sys.out, a.listOptions(), planView(p)))
	}
	list, err := publicPlans(ctx, a)
	if err != nil {
		return err
	}
	if list, err = o.offered("plans", a.config.PlanFilter, list); err != nil {
		return err
	}
	return written(listing.PrintPlanList(a.sys.out, a.listOptions(), &listing.PlanList{Plans: list, Modulepath: a.modules.Dirs()}))
}

func planView(p *plans.Plan) *listing.Plan {
	view := &listing.Plan{
		Name: p.Name, Description: p.Description, Summary: p.Brief, Docstring: p.Docstring, Private: p.Private,
		Signature: &ordered.Map{}, Dir: p.Module.Dir, BuiltIn: p.Module.BuiltIn(),
	}
	add := func(q *plans.Parameter) {
		kind := q.DocumentedType()
		view.Parameters = append(view.Parameters, listing.Parameter{
			Name: q.Name, Type: kind, Description: q.Description, HasDescription: q.HasDescription,
			Default: q.DefaultText, HasDefault: q.HasDefault, Usage: q.Usage(),
		})
		data := ordered.Of("type", kind, "sensitive", q.Sensitive)
		if q.HasDefault {
			data.Set("default_value", q.Default)
		}
		if q.HasDescription {
			data.Set("description", q.Description)
		}
		view.Signature.Set(q.Name, data)
	}
	for _, name := range p.Documented { // Bolt lists these first
		if q := p.Parameter(name); q != nil {
			add(q)
		}
	}
	for i := range p.Parameters {
		if q := &p.Parameters[i]; !slices.Contains(p.Documented, q.Name) {
			add(q)
		}
	}
	slices.SortFunc(view.Parameters, func(a, b listing.Parameter) int { return strings.Compare(a.Name, b.Name) })
	return view
}
