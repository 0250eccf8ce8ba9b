package catalogs

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"strings"

	"bolt/catalog/compile"
	"bolt/catalog/site"
	"bolt/cli"
	"bolt/cli/acting"
	"bolt/cli/programs"
	"bolt/environment"
	"bolt/internal/safetext"
	"bolt/modules/builtin"
	"bolt/output/listing"
	"bolt/puppet/eval"
	"bolt/run"
)

// CompileOptions are those of catalog compile.
type CompileOptions struct {
	programs.Options
	files   []string
	node    string
	facts   cli.Optional
	path    string // of environments; "" for the modules of the project
	env     string
	classes []string
	exports string // exportsOwn, exportsFleet, fromPuppetDB, a directory, or "" for the default
	format  string // FormatPuppetDB, FormatDot, or one of the configuration
	targets acting.Targets
	output  cli.Optional // a directory
	inputs  bool         // print what the compilations read instead of the catalogs
	foreign compilerOptions
}

// Bind reads the flags and arguments.
func (o *CompileOptions) Bind(b *cli.Binder) {
	b.Texts("execute", &o.Execute)
	b.Rest(0, &o.files)
	b.Optional("output", &o.output)
	b.Switch("inputs", &o.inputs)
	b.Text("format", &o.format)
	o.bindNodes(b)
}

// bindNodes binds the options for an environment and for nodes.
func (o *CompileOptions) bindNodes(b *cli.Binder) {
	b.Text("node", &o.node)
	b.Optional("facts", &o.facts)
	b.Text("environment-path", &o.path)
	b.Text("environment", &o.env)
	if o.foreign.env = o.env; o.env == "" {
		o.env = environment.Name
	}
	b.Texts("class", &o.classes)
	b.Text("exports", &o.exports)
	o.foreign.Bind(b)
	o.targets.Bind(b)
}

// Check refuses options that contradict each other.
func (o *CompileOptions) Check() error {
	program := o.Execute != nil || len(o.files) > 0
	if err := o.foreign.check(o, program); err != nil {
		return err
	}
	switch {
	case o.path != "" && program:
		return cli.Errorf("Only one of --environment-path and a program can be given")
	case o.path == "" && !program && o.classes == nil && o.foreign.classifier == "" && o.foreign.compiler == compilerBolt:
		return cli.Hinted(cli.Errorf("Must specify what to compile"), "give a manifest, a program with --execute (-e), --class, or --environment-path")
	case o.output.Given && o.output.Text == "":
		return cli.Errorf("Option '--output' needs a directory")
	case o.inputs && o.foreign.compiler != compilerBolt:
		return cli.Hinted(cli.Errorf("Option '--compiler %s' takes no '--inputs'", o.foreign.compiler), "only bolt records what a compilation reads")
	case o.inputs && (o.format == FormatPuppetDB || o.format == FormatDot):
		return cli.Errorf("Only one of --inputs and --format %s can be given", o.format)
	}
	if err := o.checkNodes(); err != nil {
		return err
	}
	return o.Once()
}

// named reports whether options say for which nodes to compile.
func (o *CompileOptions) named() bool {
	return o.foreign.given() || o.node != "" || o.facts.Given || o.targets.Named() || o.targets.Choosing()
}

func (o *CompileOptions) checkNodes() error {
	switch {
	case o.node == "" && o.facts.Given && o.facts.Text != fromPuppetDB:
		return cli.Hinted(cli.Errorf("Option '--facts' needs '--node'"), "targets have the facts of the inventory, and those that were collected; --facts puppetdb takes them from PuppetDB")
	case strings.ContainsAny(o.node, "/\n\r\t\x00"):
		return cli.Errorf("%q cannot be the name of a node", o.node)
	case o.node != "" && (o.targets.Named() || o.targets.Choosing()):
		return cli.Errorf("Only one of --node and targets can be given")
	case o.node == "" && !o.targets.Named() && !o.targets.Choosing():
		return cli.Hinted(cli.Errorf("Must specify a node"), "--node names it, --targets (-t) names targets of the inventory")
	}
	return nil
}

// Compile compiles the catalogs of nodes, and prints or writes them. failed is set if a node
// has none.
func (v *Invocation) Compile(ctx context.Context, o *CompileOptions) (failed bool, err error) {
	with, err := v.compiler(ctx, o)
	if err != nil {
		return false, err
	}
	nodes, err := v.nodes(ctx, o)
	if err != nil {
		return false, err
	}
	s, err := v.exporting(ctx, o, with, nodes)
	if err != nil {
		return false, err
	}
	out := bufio.NewWriter(v.Out)
	how := listing.Options{Format: v.Format, Color: v.Color}
	var without []*site.Compiled
	for c := range site.CompileAll(ctx, s, nodes, v.Timeout) {
		if ctx.Err() != nil {
			return false, run.ErrStopped // the user knows
		}
		for _, l := range c.Logs {
			v.Say(c.Node, l)
		}
		if o.Stores() {
			c.Store(storeOptions())
		}
		if c.Err != nil && o.node != "" {
			return false, site.Failure(c.Node, c.Err)
		}
		file := ""
		if c.Err != nil {
			without = append(without, c)
		} else if o.output.Given {
			if file, err = site.Write(o.output.Text, c); err != nil {
				return false, err
			}
		}
		if o.format == FormatDot {
			return false, v.draw(c.Catalog)
		}
		if o.inputs {
			err = listing.PrintInputs(out, how, c)
		} else {
			err = listing.PrintCompiled(out, how, c, file)
		}
		if err != nil {
			return false, err
		}
	}
	if without == nil {
		return false, nil
	}
	if !how.Format.IsJSON() {
		if err := listing.PrintFailures(v.Out, how, "", without); err != nil {
			return false, err
		}
	}
	return true, nil
}

// Say prints a message of a compilation on standard error, or logs it.
func (v *Invocation) Say(node string, l eval.Log) {
	if l.Kind == compile.NoExports {
		v.warnNoExports()
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
		v.Logs.Logger().Debug(msg)
	case eval.Info:
		v.Logs.Logger().Info(msg)
	case eval.Warning:
		v.Logs.Warn("catalog_"+strings.ReplaceAll(cmp.Or(l.Kind, "warning"), "-", "_"), msg)
	default:
		fmt.Fprintf(v.Console, "%s: %s\n", l.Level, safetext.TerminalString(msg))
	}
}

// site returns the function that opens the code that is compiled, by its environment.
func (v *Invocation) site(ctx context.Context, o *CompileOptions) (func(env string) (*site.Site, error), error) {
	if o.path != "" {
		if v.Code.ModulepathGiven {
			return nil, errModulepath()
		}
		code := v.Code.Options
		if !v.Code.HieraGiven {
			code.Hiera = "" // that of the project is not about this environment
		}
		return func(env string) (*site.Site, error) {
			return site.Open(ctx, o.path, env, code, builtin.Files())
		}, nil
	}
	var sources []site.Source
	if o.Execute != nil || len(o.files) > 0 {
		source, err := o.One(ctx, v.Input, o.files)
		if err != nil {
			return nil, err
		}
		sources = []site.Source{{Name: source.Name, Text: source.Text}}
	}
	return func(env string) (*site.Site, error) { return site.New(env, v.Code.Options, sources) }, nil
}

func errModulepath() error {
	return cli.Hinted(cli.Errorf("Only one of --environment-path and --modulepath can be given"), "modulepath in environment.conf names directories of modules")
}

// nodes are the machines for which catalogs are compiled.
func (v *Invocation) nodes(ctx context.Context, o *CompileOptions) ([]site.Node, error) {
	if o.node != "" {
		if o.facts.Text == fromPuppetDB {
			n, err := v.storedNode(ctx, o)
			return []site.Node{n}, err
		}
		n, err := site.ReadNode(ctx, o.node, o.facts.Text, o.classes)
		return []site.Node{n}, err
	}
	targets, err := v.Targets(ctx, &o.targets)
	if err != nil {
		return nil, err
	}
	collected, err := v.collectedFacts(ctx, o, targets)
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

// ShowOptions are those of catalog show.
type ShowOptions struct {
	args   []string
	format string // FormatDot, or one of the configuration
}

// Bind reads the flags and arguments.
func (o *ShowOptions) Bind(b *cli.Binder) {
	b.Rest(0, &o.args)
	b.Text("format", &o.format)
}

// ShowArguments checks a file and a resource.
func ShowArguments(args []string) error {
	switch {
	case len(args) == 0:
		return cli.Hinted(cli.Errorf("Must specify the file of a catalog"), "\"bolt catalog compile --format json\" prints catalogs")
	case len(args) > 2:
		return cli.Errorf("Only one resource can be given")
	}
	return nil
}

// Show prints a catalog, or one of its resources.
func (v *Invocation) Show(ctx context.Context, o *ShowOptions) error {
	c, err := site.ReadOne(ctx, o.args[0])
	if err != nil {
		return err
	}
	if o.format == FormatDot {
		return v.draw(c)
	}
	how := listing.Options{Format: v.Format, Color: v.Color}
	if len(o.args) > 1 {
		r, err := site.Find(c, o.args[1])
		if err != nil {
			return err
		}
		return listing.PrintResource(v.Out, how, c, r)
	}
	list, err := site.Order(c)
	if err != nil {
		return err
	}
	return listing.PrintOrder(v.Out, how, c, list)
}
