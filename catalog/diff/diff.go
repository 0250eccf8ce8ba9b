// Package diff compares catalogs.
//
// It compares the applied state, as the digest of a catalog does: two catalogs have no
// differences if and only if their digests are equal.
package diff

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"bolt/catalog"
	"bolt/format/ordered"
)

// A Kind is the kind of a difference.
type Kind string

const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
	// Moved is for all resources together: the resources of both catalogs are in another
	// order.
	Moved Kind = "moved"
)

// A Change is the difference of one resource.
type Change struct {
	Kind     Kind
	Resource catalog.Ref // the zero value for Moved
	// Params are the parameters that differ, sorted by name. For a resource that was
	// added or removed, they are all parameters.
	Params []Param
}

// A Param is the difference of one parameter.
type Param struct {
	// Name is the name of the parameter, Container, "(file)" for the file of a source or
	// "(file PATH)" for a file below it. It is catalog.SourceFiles if only the order of
	// the files differs.
	Name string
	// Old and New are the values; nil if the resource does not have the parameter, or if
	// Secret is set.
	Old, New any
	// Secret is set if one of the values must not be shown.
	Secret bool
}

// Container is the name of a Param for the resources that contain the resource. No
// parameter has this name.
const Container = "(container)"

// Compare returns the differences between two catalogs: first the differences of the
// resources of the new catalog, in its order, then the removed resources.
func Compare(before, after *catalog.Catalog) []Change {
	if before.Digest() == after.Digest() {
		return nil
	}
	a, b := newSide(before), newSide(after)
	var changes []Change
	for _, r := range b.list {
		old := a.byRef[r.Ref]
		kind := Changed
		if old == nil {
			kind = Added
		}
		if params := compare(a, old, b, r); params != nil || old == nil {
			changes = append(changes, Change{kind, r.Ref, params})
		}
	}
	for _, r := range a.list {
		if b.byRef[r.Ref] == nil {
			changes = append(changes, Change{Removed, r.Ref, compare(a, r, b, nil)})
		}
	}
	if changes == nil || !sameOrder(a, b) {
		changes = append(changes, Change{Kind: Moved})
	}
	return changes
}

// sameOrder reports whether the resources that both sides have are in the same order.
func sameOrder(a, b *side) bool {
	i := 0
	for _, r := range a.list {
		if b.byRef[r.Ref] == nil {
			continue
		}
		for a.byRef[b.list[i].Ref] == nil {
			i++
		}
		if b.list[i].Ref != r.Ref {
			return false
		}
		i++
	}
	return true
}

// Select returns the resources of a catalog that match, each as an added resource.
func Select(c *catalog.Catalog, match func(catalog.Ref) bool) (list []Change) {
	var none, s *side
	for _, r := range c.Resources() {
		if r.Virtual || !match(r.Ref) {
			continue
		}
		if s == nil {
			none, s = newSide(&catalog.Catalog{}), newSide(c)
		}
		list = append(list, Change{Added, r.Ref, compare(none, nil, s, r)})
	}
	return list
}

// A side is one of the catalogs that are compared.
type side struct {
	*catalog.Catalog
	list       []*catalog.Resource // the resources that are applied
	byRef      map[catalog.Ref]*catalog.Resource
	containers map[catalog.Ref][]string
}

func newSide(c *catalog.Catalog) *side {
	s := &side{Catalog: c, byRef: make(map[catalog.Ref]*catalog.Resource), containers: make(map[catalog.Ref][]string)}
	for _, r := range c.Resources() {
		if !r.Virtual {
			s.list = append(s.list, r)
			s.byRef[r.Ref] = r
		}
	}
	for _, e := range c.Edges {
		if s.byRef[e.Source] != nil {
			s.containers[e.Target] = append(s.containers[e.Target], e.Source.String())
		}
	}
	for ref, in := range s.containers {
		slices.Sort(in)
		s.containers[ref] = slices.Compact(in)
	}
	return s
}

// state returns the compared state of a resource; nil for no resource.
func (s *side) state(r *catalog.Resource) *ordered.Map {
	if r == nil {
		return nil
	}
	m := s.State(r)
	if in := s.containers[r.Ref]; in != nil {
		m.Set(Container, strings.Join(in, ", "))
	}
	return m
}

// compare returns the parameters that differ.
func compare(a *side, old *catalog.Resource, b *side, r *catalog.Resource) (params []Param) {
	was, is := a.state(old), b.state(r)
	names := slices.Concat(was.Keys(), is.Keys())
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		p := Param{Name: name, Old: was.Value(name), New: is.Value(name)}
		secretBefore, secretNow := old != nil && old.Secret(name), r != nil && r.Secret(name)
		_, had := was.Get(name)
		_, has := is.Get(name)
		if had == has && secretBefore == secretNow && catalog.EqualValues(p.Old, p.New) {
			continue
		}
		if name == catalog.SourceFiles {
			if files := fileParams(p.Old, p.New); files != nil {
				params = append(params, files...)
				continue
			}
		}
		if secretBefore || secretNow {
			p.Old, p.New, p.Secret = nil, nil, true
		}
		params = append(params, p)
	}
	return params
}

// A Group is nodes whose catalogs have the same differences.
type Group struct {
	Nodes   []string
	Changes []Change
}

// Fold groups nodes by their differences. The largest group is first; groups of equal
// size are sorted by their first nodes. Two differing secrets are treated as the same
// difference.
func Fold(changes map[string][]Change) []Group {
	byKey := make(map[string]*Group)
	for node, list := range changes {
		key, _ := json.Marshal(list) // parameters are data, so there is no error
		g := byKey[string(key)]
		if g == nil {
			g = &Group{Changes: list}
			byKey[string(key)] = g
		}
		g.Nodes = append(g.Nodes, node)
	}
	groups := make([]Group, 0, len(byKey))
	for _, g := range byKey {
		slices.Sort(g.Nodes)
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		if len(a.Nodes) != len(b.Nodes) {
			return len(b.Nodes) - len(a.Nodes)
		}
		return strings.Compare(a.Nodes[0], b.Nodes[0])
	})
	return groups
}

// A Shared is a change with the nodes that have it.
type Shared struct {
	Change
	Nodes []string
}

// ByChange lists the changes of nodes, each once, with the nodes that have it. They are
// sorted by resource, then by the first node.
func ByChange(changes map[string][]Change) []Shared {
	byKey := make(map[string]*Shared)
	for node, list := range changes {
		for _, c := range list {
			key, _ := json.Marshal(c) // parameters are data, so there is no error
			s := byKey[string(key)]
			if s == nil {
				s = &Shared{Change: c}
				byKey[string(key)] = s
			}
			s.Nodes = append(s.Nodes, node)
		}
	}
	list := make([]Shared, 0, len(byKey))
	for _, s := range byKey {
		slices.Sort(s.Nodes)
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b Shared) int {
		return cmp.Or(strings.Compare(a.Resource.String(), b.Resource.String()), slices.Compare(a.Nodes, b.Nodes), strings.Compare(string(a.Kind), string(b.Kind)))
	})
	return list
}
