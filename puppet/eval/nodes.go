package eval

import (
	"bolt/puppet/check"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// undefNode is an expression without a value.
var undefNode = constNode{value.Undef{}}

// A constNode is a value.
type constNode struct{ v value.Value }

func (n constNode) eval(*thread, *Scope) (value.Value, error) { return n.v, nil }

// A failNode is an expression whose evaluation is an error.
type failNode struct {
	pos
	kind, msg string
}

func (n *failNode) eval(t *thread, s *Scope) (value.Value, error) {
	return nil, t.fail(n.pos, n.kind, "%s", n.msg)
}

// A blockNode is a sequence of expressions.
type blockNode struct{ list []node }

func (n *blockNode) eval(t *thread, s *Scope) (v value.Value, err error) {
	for _, x := range n.list {
		if v, err = x.eval(t, s); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// items are expressions, some of which can be splats.
type items struct {
	nodes []node
	splat []bool // nil: none
	at    pos    // of a splat
}

func (l *items) constants() (values []value.Value, all bool) {
	if l.splat != nil {
		return nil, false
	}
	values = make([]value.Value, len(l.nodes))
	for i, n := range l.nodes {
		k, is := n.(constNode)
		if !is {
			return nil, false
		}
		values[i] = k.v
	}
	return values, true
}

// eval returns the values in a new slice.
func (l *items) eval(t *thread, s *Scope) ([]value.Value, error) {
	values := make([]value.Value, 0, len(l.nodes))
	for i, n := range l.nodes {
		v, err := n.eval(t, s)
		if err != nil {
			return nil, err
		}
		if l.splat == nil || !l.splat[i] {
			values = append(values, v)
			continue
		}
		more, err := t.splat(l.at, v)
		if err != nil {
			return nil, err
		}
		if err := t.copied(l.at, len(values), len(more)); err != nil {
			return nil, err
		}
		values = append(values, more...)
	}
	return values, nil
}

// copied counts the work of appending more elements to others.
func (t *thread) copied(at pos, before, more int) error {
	if err := t.elements(at, before+more); err != nil {
		return err
	}
	return t.step(at, more/copyPerStep)
}

// splat returns the values that *v stands for.
func (t *thread) splat(at pos, v value.Value) ([]value.Value, error) {
	switch v := v.(type) {
	case value.Undef:
		return nil, nil
	case *value.Array:
		return v.Elems(), nil
	case *value.Hash:
		return pairs(v), nil
	case *value.Iterator:
		return t.drain(at, v)
	}
	return []value.Value{v}, nil
}

// pairs returns a hash's entries as arrays.
func pairs(h *value.Hash) []value.Value {
	list := make([]value.Value, h.Len())
	for i := range list {
		e := h.At(i)
		list[i] = value.NewArray(e.Key, e.Value)
	}
	return list
}

// drain returns all values of an iterator.
func (t *thread) drain(at pos, it *value.Iterator) ([]value.Value, error) {
	var list []value.Value
	var fault error
	for v := range it.All() {
		if fault = t.step(at, 1); fault != nil {
			break
		}
		if fault = t.elements(at, len(list)+1); fault != nil {
			break
		}
		list = append(list, v)
	}
	return list, fault
}

type splatNode struct {
	pos
	x node
}

func (n *splatNode) eval(t *thread, s *Scope) (value.Value, error) {
	v, err := n.x.eval(t, s)
	if err != nil {
		return nil, err
	}
	list, err := t.splat(n.pos, v)
	if err != nil {
		return nil, err
	}
	return t.array(n.pos, list)
}

type listNode struct {
	pos
	items items
}

func (n *listNode) eval(t *thread, s *Scope) (value.Value, error) {
	list, err := n.items.eval(t, s)
	if err != nil {
		return nil, err
	}
	return t.array(n.pos, list)
}

// array makes an array within the limits.
func (t *thread) array(at pos, list []value.Value) (value.Value, error) {
	a := value.NewArray(list...)
	if err := t.measure(at, a); err != nil {
		return nil, err
	}
	return a, nil
}

type hashNode struct {
	pos
	entries [][2]node
}

func (n *hashNode) eval(t *thread, s *Scope) (value.Value, error) {
	var b value.HashBuilder
	for i := range n.entries {
		k, err := n.entries[i][0].eval(t, s)
		if err != nil {
			return nil, err
		}
		v, err := n.entries[i][1].eval(t, s)
		if err != nil {
			return nil, err
		}
		switch k.(type) {
		case *value.Array, *value.Hash:
			if len(n.entries) == 1 {
				break // it is the only key
			}
			if err := t.walk(n.pos, k); err != nil {
				return nil, err
			}
		}
		b.Put(k, v)
	}
	return t.hash(n.pos, &b)
}

func (t *thread) hash(at pos, b *value.HashBuilder) (value.Value, error) {
	h := b.Build()
	if err := t.measure(at, h); err != nil {
		return nil, err
	}
	return h, nil
}

// measure returns an error if an array or a hash is nested too deep or holds
// too many values. A value that holds itself many times needs little memory
// until it is printed.
func (t *thread) measure(at pos, v value.Value) error {
	depth, nodes := value.Measure(v)
	switch {
	case depth > value.MaxDepth:
		return t.fail(at, "too-deep", "arrays and hashes are nested deeper than %d", value.MaxDepth)
	case nodes > value.MaxNodes:
		return t.fail(at, "too-large", "arrays and hashes hold more than %d values", value.MaxNodes)
	}
	return t.given(at, v)
}

// A concatNode is a string with interpolation.
type concatNode struct {
	pos
	parts []node
}

func (n *concatNode) eval(t *thread, s *Scope) (value.Value, error) {
	var room [64]byte
	buf := room[:0]
	for _, p := range n.parts {
		v, err := p.eval(t, s)
		if err != nil {
			return nil, err
		}
		if buf, err = t.appendText(n.pos, buf, v); err != nil {
			return nil, err
		}
	}
	if len(buf) >= noted {
		if err := t.made(n.pos, len(buf)); err != nil {
			return nil, err
		}
	}
	return value.String(buf), nil
}

// A syntaxNode is a heredoc whose text must have a given syntax.
type syntaxNode struct {
	pos
	syntax string
	x      node
}

func (n *syntaxNode) eval(t *thread, s *Scope) (value.Value, error) {
	v, err := n.x.eval(t, s)
	if err != nil {
		return nil, err
	}
	if text, is := v.(value.String); is {
		if err := check.Heredoc(n.syntax, string(text), t.in.env.Tasks); err != nil {
			return nil, t.fail(n.pos, "bad-heredoc", "the text is not valid %s: %v", syntax.Shortened(n.syntax), err)
		}
	}
	return v, nil
}

// An ifNode is if or unless.
type ifNode struct{ cond, then, other node }

func (n *ifNode) eval(t *thread, s *Scope) (value.Value, error) {
	match := s.match
	v, err := n.cond.eval(t, s)
	if err == nil {
		if value.Truthy(v) {
			v, err = n.then.eval(t, s)
		} else {
			v, err = n.other.eval(t, s)
		}
	}
	s.match = match
	return v, err
}

// A caseNode is case or a selector.
type caseNode struct {
	x        node
	options  []caseOption
	selector bool
	at       pos // of x, in a selector
}

type caseOption struct {
	values []pattern
	then   node
}

// A pattern is an expression that a value is matched with.
type pattern struct {
	at        pos
	x         node
	splat     bool
	isDefault bool
}

func (n *caseNode) eval(t *thread, s *Scope) (value.Value, error) {
	match := s.match
	v, err := n.choose(t, s)
	s.match = match
	return v, err
}

func (n *caseNode) choose(t *thread, s *Scope) (value.Value, error) {
	x, err := n.x.eval(t, s)
	if err != nil {
		return nil, err
	}
	var other node
	for i := range n.options {
		o := &n.options[i]
		for j := range o.values {
			p := &o.values[j]
			if p.isDefault {
				other = o.then
				continue
			}
			ok, err := p.matches(t, s, n.at, x)
			if err != nil {
				return nil, err
			}
			if ok {
				return o.then.eval(t, s)
			}
		}
	}
	if other != nil {
		return other.eval(t, s)
	}
	if n.selector {
		return nil, t.fail(n.at, "unmatched-selector", "no option of the selector matches %s", t.inspect(x))
	}
	return value.Undef{}, nil
}

func (p *pattern) matches(t *thread, s *Scope, at pos, x value.Value) (bool, error) {
	v, err := p.x.eval(t, s)
	if err != nil {
		return false, err
	}
	if !p.splat {
		return t.matches(s, at, v, x)
	}
	list, err := t.splat(p.at, v)
	if err != nil {
		return false, err
	}
	for _, v := range list {
		if ok, err := t.matches(s, at, v, x); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}
