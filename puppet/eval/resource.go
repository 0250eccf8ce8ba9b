package eval

import (
	"slices"
	"strings"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

func (t *thread) site(s *Scope, at pos) *Site {
	return &Site{Interp: t.in, Scope: s, t: t, at: at}
}

// attr is an attribute. If splat is set, it is a hash of attributes.
type attr struct {
	pos
	name       string
	add, splat bool
	x          node
	xAt        pos
}

// attrs evaluates attributes. Unless repeats is set, a repeated name is an
// error.
func (t *thread) attrs(s *Scope, at pos, list []attr, repeats bool) ([]Attribute, error) {
	out := make([]Attribute, 0, len(list))
	var seen attrIndex
	put := func(a Attribute) error {
		if iterates(a.Value) {
			return &Error{Kind: "type-mismatch", Msg: "an iterator cannot be the value of the attribute " + a.Name, Pos: a.Pos, Stack: t.stack(at)}
		}
		if !repeats && seen.find(out, a.Name) >= 0 {
			return t.fail(at, "duplicate-attribute", "the attribute %s is given twice", a.Name)
		}
		out = append(out, a)
		return nil
	}
	for i := range list {
		a := &list[i]
		v, err := a.x.eval(t, s)
		if err != nil {
			return nil, err
		}
		if err := t.walk(a.xAt, v); err != nil {
			return nil, err
		}
		if !a.splat {
			if err := put(Attribute{a.name, v, a.add, a.position()}); err != nil {
				return nil, err
			}
			continue
		}
		h, is := v.(*value.Hash)
		if !is {
			return nil, t.fail(a.xAt, "type-mismatch", "* => takes a hash of attributes, not %s", t.kindOf(v))
		}
		if err := t.step(a.xAt, h.Len()/putPerStep); err != nil {
			return nil, err
		}
		for k, v := range h.All() {
			if err := put(Attribute{value.ToString(k), v, false, a.position()}); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// iterates reports whether a value is an iterator or contains one.
func iterates(v value.Value) bool {
	switch v := v.(type) {
	case *value.Iterator:
		return true
	case *value.Array:
		return slices.ContainsFunc(v.Elems(), iterates)
	case *value.Hash:
		for i := range v.Len() {
			if e := v.At(i); iterates(e.Key) || iterates(e.Value) {
				return true
			}
		}
	}
	return false
}

// An attrIndex finds attributes by name in a growing list.
type attrIndex struct {
	at map[string]int // of those before n, when there are many
	n  int
}

// find returns the first index of a name in the list, or a value < 0.
func (x *attrIndex) find(list []Attribute, name string) int {
	if len(list) <= manyNames {
		return slices.IndexFunc(list, func(a Attribute) bool { return a.Name == name })
	}
	if x.at == nil {
		x.at = make(map[string]int)
	}
	for ; x.n < len(list); x.n++ {
		if _, is := x.at[list[x.n].Name]; !is {
			x.at[list[x.n].Name] = x.n
		}
	}
	if i, is := x.at[name]; is {
		return i
	}
	return -1
}

// A resourceNode is type { title: attributes }.
type resourceNode struct {
	pos
	form   syntax.Form
	name   string // a bare word; else:
	typ    node
	typeOK bool // typ is the name of a type, with [] or not
	typeAt pos
	bodies []resourceBody
}

type resourceBody struct {
	pos
	title   node
	titleAt pos
	attrs   []attr
}

func (n *resourceNode) eval(t *thread, s *Scope) (value.Value, error) {
	if err := t.catalog(n.pos, "a resource"); err != nil {
		return nil, err
	}
	name, err := n.typeName(t, s)
	if err != nil {
		return nil, err
	}
	d := &Declaration{Type: name, Form: n.form, Pos: n.position()}
	var defaults []Attribute
	seen := map[string]bool{}
	for i := range n.bodies {
		b := &n.bodies[i]
		titles, isDefault, err := n.titles(t, s, b, seen)
		if err != nil {
			return nil, err
		}
		attrs, err := t.attrs(s, n.pos, b.attrs, false)
		if err != nil {
			return nil, err
		}
		if isDefault {
			defaults = attrs
		}
		d.Bodies = append(d.Bodies, Body{Titles: titles, Attrs: attrs, Pos: b.position()})
	}
	for i := range d.Bodies {
		if err := t.step(n.pos, len(defaults)/putPerStep); err != nil {
			return nil, err
		}
		d.Bodies[i].Attrs = over(defaults, d.Bodies[i].Attrs)
	}
	refs, err := t.in.env.Builder.Declare(t.site(s, n.pos), d)
	if err != nil {
		return nil, t.wrap(n.pos, err)
	}
	return value.NewArray(refs...), nil
}

// over returns defaults, in which each attribute of attrs replaces the one with
// the same name. The other attributes of attrs follow.
func over(defaults, attrs []Attribute) []Attribute {
	if len(defaults) == 0 {
		return attrs
	}
	out := append([]Attribute{}, defaults...)
	var seen attrIndex
	for _, a := range attrs {
		if i := seen.find(out, a.Name); i >= 0 {
			out[i] = a
			continue
		}
		out = append(out, a)
	}
	return out
}

// typeName returns the name of the resource type, in lower case.
func (n *resourceNode) typeName(t *thread, s *Scope) (string, error) {
	if n.name != "" {
		return lower(n.name), nil
	}
	v, err := n.typ.eval(t, s)
	if err != nil {
		return "", err
	}
	if n.typeOK {
		switch r := v.(type) {
		case *value.ClassType:
			if r.Title == "" {
				return "class", nil
			}
		case *value.ResourceType:
			if !r.HasTitle && r.TypeName != "" {
				return lower(r.TypeName), nil
			}
		}
	}
	return "", t.fail(n.typeAt, "bad-resource-type", "%s is not a type of resources", t.inspect(v))
}

// titles evaluates the title of a body, which can be a list of titles.
func (n *resourceNode) titles(t *thread, s *Scope, b *resourceBody, seen map[string]bool) (titles []string, isDefault bool, err error) {
	v, err := b.title.eval(t, s)
	if err != nil {
		return nil, false, err
	}
	if _, undef := v.(value.Undef); undef {
		return nil, false, t.fail(b.titleAt, "bad-title", "the title of a resource is undef")
	}
	if err := t.walk(b.titleAt, v); err != nil {
		return nil, false, err
	}
	for i, v := range flatten([]value.Value{v}) {
		if err := t.step(b.titleAt, 1); err != nil {
			return nil, false, err
		}
		switch v := v.(type) {
		case value.String:
			if v == "" {
				return nil, false, t.fail(b.titleAt, "bad-title", "the title of a resource is empty")
			}
			if seen["="+string(v)] {
				return nil, false, t.fail(n.pos, "duplicate-title", "the title %s is given twice", value.Inspect(v))
			}
			seen["="+string(v)] = true
			titles = append(titles, string(v))
		case value.Default:
			if seen["default"] {
				return nil, false, t.fail(n.pos, "duplicate-title", "the title default is given twice")
			}
			seen["default"] = true
			isDefault = true
		default:
			return nil, false, t.fail(b.titleAt, "bad-title", "title %d of a resource is %s, not a string", i+1, t.kindOf(v))
		}
	}
	return titles, isDefault, nil
}

// A defaultsNode is Type { attributes }.
type defaultsNode struct {
	pos
	typ    node
	typeAt pos
	attrs  []attr
}

func (n *defaultsNode) eval(t *thread, s *Scope) (value.Value, error) {
	if err := t.catalog(n.pos, "defaults of resources"); err != nil {
		return nil, err
	}
	v, err := n.typ.eval(t, s)
	if err != nil {
		return nil, err
	}
	r, is := v.(*value.ResourceType)
	if !is || r.TypeName == "" || r.HasTitle {
		return nil, t.fail(n.typeAt, "bad-resource-type", "%s is not a type of resources", t.inspect(v))
	}
	attrs, err := t.attrs(s, n.pos, n.attrs, true)
	if err != nil {
		return nil, err
	}
	if err := t.in.env.Builder.Default(t.site(s, n.pos), lower(r.TypeName), attrs); err != nil {
		return nil, t.wrap(n.pos, err)
	}
	return v, nil
}

// An overrideNode is X { attributes }.
type overrideNode struct {
	pos
	x     node
	form  syntax.Form
	attrs []attr
}

func (n *overrideNode) eval(t *thread, s *Scope) (value.Value, error) {
	if err := t.catalog(n.pos, "an override of resources"); err != nil {
		return nil, err
	}
	v, err := n.x.eval(t, s)
	if err != nil {
		return nil, err
	}
	attrs, err := t.attrs(s, n.pos, n.attrs, true)
	if err != nil {
		return nil, err
	}
	o := &Override{Attrs: attrs, Form: n.form, Pos: n.position()}
	if err := t.walk(n.pos, v); err != nil {
		return nil, err
	}
	for _, v := range flatten([]value.Value{v}) {
		r, is := v.(*value.ResourceType)
		if !is || strings.EqualFold(r.TypeName, "class") {
			return nil, t.fail(n.pos, "bad-override", "only resources can be overridden, not %s", t.inspect(v))
		}
		o.Refs = append(o.Refs, Ref{lower(r.TypeName), r.Title})
	}
	if err := t.in.env.Builder.Override(t.site(s, n.pos), o); err != nil {
		return nil, t.wrap(n.pos, err)
	}
	return v, nil
}

// A collectNode is Type <| query |> { attributes }.
type collectNode struct {
	pos
	typ      string
	exported bool
	query    queryNode
	attrs    []attr
}

func (n *collectNode) eval(t *thread, s *Scope) (value.Value, error) {
	if err := t.catalog(n.pos, "a collector"); err != nil {
		return nil, err
	}
	if n.typ == "" || n.typ == "class" {
		return nil, t.fail(n.pos, "bad-collector", "only resources can be collected")
	}
	c := &Collector{Type: n.typ, Exported: n.exported, Pos: n.position()}
	var err error
	if c.Attrs, err = t.attrs(s, n.pos, n.attrs, true); err != nil {
		return nil, err
	}
	if n.query != nil {
		if c.Query, err = n.query.eval(t, s); err != nil {
			if fault, is := err.(badQuery); is {
				return nil, t.fail(n.pos, "bad-query", "%s", string(fault)) // as in Puppet: the error is at the collector
			}
			return nil, err
		}
	}
	v, err := t.in.env.Builder.Collect(t.site(s, n.pos), c)
	if err != nil {
		return nil, t.wrap(n.pos, err)
	}
	if v == nil {
		v = value.Undef{}
	}
	return v, nil
}

// A queryNode is the query of a collector, or a part of a query.
type queryNode interface {
	eval(t *thread, s *Scope) (Query, error)
}

// badQuery is the error of an invalid query.
type badQuery string

func (e badQuery) Error() string { return string(e) }

type queryBool struct {
	or   bool
	x, y queryNode
}

func (n *queryBool) eval(t *thread, s *Scope) (Query, error) {
	x, err := n.x.eval(t, s)
	if err != nil {
		return nil, err
	}
	y, err := n.y.eval(t, s)
	if err != nil {
		return nil, err
	}
	return &QueryBool{n.or, x, y}, nil
}

type queryCompare struct {
	not  bool
	x, y node
}

func (n *queryCompare) eval(t *thread, s *Scope) (Query, error) {
	x, err := n.x.eval(t, s)
	if err != nil {
		return nil, err
	}
	y, err := n.y.eval(t, s)
	if err != nil {
		return nil, err
	}
	name, is := x.(value.String)
	if !is {
		return nil, badQuery(t.inspect(x) + " in a query is not the name of an attribute")
	}
	return &QueryCompare{string(name), n.not, y}, nil
}

type queryFault struct{}

func (n *queryFault) eval(t *thread, s *Scope) (Query, error) {
	return nil, badQuery("a query is made of and, or, and names that are == or != to texts, numbers, variables, true, false and undef")
}

// A relationNode is X -> Y, X ~> Y, X <- Y or X <~ Y.
type relationNode struct {
	pos
	op   syntax.Op
	x, y node
}

func (n *relationNode) eval(t *thread, s *Scope) (value.Value, error) {
	if err := t.catalog(n.pos, "a relation of resources"); err != nil {
		return nil, err
	}
	x, err := n.x.eval(t, s)
	if err != nil {
		return nil, err
	}
	y, err := n.y.eval(t, s)
	if err != nil {
		return nil, err
	}
	left, err := n.side(t, x)
	if err != nil {
		return nil, err
	}
	right, err := n.side(t, y)
	if err != nil {
		return nil, err
	}
	r := &Relation{Sources: left, Targets: right, Pos: n.position()}
	if n.op == syntax.After || n.op == syntax.Subscribes {
		r.Sources, r.Targets = right, left
	}
	r.Notify = n.op == syntax.Notify || n.op == syntax.Subscribes
	r.Left = left
	if err := t.in.env.Builder.Relate(t.site(s, n.pos), r); err != nil {
		return nil, t.wrap(n.pos, err)
	}
	// The next relation of a chain uses the right side. If the right side is
	// empty, it uses the left side.
	if len(right) == 0 {
		return value.NewArray(left...), nil
	}
	return value.NewArray(right...), nil
}

// side returns the resources on one side, each once.
func (n *relationNode) side(t *thread, v value.Value) ([]value.Value, error) {
	var list []value.Value
	var seen value.HashBuilder
	if err := t.walk(n.pos, v); err != nil {
		return nil, err
	}
	for _, v := range flatten([]value.Value{v}) {
		if err := t.step(n.pos, 1); err != nil {
			return nil, err
		}
		switch r := v.(type) {
		case value.String:
			typ, err := t.parseType(n.pos, string(r))
			if err != nil {
				return nil, err
			}
			v = typ
		case *value.Runtime:
		case value.Type:
		default:
			return nil, t.fail(n.pos, "bad-relation", "%s cannot be in a relation of resources", t.inspect(v))
		}
		switch v.(type) {
		case *value.ResourceType, *value.ClassType, *value.Runtime:
		default:
			return nil, t.fail(n.pos, "bad-relation", "%s is not a reference to a resource or a class", t.inspect(v))
		}
		if _, is := seen.Get(v); is {
			continue
		}
		seen.Put(v, value.Undef{})
		list = append(list, v)
	}
	return list, nil
}

// An applyNode is apply(targets) { … }.
type applyNode struct {
	pos
	args  items
	apply *syntax.Apply
}

func (n *applyNode) eval(t *thread, s *Scope) (value.Value, error) {
	args, err := n.args.eval(t, s)
	if err != nil {
		return nil, err
	}
	apply := t.in.env.Apply
	if apply == nil {
		return nil, t.fail(n.pos, "unsupported", "apply cannot be used here")
	}
	return t.run(s, n.pos, "apply", func(c *Call) (value.Value, error) { return apply(c, n.file, n.apply) }, args, nil)
}
