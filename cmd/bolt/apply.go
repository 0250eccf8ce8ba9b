package main

import (
	"context"

	"bolt/apply/fleet"
	"bolt/cli/applying"
	"bolt/project"
)

// applying returns the parts of this invocation that the commands with the helper use.
func (a *app) applying() *applying.Invocation {
	who := a.auditing().Actor()
	return &applying.Invocation{
		Version: version, Host: who.Host, Logs: a.logs, Log: a.log, Input: a.Input,
		Code: a.languageOptions(), Timeout: a.timeout(), Compilations: a.config.CompileConcurrency, Say: a.catalogs().Say,
		Delivery: fleet.Delivery{Dir: a.config.Apply.Dir, Setting: project.ApplyDirSetting, Diffs: !a.config.Apply.HideDiffs, By: who.Address()},
		Store:    a.sources.Facts(), CachedFacts: a.sources.CachedFacts, PuppetDB: a.sources.PuppetDB, Act: a.running().Act, Keeper: a.keeper,
	}
}

func runPolicyApply(ctx context.Context, a *app, o *applying.PolicyOptions) error {
	a.warnPolicies()
	known, err := a.config.PolicyNames()
	if err != nil {
		return err
	}
	return stopped(a.applying().Policy(ctx, o, known))
}

func runPuppetResource(ctx context.Context, a *app, o *applying.ResourceOptions) error {
	return stopped(a.applying().Resource(ctx, o, !a.format().Data))
}
