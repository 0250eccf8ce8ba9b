package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"bolt/cli/acting"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/inventory/choose"
	"bolt/inventory/file"
	"bolt/project"
	"bolt/transport/all"
)

// inventory reads the inventory, once.
func (a *app) inventory(ctx context.Context) (*inventory.Inventory, error) {
	if a.inv != nil {
		return a.inv, nil
	}
	data, source, err := a.inventoryData(ctx)
	if err != nil {
		return nil, err
	}
	hooks, err := a.pluginHooks(ctx)
	if err != nil {
		return nil, err
	}
	var cached func(context.Context, string, []string) (*ordered.Map, error)
	if !a.factStore().Empty() { // else those of the inventory are all that there are
		cached = a.cachedFacts
	}
	a.inv, err = inventory.New(ctx, data, inventory.Options{
		Transports:  all.Tables(all.List()),
		File:        source,
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

// An inventoryFile is the unprocessed data of an inventory, which is read once.
type inventoryFile struct {
	once   sync.Once
	data   *ordered.Map
	source string
	err    error
}

// inventoryData returns the unprocessed data of the inventory and its source. It reads
// them once.
func (a *app) inventoryData(ctx context.Context) (data *ordered.Map, source string, err error) {
	f := &a.invFile
	f.once.Do(func() { f.data, f.source, f.err = a.readInventory(ctx) })
	return f.data, f.source, f.err
}

// readInventory reads the inventory from the environment, from the file given on the
// command line, or from the project.
func (a *app) readInventory(ctx context.Context) (data *ordered.Map, source string, err error) {
	if text := a.sys.env(inventoryVariable); text != "" {
		data, err = file.Parse(text, "$"+inventoryVariable)
		return data, inventoryVariable, err
	}
	source = a.inventorySource()
	if a.config.InventoryFile == "" && missing(source) {
		a.warnUnused(source)
		return &ordered.Map{}, source, nil
	}
	if err := project.CheckFile("inventoryfile", source); err != nil {
		return nil, "", usagef("%v", err)
	}
	data, err = file.Read(ctx, source, a.logs.Warn)
	return data, source, err
}

// warnOverrides tells of targets for which the inventory beats a flag: people
// tend to expect the opposite.
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
			a.logs.Warn("cli_overrides", fmt.Sprintf("--%s has no effect on %s: the inventory says otherwise, and it comes first.", f.Name, names))
		}
	}
	return nil
}

// warnUnused tells of an inventory in the working directory that does not
// count, because the directory is no project.
func (a *app) warnUnused(source string) {
	if here, err := filepath.Abs("inventory.yaml"); err == nil && here != source {
		if _, err := os.Stat(here); err == nil {
			a.logs.Warn("unused_inventory", fmt.Sprintf("%s is not used: the project is %s. "+
				"Make an empty bolt-project.yaml beside it, or name it with --inventoryfile.", here, a.project.Dir))
		}
	}
}

// inventorySource says where the inventory in use is: its path, or the name of
// the environment variable that holds it.
func (a *app) inventorySource() string {
	if a.sys.env(inventoryVariable) != "" {
		return inventoryVariable
	}
	if a.config.InventoryFile != "" {
		return a.config.InventoryFile
	}
	return a.project.InventoryFile()
}

// targets are those that the command line names, all of them if it names none.
func (a *app) targets(ctx context.Context, o *acting.Targets) ([]*inventory.Target, error) {
	find, err := a.targeting(ctx, o)
	if err != nil {
		return nil, err
	}
	return find(ctx)
}

// targeting reads the inventory and what the command line says about targets;
// find then looks for them.
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

// patterns are what the command line says of targets, the answers of PuppetDB
// and the names of the last run among that. named is false if it names none.
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

// find expands patterns, or takes all targets if none are named, chooses among
// them, and finds mistakes in what the inventory says of those that are left
// before any of them is touched.
func (a *app) find(ctx context.Context, o *acting.Targets, inv *inventory.Inventory, patterns []string, named bool) (targets []*inventory.Target, err error) {
	defer a.savePlugins(ctx) // what follows may take hours
	if named {
		if targets, err = inv.Targets(ctx, patterns); err != nil {
			return nil, err
		}
	} else {
		targets = inv.AllTargets()
	}
	choice, err := o.Choice()
	if err != nil {
		return nil, err
	}
	if targets, err = choice.From(ctx, inv, targets, choose.Options{Warn: a.logs.Warn, Say: a.Console}); err != nil {
		return nil, err
	}
	a.warnKept()
	if err := inv.Prepare(ctx, targets); err != nil {
		return nil, err
	}
	if !named && !o.Choosing() {
		return targets, nil
	}
	return targets, a.warnOverrides(ctx, targets)
}
