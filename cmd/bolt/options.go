package main

import "bolt/cli"

// A nameOption is the one argument of a command.
type nameOption struct{ name string }

func (o *nameOption) bind(b *cli.Binder) { b.Arg(&o.name) }

// listOptions are those of commands that list things, or show the named one.
type listOptions struct {
	name   string
	filter string
}

func (o *listOptions) bind(b *cli.Binder) {
	b.Arg(&o.name)
	b.Text("filter", &o.filter)
}

// globalOptions are read by each command, as all of them can connect to something.
// Flags that stand for settings are in the configuration instead.
type globalOptions struct {
	project           string
	logLevel          cli.Optional
	trace, clearCache bool
	timeout           cli.Optional // on one target; it was checked before
	runAs             string
	puppetdb          string // the instance that is meant
	modulepath        cli.Optional
	inventoryFile     cli.Optional
	concurrency       string
	askPassword       bool
	askSudoPassword   bool
}

func (o *globalOptions) bind(b *cli.Binder) {
	b.Text("project", &o.project)
	b.Optional("log-level", &o.logLevel)
	b.Switch("trace", &o.trace)
	b.Switch("clear-cache", &o.clearCache)
	b.Optional("timeout", &o.timeout)
	b.Text("run-as", &o.runAs)
	b.Text("puppetdb", &o.puppetdb)
	b.Optional("modulepath", &o.modulepath)
	b.Optional("inventoryfile", &o.inventoryFile)
	b.Text("concurrency", &o.concurrency)
	b.Switch("password-prompt", &o.askPassword)
	b.Switch("sudo-password-prompt", &o.askSudoPassword)
}

// actionOptions are those of commands that act on targets. Not all of them have rolling
// and outputDir, which such a command binds itself.
type actionOptions struct {
	targets     targetOptions
	rolling     rollingOptions
	results     resultOptions
	concurrency string
	outputDir   cli.Optional
}

func (o *actionOptions) bind(b *cli.Binder) {
	o.targets.bind(b)
	o.results.verbose = true
	o.results.bind(b)
	b.Text("concurrency", &o.concurrency)
}

// bindPrints binds what commands that print output have besides.
func (o *actionOptions) bindPrints(b *cli.Binder) {
	o.bind(b)
	o.rolling.bind(b)
	b.Optional("output-dir", &o.outputDir)
}

func (o *actionOptions) check() error {
	if o.outputDir.Given && o.outputDir.Text == "" {
		return usagef("Option '--output-dir' must name a directory")
	}
	if err := o.results.check(); err != nil {
		return err
	}
	_, err := o.rolling.parse()
	return err
}

// concurrent returns the number of targets that an action runs on at once.
func (o *actionOptions) concurrent(setting, targets int) int {
	if share, ok := percentOf(o.concurrency); ok {
		return share.Of(targets, 1)
	}
	return setting
}

// resultOptions set how results are printed.
type resultOptions struct{ verbose, fold, diff, stream bool }

func (o *resultOptions) bind(b *cli.Binder) {
	b.Switch("verbose", &o.verbose)
	b.Switch("fold", &o.fold)
	b.Switch("diff", &o.diff)
	b.Switch("stream", &o.stream)
}

// folds returns the flag with which equal results are printed once; "" without one.
func (o *resultOptions) folds() string {
	switch {
	case o.diff:
		return "--diff"
	case o.fold:
		return "--fold"
	}
	return ""
}

func (o *resultOptions) check() error {
	if fold := o.folds(); fold != "" && o.stream {
		return usagef("Options '%s' and '--stream' contradict each other: %[1]s prints when all targets have ended, --stream at once", fold)
	}
	return nil
}
