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

// A group with a match contains the targets that it names and, in addition, the targets of the
// file that match. The decision depends on the file and the collected facts. It does not depend on
// data that groups with a match would add; so the order of evaluation does not matter, and there
// are no cycles. It is made once for each target, when the target's data is first read or when the
// group's members are first needed. Changes by plans do not change the decision, but plans can add
// targets to such a group and remove them.

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

// matchedGroups returns the groups whose match the target meets. The caller holds turn.
func (t *Target) matchedGroups(ctx context.Context) ([]*group, error) {
	if list := t.matched.Load(); list != nil {
		return *list, nil
	}
	inv := t.inv
	var list []*group
	if len(t.defined) > 0 { // the file defines it
		about := inv.chooser.about(t, &t.first, t.defined)
		factless := false
		for _, g := range inv.matching {
			if g.byName[t.Name] != nil {
				continue // the group names it
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

// settle makes sure that t.matched is set.
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

// tellFactless warns about targets whose facts are missing, so that a match could not be
// evaluated.
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

// warnFactless prints the warning of tellFactless. The caller holds turn.
func (inv *Inventory) warnFactless() {
	if inv.factless > 0 {
		inv.opts.Warn("no_facts", fmt.Sprintf("The facts of %s are missing or incomplete, so groups with a match do not contain them. "+
			"Run \"bolt facts collect\" to collect facts.", targetCount(inv.factless)))
		inv.factless = 0
	}
}

func targetCount(n int) string {
	if n == 1 {
		return "1 target"
	}
	return fmt.Sprintf("%d targets", n)
}

// groupsOf returns all groups that contain the target directly, in preorder. The caller holds
// turn.
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

// groupLayer calls Inventory.groupLayer with the groups of a target.
func (t *Target) groupLayer(ctx context.Context, s *state) (*groupLayer, error) {
	groups, err := t.groupsOf(ctx, s)
	if err != nil {
		return nil, err
	}
	return t.inv.groupLayer(ctx, groups)
}

// leave removes a target from a group with a match, whether or not the target matches.
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

// field is a position in the file: a key of a group or of a target's entry in a group.
type field struct {
	input *ordered.Map
	key   string
}

// resolveOnce resolves the references in the value of a field that contains references. The result
// is cached: a plugin may prompt the user, and data that decides about members of groups is read
// again later.
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
