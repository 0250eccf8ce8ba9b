package main

import (
	"context"
	"fmt"

	"bolt/cli"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/modules"
	"bolt/modules/install"
	"bolt/output/listing"
)

func wordsOfModuleInstall(args []string) error {
	if len(args) > 0 {
		return usagef("Invalid argument '%s'. To add a new module to the project, run 'bolt module add %s'.", args[0], args[0])
	}
	return nil
}

// installation returns the settings for installing the modules of the project. The
// steps are shown to people.
func (a *app) installation() *install.Settings {
	out := a.sys.out
	if a.format().Data {
		out = a.sys.err
	}
	steps := listing.NewModuleSteps(out, a.format())
	return &install.Settings{
		Project: a.project.Dir, File: a.project.File(), Specs: a.config.ModuleSpecs,
		Sources:  func(ctx context.Context) (any, error) { return a.sources.Resolved(ctx, a.config.ModuleInstall) },
		GitCache: a.cacheDir("git"), Environ: a.sys.environ(), Agent: "bolt/" + version,
		Begin: func(text string) error { return written(steps.Begin(text)) },
		Step: func(text string) {
			a.log.Debug("modules", "step", text)
			_ = steps.Step(text) // an error of showing does not stop the work
		},
	}
}

type installOptions struct{ resolve, force bool }

func (o *installOptions) Bind(b *cli.Binder) {
	o.resolve = true
	b.Switch("resolve", &o.resolve)
	b.Switch("force", &o.force)
}

func runModuleInstall(ctx context.Context, a *app, o *installOptions) error {
	result, err := a.installation().Install(ctx, o.force, !o.resolve)
	if err != nil {
		return err
	}
	return a.installed(result)
}

func runModuleAdd(ctx context.Context, a *app, o *nameOption) error {
	result, err := a.installation().Add(ctx, o.name)
	if err != nil {
		return err
	}
	return a.installed(result)
}

func (a *app) installed(r *install.Result) error {
	if r.Idle != "" {
		if err := a.tell(r.Idle); err != nil || !a.format().Data {
			return err
		}
	}
	return written(listing.PrintInstalled(a.sys.out, a.listOptions(), r))
}

func runModuleShow(ctx context.Context, a *app, o *nameOption) error {
	if o.name != "" {
		return a.showModule(ctx, o.name)
	}
	groups := a.modules.Groups(a.project.ManagedModules(), func(m modules.Module) *ordered.Map { return a.metadata(ctx, m) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return written(listing.PrintModules(a.sys.out, a.listOptions(), groups))
}

// metadata returns a module's metadata.json. If it cannot be read, metadata warns and
// returns nil.
func (a *app) metadata(ctx context.Context, m modules.Module) *ordered.Map {
	metadata, err := m.Metadata(ctx)
	if err != nil && ctx.Err() == nil {
		a.logs.Warn("module_metadata", fmt.Sprintf("The metadata of module %s is not used. %s: %v", m.Name, m.Path(modules.MetadataFile), fault.WithoutPath(err)))
	}
	return metadata
}

func (a *app) showModule(ctx context.Context, name string) error {
	m, err := a.modules.Called(name, func(m modules.Module) *ordered.Map { return a.metadata(ctx, m) })
	if err != nil {
		return err
	}
	list, err := a.tasks.Of(ctx, m.Module)
	if err != nil {
		return err
	}
	planned, err := a.plans.Of(ctx, m.Module)
	if err != nil {
		return err
	}
	return written(listing.PrintModule(a.sys.out, a.listOptions(), &listing.Contents{Described: *m, Tasks: list, Plans: planned}))
}
