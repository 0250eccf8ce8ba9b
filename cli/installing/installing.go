// Package installing carries out the commands that install, add and show modules.
//
// Mistakes of the user are *cli.UsageError.
package installing

import (
	"context"
	"fmt"
	"io"
	"os"

	"bolt/cli"
	"bolt/cli/content"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/logging"
	"bolt/modules"
	"bolt/modules/install"
	"bolt/output/listing"
	"bolt/project"
)

// An Invocation has the parts of one invocation of bolt that the commands use.
type Invocation struct {
	Version  string // of bolt
	Out      io.Writer
	Progress io.Writer // for steps and messages: with formats for programs, it is not standard output
	How      listing.Options
	Logs     *logging.Log
	Project  *project.Project
	Config   *project.Config
	Content  *content.Content
	GitCache string // a directory; "" for none
	Environ  []string
	// Resolved returns data with its references resolved, in clear text.
	Resolved func(ctx context.Context, v any) (any, error)
}

// NoModules is the Check of module install.
func NoModules(args []string) error {
	if len(args) > 0 {
		return cli.Errorf("Invalid argument '%s'. To add a new module to the project, run 'bolt module add %s'.", args[0], args[0])
	}
	return nil
}

// settings returns the settings for installing the modules of the project. The
// steps are shown to people.
func (v *Invocation) settings() *install.Settings {
	steps := listing.NewModuleSteps(v.Progress, v.How.Format)
	return &install.Settings{
		Project: v.Project.Dir, File: v.Project.File(), Specs: v.Config.ModuleSpecs,
		Sources:  func(ctx context.Context) (any, error) { return v.Resolved(ctx, v.Config.ModuleInstall) },
		GitCache: v.GitCache, Environ: v.Environ, Agent: "bolt/" + v.Version,
		Begin: steps.Begin,
		Step: func(text string) {
			v.Logs.Logger().Debug("modules", "step", text)
			_ = steps.Step(text) // an error of showing does not stop the work
		},
	}
}

// InstallOptions are the options of module install.
type InstallOptions struct{ resolve, force bool }

// Bind reads the flags.
func (o *InstallOptions) Bind(b *cli.Binder) {
	o.resolve = true
	b.Switch("resolve", &o.resolve)
	b.Switch("force", &o.force)
}

// Install carries out module install.
func (v *Invocation) Install(ctx context.Context, o *InstallOptions) error {
	result, err := v.settings().Install(ctx, o.force, !o.resolve)
	if err != nil {
		return err
	}
	return v.installed(result)
}

// Add carries out module add.
func (v *Invocation) Add(ctx context.Context, o *cli.NameOption) error {
	result, err := v.settings().Add(ctx, o.Name)
	if err != nil {
		return err
	}
	return v.installed(result)
}

func (v *Invocation) installed(r *install.Result) error {
	if r.Idle != "" {
		if _, err := fmt.Fprintln(v.Progress, r.Idle); err != nil || !v.How.Format.Data {
			return err
		}
	}
	return listing.PrintInstalled(v.Out, v.How, r)
}

// Show carries out module show: it prints a module, or lists the modules.
func (v *Invocation) Show(ctx context.Context, o *cli.NameOption) error {
	if o.Name != "" {
		return v.show(ctx, o.Name)
	}
	groups := v.Content.Modules.Groups(v.Project.ManagedModules(), func(m modules.Module) *ordered.Map { return v.metadata(ctx, m) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return listing.PrintModules(v.Out, v.How, groups)
}

// metadata returns a module's metadata.json. If it cannot be read, metadata warns and
// returns nil.
func (v *Invocation) metadata(ctx context.Context, m modules.Module) *ordered.Map {
	metadata, err := m.Metadata(ctx)
	if err != nil && ctx.Err() == nil {
		v.Logs.Warn("module_metadata", fmt.Sprintf("The metadata of module %s is not used. %s: %v", m.Name, m.Path(modules.MetadataFile), fault.WithoutPath(err)))
	}
	return metadata
}

func (v *Invocation) show(ctx context.Context, name string) error {
	m, err := v.Content.Modules.Called(name, func(m modules.Module) *ordered.Map { return v.metadata(ctx, m) })
	if err != nil {
		return err
	}
	list, err := v.Content.Tasks.Of(ctx, m.Module)
	if err != nil {
		return err
	}
	planned, err := v.Content.Plans.Of(ctx, m.Module)
	if err != nil {
		return err
	}
	return listing.PrintModule(v.Out, v.How, &listing.Contents{Described: *m, Tasks: list, Plans: planned})
}

// Into installs the modules of a new project. If it fails, it leaves none of its own files.
func (v *Invocation) Into(ctx context.Context) error {
	if _, err := v.settings().Install(ctx, false, false); err != nil {
		_ = os.Remove(v.Project.ManagedModules()) // a directory that is not empty existed before
		return err
	}
	return nil
}

// Complete completes the name of a module.
func (v *Invocation) Complete(_ context.Context, q cli.Query) cli.Completions {
	var words []cli.Word
	for _, m := range v.Content.Modules.All() {
		words = append(words, cli.Word{Text: m.Name})
	}
	return cli.Named(words, q.Prefix)
}
