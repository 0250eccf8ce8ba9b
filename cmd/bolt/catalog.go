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
			targets, err := a.targets(ctx, o)
			if err == nil && len(targets) == 0 {
				a.warnNoTargets()
			}
			return targets, err
		},
		PuppetDB: a.puppetDB, Vault: a.vault(), Resolve: func(ctx context.Context, v any) (any, error) { return a.plugins().ResolveAll(ctx, v) },
	}
	v.Server.Project, v.Server.Home, v.Server.Base = a.project.Dir, home(a.sys), a.serverOptions()
	v.Server.Values, _ = a.config.Settings.Value("puppetserver").(*ordered.Map)
	if !a.factStore().Empty() {
		v.CachedFacts = a.cachedFacts
	}
	return v
}

type compileOptions struct{ catalogs.CompileOptions }

// beside makes bolt print errors on standard error, because standard output
// has catalogs.
func (o *compileOptions) beside() bool { return true }

func runCatalogCompile(ctx context.Context, a *app, o *compileOptions) error {
	if o.Stores() {
		a.config.Format = "json" // for errors
	}
	if o.OneNode() {
		collectLate(64) // enough for 10,000 resources
	}
	a.warnModulepath()
	failed, err := a.catalogs().Compile(ctx, &o.CompileOptions)
	return outcome(failed, err)
}

// outcome returns the error of work whose failures were printed.
func outcome(failed bool, err error) error {
	if err == nil && failed {
		return errFailedTargets
	}
	return stopped(err)
}

type showCatalogOptions struct{ catalogs.ShowOptions }

// beside makes bolt print errors on standard error if standard output has a
// drawing.
func (o *showCatalogOptions) beside() bool { return o.Draws() }

func (o *showCatalogOptions) formats(all []string) ([]string, string) { return o.Formats(all) }

func runCatalogShow(ctx context.Context, a *app, o *showCatalogOptions) error {
	return stopped(a.catalogs().Show(ctx, &o.ShowOptions))
}

func runCatalogDiff(ctx context.Context, a *app, o *catalogs.DiffOptions) error {
	a.warnModulepath()
	different, failed, err := a.catalogs().Diff(ctx, o)
	if err == nil && !failed && different {
		return errDifferent
	}
	return outcome(failed, err)
}

func runCatalogFind(ctx context.Context, a *app, o *catalogs.FindOptions) error {
	found, err := a.catalogs().Find(ctx, o)
	return outcome(!found, err)
}
