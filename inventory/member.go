package inventory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"bolt/format/ordered"
	"bolt/format/schema"
)

// AddToGroup makes targets members of a group, as add_to_group does in plans.
// From then on they have the data of the group and of the groups that contain
// it. The targets' own data overrides this data. It is merged with the data of
// their other groups as if the file named the targets in the group. An unknown
// group is an error of kind bolt.inventory/validation-error.
func (inv *Inventory) AddToGroup(targets []*Target, name string) error {
	g, err := inv.group(name)
	if err != nil {
		return err
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	for _, t := range targets {
		inv.add(t, g)
	}
	return nil
}

// RemoveFromGroup ends a target's membership in a group and in all groups below
// it, as remove_from_group does in plans. A target that is in none of them stays
// unchanged. The target's own data in these groups' entries in the file remains.
// An unknown group and the group "all" are errors of kind
// bolt.inventory/validation-error.
func (inv *Inventory) RemoveFromGroup(t *Target, name string) error {
	top, err := inv.group(name)
	if err != nil {
		return err
	}
	if top == inv.root {
		return inv.invalid(nil, "Cannot remove Target from Group 'all'")
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	top.walk(func(g *group) { inv.remove(t, g) })
	if len(t.now.Load().groups) == 0 {
		inv.add(t, inv.root)
	}
	return nil
}

func (inv *Inventory) group(name string) (*group, error) {
	g := inv.groups[name]
	if g == nil {
		return nil, inv.invalid(nil, "Group %s does not exist in inventory", name)
	}
	return g, nil
}

// add makes a target a member of a group. The caller holds Inventory.mu, as for
// remove and join.
func (inv *Inventory) add(t *Target, g *group) {
	if g == inv.root {
		inv.join(t)
	}
	groups := t.now.Load().groups // changed only under mu
	i, member := slices.BinarySearchFunc(groups, g, func(a, b *group) int { return cmp.Compare(a.index, b.index) })
	if member {
		return
	}
	if g != inv.root {
		g.added = append(g.added, t)
	}
	t.setGroups(slices.Insert(slices.Clone(groups), i, g))
}

func (inv *Inventory) remove(t *Target, g *group) {
	if g.match != nil {
		t.leave(g)
	}
	groups := t.now.Load().groups
	i := slices.Index(groups, g)
	if i < 0 {
		return
	}
	if added := slices.Index(g.added, t); added >= 0 {
		g.added = slices.Delete(g.added, added, added+1)
	} else {
		if g.removed == nil {
			g.removed = make(map[*Target]bool)
		}
		g.removed[t] = true
	}
	t.setGroups(slices.Delete(slices.Clone(groups), i, i+1))
}

func (t *Target) setGroups(groups []*group) {
	t.update(func(s *state) *state {
		n := s.next()
		n.groups = groups
		return n
	})
}

// join adds a target to the group all, if the file does not name it there.
func (inv *Inventory) join(t *Target) {
	if !t.joined && inv.root.byName[t.Name] == nil {
		t.joined = true
		inv.root.added = append(inv.root.added, t)
	}
}

// NewTarget creates a target, as Target.new does in plans, or replaces all data
// of a known target. Data of the known target itself, from the file and from
// plans, no longer takes effect. The target stays the same *Target and stays in
// the same groups. The file's aliases still name it until another target takes
// them. A new target is in the group all.
//
// spec has the keys of a target's entry in the file: uri, name, alias (or
// target_alias), config, facts, vars, features, plugin_hooks. It must have a uri
// or a name; if it has no name, the uri is the name. Plugin references are
// resolved in config only, because other data may come from machines. The caller
// must not change spec afterwards.
//
// Errors are *fault.Error: bolt/validation-error for data of the wrong form,
// bolt/parse-error for an invalid URI, bolt.inventory/validation-error for names
// that are invalid or already used, or an error of Data. If NewTarget returns an
// error, nothing has changed.
func (inv *Inventory) NewTarget(ctx context.Context, spec *ordered.Map) (*Target, error) {
	fresh, err := inv.readSpec(ctx, spec)
	if err != nil {
		return nil, err
	}
	// Its groups supply their data before it is known to be valid.
	s := &fresh.first
	inv.mu.Lock()
	known := inv.targets[fresh.Name]
	inv.mu.Unlock()
	if known != nil {
		if err := known.settle(ctx); err != nil {
			return nil, err
		}
		fresh.defined = known.defined // it is in the groups of the file from the beginning
		fresh.matched.Store(known.matched.Load())
		now := known.now.Load()
		s.groups, s.left = now.groups, now.left
	}
	if _, err := fresh.Data(ctx); err != nil {
		return nil, err
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if err := inv.checkNew(fresh); err != nil {
		return nil, err
	}
	t := inv.targets[fresh.Name]
	if t == nil {
		t = fresh
		inv.targets[t.Name] = t
	} else {
		t.update(func(old *state) *state {
			if slices.Equal(s.groups, old.groups) && slices.Equal(s.left, old.left) {
				return s
			}
			n := s.next()
			n.groups, n.left = old.groups, old.left
			return n
		})
	}
	if t.Adhoc {
		inv.join(t)
	}
	for _, a := range s.alias {
		if _, ok := inv.aliases[a]; !ok {
			inv.aliasNames = append(inv.aliasNames, a)
		}
		inv.aliases[a] = t.Name
	}
	return t, nil
}

// readSpec makes a target that is not yet in the inventory.
func (inv *Inventory) readSpec(ctx context.Context, spec *ordered.Map) (*Target, error) {
	if err := inv.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer inv.endTurn()
	entry := &ordered.Map{}
	for k, v := range spec.All() {
		switch {
		case v == nil:
		case k == "target_alias":
			entry.Set("alias", v)
		case k == "config":
			v, err := inv.resolve(ctx, v, placeOf("the new target", k))
			if err != nil {
				return nil, err
			}
			entry.Set(k, v)
		default:
			entry.Set(k, v)
		}
	}
	text := func(k string) string { s, _ := entry.Value(k).(string); return s }
	t := &Target{Name: cmp.Or(text("name"), text("uri")), URI: text("uri"), Adhoc: true, inv: inv}
	if t.Name == "" {
		return nil, inv.invalid(nil, "No name or uri for the target with the key(s) %s", strings.Join(entry.Keys(), ", "))
	}
	if err := inv.checkSpec(entry, "the new target "+t.SafeName()); err != nil {
		return nil, err
	}
	if t.URI != "" {
		if _, err := parseURI(t.URI); err != nil {
			return nil, badURI(t.URI, err)
		}
	}
	_, t.first.plain = entry.Value("alias").(string)
	for _, a := range listOf(entry.Value("alias")) {
		t.first.alias = append(t.first.alias, fmt.Sprint(a))
	}
	hash := func(k string) *ordered.Map { m, _ := entry.Value(k).(*ordered.Map); return m }
	t.first.uri, t.first.groups = t.URI, []*group{inv.root}
	t.first.own = t.local(&layer{
		config: hash("config"), vars: hash("vars"), facts: hash("facts"), hooks: hash("plugin_hooks"),
		features: featureList(entry.Value("features")),
	})
	t.first.early = len(t.first.own.features)
	t.now.Store(&t.first)
	return t, nil
}

// checkSpec checks an entry in the same way as the entries of the file.
func (inv *Inventory) checkSpec(entry *ordered.Map, where string) error {
	for _, k := range []string{"name", "uri", "alias", "features"} {
		if hasReference(entry.Value(k)) {
			return schema.ValidationError(where, []string{fmt.Sprintf("Value at '%s' is a plugin reference: resolve it first, with resolve_references", k)})
		}
	}
	config, given := entry.Value("config").(*ordered.Map)
	if given {
		entry = overlay(entry, ordered.Of("config", compact(config)))
	}
	return schema.Validate(Reveal(entry), inv.entry, where, inv.opts.Warn)
}

// checkNew makes sure that the names of a new target are not used already. The
// caller holds Inventory.mu.
func (inv *Inventory) checkNew(t *Target) error {
	if inv.groups[t.Name] != nil {
		return inv.invalid(nil, "Target name %s conflicts with group of the same name", t.SafeName())
	}
	for _, a := range t.Aliases() {
		c, bad := illegal(a)
		other := inv.targets[inv.aliases[a]]
		switch {
		case bad:
			return inv.invalid(nil, "Illegal character '%s' in alias '%s'", c, SafeName(a))
		case inv.groups[a] != nil:
			return inv.invalid(nil, "Alias %s conflicts with group of the same name", SafeName(a))
		case inv.targets[a] != nil:
			return inv.invalid(nil, "Alias %s conflicts with target of the same name", SafeName(a))
		case other != nil && other.Name != t.Name && slices.Contains(other.Aliases(), a):
			return inv.invalid(nil, "Alias %s refers to multiple targets: %s and %s", SafeName(a), other.SafeName(), t.SafeName())
		}
	}
	return nil
}
