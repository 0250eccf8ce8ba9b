package main

import (
	"context"

	"bolt/output/listing"
)

func (a *app) warnPolicies() {
	a.logs.WarnOnce("policy_command", "Policies are an experimental feature of Puppet Bolt: these commands may change.")
}

func runPolicyNew(ctx context.Context, a *app, o *nameOption) error {
	a.warnPolicies()
	file, err := a.project.NewPolicy(ctx, o.name)
	if err != nil {
		return err
	}
	return written(listing.PrintNewPolicy(a.sys.out, a.listOptions(), o.name, file))
}

func runPolicyShow(_ context.Context, a *app) error {
	a.warnPolicies()
	names, err := a.config.PolicyNames()
	if err != nil {
		return err
	}
	return written(listing.PrintPolicies(a.sys.out, a.listOptions(), &listing.Policies{Names: names, Modulepath: a.modules.Dirs()}))
}
