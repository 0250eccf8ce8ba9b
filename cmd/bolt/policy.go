package main

import (
	"context"
	"slices"

	"bolt/cli"
	"bolt/format/fault"
	"bolt/output/listing"
)

func wordsOfPolicyNew(args []string) error {
	if first(args) == "" {
		return usagef("Must specify a name for the new policy.")
	}
	return cli.OneArgument(args)
}

func (a *app) warnPolicies() {
	a.logs.WarnOnce("policy_command", "Policies are an experiment of Puppet Bolt's: what these commands do may change.")
}

func runPolicyNew(ctx context.Context, a *app, o *nameOption) error {
	a.warnPolicies()
	file, err := a.project.NewPolicy(ctx, o.name)
	if err != nil {
		return err
	}
	return written(listing.PrintCreated(a.sys.out, a.listOptions(), &listing.Created{Kind: "policy", Name: o.name, Path: file, Next: []listing.Described{
		{Description: "Apply this policy with:", Name: "bolt policy apply " + o.name + " --targets <TARGETS>"},
		{Description: "Show available policies with:", Name: "bolt policy show"},
	}}))
}

// unique is a list without what it has twice.
func unique(list []string) []string {
	kept := []string{}
	for _, s := range list {
		if !slices.Contains(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}

func runPolicyShow(_ context.Context, a *app) error {
	a.warnPolicies()
	if a.config.Policies == nil {
		return fault.New("bolt/no-policies-error", "The project has no policies: there is no list 'policies' in %s. "+
			"'bolt policy new' makes the first one.", a.project.File())
	}
	return written(listing.PrintPolicies(a.sys.out, a.listOptions(), &listing.Policies{Names: unique(a.config.Policies), Modulepath: a.modules.Dirs()}))
}
