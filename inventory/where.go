package inventory

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory/match"
)

// Where returns those of targets about which an expression is true, in their
// order, and those about which it cannot say, because it asks for facts that are
// not known: they are not in the inventory, and none were collected.
//
// What targets have is what Data says, but for two things. Facts that were
// collected count too (see Options.CachedFacts); and features are those that are
// written down, without the one that local targets are assumed to have. What is
// secret is compared as what it is; errors have nothing of it. No more
// is read, and no more references resolved, than the expression uses, so that
// choosing a few of many targets asks for the passwords of none.
//
// Errors are *fault.Error: bolt/match-error for a value that cannot be asked what
// the expression asks, bolt/unknown-transport, or what a plugin returned.
func (inv *Inventory) Where(ctx context.Context, x *match.Expr, targets []*Target) (found, unknown []*Target, err error) {
	if err := inv.takeTurn(ctx); err != nil {
		return nil, nil, err
	}
	defer inv.endTurn()
	c := inv.newChooser(&group{match: x})
	for _, t := range targets {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		s := t.now.Load()
		groups, err := t.groupsOf(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		a, err := x.Match(ctx, c.about(t, s, groups))
		switch {
		case err != nil:
			return nil, nil, inv.unanswered(err, t, "expression")
		case a == match.Yes:
			found = append(found, t)
		case a == match.Unknown:
			unknown = append(unknown, t)
		}
	}
	inv.warnFactless()
	return found, unknown, nil
}

// unanswered is the error of an expression about a target; what names the
// expression.
func (inv *Inventory) unanswered(err error, t *Target, what string) error {
	if e, ok := errors.AsType[*match.TypeError](err); ok {
		return &fault.Error{Kind: "bolt/match-error", Msg: fmt.Sprintf("The %s asks of %s what it cannot be asked: %v", what, t.SafeName(), e), Err: err}
	}
	return err
}

// A chooser tells expressions about targets. It reads what they use of the
// inventory and no more, so it merges for itself. It belongs to the holder of
// turn.
type chooser struct {
	inv    *Inventory
	keys   []string // what it reads of groups and targets: of dataKeys, and addressKeys
	facts  []string // that are used, nil for all
	groups map[string]*choice
	parts  map[*group]*layer
}

// choice is what all targets in the same groups have from these.
type choice struct {
	layer
	names []any // of the groups, nearest first
}

// addressKeys stands for the part of config that says where a target is.
const addressKeys = "config: transport, host"

// newChooser makes a chooser for the expressions of groups.
func (inv *Inventory) newChooser(groups ...*group) *chooser {
	c := &chooser{inv: inv, groups: make(map[string]*choice), parts: make(map[*group]*layer)}
	for _, k := range []struct {
		key  string
		uses []string
	}{{"facts", []string{"facts"}}, {"vars", []string{"vars"}}, {"features", []string{"features"}}, {addressKeys, []string{"transport", "host"}}} {
		if anyUses(groups, k.uses) {
			c.keys = append(c.keys, k.key)
		}
	}
	for _, g := range groups {
		facts, ok := g.match.Members("facts")
		if !ok {
			c.facts = nil
			break
		}
		c.facts = union(c.facts, facts)
	}
	return c
}

func anyUses(groups []*group, names []string) bool {
	for _, g := range groups {
		for _, n := range names {
			if g.match.Uses(n) {
				return true
			}
		}
	}
	return false
}

// addressOf leaves of config what says where a target is, so that passwords are
// not looked up. What is a reference as a whole stays.
func addressOf(config any) any {
	m, ok := config.(*ordered.Map)
	if !ok || isReference(m) {
		return config
	}
	part := &ordered.Map{}
	for k, v := range m.All() {
		options, ok := v.(*ordered.Map)
		switch {
		case !ok || isReference(options):
			part.Set(k, v)
		default:
			if host, ok := options.Get("host"); ok {
				part.Set(k, ordered.Of("host", host))
			}
		}
	}
	return part
}

// about is a target in the given groups as expressions see it.
func (c *chooser) about(t *Target, s *state, groups []*group) match.Subject {
	return &subject{c: c, t: t, s: s, groups: groups}
}

// of merges what groups give.
func (c *chooser) of(ctx context.Context, groups []*group) (*choice, error) {
	var key []byte
	for _, g := range groups {
		key = binary.AppendUvarint(key, uint64(g.index))
	}
	if l, ok := c.groups[string(key)]; ok {
		return l, nil
	}
	span := closureOf(groups)
	var names []any
	if err := span.each(func(g *group) error {
		names = append(names, g.name)
		if c.parts[g] != nil {
			return nil
		}
		part, err := c.inv.readLayer(ctx, g.input, g, "", c.keys)
		c.parts[g] = part
		return err
	}); err != nil {
		return nil, err
	}
	merged, _ := fold(span, func(g *group) (*layer, bool) { return c.parts[g], true }, mergeLayers)
	l := &choice{layer: *merged, names: names}
	c.groups[string(key)] = l
	return l, nil
}

// subject is a target as an expression sees it. What it has is looked up when it
// is asked for.
type subject struct {
	c      *chooser
	t      *Target
	s      *state
	groups []*group

	from  *choice // what its groups give
	own   *layer  // what is said about itself
	asked bool    // for facts: these are there, and known says that they are all
	facts *ordered.Map
	known bool
}

func (a *subject) Value(ctx context.Context, name string) (any, bool, error) {
	switch name {
	case "name":
		return a.t.Name, true, nil
	case "uri":
		if a.s.uri == "" {
			return nil, true, nil
		}
		return a.s.uri, true, nil
	case "alias":
		return textList(a.s.alias), true, nil
	}
	if err := a.read(ctx); err != nil {
		return nil, false, err
	}
	switch name {
	case "groups":
		return a.from.names, true, nil
	case "features":
		return textList(union(a.from.features, a.own.features)), true, nil
	case "vars":
		return Reveal(present(overlay(a.from.vars, a.own.vars))), true, nil
	case "transport", "host":
		v, err := a.address(name)
		return Reveal(v), err == nil, err
	}
	return a.factsValue(ctx)
}

func textList(texts []string) []any {
	list := make([]any, len(texts))
	for i, s := range texts {
		list[i] = s
	}
	return list
}

// read merges what the inventory says.
func (a *subject) read(ctx context.Context) error {
	if a.from != nil {
		return nil
	}
	from, err := a.c.of(ctx, a.groups)
	if err != nil {
		return err
	}
	if a.own = a.s.own; a.own == nil {
		if a.own, err = a.c.inv.definedLayer(ctx, a.t.defined, a.t.Name, a.c.keys); err != nil {
			return err
		}
		a.own = a.t.local(a.own)
	}
	a.from = from
	return nil
}

func (a *subject) factsValue(ctx context.Context) (any, bool, error) {
	if !a.asked {
		a.facts = RevealMap(deepOverlay(a.from.facts, a.own.facts))
		a.known = a.facts.Len() > 0
		if cached := a.c.inv.opts.CachedFacts; cached != nil {
			under, err := cached(ctx, a.t.Name, a.c.facts)
			if err != nil {
				return nil, false, err
			}
			a.facts, a.known = deepOverlay(under, a.facts), under != nil
		}
		a.asked = true
	}
	return a.facts, a.known, nil
}

// address is where the target is, as far as the inventory says it: its transport,
// or its host.
func (a *subject) address(name string) (any, error) {
	var u uri
	if a.s.uri != "" {
		var err error
		if u, err = parseURI(a.s.uri); err != nil {
			return nil, a.c.inv.invalid(nil, "Invalid target uri %s: %v", SafeName(a.s.uri), err)
		}
	}
	transport, err := a.t.transport(a.s, u.scheme, a.own, &groupLayer{layer: a.from.layer})
	switch {
	case err != nil:
		return nil, err
	case name == "transport":
		return transport, nil
	case u.host != "":
		return u.host, nil
	}
	for _, config := range []*ordered.Map{a.own.config, a.from.config} {
		options, _ := config.Value(transport).(*ordered.Map)
		if host := options.Value("host"); host != nil {
			return host, nil
		}
	}
	return nil, nil
}
