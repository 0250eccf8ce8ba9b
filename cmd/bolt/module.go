package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"bolt/cli"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/modules"
	"bolt/modules/install"
	"bolt/modules/install/forge"
	"bolt/modules/install/gitcache"
	"bolt/output/listing"
	"bolt/run"
	"bolt/transport"
)

func wordsOfModuleAdd(args []string) error {
	if first(args) == "" {
		return usagef("Must specify a module name.")
	}
	return cli.OneArgument(args)
}

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
	from, _ := all.Value("forge").(*ordered.Map)
	text := func(m *ordered.Map, key string) string {
		s, _ := m.Value(key).(string)
		return s
	}
	client, err := forge.New(forge.Options{
		BaseURL:  text(from, "baseurl"),
		Token:    transport.NewSecret(text(from, "authorization_token")),
		Proxy:    cmp.Or(text(from, "proxy"), text(all, "proxy")),
		ProxyFor: http.ProxyFromEnvironment,
		Agent:    "bolt/" + version,
		Jitter:   rand.Float64,
	})
	if err != nil {
		return nil, nil, fault.New("bolt/validation-error", "The setting 'module-install' is not right: %v", err)
	}
	in = install.New(install.Options{
		Project: a.project.Dir,
		File:    a.project.File(),
		Forge:   client,
		Git:     gitcache.New(gitcache.Options{Dir: a.gitCache(), Env: a.sys.environ(), Proxy: text(all, "proxy")}),
		Step: func(text string) {
			a.log.Debug("modules", "step", text)
			_ = steps.Step(text) // what cannot be shown is done all the same
		},
	})
	return in, client.Close, nil
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

func runModuleInstall(ctx context.Context, a *app, _ []string) error {
	if err := a.needsProjectFile(); err != nil {
		return err
	}
	resolve := a.values.on("resolve", true)
	steps := a.steps()
	in, done, err := a.installer(ctx, steps)
	if err != nil {
		return err
	}
	defer done()
	if len(a.config.ModuleSpecs) == 0 && resolve {
		if err := a.tell(fmt.Sprintf("Project configuration file %s asks for no modules. Nothing to do.", a.project.File())); err != nil {
			return err
		}
		return a.installed(&install.Result{Puppetfile: in.Puppetfile(), ModuleDir: in.ModuleDir()}, true)
	}
	specs, err := install.ParseSpecs(a.config.ModuleSpecs)
	if err != nil && resolve {
		return err
	}
	if err := steps.Begin("Installing project modules"); err != nil {
		return written(err)
	}
	result, err := in.Install(ctx, install.Request{Specs: specs, Force: a.values.on("force", false), AsIs: !resolve})
	if err != nil {
		return ofInstallation(err)
	}
	return a.installed(result, false)
}

func runModuleAdd(ctx context.Context, a *app, args []string) error {
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
	if install.Includes(specs, args[0]) {
		if err := a.tell(fmt.Sprintf("Project configuration file %s already asks for a module called %s. Nothing to do.", a.project.File(), args[0])); err != nil {
			return err
		}
		return a.installed(&install.Result{Puppetfile: in.Puppetfile(), ModuleDir: in.ModuleDir()}, true)
	}
	if err := install.CheckName(args[0]); err != nil {
		return err
	}
	if err := steps.Begin("Adding module " + args[0] + " to project"); err != nil {
		return written(err)
	}
	result, err := in.Add(ctx, args[0], specs)
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
	var changes []listing.ModuleChange
	for _, c := range r.Changes {
		changes = append(changes, listing.ModuleChange{Name: c.Name, Old: c.Old, New: c.New})
	}
	return written(listing.PrintInstalled(a.sys.out, a.listOptions(), r.Puppetfile, r.ModuleDir, changes))
}

func runModuleShow(ctx context.Context, a *app, args []string) error {
	if first(args) != "" {
		return a.showModule(ctx, args[0])
	}
	var groups []listing.ModuleGroup
	group := func(path, title string, list []modules.Module) {
		g := listing.ModuleGroup{Path: path, Title: title}
		for _, m := range list {
			metadata := a.metadata(ctx, m)
			version, _ := metadata.Value("version").(string)
			g.Modules = append(g.Modules, listing.ModuleEntry{Name: fullName(m, metadata), Version: version, BuiltIn: m.BuiltIn()})
		}
		groups = append(groups, g)
	}
	for _, dir := range a.modules.Dirs() {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue // it need not be there
		}
		title := ""
		if dir == a.project.ManagedModules() {
			title = "Project Dependencies"
		}
		group(dir, title, modules.In(dir))
	}
	if list := a.modules.BuiltIn(); len(list) > 0 {
		group("builtin:/", "Packaged Modules", list)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return written(listing.PrintModules(a.sys.out, a.listOptions(), groups))
}

// metadata is a module's metadata.json; of one that cannot be read, a warning
// tells, and nothing is known.
func (a *app) metadata(ctx context.Context, m modules.Module) *ordered.Map {
	const name = "metadata.json"
	data, err := m.ReadFile(ctx, name, readfile.Config)
	if errors.Is(err, os.ErrNotExist) {
		return &ordered.Map{}
	}
	var v any
	if err == nil {
		v, err = ordered.ParseJSON(data)
	}
	metadata, ok := v.(*ordered.Map)
	if err == nil && !ok {
		err = errors.New("it is no JSON object")
	}
	if err != nil {
		if ctx.Err() == nil {
			a.logs.Warn("module_metadata", fmt.Sprintf("The metadata of module %s is not used. %s: %v", m.Name, m.Path(name), fault.WithoutPath(err)))
		}
		return &ordered.Map{}
	}
	return metadata
}

// fullName is owner/name where the metadata tells, else the name of the
// directory.
func fullName(m modules.Module, metadata *ordered.Map) string {
	if name, _ := metadata.Value("name").(string); name != "" {
		return strings.Replace(name, "-", "/", 1)
	}
	return m.Name
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
	full := fullName(m, metadata)
	if name != full && name != m.Name {
		return unknown
	}
	info := &listing.ModuleInfo{Name: full, Metadata: metadata, Path: m.Dir, BuiltIn: m.BuiltIn()}
	list, err := a.tasks().Of(ctx, m)
	if err != nil {
		return err
	}
	for _, t := range list {
		if !t.Private {
			info.Tasks = append(info.Tasks, listing.Described{Name: t.Name, Description: t.Description})
		}
	}
	planned, err := a.plans().Of(ctx, m)
	if err != nil {
		return err
	}
	for _, p := range planned {
		// As with Bolt, those in directories of their own are for "plan show".
		if !p.Private && path.Dir(p.File) == "plans" {
			info.Plans = append(info.Plans, listing.Described{Name: p.Name, Description: p.Description})
		}
	}
	return written(listing.PrintModule(a.sys.out, a.listOptions(), info))
}
