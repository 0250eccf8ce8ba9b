package main

import (
	"context"
	"errors"

	"bolt/cli"
	"bolt/format/fault"
	"bolt/plans"
	"bolt/plans/graph"
	"bolt/puppet/syntax"
)

// The values of --as.
const (
	pictureDot = "dot"
	pictureSVG = "svg"
)

func wordsOfPlanGraph(args []string) error {
	if first(args) == "" {
		return usagef("Must specify a plan to draw")
	}
	return cli.OneArgument(args)
}

type graphOptions struct {
	plan   string
	as     string // pictureSVG, or else pictureDot
	nested bool
}

func (o *graphOptions) bind(b *cli.Binder) {
	b.Arg(&o.plan)
	b.Text("as", &o.as)
	b.Switch("nested", &o.nested)
}

// graphPlan prints the picture of a plan. It is the same in every format: what
// reads it is another program.
func graphPlan(ctx context.Context, a *app, o *graphOptions) error {
	p, err := a.plans().Find(ctx, o.plan)
	if err != nil {
		return err
	}
	program, err := p.Program()
	if err != nil {
		return err
	}
	options := graph.Options{Dir: a.project.Dir}
	if o.nested {
		options.Subplan = func(name string) (*syntax.Program, error) { return a.subplan(ctx, name) }
	}
	g, err := graph.Of(program, p.Name, options)
	if err != nil {
		return err
	}
	if o.as == pictureSVG {
		return written(g.WriteSVG(a.sys.out))
	}
	return written(g.WriteDot(a.sys.out))
}

// subplan is the program of a plan that another one calls. One that there is not
// may be an error that the other expects: it has no program.
func (a *app) subplan(ctx context.Context, name string) (*syntax.Program, error) {
	p, err := a.plans().Find(ctx, name)
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Kind == plans.UnknownPlan {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return p.Program()
}
