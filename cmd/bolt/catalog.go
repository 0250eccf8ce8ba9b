package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"bolt/catalog/compile"
	"bolt/catalog/site"
	"bolt/cli"
	"bolt/cli/acting"
	"bolt/cli/programs"
	"bolt/environment"
	"bolt/event"
	"bolt/internal/safetext"
	"bolt/modules/builtin"
	"bolt/output"
	"bolt/output/listing"
	"bolt/puppet/eval"
)

type compileOptions struct {
	programs.Options
	files   []string
	node    string
	facts   cli.Optional
	path    string // of environments; "" for the modules of the project
	env     string
	classes []string
	exports string // exportsOwn, exportsFleet, fromPuppetDB, a directory, or "" for the default
	format  string // formatPuppetDB, formatDot, or one of the configuration
	targets acting.Targets
	output  cli.Optional // a directory
	inputs  bool         // print what the compilations read instead of the catalogs
	foreign compilerOptions
}

func (o *compileOptions) bind(b *cli.Binder) {
	b.Texts("execute", &o.Execute)
	b.Rest(0, &o.files)
	b.Optional("output", &o.output)
	b.Switch("inputs", &o.inputs)
	b.Text("format", &o.format)
	o.bindNodes(b)
}

// bindNodes binds the options for an environment and for nodes.
func (o *compileOptions) bindNodes(b *cli.Binder) {
	b.Text("node", &o.node)
	b.Optional("facts", &o.facts)
	b.Text("environment-path", &o.path)
	b.Text("environment", &o.env)
	if o.foreign.env = o.env; o.env == "" {
		o.env = environment.Name
	}
	b.Texts("class", &o.classes)
	b.Text("exports", &o.exports)
	o.foreign.bind(b)
	o.targets.Bind(b)
}

func (o *compileOptions) Check() error {
	program := o.Execute != nil || len(o.files) > 0
	if err := o.foreign.check(o, program); err != nil {
		return err
	}
	switch {
	case o.path != "" && program:
		return usagef("Only one of --environment-path and a program can be given")
	case o.path == "" && !program && o.classes == nil && o.foreign.classifier == "" && o.foreign.compiler == compilerBolt:
		return hinted(usagef("Must specify what to compile"), "give a manifest, a program with --execute (-e), --class, or --environment-path")
	case o.output.Given && o.output.Text == "":
		return usagef("Option '--output' needs a directory")
	case o.inputs && o.foreign.compiler != compilerBolt:
		return hinted(usagef("Option '--compiler %s' takes no '--inputs'", o.foreign.compiler), "only bolt records what a compilation reads")
	case o.inputs && (o.format == formatPuppetDB || o.format == formatDot):
		return usagef("Only one of --inputs and --format %s can be given", o.format)
	}
	if err := o.checkNodes(); err != nil {
		return err
	}
	return o.Once()
}

// named reports whether options say for which nodes to compile.
func (o *compileOptions) named() bool {
	return o.foreign.given() || o.node != "" || o.facts.Given || o.targets.Named() || o.targets.Choosing()
}

func (o *compileOptions) checkNodes() error {
	switch {
	case o.node == "" && o.facts.Given && o.facts.Text != fromPuppetDB:
		return hinted(usagef("Option '--facts' needs '--node'"), "targets have the facts of the inventory, and those that were collected; --facts puppetdb takes them from PuppetDB")
	case strings.ContainsAny(o.node, "/\n\r\t\x00"):
		return usagef("%q cannot be the name of a node", o.node)
	case o.node != "" && (o.targets.Named() || o.targets.Choosing()):
		return usagef("Only one of --node and targets can be given")
	case o.node == "" && !o.targets.Named() && !o.targets.Choosing():
		return hinted(usagef("Must specify a node"), "--node names it, --targets (-t) names targets of the inventory")
	}
	return nil
}

func runCatalogCompile(ctx context.Context, a *app, o *compileOptions) error {
	if o.format == formatPuppetDB {
		a.config.Format = "json" // of errors
	}
	with, err := a.compiler(ctx, o)
	if err != nil {
		return a.failedCompile(err)
	}
	nodes, err := a.nodes(ctx, o)
	if err != nil {
		return a.failedCompile(err)
	}
	s, err := a.exporting(ctx, o, with, nodes)
	if err != nil {
		return a.failedCompile(err)
	}
	out := bufio.NewWriter(a.sys.out)
	how := listing.Options{Format: a.format(), Color: a.Color()}
	var failed []*site.Compiled
	for c := range site.CompileAll(ctx, s, nodes, a.timeout()) {
		if ctx.Err() != nil {
			return errPrinted // the user knows
		}
		for _, l := range c.Logs {
			a.sayOfNode(c.Node, l)
		}
		if o.format == formatPuppetDB {
			c.Store(storeOptions())
		}
		if c.Err != nil && o.node != "" {
			return a.failedCompile(site.Failure(c.Node, c.Err))
		}
		file := ""
		if c.Err != nil {
			failed = append(failed, c)
		} else if o.output.Given {
			if file, err = site.Write(o.output.Text, c); err != nil {
				return a.failedCompile(err)
			}
		}
		if o.format == formatDot {
			return a.draw(c.Catalog)
		}
		if o.inputs {
			err = listing.PrintInputs(out, how, c)
		} else {
			err = listing.PrintCompiled(out, how, c, file)
		}
		if err != nil {
			return written(err)
		}
	}
	if failed == nil {
		return nil
	}
	if !how.Format.IsJSON() {
		if err := listing.PrintFailures(a.sys.out, how, "", failed); err != nil {
			return written(err)
		}
	}
	return errFailedTargets
}

// failedCompile prints an error on standard error, in every format: standard output has
// catalogs only.
func (a *app) failedCompile(err error) error {
	if _, usage := errors.AsType[*usageError](err); usage || errors.Is(err, errPrinted) {
		return err
	}
	if werr := output.PrintError(a.sys.err, a.format(), a.ErrColor(), event.RedactError(err, a.redacted)); werr != nil {
		return written(werr)
	}
	if a.format() == output.Human {
		a.hint(err)
	}
	return errPrinted
}

// sayOfNode prints a message of a compilation on standard error, or logs it.
func (a *app) sayOfNode(node string, l eval.Log) {
	if l.Kind == compile.NoExports {
		a.warnNoExports()
		return
	}
	msg := l.Msg
	if l.Scope != "" {
		msg = l.Scope + ": " + msg
	}
	msg = node + ": " + msg
	if l.Kind != "" && l.Pos.Line > 0 {
		at := fmt.Sprintf("%s:%d", l.Pos.File, l.Pos.Line)
		if l.Pos.File == "" {
			at = fmt.Sprintf("line %d", l.Pos.Line)
		}
		msg += " (" + at + ")"
	}
	switch l.Level {
	case eval.Debug:
		a.log.Debug(msg)
	case eval.Info:
		a.log.Info(msg)
	case eval.Warning:
		a.logs.Warn("catalog_"+strings.ReplaceAll(cmp.Or(l.Kind, "warning"), "-", "_"), msg)
	default:
		fmt.Fprintf(a.Console, "%s: %s\n", l.Level, safetext.TerminalString(msg))
	}
}

// site returns the function that opens the code that is compiled, by its environment.
func (a *app) site(ctx context.Context, o *compileOptions) (func(env string) (*site.Site, error), error) {
	if o.path != "" {
		if a.global.modulepath.Given {
			return nil, errModulepath()
		}
		code := a.languageOptions()
		if !a.values.Has("hiera-config") {
			code.Hiera = "" // that of the project is not about this environment
		}
		return func(env string) (*site.Site, error) {
			return site.Open(ctx, o.path, env, code, builtin.Files())
		}, nil
	}
	a.warnModulepath()
	var sources []site.Source
	if o.Execute != nil || len(o.files) > 0 {
		source, err := o.One(ctx, a.Input, o.files)
		if err != nil {
			return nil, stopped(err)
		}
		sources = []site.Source{{Name: source.Name, Text: source.Text}}
	}
	return func(env string) (*site.Site, error) { return site.New(env, a.languageOptions(), sources) }, nil
}

func errModulepath() error {
	return hinted(usagef("Only one of --environment-path and --modulepath can be given"), "modulepath in environment.conf names directories of modules")
}

// nodes are the machines for which catalogs are compiled.
func (a *app) nodes(ctx context.Context, o *compileOptions) ([]site.Node, error) {
	if o.node != "" {
		if o.facts.Text == fromPuppetDB {
			n, err := a.storedNode(ctx, o)
			return []site.Node{n}, err
		}
		n, err := site.ReadNode(ctx, o.node, o.facts.Text, o.classes)
		return []site.Node{n}, err
	}
	targets, err := a.targets(ctx, &o.targets)
	if err != nil {
		return nil, err
	}
	if len(targets) == 0 {
		a.warnNoTargets()
	}
	collected, err := a.collectedFacts(ctx, o, targets)
	if err != nil {
		return nil, err
	}
	nodes := make([]site.Node, len(targets))
	for i, t := range targets {
		data, err := t.Data(ctx)
		if err != nil {
			return nil, err
		}
		others, err := collected(ctx, t)
		if err != nil {
			return nil, err
		}
		if nodes[i], err = site.NodeOf(t.Name, data.FactsOver(others), o.classes); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

type showCatalogOptions struct {
	args   []string
	format string // formatDot, or one of the configuration
}

func (o *showCatalogOptions) bind(b *cli.Binder) {
	b.Rest(0, &o.args)
	b.Text("format", &o.format)
}

// wordsOfCatalogShow are a file and a resource.
func wordsOfCatalogShow(args []string) error {
	switch {
	case len(args) == 0:
		return hinted(usagef("Must specify the file of a catalog"), "\"bolt catalog compile --format json\" prints catalogs")
	case len(args) > 2:
		return usagef("Only one resource can be given")
	}
	return nil
}

func runCatalogShow(ctx context.Context, a *app, o *showCatalogOptions) error {
	c, err := site.ReadOne(ctx, o.args[0])
	switch {
	case err != nil && o.format == formatDot:
		return a.failedCompile(err)
	case err != nil:
		return err
	case o.format == formatDot:
		return a.draw(c)
	}
	how := listing.Options{Format: a.format(), Color: a.Color()}
	if len(o.args) > 1 {
		r, err := site.Find(c, o.args[1])
		if err != nil {
			return err
		}
		return written(listing.PrintResource(a.sys.out, how, c, r))
	}
	list, err := site.Order(c)
	if err != nil {
		return err
	}
	return written(listing.PrintOrder(a.sys.out, how, c, list))
}
