package main

import (
	"context"
	"slices"

	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/output"
)

func showInventory(ctx context.Context, a *app, _ []string) error {
	targets, err := a.targets(ctx)
	if err != nil {
		return err
	}
	detail := a.values.on("detail", false)
	named := a.values.has("targets") || a.values.has("rerun") || choosing(a.values)
	view := &output.Inventory{
		Source:  a.inventorySource(),
		Default: a.project.InventoryFile(),
		Detail:  detail,
		Hint:    true,
		All:     !named,
		Targets: make([]output.InventoryTarget, len(targets)),
	}
	for i, t := range targets {
		view.Targets[i] = output.InventoryTarget{Name: t.Name, Adhoc: t.Adhoc}
		if detail {
			data, err := t.Data(ctx)
			if err != nil {
				return err
			}
			// Those of the project may be references: they are resolved for
			// whom they are shown to.
			hooks, err := a.plugins().ResolveAll(ctx, data.PluginHooks)
			if err != nil {
				return err
			}
			view.Targets[i].Data = detailOf(data, hooks)
		}
	}
	return written(output.PrintInventory(a.sys.out, a.listOptions(), view))
}

// detailOf arranges what is known of a target as "inventory show --detail"
// prints it.
func detailOf(d *inventory.Data, hooks any) *ordered.Map {
	var uri any
	if d.URI != "" {
		uri = d.URI
	}
	return ordered.Of(
		"name", d.Name,
		"uri", uri,
		"alias", d.AliasValue(),
		"config", ordered.Of("transport", d.Transport, d.Transport, d.Config),
		"vars", d.Vars,
		"features", list(d.Features),
		"facts", d.Facts,
		"plugin_hooks", hooks,
		"groups", list(d.Groups),
	)
}

func list(names []string) []any {
	l := make([]any, len(names))
	for i, n := range names {
		l[i] = n
	}
	return l
}

func showGroups(ctx context.Context, a *app, _ []string) error {
	inv, err := a.inventory(ctx)
	if err != nil {
		return err
	}
	names := inv.Groups()
	slices.Sort(names)
	return written(output.PrintGroups(a.sys.out, a.listOptions(), &output.Groups{Names: names, Source: a.inventorySource(), Default: a.project.InventoryFile()}))
}
