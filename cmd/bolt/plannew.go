package main

import (
	"context"

	"bolt/internal/output"
)

// planCommands work on plans.
func planCommands() []command {
	return []command{{
		name: "plan new", args: "NAME", run: runPlanNew, words: wordsOfPlanNew,
		short: "Write a plan to begin with",
		long: `Writes a small plan below plans of the project, in YAML or, with --pp, in the
Puppet language. NAME is that of the project, or begins with it: PROJECT::NAME.
Nothing that exists is overwritten. This version does not run plans.`,
		example: `  bolt plan new site::deploy
  bolt plan new site::db::backup --pp`,
		exit: exitMade, formats: listFormats, lists: []string{onNewPlan},
	}}
}

func wordsOfPlanNew(args []string) error {
	if first(args) == "" {
		return usagef("Must specify a plan name.")
	}
	return oneWord(args)
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
