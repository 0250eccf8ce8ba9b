package catalogs

import (
	"context"
	"slices"
	"strings"

	"bolt/catalog/classifier"
	"bolt/catalog/compile"
	"bolt/catalog/puppetcompiler"
	"bolt/catalog/site"
	"bolt/cli"
)

// The compilers of --compiler.
const (
	compilerBolt   = "bolt"
	compilerPuppet = "puppet"
	compilerServer = "puppetserver"
)

// Compilers are the values of --compiler.
func Compilers() []string { return []string{compilerBolt, compilerPuppet, compilerServer} }

// compilerOptions name the program that compiles, and the one that classifies.
type compilerOptions struct {
	compiler   string
	classifier string
	env        string // of --environment, "" if it was not given
}

func (o *compilerOptions) Bind(b *cli.Binder) {
	if b.Text("compiler", &o.compiler); o.compiler == "" {
		o.compiler = compilerBolt
	}
	b.Text("classifier", &o.classifier)
}

// given reports whether an option was given.
func (o *compilerOptions) given() bool { return o.compiler != compilerBolt || o.classifier != "" }

// check checks the options for a compiler of Puppet.
func (o *compilerOptions) check(c *CompileOptions, program bool) error {
	switch {
	case o.compiler == compilerBolt:
	case !slices.Contains(Compilers(), o.compiler):
		return cli.Errorf("There is no compiler '%s': it must be one of %s", o.compiler, strings.Join(Compilers(), ", "))
	case program:
		return cli.Hinted(cli.Errorf("Option '--compiler %s' compiles environments, and no program", o.compiler), "leave out --compiler, or put the program into an environment")
	case c.exports != "":
		return cli.Hinted(cli.Errorf("Option '--compiler %s' takes no '--exports'", o.compiler), "only bolt collects exported resources of catalogs")
	case o.compiler == compilerPuppet && c.path == "":
		return cli.Errorf("Option '--compiler puppet' needs '--environment-path'")
	case o.compiler == compilerServer && c.path != "":
		return cli.Hinted(cli.Errorf("Only one of --compiler puppetserver and --environment-path can be given"), "Puppet Server compiles the environments that it has")
	case o.compiler == compilerServer && (c.classes != nil || o.classifier != ""):
		return cli.Hinted(cli.Errorf("Option '--compiler puppetserver' takes no '--class' and no '--classifier'"), "Puppet Server uses the classifier that it is configured with")
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
func (v *Invocation) compiler(ctx context.Context, o *CompileOptions) (exportsCompiler, error) {
	with, err := v.unclassified(ctx, o)
	if err != nil || o.foreign.classifier == "" {
		return with, err
	}
	by, err := classifier.New(ctx, o.foreign.classifier)
	if err != nil {
		return nil, err
	}
	return func(e compile.Exports) site.Compiler { return by.Before(with(e), o.foreign.env) }, nil
}

func (v *Invocation) unclassified(ctx context.Context, o *CompileOptions) (exportsCompiler, error) {
	switch o.foreign.compiler {
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
		p := puppetcompiler.ProgramOptions{EnvironmentPath: o.path, Environment: o.env, Env: v.Environ}
		if v.Code.HieraGiven {
			p.Hiera = v.Code.Options.Hiera
		}
		program, err := puppetcompiler.NewProgram(p)
		if err != nil {
			return nil, err
		}
		return fixed(program), nil
	}
	open, err := v.site(ctx, o)
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
func (v *Invocation) puppetServer(ctx context.Context, o *CompileOptions) (*puppetcompiler.Server, error) {
	settings, err := v.PuppetServer(ctx)
	if err != nil {
		return nil, err
	}
	return puppetcompiler.NewServer(ctx, puppetcompiler.ServerOptions{Settings: settings, Environment: o.env, Prefer: o.foreign.env != ""})
}
