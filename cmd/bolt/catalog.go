package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"bolt/catalog/site"
	"bolt/cli"
	"bolt/cli/acting"
	"bolt/cli/programs"
	"bolt/environment"
	"bolt/event"
	"bolt/internal/safetext"
	"bolt/inventory"
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
	targets acting.Targets
}

func (o *compileOptions) bind(b *cli.Binder) {
	b.Texts("execute", &o.Execute)
	b.Rest(0, &o.files)
	b.Text("node", &o.node)
	b.Optional("facts", &o.facts)
	b.Text("environment-path", &o.path)
	if b.Text("environment", &o.env); o.env == "" {
		o.env = environment.Name
	}
	b.Texts("class", &o.classes)
	o.targets.Bind(b)
}

func (o *compileOptions) Check() error {
	switch program := o.Execute != nil || len(o.files) > 0; {
	case o.path != "" && program:
		return usagef("Only one of --environment-path and a program can be given")
	case o.path == "" && !program && o.classes == nil:
		return hinted(usagef("Must specify what to compile"), "give a manifest, a program with --execute (-e), --class, or --environment-path")
	case o.node == "" && o.facts.Given:
		return hinted(usagef("Option '--facts' needs '--node'"), "targets have the facts of the inventory")
	case strings.ContainsAny(o.node, "/\n\r\t\x00"):
		return usagef("%q cannot be the name of a node", o.node)
	case o.node != "" && (o.targets.Named() || o.targets.Choosing()):
		return usagef("Only one of --node and targets can be given")
	case o.node == "" && !o.targets.Named() && !o.targets.Choosing():
		return hinted(usagef("Must specify a node"), "--node names it, --targets (-t) names targets of the inventory")
	}
	return o.Once()
}

func runCatalogCompile(ctx context.Context, a *app, o *compileOptions) error {
	s, err := a.site(ctx, o)
	if err != nil {
		return a.failedCompile(err)
	}
	nodes, err := a.nodes(ctx, o)
	if err != nil {
		return a.failedCompile(err)
	}
	out := bufio.NewWriter(a.sys.out)
	how := listing.Options{Format: a.format(), Color: a.Color()}
	failed := false
	for c := range s.CompileAll(ctx, nodes, a.timeout()) {
		if ctx.Err() != nil {
			return errPrinted // the user knows
		}
		for _, l := range c.Logs {
			a.sayOfNode(c.Node, l)
		}
		if c.Err != nil && o.node != "" {
			return a.failedCompile(site.Failure(c.Node, c.Err))
		}
		failed = failed || c.Err != nil
		if err := listing.PrintCompiled(out, how, c); err != nil {
			return written(err)
		}
	}
	if failed {
		return errFailedTargets
	}
	return nil
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
	return errPrinted
}

// sayOfNode prints a message of a compilation on standard error, or logs it.
func (a *app) sayOfNode(node string, l eval.Log) {
	msg := fmt.Sprintf("%s: %s: %s", node, l.Scope, l.Msg)
	if l.Kind != "" && l.Pos.Line > 0 {
		msg += fmt.Sprintf(" (%s:%d)", l.Pos.File, l.Pos.Line)
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

// site is the code that is compiled.
func (a *app) site(ctx context.Context, o *compileOptions) (*site.Site, error) {
	if o.path != "" {
		if a.global.modulepath.Given {
			return nil, hinted(usagef("Only one of --environment-path and --modulepath can be given"), "modulepath in environment.conf names directories of modules")
		}
		code := a.languageOptions()
		if !a.values.Has("hiera-config") {
			code.Hiera = "" // that of the project is not about this environment
		}
		return site.Open(ctx, o.path, o.env, code, builtin.Files())
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
	return site.New(o.env, a.languageOptions(), sources)
}

// nodes are the machines for which catalogs are compiled.
func (a *app) nodes(ctx context.Context, o *compileOptions) ([]site.Node, error) {
	if o.node != "" {
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
	nodes := make([]site.Node, len(targets))
	for i, t := range targets {
		data, err := t.Data(ctx)
		if err != nil {
			return nil, err
		}
		if nodes[i], err = site.NodeOf(t.Name, inventory.RevealMap(data.Facts), o.classes); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

type showCatalogOptions struct {
	args []string
}

func (o *showCatalogOptions) bind(b *cli.Binder) { b.Rest(0, &o.args) }

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
	if err != nil {
		return err
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

type diffOptions struct {
	before, after string
	exitCode      bool
}

func (o *diffOptions) bind(b *cli.Binder) {
	var args []string
	b.Rest(0, &args)
	if len(args) == 2 {
		o.before, o.after = args[0], args[1]
	}
	b.Switch("exit-code", &o.exitCode)
}

// wordsOfCatalogDiff are two files or directories.
func wordsOfCatalogDiff(args []string) error {
	if len(args) != 2 {
		return hinted(usagef("Must specify two catalogs"), "give two files, or two directories with a file for each node")
	}
	return nil
}

func runCatalogDiff(ctx context.Context, a *app, o *diffOptions) error {
	changes, different, err := site.Compare(ctx, o.before, o.after)
	if err != nil {
		return err
	}
	if err := listing.PrintDifferences(a.sys.out, listing.Options{Format: a.format(), Color: a.Color()}, changes); err != nil {
		return written(err)
	}
	if o.exitCode && different {
		return errDifferent
	}
	return nil
}
