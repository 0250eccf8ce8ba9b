// Package exports finds the exported resources of nodes, for the collectors of other nodes.
//
// An Index holds the exported resources of existing catalogs. A PuppetDB queries PuppetDB.
// Both find the same resources: they match queries as PuppetDB does, and the resources are as
// PuppetDB stores them (package catalog/wire).
package exports

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bolt/catalog"
	"bolt/catalog/wire"
	"bolt/format/ordered"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// An Export is an exported resource and the node that exports it.
type Export struct {
	Node string
	*catalog.Resource
}

// maxExports is the number of resources that an Index may have.
const maxExports = 1_000_000

// An Index is the exported resources of catalogs. The zero Index has none. Find may be called
// by several goroutines, but not at the same time as Add.
type Index struct {
	byType map[string][]Export
	nodes  map[string]bool
	len    int
}

// Add adds the exported resources of a node's catalog. Each node can be added once.
func (x *Index) Add(c *catalog.Catalog) error {
	if x.nodes[c.Name] {
		return fmt.Errorf("there are two catalogs of the node %s", c.Name)
	}
	if x.byType == nil {
		x.byType, x.nodes = make(map[string][]Export), make(map[string]bool)
	}
	x.nodes[c.Name] = true
	for _, r := range wire.Exported(c) {
		if x.len++; x.len > maxExports {
			return fmt.Errorf("the nodes export more than %d resources", maxExports)
		}
		x.byType[r.Type] = append(x.byType[r.Type], Export{c.Name, r})
	}
	return nil
}

// Len returns the number of exported resources.
func (x *Index) Len() int { return x.len }

// Find returns the resources of a type that nodes other than node export and that a query
// matches, in the order of the names of their nodes and of their titles. nil matches all.
func (x *Index) Find(_ context.Context, node, typ string, q eval.Query) ([]Export, error) {
	m, err := newMatcher(q)
	if err != nil {
		return nil, err
	}
	var found []Export
	for _, e := range x.byType[typ] {
		if e.Node != node && m.matches(e.Resource) {
			found = append(found, e)
		}
	}
	sortExports(found)
	return found, nil
}

func sortExports(list []Export) {
	slices.SortStableFunc(list, func(a, b Export) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Title, b.Title))
	})
}

// A matcher is a query with its values in PuppetDB's form.
type matcher struct {
	x, y *matcher // of "and" and "or"; nil for a comparison
	or   bool
	not  bool
	name string
	want any    // a string for a tag or a title
	text []byte // want as JSON, for a parameter
}

// newMatcher returns nil for a query that matches everything.
func newMatcher(q eval.Query) (*matcher, error) {
	switch q := q.(type) {
	case *eval.QueryBool:
		x, err := newMatcher(q.X)
		if err != nil {
			return nil, err
		}
		y, err := newMatcher(q.Y)
		return &matcher{x: x, y: y, or: q.Or}, err
	case *eval.QueryCompare:
		return compare(q)
	}
	return nil, nil
}

func compare(q *eval.QueryCompare) (*matcher, error) {
	m := &matcher{name: q.Name, not: q.Not}
	var err error
	if m.want, err = data(q.Value); err != nil {
		return nil, fmt.Errorf("the value of %s in the query: %w", q.Name, err)
	}
	if q.Name == "tag" {
		tags, err := tagsOf(m.want)
		if err != nil {
			return nil, err
		}
		m.want = tags[0]
		for _, tag := range tags[1:] { // one of several tags is enough
			m = &matcher{x: m, y: &matcher{name: "tag", want: tag, not: q.Not}, or: !q.Not}
		}
		return m, nil
	}
	m.text, err = json.Marshal(m.want)
	return m, err
}

func tagsOf(v any) (tags []string, err error) {
	list, is := v.([]any)
	if !is {
		list = []any{v}
	}
	for _, v := range list {
		text, is := v.(string)
		if !is {
			return nil, fmt.Errorf("a tag in the query is not a string: %v", v)
		}
		tags = append(tags, strings.ToLower(text))
	}
	if tags == nil {
		return nil, fmt.Errorf("the query has no tag")
	}
	return tags, nil
}

// data converts a value of the language to data without rich data.
func data(v value.Value) (any, error) {
	switch v := v.(type) {
	case *value.ResourceType:
		if v.Title != "" {
			return catalog.Ref{Type: catalog.Capitals(strings.ToLower(v.TypeName)), Title: v.Title}.String(), nil
		}
	case *value.ClassType:
		if v.Title != "" {
			return catalog.Ref{Type: "Class", Title: catalog.Capitals(strings.ToLower(v.Title))}.String(), nil
		}
	case *value.Array:
		list := []any{}
		for _, x := range v.Elems() {
			d, err := data(x)
			if err != nil {
				return nil, err
			}
			list = append(list, d)
		}
		return list, nil
	}
	text, err := value.MarshalRich(v)
	if err != nil {
		return nil, err
	}
	made, err := ordered.ParseJSON(text)
	return wire.Stringify(made), err
}

// matches reports whether a resource matches the query. As in PuppetDB, case matters in
// strings, and a list only equals a list.
func (m *matcher) matches(r *catalog.Resource) bool {
	switch {
	case m == nil:
		return true
	case m.x != nil && m.or:
		return m.x.matches(r) || m.y.matches(r)
	case m.x != nil:
		return m.x.matches(r) && m.y.matches(r)
	}
	return m.equal(r) != m.not
}

func (m *matcher) equal(r *catalog.Resource) bool {
	switch m.name {
	case "tag":
		return slices.Contains(r.Tags, m.want.(string))
	case "title":
		return m.want == any(r.Title)
	}
	v, has := r.Params.Get(m.name)
	if !has {
		return false
	}
	text, err := json.Marshal(v)
	return err == nil && bytes.Equal(text, m.text)
}
