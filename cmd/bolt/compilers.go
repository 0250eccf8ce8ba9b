package main

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"bolt/catalog/classifier"
	"bolt/catalog/compile"
	"bolt/catalog/puppetcompiler"
	"bolt/catalog/site"
	"bolt/cli"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/puppetdb/server"
)

// The compilers of --compiler.
const (
	compilerBolt   = "bolt"
	compilerPuppet = "puppet"
	compilerServer = "puppetserver"
)

func compilers() []string { return []string{compilerBolt, compilerPuppet, compilerServer} }

// compilerOptions name the program that compiles, and the one that classifies.
type compilerOptions struct {
	compiler   string
	classifier string
	env        string // of --environment, "" if it was not given
}

func (o *compilerOptions) bind(b *cli.Binder) {
	if b.Text("compiler", &o.compiler); o.compiler == "" {
		o.compiler = compilerBolt
	}
	b.Text("classifier", &o.classifier)
}

// given reports whether an option was given.
func (o *compilerOptions) given() bool { return o.compiler != compilerBolt || o.classifier != "" }

// check checks the options for a compiler of Puppet.
func (o *compilerOptions) check(c *compileOptions, program bool) error {
	switch {
	case o.compiler == compilerBolt:
	case !slices.Contains(compilers(), o.compiler):
		return usagef("There is no compiler '%s': it must be one of %s", o.compiler, strings.Join(compilers(), ", "))
	case program:
		return hinted(usagef("Option '--compiler %s' compiles environments, and no program", o.compiler), "leave out --compiler, or put the program into an environment")
	case c.exports != "":
		return hinted(usagef("Option '--compiler %s' takes no '--exports'", o.compiler), "only bolt collects exported resources of catalogs")
	case o.compiler == compilerPuppet && c.path == "":
		return usagef("Option '--compiler puppet' needs '--environment-path'")
	case o.compiler == compilerServer && c.path != "":
		return hinted(usagef("Only one of --compiler puppetserver and --environment-path can be given"), "Puppet Server compiles the environments that it has")
	case o.compiler == compilerServer && (c.classes != nil || o.classifier != ""):
		return hinted(usagef("Option '--compiler puppetserver' takes no '--class' and no '--classifier'"), "Puppet Server uses the classifier that it is configured with")
	}
	return nil
}

// An exportsCompiler is a compiler that collects exported resources; Puppet's compilers
// ignore them.
type exportsCompiler func(compile.Exports) site.Compiler

// fixed is a compiler of Puppet.
func fixed(c site.Compiler) exportsCompiler {
	return func(compile.Exports) site.Compiler { return c }
}

// compiler returns the compiler of the nodes.
func (a *app) compiler(ctx context.Context, o *compileOptions) (exportsCompiler, error) {
	with, err := a.unclassified(ctx, o)
	if err != nil || o.foreign.classifier == "" {
		return with, err
	}
	by, err := classifier.New(ctx, o.foreign.classifier)
	if err != nil {
		return nil, err
	}
	return func(e compile.Exports) site.Compiler { return by.Before(with(e), o.foreign.env) }, nil
}

func (a *app) unclassified(ctx context.Context, o *compileOptions) (exportsCompiler, error) {
	switch o.foreign.compiler {
	case compilerServer:
		s, err := a.puppetServer(ctx, o)
		if err != nil {
			return nil, err
		}
		return fixed(s), nil
	case compilerPuppet:
		if a.global.modulepath.Given {
			return nil, errModulepath()
		}
		p := puppetcompiler.ProgramOptions{EnvironmentPath: o.path, Environment: o.env, Env: a.sys.environ()}
		if a.values.Has("hiera-config") {
			p.Hiera = a.languageOptions().Hiera
		}
		program, err := puppetcompiler.NewProgram(p)
		if err != nil {
			return nil, err
		}
		return fixed(program), nil
	}
	open, err := a.site(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.foreign.classifier != "" {
		return func(e compile.Exports) site.Compiler {
			return site.NewEnvironments(o.env, func(env string) (*site.Site, error) {
				s, err := open(env)
				if err != nil {
					return nil, err
				}
				return s.With(e), nil
			})
		}, nil
	}
	s, err := open(o.env)
	if err != nil {
		return nil, err
	}
	return func(e compile.Exports) site.Compiler { return s.With(e) }, nil
}

// puppetServer is the Puppet Server that the configuration describes. Its connections end
// with the process.
func (a *app) puppetServer(ctx context.Context, o *compileOptions) (*puppetcompiler.Server, error) {
	settings, _ := a.config.Settings.Value("puppetserver").(*ordered.Map)
	if settings.Len() > 0 {
		v, err := a.plugins().ResolveAll(ctx, settings)
		if err != nil {
			return nil, err
		}
		resolved, is := v.(*ordered.Map)
		if !is {
			return nil, fault.New("bolt/puppetserver-error", "The plugin for the setting puppetserver must return a Hash.")
		}
		settings = resolved
	}
	return puppetcompiler.NewServer(ctx, puppetcompiler.ServerOptions{
		Settings: server.Settings{
			Values: settings, Project: a.project.Dir, Home: home(a.sys),
			Base: server.Options{Agent: "bolt/" + version, Proxy: http.ProxyFromEnvironment, Log: a.log},
		},
		Environment: o.env, Prefer: o.foreign.env != "",
	})
}
