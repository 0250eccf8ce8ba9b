package targeting

import (
	"context"
	"io"
	"slices"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/output/listing"
)

// A Listing carries out the commands that show targets, groups and plugins.
type Listing struct {
	*Sources
	Out io.Writer
	How listing.Options
}

// ShowOptions are the options of inventory show.
type ShowOptions struct {
	detail  bool
	targets acting.Targets
}

// Bind reads the flags.
func (o *ShowOptions) Bind(b *cli.Binder) {
	b.Switch("detail", &o.detail)
	o.targets.Bind(b)
}

// ShowTargets carries out inventory show.
func (l *Listing) ShowTargets(ctx context.Context, o *ShowOptions) error {
	targets, err := l.Targets(ctx, &o.targets)
	if err != nil {
		return err
	}
	view := &listing.Inventory{
		Source:  l.Name(),
		Default: l.o.Project.InventoryFile(),
		Detail:  o.detail,
		Hint:    true,
		All:     !o.targets.Named() && !o.targets.Choosing(),
		Targets: make([]listing.InventoryTarget, len(targets)),
	}
	for i, t := range targets {
		view.Targets[i] = listing.InventoryTarget{Name: t.Name, Adhoc: t.Adhoc}
		if o.detail {
			data, err := t.Data(ctx)
			if err != nil {
				return err
			}
			// The plugin hooks of the project may contain references, which
			// are resolved before they are shown.
			hooks, err := l.plugins.ResolveAll(ctx, data.PluginHooks)
			if err != nil {
				return err
			}
			view.Targets[i].Data = listing.Detail(data, hooks)
		}
	}
	return listing.PrintInventory(l.Out, l.How, view)
}

// ShowGroups carries out group show.
func (l *Listing) ShowGroups(ctx context.Context, _ *cli.NoOptions) error {
	inv, err := l.Inventory(ctx)
	if err != nil {
		return err
	}
	names := inv.Groups()
	slices.Sort(names)
	return listing.PrintGroups(l.Out, l.How, &listing.Groups{Names: names, Source: l.Name(), Default: l.o.Project.InventoryFile()})
}

// ShowPlugins carries out plugin show.
func (l *Listing) ShowPlugins(ctx context.Context, _ *cli.NoOptions) error {
	list, err := l.plugins.List(ctx)
	if err != nil {
		return err
	}
	return listing.PrintPluginList(l.Out, l.How, list, l.o.Content.Modules.Dirs())
}
