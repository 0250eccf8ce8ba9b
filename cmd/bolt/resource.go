package main

import (
	"context"
	"slices"
	"strings"

	"bolt/apply/fleet"
	"bolt/apply/remote/embedded"
	"bolt/catalog"
	"bolt/cli"
	"bolt/cli/acting"
	"bolt/inventory"
	"bolt/run"
)

// resourceOptions are those of puppet resource.
type resourceOptions struct {
	acting.Options
	typ, name string
}

func (o *resourceOptions) bind(b *cli.Binder) {
	o.Options.Bind(b)
	b.Arg(&o.typ)
	b.Second(&o.name)
}

// wordsOfResource are a type and perhaps a name.
func wordsOfResource(args []string) error {
	switch {
	case len(args) == 0:
		return usagef("Must specify the type of the resources to show")
	case len(args) > 2:
		return usagef("Unknown argument '%s'", args[2])
	case !slices.Contains(fleet.Showable(), args[0]):
		return hinted(usagef("bolt cannot show resources of the type '%s'", args[0]), "the types are %s", strings.Join(fleet.Showable(), ", "))
	case args[0] == "file" && len(args) < 2:
		return hinted(usagef("Must specify the path of the file to show"), "bolt puppet resource file /etc/hosts -t all")
	}
	return nil
}

func completeShowable(context.Context, cli.Query) cli.Completions {
	var c cli.Completions
	for _, name := range fleet.Showable() {
		c.Words = append(c.Words, cli.Word{Text: name})
	}
	return c
}

func runPuppetResource(ctx context.Context, a *app, o *resourceOptions) error {
	states := &fleet.States{Type: catalog.Capitals(o.typ), Title: o.name, AsCode: !a.format().IsJSON()}
	if !o.Results.Stream && !a.format().IsJSON() {
		o.Results.Fold = true // many targets have equal states
	}
	return a.act(ctx, &o.Options, states.Name(), states.Object(), func([]*inventory.Target) (run.Action, error) {
		helpers, err := embedded.Built()
		states.Delivery = a.delivery(helpers)
		return states, err
	})
}
