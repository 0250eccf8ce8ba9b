package main

import (
	"context"

	"bolt/cli"
	"bolt/plans/graph"
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
		options.Subplan = a.plans().Programs(ctx)
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
