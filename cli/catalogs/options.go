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

// FormatPuppetDB is a format that only catalog compile has.
const FormatPuppetDB = "puppetdb"

// A selection has the options that choose code, a compiler for it, and nodes.
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

// env returns the environment of nodes to which the classifier assigns none.
func (s *selection) env() string { return cmp.Or(s.environment, environment.Name) }

// given reports whether an option for compiling is given.
func (s *selection) given() bool {
	return s.compiler != compilerBolt || s.classifier != "" || s.classes != nil || s.node != "" || s.facts.Given || s.targets.Named() || s.targets.Choosing()
}

// check rejects options that contradict each other. program is set if a program is compiled, and
// not an environment.
func (s *selection) check(program bool) error {
	if err := s.checkCompiler(program); err != nil {
		return err
	}
	switch {
	case s.path != "" && program:
		return cli.Errorf("Only one of --environment-path and a program can be given")
	case s.node == "" && s.facts.Given && s.facts.Text != fromPuppetDB:
		return cli.Hinted(cli.Errorf("Option '--facts' needs '--node'"), "bolt compiles for targets with the facts of the inventory and collected facts; --facts puppetdb uses the facts in PuppetDB")
	case strings.ContainsAny(s.node, "/\n\r\t\x00"):
		return cli.Errorf("%q cannot be the name of a node", s.node)
	case s.node != "" && (s.targets.Named() || s.targets.Choosing()):
		return cli.Errorf("Only one of --node and targets can be given")
	case s.node == "" && !s.all && !s.targets.Named() && !s.targets.Choosing():
		return cli.Hinted(cli.Errorf("Must specify a node"), "give --node NAME, or targets of the inventory with --targets (-t)")
	}
	return nil
}

// checkCompiler rejects options that Puppet's compilers do not have.
func (s *selection) checkCompiler(program bool) error {
	switch {
	case s.compiler == compilerBolt:
	case !slices.Contains(Compilers(), s.compiler):
		return cli.Errorf("The compiler '%s' does not exist: --compiler takes %s", s.compiler, strings.Join(Compilers(), ", "))
	case program:
		return cli.Hinted(cli.Errorf("Option '--compiler %s' compiles environments, not programs", s.compiler), "omit --compiler, or put the program into an environment")
	case s.exports != "":
		return cli.Hinted(cli.Errorf("Option '--compiler %s' cannot be used together with '--exports'", s.compiler), "only bolt's compiler collects the exported resources of catalogs")
	case s.compiler == compilerPuppet && s.path == "":
		return cli.Errorf("Option '--compiler puppet' needs '--environment-path'")
	case s.compiler == compilerServer && s.path != "":
		return cli.Hinted(cli.Errorf("Only one of --compiler puppetserver and --environment-path can be given"), "Puppet Server compiles its own environments")
	case s.compiler == compilerServer && (s.classes != nil || s.classifier != ""):
		return cli.Hinted(cli.Errorf("Option '--compiler puppetserver' cannot be used together with '--class' or '--classifier'"), "Puppet Server uses its own classifier")
	}
	return nil
}

// A Subject has the options that choose programs, a compiler for them, and nodes.
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

// Check rejects options that contradict each other.
func (o *Subject) Check() error {
	if !o.Given() {
		return cli.Hinted(cli.Errorf("Must specify what to compile"), "give a manifest, a program with --execute (-e), --class, or --environment-path")
	}
	if err := o.nodes.check(o.program()); err != nil {
		return err
	}
	return o.Once()
}

// Given reports whether an option or argument selects code to compile.
func (o *Subject) Given() bool {
	return o.program() || o.nodes.path != "" || o.nodes.classes != nil || o.nodes.classifier != "" || o.nodes.compiler != compilerBolt
}

// Compiles reports whether an option or argument is about compiling.
func (o *Subject) Compiles() bool { return o.Given() || o.nodes.given() || o.nodes.exports != "" }

// Default sets the code to compile if Given is false.
func (o *Subject) Default(environmentPath string, files []string) {
	o.nodes.path, o.files = environmentPath, files
}

// AllTargets lets Check accept options that choose no node. They then choose all targets.
func (o *Subject) AllTargets() { o.nodes.all = true }

// Environment returns the environment that --environment names.
func (o *Subject) Environment() string { return o.nodes.environment }

// Path returns the directory of --environment-path.
func (o *Subject) Path() string { return o.nodes.path }

// Compiler returns the compiler that --compiler names.
func (o *Subject) Compiler() string { return o.nodes.compiler }

// Foreign reports whether a Puppet Server compiles its own code, so that the code is not on this machine.
func (o *Subject) Foreign() bool { return o.nodes.compiler == compilerServer }

// program reports whether a program is compiled.
func (o *Subject) program() bool { return o.Execute != nil || len(o.files) > 0 }

// CompileOptions are the options of catalog compile.
type CompileOptions struct {
	Subject
	format string       // FormatPuppetDB, FormatDot, or one of the configuration
	output cli.Optional // a directory
	inputs bool         // print the inputs of the compilations instead of the catalogs
}

// Bind reads the flags and arguments.
func (o *CompileOptions) Bind(b *cli.Binder) {
	b.Optional("output", &o.output)
	b.Switch("inputs", &o.inputs)
	b.Text("format", &o.format)
	o.Subject.Bind(b)
}

// Check rejects options that contradict each other.
func (o *CompileOptions) Check() error {
	switch {
	case !o.Given():
	case o.output.Given && o.output.Text == "":
		return cli.Errorf("Option '--output' needs a directory")
	case o.inputs && o.nodes.compiler != compilerBolt:
		return cli.Hinted(cli.Errorf("Option '--compiler %s' cannot be used together with '--inputs'", o.nodes.compiler), "only bolt's compiler records inputs")
	case o.inputs && (o.format == FormatPuppetDB || o.format == FormatDot):
		return cli.Errorf("Only one of --inputs and --format %s can be given", o.format)
	}
	return o.Subject.Check()
}

// Beside makes bolt print errors on standard error, because standard output has catalogs.
func (o *CompileOptions) Beside() bool { return true }

// OneNode reports whether --node names the node, so that one catalog is compiled.
func (o *CompileOptions) OneNode() bool { return o.nodes.node != "" }

// Stores reports whether catalogs have the form that PuppetDB stores.
func (o *CompileOptions) Stores() bool { return o.format == FormatPuppetDB }
