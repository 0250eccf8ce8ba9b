package catalogs

import (
	"cmp"
	"slices"
	"strings"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/cli/programs"
	"bolt/environment"
)

// FormatPuppetDB is a format of catalog compile that no other command has.
const FormatPuppetDB = "puppetdb"

// A selection is the options that choose code, a compiler for it, and nodes.
type selection struct {
	path        string // of environments; "" for the modules of the project
	environment string // "" if it was not given
	compiler    string // of Compilers
	classifier  string // a file; "" for none
	classes     []string
	exports     string // exportsOwn, exportsFleet, fromPuppetDB, a directory, or "" for the default
	node        string
	facts       cli.Optional
	targets     acting.Targets
	all         bool // all targets, if no node is chosen
}

func (s *selection) bind(b *cli.Binder) {
	b.Text("environment-path", &s.path)
	b.Text("environment", &s.environment)
	s.compiler = compilerBolt
	b.Text("compiler", &s.compiler)
	b.Text("classifier", &s.classifier)
	b.Texts("class", &s.classes)
	b.Text("exports", &s.exports)
	b.Text("node", &s.node)
	b.Optional("facts", &s.facts)
	s.targets.Bind(b)
}

// env is the environment of nodes whose classifier names none.
func (s *selection) env() string { return cmp.Or(s.environment, environment.Name) }

// given reports whether there is an option for compiling.
func (s *selection) given() bool {
	return s.compiler != compilerBolt || s.classifier != "" || s.classes != nil || s.node != "" || s.facts.Given || s.targets.Named() || s.targets.Choosing()
}

// check refuses options that contradict each other. program is set if a program is compiled, and
// not an environment.
func (s *selection) check(program bool) error {
	if err := s.checkCompiler(program); err != nil {
		return err
	}
	switch {
	case s.path != "" && program:
		return cli.Errorf("Only one of --environment-path and a program can be given")
	case s.node == "" && s.facts.Given && s.facts.Text != fromPuppetDB:
		return cli.Hinted(cli.Errorf("Option '--facts' needs '--node'"), "targets have the facts of the inventory, and those that were collected; --facts puppetdb takes them from PuppetDB")
	case strings.ContainsAny(s.node, "/\n\r\t\x00"):
		return cli.Errorf("%q cannot be the name of a node", s.node)
	case s.node != "" && (s.targets.Named() || s.targets.Choosing()):
		return cli.Errorf("Only one of --node and targets can be given")
	case s.node == "" && !s.all && !s.targets.Named() && !s.targets.Choosing():
		return cli.Hinted(cli.Errorf("Must specify a node"), "--node names it, --targets (-t) names targets of the inventory")
	}
	return nil
}

// checkCompiler refuses options that Puppet's compilers do not have.
func (s *selection) checkCompiler(program bool) error {
	switch {
	case s.compiler == compilerBolt:
	case !slices.Contains(Compilers(), s.compiler):
		return cli.Errorf("There is no compiler '%s': it must be one of %s", s.compiler, strings.Join(Compilers(), ", "))
	case program:
		return cli.Hinted(cli.Errorf("Option '--compiler %s' compiles environments, and no program", s.compiler), "leave out --compiler, or put the program into an environment")
	case s.exports != "":
		return cli.Hinted(cli.Errorf("Option '--compiler %s' takes no '--exports'", s.compiler), "only bolt collects exported resources of catalogs")
	case s.compiler == compilerPuppet && s.path == "":
		return cli.Errorf("Option '--compiler puppet' needs '--environment-path'")
	case s.compiler == compilerServer && s.path != "":
		return cli.Hinted(cli.Errorf("Only one of --compiler puppetserver and --environment-path can be given"), "Puppet Server compiles the environments that it has")
	case s.compiler == compilerServer && (s.classes != nil || s.classifier != ""):
		return cli.Hinted(cli.Errorf("Option '--compiler puppetserver' takes no '--class' and no '--classifier'"), "Puppet Server uses the classifier that it is configured with")
	}
	return nil
}

// A Subject is the options that choose programs, a compiler for them, and nodes.
type Subject struct {
	programs.Options
	files []string
	nodes selection
}

// Bind reads the flags and arguments.
func (o *Subject) Bind(b *cli.Binder) {
	b.Texts("execute", &o.Execute)
	b.Rest(0, &o.files)
	o.nodes.bind(b)
}

// Check refuses options that contradict each other.
func (o *Subject) Check() error {
	if !o.Given() {
		return cli.Hinted(cli.Errorf("Must specify what to compile"), "give a manifest, a program with --execute (-e), --class, or --environment-path")
	}
	if err := o.nodes.check(o.program()); err != nil {
		return err
	}
	return o.Once()
}

// Given reports whether an option or argument says what to compile.
func (o *Subject) Given() bool {
	return o.program() || o.nodes.path != "" || o.nodes.classes != nil || o.nodes.classifier != "" || o.nodes.compiler != compilerBolt
}

// Compiles reports whether an option or argument is about compiling.
func (o *Subject) Compiles() bool { return o.Given() || o.nodes.given() || o.nodes.exports != "" }

// Default sets what is compiled if Given is not set.
func (o *Subject) Default(environmentPath string, files []string) {
	o.nodes.path, o.files = environmentPath, files
}

// AllTargets lets Check accept options that choose no node. These are all targets then.
func (o *Subject) AllTargets() { o.nodes.all = true }

// Environment returns the environment that --environment names.
func (o *Subject) Environment() string { return o.nodes.environment }

// Path returns the directory of --environment-path.
func (o *Subject) Path() string { return o.nodes.path }

// Foreign reports whether the code is compiled by a Puppet Server, and is not here.
func (o *Subject) Foreign() bool { return o.nodes.compiler == compilerServer }

// program reports whether a program is compiled.
func (o *Subject) program() bool { return o.Execute != nil || len(o.files) > 0 }

// CompileOptions are those of catalog compile.
type CompileOptions struct {
	Subject
	format string       // FormatPuppetDB, FormatDot, or one of the configuration
	output cli.Optional // a directory
	inputs bool         // print what the compilations read instead of the catalogs
}

// Bind reads the flags and arguments.
func (o *CompileOptions) Bind(b *cli.Binder) {
	b.Optional("output", &o.output)
	b.Switch("inputs", &o.inputs)
	b.Text("format", &o.format)
	o.Subject.Bind(b)
}

// Check refuses options that contradict each other.
func (o *CompileOptions) Check() error {
	switch {
	case !o.Given():
	case o.output.Given && o.output.Text == "":
		return cli.Errorf("Option '--output' needs a directory")
	case o.inputs && o.nodes.compiler != compilerBolt:
		return cli.Hinted(cli.Errorf("Option '--compiler %s' takes no '--inputs'", o.nodes.compiler), "only bolt records what a compilation reads")
	case o.inputs && (o.format == FormatPuppetDB || o.format == FormatDot):
		return cli.Errorf("Only one of --inputs and --format %s can be given", o.format)
	}
	return o.Subject.Check()
}

// OneNode reports whether there is one catalog, because --node names the node.
func (o *CompileOptions) OneNode() bool { return o.nodes.node != "" }

// Stores reports whether catalogs have the form that PuppetDB stores.
func (o *CompileOptions) Stores() bool { return o.format == FormatPuppetDB }
