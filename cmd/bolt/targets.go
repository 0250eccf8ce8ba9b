package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/yaml"
	"bolt/internal/nodeset"
	"bolt/inventory"
	"bolt/inventory/ansible"
	"bolt/project"
	"bolt/transport"
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

// inventoryData returns the unprocessed data of the inventory and its source. It reads
// them once.
func (a *app) inventoryData(ctx context.Context) (data *ordered.Map, source string, err error) {
	a.invOnce.Do(func() { a.invData, a.invSource, a.invErr = a.readInventory(ctx) })
	return a.invData, a.invSource, a.invErr
}

// readInventory reads the inventory from the environment, from the file given on the
// command line, or from the project.
func (a *app) readInventory(ctx context.Context) (data *ordered.Map, source string, err error) {
	if text := a.sys.env(inventoryVariable); text != "" {
		v, err := yaml.Decode([]byte(text), "$BOLT_INVENTORY")
		m, ok := v.(*ordered.Map)
		if err != nil || !ok {
			return nil, "", &fault.Error{Kind: "bolt/parse-error", Msg: "Could not parse inventory from $BOLT_INVENTORY", Err: err}
		}
		return m, inventoryVariable, nil
	}
	source = a.inventorySource()
	if a.config.InventoryFile == "" {
		if _, err := os.Stat(source); errors.Is(err, os.ErrNotExist) {
			a.warnUnused(source)
			return &ordered.Map{}, source, nil
		}
	}
	if err := project.CheckFile("inventoryfile", source); err != nil {
		return nil, "", usagef("%v", err)
	}
	text, err := yaml.Read(ctx, source, "inventory")
	if err != nil {
		return nil, "", err
	}
	data, err = yaml.DecodeMap(text, source, "inventory")
	if f, ok := errors.AsType[*fault.Error](err); ok && ansible.LooksLike(text) {
		f.Hint = ofAnsible(source)
	}
	if err == nil && ansible.HasGroups(data) {
		a.logs.Warn("ansible_inventory", ofAnsible(source))
	}
	return data, source, err
}

// ofAnsible says how an inventory of Ansible's is read.
func ofAnsible(source string) string {
	return fmt.Sprintf("If %s is an inventory of Ansible's, write an inventory.yaml of these two lines: '_plugin: ansible' and 'path: %[1]s'", source)
}

// warnOverrides tells of targets for which the inventory beats a flag: people
// tend to expect the opposite.
func (a *app) warnOverrides(ctx context.Context, targets []*inventory.Target) error {
	for _, f := range a.sys.flags() {
		if f.Setting == nil || !a.values.has(f.Name) || f.Section != secAuth && f.Section != secEscalate && f.Section != secTransport {
			continue
		}
		var beaten []string
		for _, t := range targets {
			data, err := t.Data(ctx)
			if err != nil {
				if ctx.Err() != nil {
					return err
				}
				continue // this target fails alone, when its turn comes
			}
			has, known := data.Config.Get(f.Name)
			if s, secret := has.(transport.Secret); secret {
				has = s.Reveal()
			}
			if known && has != a.config.Transports[data.Transport].Value(f.Name) {
				beaten = append(beaten, t.SafeName())
			}
		}
		if beaten != nil {
			a.logs.Warn("cli_overrides", fmt.Sprintf("--%s has no effect on %s: the inventory says otherwise, and it comes first.", f.Name, nodeset.Fold(beaten)))
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
func (a *app) targets(ctx context.Context) ([]*inventory.Target, error) {
	find, err := a.targeting(ctx)
	if err != nil {
		return nil, err
	}
	return find(ctx)
}

// targeting reads the inventory and what the command line says about targets;
// find then looks for them.
func (a *app) targeting(ctx context.Context) (find func(context.Context) ([]*inventory.Target, error), err error) {
	inv, err := a.inventory(ctx)
	if err != nil {
		return nil, err
	}
	patterns, named, err := a.patterns(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]*inventory.Target, error) { return a.find(ctx, inv, patterns, named) }, nil
}

// patterns are what the command line says of targets, the answers of PuppetDB
// and the names of the last run among that. named is false if it names none.
func (a *app) patterns(ctx context.Context) (list []string, named bool, err error) {
	switch {
	case a.values.has("query"):
		list, err = a.puppetDB().Certnames(ctx, a.values.last("query"), "")
	case a.values.has("rerun"):
		list, err = a.config.Rerun.Targets(ctx, a.values.last("rerun"))
	case a.values.has("targets"):
		list, err = a.targetWords(ctx)
	default:
		return nil, false, nil
	}
	return list, true, err
}

// targetWords are the values of --targets, those of files and of standard input
// read.
func (a *app) targetWords(ctx context.Context) ([]string, error) {
	var words []string
	for _, t := range a.values["targets"] {
		text, err := a.readArg(ctx, t)
		if err != nil {
			return nil, err
		}
		if text != t {
			text = withoutComments(text)
		}
		words = append(words, text)
	}
	return words, nil
}

// find expands patterns, or takes all targets if none are named, chooses among
// them, and finds mistakes in what the inventory says of those that are left
// before any of them is touched.
func (a *app) find(ctx context.Context, inv *inventory.Inventory, patterns []string, named bool) (targets []*inventory.Target, err error) {
	defer a.savePlugins(ctx) // what follows may take hours
	if named {
		if targets, err = inv.Targets(ctx, patterns); err != nil {
			return nil, err
		}
	} else {
		targets = inv.AllTargets()
	}
	if targets, err = a.choose(ctx, inv, targets); err != nil {
		return nil, err
	}
	a.warnKept()
	if err := inv.Prepare(ctx, targets); err != nil {
		return nil, err
	}
	if !named && !choosing(a.values) {
		return targets, nil
	}
	return targets, a.warnOverrides(ctx, targets)
}
