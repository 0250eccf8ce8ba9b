package main

import (
	"context"

	"bolt/cli"
	"bolt/output/listing"
)

func wordsOfPlanNew(args []string) error {
	if first(args) == "" {
		return usagef("Must specify a plan name.")
	}
	return cli.OneArgument(args)
}

type planNewOptions struct {
	name   string
	puppet bool // in the Puppet language
}

func (o *planNewOptions) bind(b *cli.Binder) {
	b.Arg(&o.name)
	b.Switch("pp", &o.puppet)
}

func runPlanNew(_ context.Context, a *app, o *planNewOptions) error {
	file, err := a.project.NewPlan(o.name, o.puppet)
	if err != nil {
		return err
	}
	return written(listing.PrintCreated(a.sys.out, a.listOptions(), &listing.Created{Kind: "plan", Name: o.name, Path: file, Next: []listing.Described{
		{Description: "Show this plan with:", Name: "bolt plan show " + o.name},
		{Description: "Run this plan with:", Name: "bolt plan run " + o.name},
	}}))
}
