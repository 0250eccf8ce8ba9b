package main

import (
	"context"
	"slices"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/output/listing"
)

type inventoryOptions struct {
	detail  bool
	targets acting.Targets
}

func (o *inventoryOptions) Bind(b *cli.Binder) {
	b.Switch("detail", &o.detail)
	o.targets.Bind(b)
}

func showInventory(ctx context.Context, a *app, o *inventoryOptions) error {
	targets, err := a.targets(ctx, &o.targets)
	if err != nil {
		return err
	}
	view := &listing.Inventory{
		Source:  a.source.Name,
		Default: a.project.InventoryFile(),
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
			hooks, err := a.plugins().ResolveAll(ctx, data.PluginHooks)
			if err != nil {
				return err
			}
			view.Targets[i].Data = listing.Detail(data, hooks)
		}
	}
	return written(listing.PrintInventory(a.sys.out, a.listOptions(), view))
}

func showGroups(ctx context.Context, a *app) error {
	inv, err := a.inventory(ctx)
	if err != nil {
		return err
	}
	names := inv.Groups()
	slices.Sort(names)
	return written(listing.PrintGroups(a.sys.out, a.listOptions(), &listing.Groups{Names: names, Source: a.source.Name, Default: a.project.InventoryFile()}))
}
