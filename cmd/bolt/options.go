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
