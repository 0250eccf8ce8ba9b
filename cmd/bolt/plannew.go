package main

import (
	"context"

	"bolt/cli"
	"bolt/output"
)

func wordsOfPlanNew(args []string) error {
	if first(args) == "" {
		return usagef("Must specify a plan name.")
	}
	return cli.OneArgument(args)
}

func runPlanNew(_ context.Context, a *app, args []string) error {
	file, err := a.project.NewPlan(args[0], a.values.on("pp", false))
	if err != nil {
		return err
	}
	return written(output.PrintCreated(a.sys.out, a.listOptions(), &output.Created{Kind: "plan", Name: args[0], Path: file, Next: []output.Described{
		{Description: "Show this plan with:", Name: "bolt plan show " + args[0]},
		{Description: "Run this plan with:", Name: "bolt plan run " + args[0]},
	}}))
}
