package eval

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"bolt/puppet/value"
)

// A ScopeKind is the kind of a named scope.
type ScopeKind uint8

// The kinds of named scopes.
const (
	TopScope ScopeKind = iota
	NodeScope
	ClassScope
	DefineScope
)

// A Scope is a set of variables. It can be inside another scope. A named scope
// belongs to the top level, a node, a class or a define. A local scope belongs
// to a function, a plan, a template or a lambda.
type Scope struct {
	named *namedScope // the named scope that contains it, or that it is
	outer *Scope      // around a lambda; nil for others
	names []string    // of slots
	slots []value.Value
	match *match
	// function is set in the scope of a function or a plan. The function does
	// not see the matches of regular expressions of its caller.
	function bool
	kept     bool // another goroutine uses it, too
}

// A match is the result of the last regular expression: $0, $1, ….
type match struct{ groups []value.Value }

type namedScope struct {
	root *Scope // the scope without local variables
	in   *Interp
	ScopeOptions
	vars map[string]value.Value
	next *namedScope // the node or top scope, which is searched for unknown names
	// suspended is the local scope from which a class is being evaluated. As in
	// Puppet, the class sees its variables. This is the only dynamic scoping
	// that is left.
	suspended *Scope
}

// ScopeOptions describe a named scope.
type ScopeOptions struct {
	Kind ScopeKind
	// Name is the name of the class or define, in lower case.
	Name string
	// Label is the name of the scope in logs, such as "Class[Apache]".
	Label string
	// Module is the module that contains its definition; "" outside of modules.
	Module string
	// Parent is the scope in which it was declared, or nil for the top scope.
	// Names are looked up in the node or top scope around Parent, not in Parent
	// itself.
	Parent *Scope
	// Inherits is the scope of the class that a class inherits from, otherwise
	// nil.
	Inherits *Scope
	// Owner is for the Builder: the resource.
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

// Options returns the options of the named scope that s is in.
func (s *Scope) Options() ScopeOptions { return s.named.ScopeOptions }

// String returns the name of the scope in logs, such as "Scope(Class[main])".
func (s *Scope) String() string {
	if s.named.Label == "" {
		return "Scope(Class[main])"
	}
	return "Scope(" + s.named.Label + ")"
}

// SetMatch sets $0, $1, … in a scope.
func (s *Scope) SetMatch(groups []value.Value) { s.match = &match{groups} }

// Set sets a variable of the named scope that s is in. A variable can be set
// only once.
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

// Lookup returns the value of a variable that a program in s sees: local
// variables, those of the named scopes around s, and qualified variables
// ("::x", "mod::x"). If the variable is unknown, ok is false.
func (s *Scope) Lookup(name string) (v value.Value, ok bool) {
	if v := s.local(name); v != nil {
		return v, true
	}
	v = s.named.lookup(name)
	return v, v != nil
}

// LookupPath is Lookup for callers that use only the part of the value to which
// the nested keys lead. It makes the reads for Env.Read more exact.
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

// All returns an iterator over the variables that a program in s sees by an
// unqualified name. It yields each name once, inner scopes first.
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

// all calls show for the variables of n and of the scopes that are searched
// after it.
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

// local returns a variable of a local scope, or nil if there is none.
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

// suspend sets the local scope from which other code is evaluated now. The
// caller must call the returned function when that evaluation ends.
func (n *namedScope) suspend(s *Scope) func() {
	was := n.suspended
	n.suspended = s
	return func() { n.suspended = was }
}

// global returns the node or top scope around n. Functions are evaluated there.
func (n *namedScope) global() *namedScope {
	for n.Kind != TopScope && n.Kind != NodeScope && n.next != nil {
		n = n.next
	}
	return n
}

// lookup returns the value of a variable, or nil if it is unknown. It records
// the read.
func (n *namedScope) lookup(name string) value.Value {
	v, top := n.find(name)
	if top {
		n.in.recordRead(name)
	}
	return v
}

// find is lookup without recording the read. top is set for a variable of the
// top scope, and for an unknown variable that could be set there.
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

// inner finds a name for another scope.
func (n *namedScope) inner(name string) (v value.Value, top bool) {
	if v := n.suspended.local(name); v != nil {
		return v, false
	}
	return n.find(name)
}
