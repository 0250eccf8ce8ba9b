package eval

import (
	"math"
	"strings"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A binary is an operator with two operands, and the positions of all three.
type binary struct {
	pos
	op       syntax.Op
	x, y     node
	xAt, yAt pos
}

// operands evaluates both operands.
func (b *binary) operands(t *thread, s *Scope) (x, y value.Value, err error) {
	if x, err = b.x.eval(t, s); err != nil {
		return nil, nil, err
	}
	if y, err = b.y.eval(t, s); err != nil {
		return nil, nil, err
	}
	return x, y, nil
}

type notNode struct{ x node }

func (n *notNode) eval(t *thread, s *Scope) (value.Value, error) {
	v, err := n.x.eval(t, s)
	if err != nil {
		return nil, err
	}
	return value.Bool(!value.Truthy(v)), nil
}

type andNode struct{ x, y node }

func (n *andNode) eval(t *thread, s *Scope) (value.Value, error) {
	v, err := n.x.eval(t, s)
	if err != nil {
		return nil, err
	}
	if !value.Truthy(v) {
		return value.Bool(false), nil
	}
	if v, err = n.y.eval(t, s); err != nil {
		return nil, err
	}
	return value.Bool(value.Truthy(v)), nil
}

type orNode struct{ x, y node }

func (n *orNode) eval(t *thread, s *Scope) (value.Value, error) {
	v, err := n.x.eval(t, s)
	if err != nil {
		return nil, err
	}
	if value.Truthy(v) {
		return value.Bool(true), nil
	}
	if v, err = n.y.eval(t, s); err != nil {
		return nil, err
	}
	return value.Bool(value.Truthy(v)), nil
}

// An equalNode is == or !=.
type equalNode struct{ binary }

func (n *equalNode) eval(t *thread, s *Scope) (value.Value, error) {
	x, y, err := n.operands(t, s)
	if err != nil {
		return nil, err
	}
	if err := t.comparing(n.pos, x, y); err != nil {
		return nil, err
	}
	same := equal(x, y)
	if a, is := x.(value.Type); is && !same {
		if b, is := y.(value.Type); is {
			if same, err = alike(a, b); err != nil {
				return nil, t.fail(n.pos, "not-comparable", "%s %s %s: %v", t.inspect(x), n.op, t.inspect(y), err)
			}
		}
	}
	return value.Bool(same == (n.op == syntax.Eq)), nil
}

// alike reports whether two types with different names or parameters have the
// same instances.
func alike(x, y value.Type) (bool, error) {
	if i, is := y.(*value.InitType); is {
		if err := i.Check(); err != nil {
			return false, err
		}
	}
	return value.Assignable(y, x) && value.Assignable(x, y), nil
}

// comparing counts the work of equal.
func (t *thread) comparing(at pos, x, y value.Value) error {
	switch a := x.(type) {
	case value.String:
		if b, is := y.(value.String); is && len(a) == len(b) {
			return t.walk(at, x)
		}
	case *value.Array:
		if b, is := y.(*value.Array); is && a.Len() == b.Len() {
			return t.walk(at, x)
		}
	case *value.Hash:
		if b, is := y.(*value.Hash); is && a.Len() == b.Len() {
			return t.walk(at, x)
		}
	}
	return nil
}

// equal is value.Equal with a fast path for common types.
func equal(x, y value.Value) bool {
	switch x := x.(type) {
	case value.Int:
		if y, is := y.(value.Int); is {
			return x == y
		}
	case value.String:
		if y, is := y.(value.String); is && x == y {
			return true
		}
	}
	return value.Equal(x, y)
}

// A compareNode is <, <=, > or >=.
type compareNode struct{ binary }

func (n *compareNode) eval(t *thread, s *Scope) (value.Value, error) {
	x, y, err := n.operands(t, s)
	if err != nil {
		return nil, err
	}
	var order int
	switch a := x.(type) {
	case value.Int:
		if b, is := y.(value.Int); is {
			switch {
			case a < b:
				order = -1
			case a > b:
				order = 1
			}
			return value.Bool(ordered(n.op, order)), nil
		}
	case value.Type:
		return n.types(t, a, y)
	}
	if f, is := y.(value.Float); is && math.IsNaN(float64(f)) {
		return nil, n.incomparable(t, x, y, nil)
	}
	if order, err = value.Compare(x, y); err != nil {
		return nil, n.incomparable(t, x, y, err)
	}
	return value.Bool(ordered(n.op, order)), nil
}

func (n *compareNode) incomparable(t *thread, x, y value.Value, err error) error {
	if err == nil {
		return t.fail(n.pos, "not-comparable", "%s %s %s: they have no order", t.inspect(x), n.op, t.inspect(y))
	}
	return t.fail(n.pos, "not-comparable", "%s %s %s: %v", t.inspect(x), n.op, t.inspect(y), err)
}

// types compares types. The smaller type is the one that can be assigned to the
// other.
func (n *compareNode) types(t *thread, x value.Type, v value.Value) (value.Value, error) {
	y, is := v.(value.Type)
	if !is {
		if _, is := x.(*value.IterableType); is && (n.op == syntax.Gt || n.op == syntax.Ge) {
			return nil, n.incomparable(t, x, v, nil)
		}
		return value.Bool(false), nil
	}
	var ok bool
	wide := y
	if n.op == syntax.Gt || n.op == syntax.Ge {
		wide = x
	}
	if i, is := wide.(*value.InitType); is {
		if err := i.Check(); err != nil {
			return nil, n.incomparable(t, x, v, err)
		}
	}
	switch n.op {
	case syntax.Lt:
		ok = value.Assignable(y, x) && !value.Assignable(x, y)
	case syntax.Le:
		ok = value.Assignable(y, x)
	case syntax.Gt:
		ok = value.Assignable(x, y) && !value.Assignable(y, x)
	case syntax.Ge:
		ok = value.Assignable(x, y)
	}
	return value.Bool(ok), nil
}

func ordered(op syntax.Op, order int) bool {
	switch op {
	case syntax.Lt:
		return order < 0
	case syntax.Le:
		return order <= 0
	case syntax.Gt:
		return order > 0
	}
	return order >= 0
}

// A matchNode is =~ or !~.
type matchNode struct{ binary }

func (n *matchNode) eval(t *thread, s *Scope) (value.Value, error) {
	x, y, err := n.operands(t, s)
	if err != nil {
		return nil, err
	}
	ok, err := n.match(t, s, x, y)
	if err != nil {
		return nil, err
	}
	return value.Bool(ok == (n.op == syntax.Match)), nil
}

func (n *matchNode) match(t *thread, s *Scope, x, y value.Value) (bool, error) {
	switch y := y.(type) {
	case value.Type:
		return t.instance(n.pos, y, x)
	case *value.SemVerRange:
		return inRange(y, x), nil
	case value.String:
		r, err := t.regexp(string(y))
		if err != nil {
			return false, t.fail(n.yAt, "bad-regexp", "%v", err)
		}
		return n.regexp(t, s, x, r)
	case *value.Regexp:
		return n.regexp(t, s, x, y)
	}
	return false, t.fail(n.yAt, "bad-regexp", "%s is neither a regular expression nor a type", t.inspect(y))
}

// instance is value.Instance, but returns an error for an Init type that cannot
// have instances.
func (t *thread) instance(at pos, typ value.Type, v value.Value) (bool, error) {
	if i, is := typ.(*value.InitType); is {
		if err := i.Check(); err != nil {
			return false, t.wrap(at, err)
		}
	}
	if err := t.testing(at, typ, v); err != nil {
		return false, err
	}
	return value.Instance(typ, v), nil
}

func (n *matchNode) regexp(t *thread, s *Scope, x value.Value, r *value.Regexp) (bool, error) {
	text, is := x.(value.String)
	if !is {
		return false, t.fail(n.xAt, "match-not-string", "only a string can be matched with a regular expression, not %s", t.inspect(x))
	}
	return t.match(s, n.pos, r, string(text))
}

// match matches a string. If it matches, match sets $0, $1, … in s.
func (t *thread) match(s *Scope, at pos, r *value.Regexp, text string) (bool, error) {
	loc, err := r.Within(t.budget(at)).FindIndex(text, 0)
	if err != nil {
		return false, t.wrap(at, err)
	}
	if loc == nil {
		return false, nil
	}
	s.match = &match{value.Groups(text, loc)}
	return true, nil
}

// regexp compiles a regular expression.
func (t *thread) regexp(src string) (*value.Regexp, error) {
	if r := t.lastRegexp; r != nil && r.Source() == src {
		return r, nil
	}
	r, err := value.NewRegexp(src)
	if err == nil {
		t.lastRegexp = r
	}
	return r, err
}

// inRange reports whether a version, or a string that is a version, is in a
// range.
func inRange(r *value.SemVerRange, x value.Value) bool {
	switch x := x.(type) {
	case *value.SemVer:
		return r.Includes(x)
	case value.String:
		v, err := value.ParseSemVer(string(x))
		return err == nil && r.Includes(v)
	}
	return false
}

// matches reports whether a value matches an option of a case or a selector.
func (t *thread) matches(s *Scope, at pos, option, x value.Value) (bool, error) {
	switch p := option.(type) {
	case *value.Regexp:
		text, is := x.(value.String)
		if !is {
			return false, nil
		}
		return t.match(s, at, p, string(text))
	case value.Default:
		return true, nil
	case value.Type:
		return t.instance(at, p, x)
	case *value.SemVer:
		return sameVersion(p, x), nil
	case *value.SemVerRange:
		return inRange(p, x), nil
	case *value.Array:
		a, is := x.(*value.Array)
		if !is || a.Len() != p.Len() {
			return false, nil
		}
		for i, o := range p.All() {
			if err := t.step(at, 1); err != nil {
				return false, err
			}
			if ok, err := t.matches(s, at, o, a.At(i)); !ok || err != nil {
				return false, err
			}
		}
		return true, nil
	case *value.Hash:
		h, is := x.(*value.Hash)
		if !is {
			return false, nil
		}
		for k, o := range p.All() {
			if err := t.step(at, 1); err != nil {
				return false, err
			}
			if err := t.walk(at, k); err != nil {
				return false, err
			}
			v, is := h.Get(k)
			if !is {
				v = value.Undef{}
			}
			if ok, err := t.matches(s, at, o, v); !ok || err != nil {
				return false, err
			}
		}
		return true, nil
	}
	if err := t.comparing(at, x, option); err != nil {
		return false, err
	}
	return equal(x, option), nil
}

func sameVersion(v *value.SemVer, x value.Value) bool {
	switch x := x.(type) {
	case *value.SemVer:
		return v.Compare(x) == 0
	case value.String:
		o, err := value.ParseSemVer(string(x))
		return err == nil && v.Compare(o) == 0
	}
	return false
}

// An inNode is X in Y.
type inNode struct{ binary }

func (n *inNode) eval(t *thread, s *Scope) (value.Value, error) {
	x, y, err := n.operands(t, s)
	if err != nil {
		return nil, err
	}
	if h, is := y.(*value.Hash); is {
		y = h.Keys()
	}
	ok, err := n.in(t, s, x, y)
	if err != nil {
		return nil, err
	}
	return value.Bool(ok), nil
}

func (n *inNode) in(t *thread, s *Scope, x, y value.Value) (bool, error) {
	switch y := y.(type) {
	case value.String:
		switch x := x.(type) {
		case value.String:
			if err := t.walk(n.pos, y); err != nil {
				return false, err
			}
			return strings.Contains(strings.ToLower(string(y)), strings.ToLower(string(x))), nil
		case *value.Regexp:
			return t.match(s, n.pos, x, string(y))
		}
	case *value.Binary:
		return inBinary(y, x), nil
	case *value.SemVerRange:
		return inRange(y, x), nil
	case *value.Array:
		return n.inArray(t, s, x, y.Elems())
	}
	return false, nil
}

func inBinary(b *value.Binary, x value.Value) bool {
	switch x := x.(type) {
	case *value.Binary:
		return strings.Contains(string(b.Bytes()), string(x.Bytes()))
	case value.String:
		return strings.Contains(string(b.Bytes()), string(x))
	case value.Int:
		for _, c := range b.Bytes() {
			if value.Int(c) == x {
				return true
			}
		}
	}
	return false
}

func (n *inNode) inArray(t *thread, s *Scope, x value.Value, list []value.Value) (bool, error) {
	if err := t.step(n.pos, len(list)/nodesPerStep); err != nil {
		return false, err
	}
	switch x := x.(type) {
	case *value.Regexp:
		for _, e := range list {
			if text, is := e.(value.String); is {
				if ok, err := t.match(s, n.pos, x, string(text)); ok || err != nil {
					return ok, err
				}
			}
		}
		return false, nil
	case value.String, *value.SemVer:
		for _, e := range list {
			if ok, err := t.matches(s, n.pos, e, x); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	case value.Type:
		for _, e := range list {
			if ok, err := t.instance(n.pos, x, e); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	}
	for _, e := range list {
		if err := t.comparing(n.pos, e, x); err != nil {
			return false, err
		}
		if equal(e, x) {
			return true, nil
		}
	}
	return false, nil
}
