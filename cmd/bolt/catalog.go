package main

import (
	"context"

	"bolt/cli/acting"
	"bolt/cli/catalogs"
	"bolt/format/ordered"
	"bolt/inventory"
)

// catalogs returns the parts of this invocation that the catalog commands use.
func (a *app) catalogs() *catalogs.Invocation {
	v := &catalogs.Invocation{
		Screen: catalogs.Screen{Out: results{a.sys.out}, Err: a.sys.err, Console: a.Console, Format: a.format(), Color: a.Color(), ErrColor: a.ErrColor()},
		Logs:   a.logs, Input: a.Input, Timeout: a.timeout(), Environ: a.sys.environ(),
		Code: catalogs.Code{Options: a.languageOptions(), ModulepathGiven: a.global.modulepath.Given, HieraGiven: a.values.Has("hiera-config")},
		Targets: func(ctx context.Context, o *acting.Targets) ([]*inventory.Target, error) {
			targets, err := a.sources.Targets(ctx, o)
			if err == nil && len(targets) == 0 {
				a.sources.WarnNone()
			}
			return targets, err
		},
		PuppetDB: a.sources.PuppetDB, Vault: a.vault(), Resolve: func(ctx context.Context, v any) (any, error) { return a.sources.Plugins().ResolveAll(ctx, v) },
	}
	v.Server.Project, v.Server.Home, v.Server.Base = a.project.Dir, home(a.sys), a.sources.ServerOptions()
	v.Server.Values, _ = a.config.Settings.Value("puppetserver").(*ordered.Map)
	if !a.sources.Facts().Empty() {
		v.CachedFacts = a.sources.CachedFacts
	}
	return v
}

func runCatalogCompile(ctx context.Context, a *app, o *catalogs.CompileOptions) error {
	if o.Stores() {
		a.config.Format = "json" // for errors
	}
	if o.OneNode() {
		collectLate(64) // enough for 10,000 resources
	}
	return stopped(a.catalogs().Compile(ctx, o))
}
