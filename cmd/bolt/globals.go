package main

import "bolt/cli"

// globalOptions are read by every command, because every command can open
// connections. Flags for settings are in the configuration instead.
type globalOptions struct {
	project           string
	logLevel          cli.Optional
	trace, clearCache bool
	timeout           cli.Optional // on one target; it was checked before
	runAs             string
	puppetdb          string // the selected instance
	modulepath        cli.Optional
	inventoryFile     cli.Optional
	concurrency       string
	askPassword       bool
	askSudoPassword   bool
}

func (o *globalOptions) Bind(b *cli.Binder) {
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
