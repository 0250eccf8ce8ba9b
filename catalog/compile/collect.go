package compile

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A collector is a collector with the resources that it has found.
type collector struct {
	*eval.Collector
	scope *eval.Scope
	turn  int // its index among all collectors
	found []*resource
	has   map[*resource]bool // the resources that were found
	left  []value.Value      // the left side of the relation on whose right side it is
}

// kin is the resources of one type and the collectors of that type. A resource is
// compared only with collectors whose query can match: the query requires a tag or a title of
// the resource, or none.
type kin struct {
	resources []*resource
	fresh     []*resource // added or changed since the last round of the collectors
	all       bool        // the collectors must check all resources

	any     []*collector
	byTag   map[string][]*collector
	byTitle map[string][]*collector
}

// kinOf returns the kin of a type.
func (c *compiler) kinOf(typ string) *kin {
	k := c.byType[typ]
	if k == nil {
		k = &kin{byTag: make(map[string][]*collector), byTitle: make(map[string][]*collector)}
		c.byType[typ] = k
	}
	return k
}

// noteChange is called when a resource was added, or its parameters have changed.
func (c *compiler) noteChange(r *resource) {
	r.inner = nil
	k := c.kinOf(r.ref.Type)
	k.fresh = append(k.fresh, r)
}

// Collect stores a collector.
func (c *compiler) Collect(s *eval.Site, q *eval.Collector) (value.Value, error) {
	w := &collector{Collector: q, scope: s.Scope, turn: len(c.awaiting), has: make(map[*resource]bool)}
	if _, err := c.find(s, q.Type); err != nil {
		return nil, err
	}
	c.awaiting = append(c.awaiting, w)
	if q.Exported {
		c.asking = append(c.asking, w)
	}
	k := c.kinOf(q.Type)
	k.all = true
	switch tag, title := wanted(q.Query); {
	case tag != "":
		k.byTag[tag] = append(k.byTag[tag], w)
	case title != "":
		k.byTitle[title] = append(k.byTitle[title], w)
	default:
		k.any = append(k.any, w)
	}
	return &value.Runtime{Runtime: "go", Name: "collector", Value: w}, nil
}

// wanted returns a tag or a title, in lower case, that every match of a query must have; ""
// if there is none.
func wanted(q eval.Query) (tag, title string) {
	switch q := q.(type) {
	case *eval.QueryCompare:
		text, is := q.Value.(value.String)
		switch {
		case q.Not || !is:
		case q.Name == "tag":
			tag = strings.ToLower(string(text))
		case q.Name == "title":
			title = strings.ToLower(string(text))
		}
	case *eval.QueryBool:
		if q.Or {
			return "", ""
		}
		if tag, title = wanted(q.X); tag == "" && title == "" {
			return wanted(q.Y)
		}
	}
	return tag, title
}

// collect runs the collectors on new resources, and queries other nodes' exports for
// collectors of exported resources. It reports whether a collector found a resource.
func (c *compiler) collect(ctx context.Context) (more bool, err error) {
	for _, typ := range c.collected() {
		k := c.byType[typ]
		look := k.fresh
		if k.all {
			look = k.resources
		}
		k.fresh, k.all = nil, false
		for _, r := range look {
			for _, w := range c.candidates(k, r) {
				if !w.has[r] && (r.exported || !w.Exported) && c.matches(w.Query, r) {
					w.take(c, r)
					more = true
				}
			}
		}
	}
	asking := c.asking
	c.asking = nil
	for _, w := range asking {
		found, err := c.ask(ctx, w)
		if err != nil {
			return false, err
		}
		more = more || found
	}
	return more, nil
}

// collected returns the types of the collectors, each once.
func (c *compiler) collected() (types []string) {
	seen := make(map[string]bool)
	for _, w := range c.awaiting {
		if !seen[w.Type] {
			seen[w.Type] = true
			types = append(types, w.Type)
		}
	}
	return types
}

// candidates returns the collectors that may match a resource, in their order.
func (c *compiler) candidates(k *kin, r *resource) []*collector {
	if len(k.byTag) == 0 && len(k.byTitle) == 0 {
		return k.any
	}
	list := slices.Concat(k.any, k.byTitle[strings.ToLower(r.ref.Title)])
	if len(k.byTag) > 0 {
		r.eachTag(func(tag string) { list = append(list, k.byTag[tag]...) })
	}
	slices.SortFunc(list, func(a, b *collector) int { return cmp.Compare(a.turn, b.turn) })
	return slices.Compact(list)
}

// take realizes a resource, and changes it.
func (w *collector) take(c *compiler, r *resource) {
	w.has[r] = true
	w.found = append(w.found, r)
	r.form = syntax.Regular
	if len(w.Attrs) > 0 {
		r.change(w.scope, w.Attrs)
		r.fill(w.scope, c.defaultsFor(w.scope, w.Type))
		c.noteChange(r)
	}
}

// matches reports whether a resource matches the query of a collector.
func (c *compiler) matches(q eval.Query, r *resource) bool {
	switch q := q.(type) {
	case *eval.QueryBool:
		if q.Or {
			return c.matches(q.X, r) || c.matches(q.Y, r)
		}
		return c.matches(q.X, r) && c.matches(q.Y, r)
	case *eval.QueryCompare:
		v, ok := r.params.GetString(q.Name)
		switch {
		case q.Name == "title":
			v = value.String(r.ref.Title)
		case q.Name == "tag" && !q.Not:
			return slices.ContainsFunc(elements(q.Value), func(v value.Value) bool {
				return r.hasTag(strings.ToLower(value.ToString(v)))
			})
		case !ok:
			v = value.Undef{}
		}
		if q.Not {
			return !value.Equal(v, q.Value)
		}
		return slices.ContainsFunc(elements(v), func(v value.Value) bool { return value.Equal(v, q.Value) })
	}
	return true
}
