package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/modules/install/forge"
	"bolt/modules/install/gitcache"
	"bolt/transport"
)

// Settings are a project, the modules that it wants, and their sources. Sources, Begin
// and Step are required.
type Settings struct {
	Project string // its directory
	File    string // its bolt-project.yaml
	Specs   []any  // the setting modules
	// Sources returns the setting module-install, with references resolved.
	Sources func(ctx context.Context) (any, error)
	// GitCache is the directory for copies of repositories; "" for a directory of the
	// project. Environ is the environment of git.
	GitCache string
	Environ  []string
	Agent    string // as which the Forge knows this program
	// Begin receives the description of the whole installation. Its error ends it.
	Begin func(text string) error
	// Step receives a sentence about the next step.
	Step func(text string)
}

// Install installs the modules of the project. See Request for force and asIs.
func (s *Settings) Install(ctx context.Context, force, asIs bool) (*Result, error) {
	if err := s.hasFile(); err != nil {
		return nil, err
	}
	in, done, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if len(s.Specs) == 0 && !asIs {
		return in.idle("does not list any modules"), nil
	}
	specs, err := ParseSpecs(s.Specs)
	if err != nil && !asIs {
		return nil, err
	}
	if err := s.Begin("Installing project modules"); err != nil {
		return nil, err
	}
	r, err := in.Install(ctx, Request{Specs: specs, Force: force, AsIs: asIs})
	return r, stopped(ctx, err)
}

// Add adds a module from the Forge to the file of the project and installs it.
func (s *Settings) Add(ctx context.Context, name string) (*Result, error) {
	if err := s.hasFile(); err != nil {
		return nil, err
	}
	specs, err := ParseSpecs(s.Specs)
	if err != nil {
		return nil, err
	}
	in, done, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if includes(specs, name) {
		return in.idle("already lists a module named " + name), nil
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	if err := s.Begin("Adding module " + name + " to project"); err != nil {
		return nil, err
	}
	r, err := in.Add(ctx, name, specs)
	return r, stopped(ctx, err)
}

// hasFile returns an error if the project has no bolt-project.yaml.
func (s *Settings) hasFile() error {
	if _, err := os.Stat(s.File); err != nil {
		return &fault.Error{Kind: "bolt/missing-project-config-error", Err: err, Msg: fmt.Sprintf("Could not find project configuration file %s, which lists "+
			"the modules to install. 'bolt project init' creates the file.", s.File)}
	}
	return nil
}

// idle returns the result when there is nothing to do.
func (in *Installer) idle(reason string) *Result {
	return &Result{Puppetfile: in.Puppetfile(), ModuleDir: in.ModuleDir(), Idle: fmt.Sprintf("Project configuration file %s %s. Nothing to do.", in.o.File, reason)}
}

// stopped words the error of an installation that the end of ctx has interrupted.
func stopped(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		return &fault.Error{Kind: "bolt/puppetfile-error", Msg: "The installation was stopped. Nothing was changed.", Err: err}
	}
	return err
}

// connect returns an Installer that fetches modules from the Forge and from git. done
// must be called after its last use.
func (s *Settings) connect(ctx context.Context) (in *Installer, done func(), err error) {
	sources, err := s.Sources(ctx)
	if err != nil {
		return nil, nil, err
	}
	all, _ := sources.(*ordered.Map)
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
		Agent:    s.Agent,
		Jitter:   rand.Float64,
	})
	if err != nil {
		return nil, nil, fault.New("bolt/validation-error", "The setting 'module-install' is invalid: %v", err)
	}
	cache := cmp.Or(s.GitCache, filepath.Join(s.Project, managedName, ".bolt-git"))
	git := gitcache.New(gitcache.Options{Dir: cache, Env: s.Environ, Proxy: text(all, "proxy")})
	return New(Options{Project: s.Project, File: s.File, Forge: client, Git: git, Step: s.Step}), client.Close, nil
}
