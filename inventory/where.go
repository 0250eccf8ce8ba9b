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

// Where returns the targets for which an expression is true, in their order. It
// also returns the targets for which the expression cannot be evaluated, because
// it uses unknown facts: they are not in the inventory, and none were collected.
//
// The expression is evaluated on the same values as Data, with two exceptions.
// Collected facts are used, too (see Options.CachedFacts). Features are the
// configured features, without the one that local targets are assumed to have.
// Secret values are compared in clear, and errors do not contain them. Where
// reads only the data and resolves only the references that the expression uses,
// so that choosing a few of many targets does not prompt for passwords.
//
// Errors are *fault.Error: bolt/match-error for a value of a type that the
// expression cannot be applied to, bolt/unknown-transport, or an error of a
// plugin.
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

// unanswered converts an error of evaluating an expression for a target. what
// names the expression.
func (inv *Inventory) unanswered(err error, t *Target, what string) error {
	if e, ok := errors.AsType[*match.TypeError](err); ok {
		return &fault.Error{Kind: "bolt/match-error", Msg: fmt.Sprintf("The %s cannot be applied to %s: %v", what, t.SafeName(), e), Err: err}
	}
	return err
}

// A chooser supplies data of targets to expressions. It reads only the parts of
// the inventory that they use, so it has its own merged data. It belongs to the
// holder of turn.
type chooser struct {
	inv    *Inventory
	keys   []string // keys that it reads of groups and targets: of dataKeys, and addressKeys
	facts  []string // used facts, nil for all
	groups map[string]*choice
	parts  map[*group]*layer
}

// choice is the data that all targets in the same groups get from these groups.
type choice struct {
	layer
	names []any // of the groups, nearest first
}

// addressKeys stands for the part of config that contains the address of a
// target.
const addressKeys = "config: transport, host"

// newChooser makes a chooser for the match expressions of groups.
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

// addressOf returns only the address options of config, so that passwords are not
// looked up. A value that is itself a reference is kept.
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

// about returns a target in the given groups as the subject of an expression.
func (c *chooser) about(t *Target, s *state, groups []*group) match.Subject {
	return &subject{c: c, t: t, s: s, groups: groups}
}

// of merges the data of groups.
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

// subject is a target as the subject of an expression. Its values are looked up
// when they are used.
type subject struct {
	c      *chooser
	t      *Target
	s      *state
	groups []*group

	from  *choice // data from its groups
	own   *layer  // the target's own data
	asked bool    // facts is set, and known reports whether it has all facts
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

// read merges the target's data from the inventory.
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

// address returns the target's transport or host from the inventory.
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
