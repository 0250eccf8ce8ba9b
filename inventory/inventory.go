// Package inventory knows the machines: it turns inventory.yaml, or nothing
// but names on a command line, into targets, and says for each of them how to
// reach it and what is known about it.
//
// New reads a whole inventory (version 2 of Puppet Bolt's format): it checks
// it, builds the tree of groups, and resolves plugin references that stand for
// targets or groups. Targets expands what people write (names, groups,
// aliases, patterns, URIs) to Target values. A Target's Data and Settings are
// merged from all groups that have it when they are first asked for, which is
// also when plugin references in its data are resolved.
//
// How data is merged, in short: what is said about a target itself beats what
// is said about groups; a child group beats its parent; of sibling groups the
// earlier beats the later. config and facts merge deeply, vars and
// plugin_hooks by key, features and aliases add up.
//
// Plans change what is known: SetVar, AddFacts, SetFeature and SetConfig change
// what is said about a target itself, AddToGroup and RemoveFromGroup which
// groups it has data from, and NewTarget makes a target or says everything
// about one anew. A Target stays the same value through all of this; what was
// read from it before stays as it was. Only what has changed is merged again.
//
// The package reads no environment and asks nobody anything: plugins, which
// may, come as a function.
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

// Resolver gives the value that a plugin reference stands for. name is the
// value of its key "_plugin"; all other references inside ref are resolved
// already. The value may hold references again. An error is returned to the
// user as it is, so it should be a *fault.Error. It is called from one
// goroutine at a time, and must not use the Inventory that calls it.
type Resolver func(ctx context.Context, name string, ref *ordered.Map) (any, error)

// Options configure an Inventory. Without Transports there are only devices.
type Options struct {
	// Transports are those that targets may have, beside Remote; package transport/all
	// lists this program's. Whether one can be dialed does not matter here: an inventory
	// that names such targets is a good inventory.
	Transports []option.Transport
	// File names the source of the data in messages: a path, or
	// "BOLT_INVENTORY".
	File string
	// Transport is the transport of targets that name none; "" means the first of
	// Transports.
	Transport string
	// Config has, for each transport, the options that lie below the
	// inventory's: defaults files, project, command line. Transport defaults
	// need not be there. Plugin references are resolved when first needed.
	Config map[string]*ordered.Map
	// PluginHooks are the project's; they are laid over the built-in one and
	// below those of groups and targets.
	PluginHooks *ordered.Map
	// Project is the directory that relative paths of keys start from.
	Project string
	// Home is what "~" in a key's path stands for; "" leaves it alone.
	Home string
	// Resolve resolves plugin references; without it all plugins are unknown.
	Resolve Resolver
	// CachedFacts gives what was once collected of the facts of the target of
	// that name: at least those of facts that there are, or all if facts is nil;
	// the result is nil if nothing was ever collected. They count where targets are
	// chosen, under what the inventory says (Where, and groups with a match), and
	// nowhere else here: what a target's Data is does not depend on what was collected
	// when. It is called like Resolve, and the result is not kept. nil stands for
	// somebody who collects no facts: those of the inventory are then all that
	// there are.
	CachedFacts func(ctx context.Context, name string, facts []string) (*ordered.Map, error)
	// Warn takes warnings; nil drops them. It is called from one goroutine
	// at a time, and must not use the Inventory that calls it.
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
	nothing    *layer                  // of the many targets about which no more than a name is said
	matching   []*group                // those with a match, in preorder

	// turn holds one token for whoever resolves references and merges data:
	// references must be resolved once, not once for each target.
	turn chan struct{}
	// These belong to the holder of turn.
	layers     map[string]*groupLayer // by the groups that hold a target
	base       map[string]*ordered.Map
	resolved   map[field]any   // what references in the file stand for
	chooser    *chooser        // of the members of matching
	factless   int             // targets that match cannot be asked about, not yet told
	checkedKey map[string]bool // private keys that were looked for
	told       map[string]bool // texts of warnings that are shown once

	// mu guards these, who is in which group (group.added, group.removed,
	// group.matched, Target.joined), and every change of a Target's groups. It is held for no
	// more than a look, and never while waiting for turn.
	mu         sync.Mutex
	targets    map[string]*Target // by name; grows with ad-hoc targets
	aliases    map[string]string  // alias → target name
	aliasNames []string           // in order
	settled    bool               // group.matched is there
}

// New makes an Inventory of decoded data, which it keeps and does not change.
// nil data is an empty inventory. Errors are *fault.Error: of kind
// bolt/validation-error if the data has the wrong form,
// bolt.inventory/validation-error (with the group's path, inner first, in the
// details) if names are bad or clash, or what a plugin returned.
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

// invalid makes an error about the group whose path, inner first, is given.
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

// takeTurn waits until the caller may resolve references and merge.
func (inv *Inventory) takeTurn(ctx context.Context) error {
	select {
	case inv.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (inv *Inventory) endTurn() { <-inv.turn }

// index makes the Target values and the lists in the order in which people
// see them: a group's own targets before those of its children.
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

// Groups lists the names of all groups, sorted. "all" is always one.
func (inv *Inventory) Groups() []string { return slices.Sorted(slices.Values(inv.groupNames)) }

// AllTargets lists the targets of the inventory, in its order, without ad-hoc
// ones.
func (inv *Inventory) AllTargets() []*Target {
	list := make([]*Target, len(inv.names))
	inv.mu.Lock()
	defer inv.mu.Unlock()
	for i, name := range inv.names {
		list[i] = inv.targets[name]
	}
	return list
}

// Names lists everything that names targets, sorted: targets, aliases and
// groups. It is meant for completion.
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

// Prepare merges and checks the data of targets, and returns the first error
// in their order. Puppet Bolt does this for all targets of a command line
// before it touches any of them, so that a mistake in the inventory is found
// before half of the work is done. From then on ad-hoc targets are in the
// group all, as in Puppet Bolt.
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
