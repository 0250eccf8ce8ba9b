package main

import (
	"context"
	"fmt"

	"bolt/cli/acting"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/transport/all"
)

// inventory reads the inventory, once.
func (a *app) inventory(ctx context.Context) (*inventory.Inventory, error) {
	if a.inv != nil {
		return a.inv, nil
	}
	data, err := a.inventoryData(ctx)
	if err != nil {
		return nil, err
	}
	hooks, err := a.plugins().Hooks(ctx, a.config.PluginHooks)
	if err != nil {
		return nil, err
	}
	var cached func(context.Context, string, []string) (*ordered.Map, error)
	if !a.factStore().Empty() { // otherwise the facts of the inventory are the only facts
		cached = a.cachedFacts
	}
	a.inv, err = inventory.New(ctx, data, inventory.Options{
		Transports:  all.Tables(all.List()),
		File:        a.source.Name,
		Transport:   a.config.Transport,
		Config:      a.config.Transports,
		PluginHooks: hooks,
		Project:     a.project.Dir,
		Home:        home(a.sys),
		Resolve:     a.plugins().Resolve,
		CachedFacts: cached,
		Warn:        a.logs.Warn,
	})
	return a.inv, err
}

// inventoryData returns the unprocessed data of the inventory, which is read once.
func (a *app) inventoryData(ctx context.Context) (*ordered.Map, error) {
	return a.source.Read(ctx, a.logs.Warn, func(err error) error { return usagef("%v", err) })
}

// warnOverrides warns about targets for which the inventory overrides a flag,
// because users tend to expect the opposite.
func (a *app) warnOverrides(ctx context.Context, targets []*inventory.Target) error {
	for _, f := range a.sys.flags() {
		if f.Setting == nil || !a.values.Has(f.Name) || f.Section != secAuth && f.Section != secEscalate && f.Section != secTransport {
			continue
		}
		names, err := inventory.Overriding(ctx, targets, f.Name, func(transport string) any { return a.config.Transports[transport].Value(f.Name) })
		if err != nil {
			return err
		}
		if names != "" {
			a.logs.Warn("cli_overrides", fmt.Sprintf("--%s has no effect on %s: the inventory sets another value, which overrides the option.", f.Name, names))
		}
	}
	return nil
}

// targets returns the targets that the command line selects, or all targets if it
// names none.
func (a *app) targets(ctx context.Context, o *acting.Targets) ([]*inventory.Target, error) {
	find, err := a.targeting(ctx, o)
	if err != nil {
		return nil, err
	}
	return find(ctx)
}

// targeting reads the inventory and the target options of the command line; find
// then finds the targets.
func (a *app) targeting(ctx context.Context, o *acting.Targets) (find func(context.Context) ([]*inventory.Target, error), err error) {
	inv, err := a.inventory(ctx)
	if err != nil {
		return nil, err
	}
	patterns, named, err := a.patterns(ctx, o)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]*inventory.Target, error) { return a.find(ctx, o, inv, patterns, named) }, nil
}

// patterns returns the target patterns of the command line, including the results
// of PuppetDB and the names of the last run. named is false if the command line
// names no targets.
func (a *app) patterns(ctx context.Context, o *acting.Targets) (list []string, named bool, err error) {
	switch {
	case o.Query.Given:
		list, err = a.puppetDB().Certnames(ctx, o.Query.Text, "")
	case o.Rerun.Given:
		list, err = a.config.Rerun.Targets(ctx, o.Rerun.Text)
	case o.Names != nil:
		list, err = o.Words(ctx, a.readArg)
	default:
		return nil, false, nil
	}
	return list, true, err
}

// find expands patterns, or takes all targets if none are named, and selects from
// them. It reports errors in the inventory's data of the selected targets before
// bolt connects to any of them.
func (a *app) find(ctx context.Context, o *acting.Targets, inv *inventory.Inventory, patterns []string, named bool) (targets []*inventory.Target, err error) {
	defer a.savePlugins(ctx) // the following work may take hours
	if named {
		if targets, err = inv.Targets(ctx, patterns); err != nil {
			return nil, err
		}
	} else {
		targets = inv.AllTargets()
	}
	if targets, err = o.Choose(ctx, inv, targets, a.logs.Warn, a.Console); err != nil {
		return nil, err
	}
	a.kept.Warn(a.logs.Warn)
	if err := inv.Prepare(ctx, targets); err != nil {
		return nil, err
	}
	if !named && !o.Choosing() {
		return targets, nil
	}
	return targets, a.warnOverrides(ctx, targets)
}
