package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bolt/cli"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/modules"
	"bolt/modules/install"
	"bolt/output/listing"
	"bolt/run"
)

func wordsOfModuleInstall(args []string) error {
	if len(args) > 0 {
		return usagef("Invalid argument '%s'. To add a new module to the project, run 'bolt module add %s'.", args[0], args[0])
	}
	return nil
}

// installer is made for the project, with steps shown to people.
func (a *app) installer(ctx context.Context, steps *listing.ModuleSteps) (in *install.Installer, done func(), err error) {
	settings, err := a.resolved(ctx, a.config.ModuleInstall)
	if err != nil {
		return nil, nil, err
	}
	all, _ := settings.(*ordered.Map)
	return install.Connect(install.Settings{
		Project: a.project.Dir, File: a.project.File(), Install: all, GitCache: a.gitCache(), Environ: a.sys.environ(), Agent: "bolt/" + version,
		Step: func(text string) {
			a.log.Debug("modules", "step", text)
			_ = steps.Step(text) // what cannot be shown is done all the same
		},
	})
}

// gitCache is where copies of repositories are kept: with the user's other
// caches, so that projects share them.
func (a *app) gitCache() string {
	if dir := a.cacheDir("git"); dir != "" {
		return dir
	}
	return filepath.Join(a.project.ManagedModules(), ".bolt-git")
}

// needsProjectFile is an error for projects without a bolt-project.yaml.
func (a *app) needsProjectFile() error {
	if _, err := os.Stat(a.project.File()); err != nil {
		return &fault.Error{Kind: "bolt/missing-project-config-error", Err: err, Msg: fmt.Sprintf("Could not find project configuration file %s, so there is no place for "+
			"the modules that are wanted. 'bolt project init' makes one.", a.project.File())}
	}
	return nil
}

// steps shows what an installation does where messages go.
func (a *app) steps() *listing.ModuleSteps {
	out := a.sys.out
	if a.format().IsJSON() {
		out = a.sys.err
	}
	return listing.NewModuleSteps(out, a.format())
}

type installOptions struct{ resolve, force bool }

func (o *installOptions) bind(b *cli.Binder) {
	o.resolve = true
	b.Switch("resolve", &o.resolve)
	b.Switch("force", &o.force)
}

func runModuleInstall(ctx context.Context, a *app, o *installOptions) error {
	if err := a.needsProjectFile(); err != nil {
		return err
	}
	steps := a.steps()
	in, done, err := a.installer(ctx, steps)
	if err != nil {
		return err
	}
	defer done()
	if len(a.config.ModuleSpecs) == 0 && o.resolve {
		if err := a.tell(fmt.Sprintf("Project configuration file %s asks for no modules. Nothing to do.", a.project.File())); err != nil {
			return err
		}
		return a.installed(&install.Result{Puppetfile: in.Puppetfile(), ModuleDir: in.ModuleDir()}, true)
	}
	specs, err := install.ParseSpecs(a.config.ModuleSpecs)
	if err != nil && o.resolve {
		return err
	}
	if err := steps.Begin("Installing project modules"); err != nil {
		return written(err)
	}
	result, err := in.Install(ctx, install.Request{Specs: specs, Force: o.force, AsIs: !o.resolve})
	if err != nil {
		return ofInstallation(err)
	}
	return a.installed(result, false)
}

func runModuleAdd(ctx context.Context, a *app, o *nameOption) error {
	if err := a.needsProjectFile(); err != nil {
		return err
	}
	specs, err := install.ParseSpecs(a.config.ModuleSpecs)
	if err != nil {
		return err
	}
	steps := a.steps()
	in, done, err := a.installer(ctx, steps)
	if err != nil {
		return err
	}
	defer done()
	if install.Includes(specs, o.name) {
		if err := a.tell(fmt.Sprintf("Project configuration file %s already asks for a module called %s. Nothing to do.", a.project.File(), o.name)); err != nil {
			return err
		}
		return a.installed(&install.Result{Puppetfile: in.Puppetfile(), ModuleDir: in.ModuleDir()}, true)
	}
	if err := install.CheckName(o.name); err != nil {
		return err
	}
	if err := steps.Begin("Adding module " + o.name + " to project"); err != nil {
		return written(err)
	}
	result, err := in.Add(ctx, o.name, specs)
	if err != nil {
		return ofInstallation(err)
	}
	return a.installed(result, false)
}

// ofInstallation words the end of an installation that was interrupted.
func ofInstallation(err error) error {
	if errors.Is(err, run.ErrStopped) {
		return &fault.Error{Kind: "bolt/puppetfile-error", Msg: "The installation was stopped. Nothing was changed.", Err: err}
	}
	return err
}

// installed prints what an installation has done. Of nothing to do, people have
// been told.
func (a *app) installed(r *install.Result, told bool) error {
	if told && !a.format().IsJSON() {
		return nil
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

// metadata is a module's metadata.json; of one that cannot be read, a warning
// tells, and nothing is known.
func (a *app) metadata(ctx context.Context, m modules.Module) *ordered.Map {
	metadata, err := m.Metadata(ctx)
	if err != nil && ctx.Err() == nil {
		a.logs.Warn("module_metadata", fmt.Sprintf("The metadata of module %s is not used. %s: %v", m.Name, m.Path(modules.MetadataFile), fault.WithoutPath(err)))
	}
	return metadata
}

func (a *app) showModule(ctx context.Context, name string) error {
	name = strings.ReplaceAll(name, "-", "/")
	short := name
	if _, rest, ok := strings.Cut(name, "/"); ok {
		short = rest
	}
	unknown := fault.New("bolt/unknown-module", "Could not find module '%s' on the modulepath.", name)
	m, ok := a.modules.Module(short)
	if !ok {
		return unknown
	}
	metadata := a.metadata(ctx, m)
	described := modules.Described{Module: m, Metadata: metadata}
	full := described.FullName()
	if name != full && name != m.Name {
		return unknown
	}
	list, err := a.tasks().Of(ctx, m)
	if err != nil {
		return err
	}
	planned, err := a.plans().Of(ctx, m)
	if err != nil {
		return err
	}
	return written(listing.PrintModule(a.sys.out, a.listOptions(), &listing.Contents{Described: described, Tasks: list, Plans: planned}))
}
