package eval

import (
	"fmt"

	"bolt/puppet/value"
)

// A slotVar is a variable of the innermost local scope.
type slotVar struct {
	pos
	name string
	slot int
}

func (n *slotVar) eval(t *thread, s *Scope) (value.Value, error) {
	if v := s.slots[n.slot]; v != nil {
		return v, nil
	}
	return t.variable(s, n.pos, n.name)
}

// An outerVar is a variable of a scope around a lambda.
type outerVar struct {
	pos
	name     string
	up, slot int
}

func (n *outerVar) eval(t *thread, s *Scope) (value.Value, error) {
	o := s
	for range n.up {
		o = o.outer
	}
	if v := o.slots[n.slot]; v != nil {
		return v, nil
	}
	return t.variable(s, n.pos, n.name)
}

// A paramVar is a parameter that the default of another parameter reads.
type paramVar struct {
	pos
	name     string
	up, slot int
}

func (n *paramVar) eval(t *thread, s *Scope) (value.Value, error) {
	for range n.up {
		s = s.outer
	}
	if v := s.slots[n.slot]; v != nil {
		return v, nil
	}
	return nil, &unsetParam{n.name, n.slot}
}

// An unsetParam is the error of reading a parameter without a value. The
// parameter whose default is evaluated handles it.
type unsetParam struct {
	name string
	slot int
}

func (e *unsetParam) Error() string { return "parameter $" + e.name + " has no value yet" }

// An UnsetParameter is the error of a plan in which the default of a parameter
// reads a parameter without a value. Its message is Puppet's.
type UnsetParameter struct {
	Plan    string
	Default string // the parameter with the default
	Name    string // the parameter that the default reads
	Later   bool   // Name does not precede Default in the list
}

func (e *UnsetParameter) Error() string {
	if e.Later {
		return fmt.Sprintf("%s: default expression for $%s tries to illegally access not yet evaluated $%s", e.Plan, e.Default, e.Name)
	}
	return fmt.Sprintf("%s: expects a value for parameter $%s", e.Plan, e.Name)
}

// A nameVar is a variable of a named scope.
type nameVar struct {
	pos
	name string
}

func (n *nameVar) eval(t *thread, s *Scope) (value.Value, error) {
	if v := s.named.vars[n.name]; !t.reads && v != nil {
		return v, nil
	}
	if v := s.named.lookup(n.name); v != nil {
		return v, nil
	}
	return t.unknown(n.pos, n.name)
}

// A looseVar is a variable of any scope around it.
type looseVar struct {
	pos
	name string
}

func (n *looseVar) eval(t *thread, s *Scope) (value.Value, error) {
	return t.variable(s, n.pos, n.name)
}

// A qualifiedVar is $mod::x or $::x.
type qualifiedVar struct {
	pos
	name string
}

func (n *qualifiedVar) eval(t *thread, s *Scope) (value.Value, error) {
	v, top := t.in.qualified(n.name)
	if top {
		t.in.recordRead(n.name)
	}
	if v != nil {
		return v, nil
	}
	return t.unknown(n.pos, n.name)
}

// A matchVar is $0, $1, …. Without a match, its value is undef.
type matchVar int

func (n matchVar) eval(t *thread, s *Scope) (value.Value, error) {
	m := s.matchData()
	if m == nil || int(n) >= len(m.groups) {
		return value.Undef{}, nil
	}
	return m.groups[n], nil
}

// matchData returns the result of the last match that s sees.
func (s *Scope) matchData() *match {
	named := s.named
	for o := s; o != nil; o = o.outer {
		if o.match != nil {
			return o.match
		}
		if o.function {
			return nil
		}
	}
	if named.root.match != nil {
		return named.root.match
	}
	for named = named.next; named != nil; named = named.next {
		for o := named.suspended; o != nil; o = o.outer {
			if o.match != nil {
				return o.match
			}
		}
		if named.root.match != nil {
			return named.root.match
		}
	}
	return nil
}

// variable looks up a variable by its name.
func (t *thread) variable(s *Scope, at pos, name string) (value.Value, error) {
	if v := s.local(name); v != nil {
		return v, nil
	}
	if v := s.named.lookup(name); v != nil {
		return v, nil
	}
	return t.unknown(at, name)
}

// unknown returns the value or the error of a variable that does not exist.
func (t *thread) unknown(at pos, name string) (value.Value, error) {
	if name == "module_name" || name == "caller_module_name" {
		return value.Undef{}, nil
	}
	msg := "unknown variable $" + name
	if !t.in.env.LooseVariables {
		e := t.fail(at, "unknown-variable", "%s", msg)
		e.Name = name
		return nil, e
	}
	if err := t.strict(at, "unknown-variable", msg); err != nil {
		return nil, err
	}
	return value.Undef{}, nil
}

// A target is the left side of an assignment: a variable or a list.
type target struct {
	at    pos
	name  string
	slot  int // in the local scope; < 0: in the named one
	list  []target
	fault string // kind of the error if it cannot be assigned
	why   string
}

type assignNode struct {
	pos
	to  target
	y   node
	yAt pos
}

func (n *assignNode) eval(t *thread, s *Scope) (value.Value, error) {
	v, err := n.y.eval(t, s)
	if err != nil {
		return nil, err
	}
	if err := t.assign(s, n, &n.to, v); err != nil {
		return nil, err
	}
	return v, nil
}

func (t *thread) assign(s *Scope, n *assignNode, to *target, v value.Value) error {
	switch {
	case to.fault != "":
		at := n.pos
		switch to.fault {
		case "numeric-assignment", "cross-scope-assignment", "illegal-assignment":
			at = n.to.at
		}
		return t.fail(at, to.fault, "%s", to.why)
	case to.list != nil:
		return t.assignList(s, n, to, v)
	case to.slot >= 0:
		if s.slots[to.slot] != nil {
			return t.fail(n.pos, "reassignment", "variable $%s has a value already and cannot get another", to.name)
		}
		s.slots[to.slot] = v
		return nil
	}
	vars := s.named.vars
	if s.named.Kind == TopScope {
		t.in.recordRead(to.name) // a fact with this name makes the assignment an error
	}
	if _, is := vars[to.name]; is {
		return t.fail(n.pos, "reassignment", "variable $%s has a value already and cannot get another", to.name)
	}
	vars[to.name] = v
	return nil
}

func (t *thread) assignList(s *Scope, n *assignNode, to *target, v value.Value) error {
	switch v := v.(type) {
	case *value.Hash:
		for i := range to.list {
			to := &to.list[i]
			x, is := v.GetString(to.name)
			if !is || to.list != nil {
				return t.fail(n.pos, "missing-key", "the hash has no key %q to assign to $%s", to.name, to.name)
			}
			if err := t.assign(s, n, to, x); err != nil {
				return err
			}
		}
		return nil
	case *value.ClassType:
		return t.assignClass(s, n, to, v)
	}
	list := []value.Value{v}
	if a, is := v.(*value.Array); is {
		list = a.Elems()
	}
	if len(list) != len(to.list) {
		return t.fail(n.pos, "assignment-size", "%d values cannot be assigned to %d variables", len(list), len(to.list))
	}
	for i := range to.list {
		if err := t.assign(s, n, &to.list[i], list[i]); err != nil {
			return err
		}
	}
	return nil
}

// assignClass assigns variables of a class to variables with the same names.
func (t *thread) assignClass(s *Scope, n *assignNode, to *target, c *value.ClassType) error {
	if err := t.catalog(n.pos, "assignment from a class"); err != nil {
		return err
	}
	name := lower(c.Title)
	scope := t.in.ClassScope(name)
	if name == "" || scope == nil {
		return t.fail(n.yAt, "unknown-resource", "Class[%s] is not in the catalog", c.Title)
	}
	for i := range to.list {
		x := &to.list[i]
		v := scope.named.lookup(x.name)
		if v == nil {
			return t.fail(x.at, "unknown-variable", "class %s has no variable $%s", c.Title, x.name)
		}
		if err := t.assign(s, n, x, v); err != nil {
			return err
		}
	}
	return nil
}
