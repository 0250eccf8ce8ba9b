package inventory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory/match"
)

// A group with a match has, beside the targets that it names, those of the file
// that match. Who they are is decided from what the file and the collected facts
// say, and without what groups with a match would add to that; so the order in
// which they are looked at does not matter, and there are no cycles. It is decided once, target by
// target, when a target's data is first read or the group's members are first
// asked for. What plans change does not change it, but they may add targets to
// such a group and take them out.

// readMatch parses the match of a group.
func (inv *Inventory) readMatch(g *group) error {
	v, given := g.input.Get("match")
	if !given || g.parent == nil {
		return nil
	}
	text, ok := v.(string)
	if !ok {
		return inv.invalid(g.path(), "The match of group %s must be a String, not %s", SafeName(g.name), typeName(v))
	}
	x, err := match.Parse(text)
	if err != nil {
		wrong := inv.invalid(g.path(), "The match of group %s is wrong", SafeName(g.name)).(*fault.Error)
		wrong.Msg += ": " + err.Error() // the last line has a caret
		wrong.Err = err
		return wrong
	}
	g.match, g.dynamic = x, true
	return nil
}

// matchedGroups are the groups that a target is in by their match. The caller
// holds turn.
func (t *Target) matchedGroups(ctx context.Context) ([]*group, error) {
	if list := t.matched.Load(); list != nil {
		return *list, nil
	}
	inv := t.inv
	var list []*group
	if len(t.defined) > 0 { // the file knows it
		about := inv.chooser.about(t, &t.first, t.defined)
		factless := false
		for _, g := range inv.matching {
			if g.byName[t.Name] != nil {
				continue // it is in the group anyway
			}
			a, err := g.match.Match(ctx, about)
			switch {
			case err != nil:
				return nil, inv.unanswered(err, t, "match of group "+SafeName(g.name))
			case a == match.Yes:
				list = append(list, g)
			case a == match.Unknown:
				factless = true
			}
		}
		if factless {
			inv.factless++
		}
	}
	t.matched.Store(&list)
	return list, nil
}

// settle makes sure that t.matched is there.
func (t *Target) settle(ctx context.Context) error {
	if t.inv.matching == nil || t.matched.Load() != nil {
		return nil
	}
	if err := t.inv.takeTurn(ctx); err != nil {
		return err
	}
	defer t.inv.endTurn()
	_, err := t.matchedGroups(ctx)
	return err
}

// settle makes sure that the members of all groups with a match are known.
func (inv *Inventory) settle(ctx context.Context) error {
	inv.mu.Lock()
	done := inv.settled
	inv.mu.Unlock()
	if done {
		return nil
	}
	if err := inv.takeTurn(ctx); err != nil {
		return err
	}
	defer inv.endTurn()
	all := inv.AllTargets()
	members := make(map[*group][]*Target)
	for _, t := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		groups, err := t.matchedGroups(ctx)
		if err != nil {
			return err
		}
		for _, g := range groups {
			members[g] = append(members[g], t)
		}
	}
	inv.mu.Lock()
	for g, list := range members {
		g.matched = list
	}
	inv.settled = true
	inv.mu.Unlock()
	inv.warnFactless()
	return nil
}

// tellFactless warns of targets that no match could be asked about.
func (inv *Inventory) tellFactless(ctx context.Context) error {
	if inv.matching == nil {
		return nil
	}
	if err := inv.takeTurn(ctx); err != nil {
		return err
	}
	defer inv.endTurn()
	inv.warnFactless()
	return nil
}

// warnFactless does tellFactless's work. The caller holds turn.
func (inv *Inventory) warnFactless() {
	if inv.factless > 0 {
		inv.opts.Warn("no_facts", fmt.Sprintf("Nothing is known of the facts of %s, or not enough for groups with a match: they are not in these. "+
			"\"bolt facts collect\" collects facts.", targetCount(inv.factless)))
		inv.factless = 0
	}
}

func targetCount(n int) string {
	if n == 1 {
		return "1 target"
	}
	return fmt.Sprintf("%d targets", n)
}

// groupsOf are all groups that hold a target itself, in preorder. The caller
// holds turn.
func (t *Target) groupsOf(ctx context.Context, s *state) ([]*group, error) {
	if t.inv.matching == nil {
		return s.groups, nil
	}
	matched, err := t.matchedGroups(ctx)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(s.groups)
	for _, g := range matched {
		if !slices.Contains(s.left, g) {
			all = append(all, g)
		}
	}
	slices.SortFunc(all, func(a, b *group) int { return cmp.Compare(a.index, b.index) })
	return slices.Compact(all), nil
}

// groupLayer is Inventory.groupLayer for the groups of a target.
func (t *Target) groupLayer(ctx context.Context, s *state) (*groupLayer, error) {
	groups, err := t.groupsOf(ctx, s)
	if err != nil {
		return nil, err
	}
	return t.inv.groupLayer(ctx, groups)
}

// leave takes a target out of a group, whether it is in it by its match or not.
func (t *Target) leave(g *group) {
	t.update(func(s *state) *state {
		if slices.Contains(s.left, g) {
			return s
		}
		n := s.next()
		n.left = append(slices.Clone(s.left), g)
		return n
	})
}

// field is a place in the file: a key of a group or of what it says of a target.
type field struct {
	input *ordered.Map
	key   string
}

// resolveOnce resolves the references in the value of a field, which has some. A plugin may ask
// people, and members of groups are chosen by what is read again later.
func (inv *Inventory) resolveOnce(ctx context.Context, of field, v any, at *place) (any, error) {
	if r, ok := inv.resolved[of]; ok {
		return r, nil
	}
	r, err := inv.resolve(ctx, v, at)
	if err == nil {
		inv.resolved[of] = r
	}
	return r, err
}
