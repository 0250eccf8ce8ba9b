// Package inventory turns inventory.yaml, or only names on a command line, into targets. For
// each target it returns how to connect to it and its data (vars, facts, features).
//
// New reads a whole inventory (version 2 of Puppet Bolt's format): it checks it, builds the
// tree of groups, and resolves plugin references that stand for targets or groups. Targets
// expands the user's patterns (names, groups, aliases, wildcards, URIs) to Target values. A
// Target's Data and Settings are merged from all groups that contain it when they are first
// used. Plugin references in its data are resolved at the same time.
//
// Rules for merging, in short: data of a target itself overrides data of groups; a child
// group overrides its parent; of sibling groups the earlier overrides the later. config and
// facts merge deeply, vars and plugin_hooks merge by key, features and aliases add up.
//
// Plans can change the data. SetVar, AddFacts, SetFeature and SetConfig change the data of a
// target itself. AddToGroup and RemoveFromGroup change the groups that it has data from.
// NewTarget creates a target or replaces all data of a target. A Target stays the same value
// through all of this; data that was read from it before does not change. Only changed data
// is merged again.
//
// The package does not read the environment and does not prompt the user. Plugins, which may
// do so, are passed as a function.
package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/schema"
	"bolt/transport/option"
)

// Resolver returns the value that a plugin reference stands for. name is the value of its key
// "_plugin"; all other references inside ref are already resolved. The value may contain
// references again. An error is returned to the user unchanged, so it should be a
// *fault.Error. Resolver is called from one goroutine at a time, and must not use the
// Inventory that calls it.
type Resolver func(ctx context.Context, name string, ref *ordered.Map) (any, error)

// Options configure an Inventory. Without Transports, only the transport Remote exists.
type Options struct {
	// Transports lists the transports that targets can have, besides Remote; package
	// transport/all lists this program's. They need not be able to connect: an inventory that
	// names targets of such a transport is valid.
	Transports []option.Transport
	// File names the source of the data in messages: a path, or
	// "BOLT_INVENTORY".
	File string
	// Transport is the transport of targets that do not set one; "" means the first of
	// Transports.
	Transport string
	// Config contains, for each transport, the options below the inventory's: defaults files,
	// project, command line. Transport defaults need not be included. Plugin references are
	// resolved when first needed.
	Config map[string]*ordered.Map
	// PluginHooks are the project's hooks. They override the built-in hook; groups and
	// targets override them.
	PluginHooks *ordered.Map
	// Project is the directory that relative paths in options are relative to.
	Project string
	// Home replaces "~" at the start of a path in an option; if it is "", "~" is not
	// replaced.
	Home string
	// Resolve resolves plugin references. If it is nil, all plugins are unknown.
	Resolve Resolver
	// CachedFacts returns the facts that were collected earlier for the target with that name:
	// at least the existing facts among facts, or all facts if facts is nil. The result is nil
	// if no facts were ever collected. Collected facts are used only to choose targets (Where,
	// and groups with a match); facts in the inventory override them. A target's Data does not
	// depend on them. CachedFacts is called like Resolve, and its result is not kept. If
	// CachedFacts is nil, only the facts in the inventory are used.
	CachedFacts func(ctx context.Context, name string, facts []string) (*ordered.Map, error)
	// Warn receives warnings; nil drops them. It is called from one goroutine at a time, and
	// must not use the Inventory that calls it.
	Warn func(id, text string)
}

// Inventory is the set of all known targets and groups. It is safe for
// concurrent use.
type Inventory struct {
	opts       Options
	root       *group
	groups     map[string]*group
	groupNames []string // preorder
	names      []string // of all targets in the file, in order
	transports tables
	secrets    map[string]secretOption // by the names of options
	schemas    *schema.Schema          // of config
	entry      *schema.Schema          // of a target
	nothing    *layer                  // for the many targets that have only a name
	matching   []*group                // groups with a match, in preorder

	// turn holds one token for the goroutine that resolves references and merges data:
	// references must be resolved once, not once for each target.
	turn chan struct{}
	// The holder of turn owns these fields.
	layers     map[string]*groupLayer // by the groups that hold a target
	base       map[string]*ordered.Map
	resolved   map[field]any   // values of references in the file
	chooser    *chooser        // chooses the members of the groups in matching
	factless   int             // number of targets that match could not be evaluated for, not yet reported
	checkedKey map[string]bool // private keys that were already checked
	told       map[string]bool // texts of warnings that are shown once

	// mu guards these fields, the members of groups (group.added, group.removed,
	// group.matched, Target.joined), and every change of a Target's groups. It is held only
	// briefly, and never while waiting for turn.
	mu         sync.Mutex
	targets    map[string]*Target // by name; grows with ad-hoc targets
	aliases    map[string]string  // alias → target name
	aliasNames []string           // in order
	settled    bool               // group.matched is set
}

// New makes an Inventory from decoded data, which it keeps and does not change. nil data is
// an empty inventory. Errors are *fault.Error. The kind is bolt/validation-error if the data
// has the wrong form, and bolt.inventory/validation-error (with the group's path, innermost
// first, in the details) if names are invalid or conflict. Errors of plugins are returned
// unchanged.
func New(ctx context.Context, data *ordered.Map, o Options) (*Inventory, error) {
	if o.Transport == "" && len(o.Transports) > 0 {
		o.Transport = o.Transports[0].Name
	}
	if o.Warn == nil {
		o.Warn = func(string, string) {}
	}
	inv := &Inventory{
		opts:       o,
		groups:     make(map[string]*group),
		aliases:    make(map[string]string),
		targets:    make(map[string]*Target),
		transports: tablesOf(o.Transports),
		turn:       make(chan struct{}, 1),
		nothing:    &layer{},
		layers:     make(map[string]*groupLayer),
		base:       make(map[string]*ordered.Map),
		resolved:   make(map[field]any),
		checkedKey: make(map[string]bool),
		told:       make(map[string]bool),
	}
	if data == nil {
		data = &ordered.Map{}
	}
	inv.secrets = inv.transports.secrets()
	file := fileSchema(inv.transports.schema())
	inv.schemas, inv.entry = file.Properties["config"], file.Properties["targets"].Items
	if err := schema.Validate(data, file, o.File, o.Warn); err != nil {
		return nil, err
	}
	if v, ok := data.Get("version"); ok && v != int64(2) {
		return nil, inv.invalid(nil, "Unsupported version %v specified in inventory", v)
	}
	root, err := inv.readGroup(ctx, data, nil, &place{of: "the inventory"})
	if err != nil {
		return nil, err
	}
	inv.root = root
	if err := inv.placeStrings(); err != nil {
		return nil, err
	}
	if err := inv.checkNames(); err != nil {
		return nil, err
	}
	inv.index()
	return inv, nil
}

// invalid makes an error about the group with that path (innermost first).
func (inv *Inventory) invalid(path []string, format string, args ...any) error {
	list, groups := []any{}, []string{}
	for _, p := range path {
		groups = append(groups, SafeName(p))
		list = append(list, SafeName(p))
	}
	msg := fmt.Sprintf(format, args...)
	if len(path) > 0 {
		msg += " (group " + strings.Join(groups, " in ")
		if inv.opts.File != "" {
			msg += ", " + inv.opts.File
		}
		msg += ")"
	}
	return &fault.Error{Kind: "bolt.inventory/validation-error", Msg: msg, Details: ordered.Of("path", list)}
}

// takeTurn waits until the caller can resolve references and merge.
func (inv *Inventory) takeTurn(ctx context.Context) error {
	select {
	case inv.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (inv *Inventory) endTurn() { <-inv.turn }

// index makes the Target values and the lists in display order: a group's own targets before
// the targets of its children.
func (inv *Inventory) index() {
	var aliased []*Target
	inv.root.walk(func(g *group) {
		inv.groups[g.name] = g
		inv.groupNames = append(inv.groupNames, g.name)
		if g.match != nil {
			inv.matching = append(inv.matching, g)
		}
		for _, d := range g.defs {
			t := inv.targets[d.name]
			if t == nil {
				t = &Target{Name: d.name, inv: inv}
				inv.names = append(inv.names, d.name)
				inv.targets[d.name] = t
			}
			t.defined = append(t.defined, g)
			if d.alias != nil {
				aliased = append(aliased, t)
			}
		}
		for _, a := range g.aliases {
			if _, ok := inv.aliases[a.name]; !ok {
				inv.aliasNames = append(inv.aliasNames, a.name)
			}
			inv.aliases[a.name] = a.target
		}
	})
	for _, name := range inv.names {
		t := inv.targets[name]
		t.URI = t.mergedURI()
		t.first.uri, t.first.groups = t.URI, t.defined
		t.now.Store(&t.first)
	}
	for _, t := range aliased {
		t.first.alias = t.mergedAliases()
		t.first.plain = len(t.defined) == 1 && t.defined[0].byName[t.Name].plain
	}
	inv.chooser = inv.newChooser(inv.matching...)
}

// Groups lists the names of all groups, sorted. "all" is always included.
func (inv *Inventory) Groups() []string { return slices.Sorted(slices.Values(inv.groupNames)) }

// AllTargets lists the targets of the inventory, in its order, without ad-hoc targets.
func (inv *Inventory) AllTargets() []*Target {
	list := make([]*Target, len(inv.names))
	inv.mu.Lock()
	defer inv.mu.Unlock()
	for i, name := range inv.names {
		list[i] = inv.targets[name]
	}
	return list
}

// Names lists all names of targets, aliases and groups, sorted. It is meant for shell
// completion.
func (inv *Inventory) Names() []string {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	all := make(map[string]bool)
	for _, list := range [][]string{inv.names, inv.aliasNames, inv.groupNames} {
		for _, n := range list {
			all[n] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Prepare merges and checks the data of targets, and returns the first error in their order.
// Puppet Bolt does this for all targets of a command line before it connects to any of them,
// so that a mistake in the inventory is found before half of the work is done. After Prepare,
// ad-hoc targets are in the group all, as in Puppet Bolt.
func (inv *Inventory) Prepare(ctx context.Context, targets []*Target) error {
	for _, t := range targets {
		if _, err := t.Data(ctx); err != nil {
			return err
		}
		if t.Adhoc {
			inv.mu.Lock()
			inv.join(t)
			inv.mu.Unlock()
		}
	}
	return inv.tellFactless(ctx)
}
