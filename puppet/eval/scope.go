package eval

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"bolt/puppet/value"
)

// A ScopeKind says what a named scope is of.
type ScopeKind uint8

// The kinds of named scopes.
const (
	TopScope ScopeKind = iota
	NodeScope
	ClassScope
	DefineScope
)

// A Scope is a set of variables inside others. A named scope is that of the
// top, a node, a class or a define; local scopes are those of functions,
// plans, templates and lambdas.
type Scope struct {
	named *namedScope // the named scope it is in, or is
	outer *Scope      // around a lambda; nil for others
	names []string    // of slots
	slots []value.Value
	match *match
	// function: of a function or a plan, which does not see what the regular
	// expressions of its caller have found.
	function bool
	kept     bool // another goroutine has it, too
}

// A match is what the last regular expression found: $0, $1, ….
type match struct{ groups []value.Value }

type namedScope struct {
	root *Scope // with nothing but the named scope
	in   *Interp
	ScopeOptions
	vars map[string]value.Value
	next *namedScope // node or top: where unknown names are looked for
	// suspended is the local scope in it from which a class is being
	// evaluated. The class sees its variables, as it does in Puppet: that is
	// all that is left of dynamic scopes.
	suspended *Scope
}

// ScopeOptions describe a named scope.
type ScopeOptions struct {
	Kind ScopeKind
	// Name is the class's or define's, in lower case.
	Name string
	// Label is how logs call it: "Class[Apache]".
	Label string
	// Module is the module it is written in; "" outside of modules.
	Module string
	// Parent is the scope in which it was declared, nil for the top. Names are
	// looked up in the node or top scope that is found that way, not in Parent
	// itself.
	Parent *Scope
	// Inherits is the scope of the class that a class inherits, nil for others.
	Inherits *Scope
	// Owner is for the Builder's use: the resource.
	Owner any
}

// NewScope makes a named scope.
func (in *Interp) NewScope(o ScopeOptions) *Scope {
	n := &namedScope{in: in, ScopeOptions: o, vars: map[string]value.Value{}}
	n.root = &Scope{named: n}
	if o.Parent != nil {
		n.next = o.Parent.named
		for n.next.Kind != TopScope && n.next.Kind != NodeScope {
			n.next = n.next.next
		}
	}
	return n.root
}

// Named returns the named scope that s is in, or s itself.
func (s *Scope) Named() *Scope { return s.named.root }

// Options returns what the named scope that s is in was made of.
func (s *Scope) Options() ScopeOptions { return s.named.ScopeOptions }

// String returns the scope as logs call it: "Scope(Class[main])".
func (s *Scope) String() string {
	if s.named.Label == "" {
		return "Scope(Class[main])"
	}
	return "Scope(" + s.named.Label + ")"
}

// SetMatch sets what $0, $1, … are in a scope.
func (s *Scope) SetMatch(groups []value.Value) { s.match = &match{groups} }

// Set sets a variable of the named scope that s is in. A variable can be set
// once.
func (s *Scope) Set(name string, v value.Value) error {
	if s.named.Kind == TopScope {
		s.named.in.recordRead(name)
	}
	if _, is := s.named.vars[name]; is {
		return Errorf("reassignment", "variable $%s has a value already", name)
	}
	s.named.vars[name] = v
	return nil
}

// Lookup returns the value of a variable as a program in s sees it: local
// ones, those of the named scopes around, and qualified ones ("::x",
// "mod::x"). ok is false when it is unknown.
func (s *Scope) Lookup(name string) (v value.Value, ok bool) {
	if v := s.local(name); v != nil {
		return v, true
	}
	v = s.named.lookup(name)
	return v, v != nil
}

// LookupPath is Lookup for callers that use only the part of the value to which the keys
// lead, one inside the other. It is for Env.Read.
func (s *Scope) LookupPath(name string, keys ...value.Value) (v value.Value, ok bool) {
	if v := s.local(name); v != nil {
		return v, true
	}
	v, top := s.named.find(name)
	if in := s.named.in; top && in.env.Read != nil {
		r := trace{name: strings.TrimPrefix(name, "::")}
		r.along(v, keys)
		r.record(in)
	}
	return v, v != nil
}

// All returns an iterator over the variables that a program in s sees by a
// plain name, each once, inner ones first.
func (s *Scope) All() iter.Seq2[string, value.Value] {
	return func(yield func(string, value.Value) bool) {
		s.named.in.recordRead("")
		seen := map[string]bool{}
		show := func(name string, v value.Value) bool {
			if v == nil || seen[name] {
				return true
			}
			seen[name] = true
			return yield(name, v)
		}
		for o := s; o != nil; o = o.outer {
			for i, name := range o.names {
				if !show(name, o.slots[i]) {
					return
				}
			}
		}
		s.named.all(show)
	}
}

// all shows the variables of n and of those that are looked at after it.
func (n *namedScope) all(show func(string, value.Value) bool) bool {
	for ; n != nil; n = n.next {
		for _, name := range slices.Sorted(maps.Keys(n.vars)) {
			if !show(name, n.vars[name]) {
				return false
			}
		}
		if n.Inherits != nil && !n.Inherits.named.all(show) {
			return false
		}
	}
	return true
}

// local returns a variable of a local scope, nil without one.
func (s *Scope) local(name string) value.Value {
	for ; s != nil; s = s.outer {
		for i, n := range s.names {
			if n == name && s.slots[i] != nil {
				return s.slots[i]
			}
		}
	}
	return nil
}

// suspend notes the local scope from which something else is evaluated now,
// and returns what is to be called when that is done.
func (n *namedScope) suspend(s *Scope) func() {
	was := n.suspended
	n.suspended = s
	return func() { n.suspended = was }
}

// global returns the node's or top scope that n is in: where functions are
// evaluated.
func (n *namedScope) global() *namedScope {
	for n.Kind != TopScope && n.Kind != NodeScope && n.next != nil {
		n = n.next
	}
	return n
}

// lookup returns the value of a variable, nil for an unknown one, and records the read.
func (n *namedScope) lookup(name string) value.Value {
	v, top := n.find(name)
	if top {
		n.in.recordRead(name)
	}
	return v
}

// find is lookup without recording. top is set for a variable of the top scope, and for an
// unknown variable that could be set there.
func (n *namedScope) find(name string) (v value.Value, top bool) {
	if i := strings.Index(name, "::"); i >= 0 {
		return n.in.qualified(strings.TrimPrefix(name, "::"))
	}
	for {
		if v, is := n.vars[name]; is {
			return v, n.Kind == TopScope
		}
		if n.Inherits != nil {
			if v, top := n.Inherits.named.inner(name); v != nil {
				return v, top
			}
		}
		if n.next == nil {
			return nil, true
		}
		n = n.next
		if v := n.suspended.local(name); v != nil {
			return v, false
		}
	}
}

// inner finds a name from another scope.
func (n *namedScope) inner(name string) (v value.Value, top bool) {
	if v := n.suspended.local(name); v != nil {
		return v, false
	}
	return n.find(name)
}
