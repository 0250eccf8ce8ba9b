package catalogs

import (
	"cmp"
	"context"

	"bolt/catalog/classifier"
	"bolt/catalog/compile"
	"bolt/catalog/puppetcompiler"
	"bolt/catalog/site"
	"bolt/cli"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/modules"
	"bolt/modules/builtin"
)

// The compilers of --compiler.
const (
	compilerBolt   = "bolt"
	compilerPuppet = "puppet"
	compilerServer = "puppetserver"
)

// Compilers returns the values of --compiler.
func Compilers() []string { return []string{compilerBolt, compilerPuppet, compilerServer} }

// An exportsCompiler is a compiler that collects exported resources; Puppet's compilers
// ignore them.
type exportsCompiler func(compile.Exports) site.Compiler

// fixed returns Puppet's compiler as an exportsCompiler.
func fixed(c site.Compiler) exportsCompiler {
	return func(compile.Exports) site.Compiler { return c }
}

// An opener opens the code of an environment for compiling.
type opener func(env string) (*site.Site, error)

// prepare returns the compiler and the nodes that options choose.
func (v *Invocation) prepare(ctx context.Context, o *selection, sources []site.Source) (site.Compiler, []site.Node, error) {
	open, err := v.site(ctx, o, sources)
	if err != nil {
		return nil, nil, err
	}
	return v.prepareWith(ctx, o, open)
}

// prepareWith is prepare for code that open opens.
func (v *Invocation) prepareWith(ctx context.Context, o *selection, open opener) (site.Compiler, []site.Node, error) {
	with, err := v.compiler(ctx, o, open)
	if err != nil {
		return nil, nil, err
	}
	nodes, err := v.nodes(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	c, err := v.exporting(ctx, o, func(e compile.Exports) site.Compiler { return redacting{site.Concealing(with(e))} }, nodes)
	return c, nodes, err
}

// compiler returns the compiler of the nodes.
func (v *Invocation) compiler(ctx context.Context, o *selection, open opener) (exportsCompiler, error) {
	with, err := v.unclassified(ctx, o, open)
	if err != nil || o.classifier == "" {
		return with, err
	}
	by, err := classifier.New(ctx, o.classifier)
	if err != nil {
		return nil, err
	}
	return func(e compile.Exports) site.Compiler { return by.Before(with(e), o.environment) }, nil
}

func (v *Invocation) unclassified(ctx context.Context, o *selection, open opener) (exportsCompiler, error) {
	switch o.compiler {
	case compilerServer:
		s, err := v.puppetServer(ctx, o)
		if err != nil {
			return nil, err
		}
		return fixed(s), nil
	case compilerPuppet:
		if v.Code.ModulepathGiven {
			return nil, errModulepath()
		}
		p := puppetcompiler.ProgramOptions{EnvironmentPath: o.path, Environment: o.env(), Env: v.Environ}
		if v.Code.HieraGiven {
			p.Hiera = v.Code.Options.Hiera
		}
		program, err := puppetcompiler.NewProgram(p)
		if err != nil {
			return nil, err
		}
		return fixed(program), nil
	}
	if o.classifier != "" {
		return func(e compile.Exports) site.Compiler {
			return site.NewEnvironments(o.env(), func(env string) (*site.Site, error) {
				s, err := open(env)
				if err != nil {
					return nil, err
				}
				return s.With(e), nil
			})
		}, nil
	}
	s, err := open(o.env())
	if err != nil {
		return nil, err
	}
	return func(e compile.Exports) site.Compiler { return s.With(e) }, nil
}

// puppetServer returns the Puppet Server of the configuration. Its connections end with
// the process.
func (v *Invocation) puppetServer(ctx context.Context, o *selection) (*puppetcompiler.Server, error) {
	settings := v.Server
	if settings.Values.Len() > 0 {
		resolved, err := v.Resolve(ctx, settings.Values)
		if err != nil {
			return nil, err
		}
		var is bool
		if settings.Values, is = resolved.(*ordered.Map); !is {
			return nil, fault.New("bolt/puppetserver-error", "The plugin for the setting puppetserver must return a Hash.")
		}
	}
	return puppetcompiler.NewServer(ctx, puppetcompiler.ServerOptions{Settings: settings, Environment: o.env(), Prefer: o.environment != ""})
}

// site returns a function that opens the code of an environment for compiling. sources
// are a program for the modules of the project.
func (v *Invocation) site(ctx context.Context, o *selection, sources []site.Source) (opener, error) {
	if o.path == "" || o.compiler != compilerBolt {
		return func(env string) (*site.Site, error) { return site.New(env, v.Code.Options, sources) }, nil
	}
	if v.Code.ModulepathGiven {
		return nil, errModulepath()
	}
	code := v.Code.Options
	if !v.Code.HieraGiven {
		code.Hiera = "" // the project's Hiera configuration is not for this environment
	}
	return func(env string) (*site.Site, error) {
		return site.Open(ctx, o.path, env, code, builtin.Files())
	}, nil
}

func errModulepath() error {
	return cli.Hinted(cli.Errorf("Only one of --environment-path and --modulepath can be given"), "set modulepath in environment.conf")
}

// Modules returns the modules of the code that options choose, for the environment of a catalog. It returns nil if they are on a
// Puppet Server.
func (v *Invocation) Modules(ctx context.Context, o *Subject, env string) (*modules.Path, error) {
	switch {
	case o.Foreign():
		return nil, nil
	case o.nodes.path == "":
		return v.Code.Options.Modules, nil
	}
	l, err := site.LayoutOf(ctx, o.nodes.path, cmp.Or(env, o.nodes.env()))
	if err != nil {
		return nil, err
	}
	return l.Options(v.Code.Options, builtin.Files()).Modules, nil
}
