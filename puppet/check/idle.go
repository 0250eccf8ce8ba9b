package check

import "bolt/puppet/syntax"

// block finds expressions without an effect.
func (c *checker) block(n *syntax.Block) {
	if name, ok := withoutTitle(n); ok && !c.o.Tasks {
		c.errorf(n, "missing-title", "the resource %s has no title: write %s { 'title': … }", name, name)
		return
	}
	for _, x := range n.Exprs[:max(0, len(n.Exprs)-1)] {
		if c.idle(x) {
			c.errorf(x, "no-effect", "%s has no effect here: its value is not used, because only the last expression of a block has a value", article(x))
			return
		}
	}
}

// withoutTitle recognizes a resource without a title, which the grammar parses
// as a word and a hash.
func withoutTitle(x syntax.Expr) (name string, ok bool) {
	b, is := x.(*syntax.Block)
	if !is || len(b.Exprs) != 2 {
		return "", false
	}
	n, is := b.Exprs[0].(*syntax.Name)
	if _, hash := b.Exprs[1].(*syntax.Hash); !is || !hash {
		return "", false
	}
	return n.Value, true
}

// lastIdle reports a body whose last expression has no effect. The bodies of
// classes, defines and nodes have no value.
func (c *checker) lastIdle(body *syntax.Block, of string) {
	if len(body.Exprs) == 0 {
		return
	}
	last := body.Exprs[len(body.Exprs)-1]
	if _, untitled := withoutTitle(last); c.idle(last) && !untitled {
		c.errorf(last, "no-effect", "%s has no effect as the last expression of %s, which has no value", article(last), of)
	}
}

// idles caches for large conditions whether they have an effect. Otherwise the
// content of a block would be visited for each block around it.
type idles struct {
	known map[syntax.Expr]bool
	steps int // number of visited expressions
}

// idle reports whether evaluating an expression has no effect except for its
// value.
func (c *checker) idle(x syntax.Expr) bool { return c.idles.idle(x) }

func (l *idles) idle(x syntax.Expr) bool {
	switch x.(type) {
	case *syntax.If, *syntax.Unless, *syntax.Case:
	default:
		return l.look(x)
	}
	if is, ok := l.known[x]; ok {
		return is
	}
	before := l.steps
	is := l.look(x)
	if l.steps-before > 50 { // visiting less again is as fast
		if l.known == nil {
			l.known = map[syntax.Expr]bool{}
		}
		l.known[x] = is
	}
	return is
}

func (l *idles) look(x syntax.Expr) bool {
	l.steps++
	switch x := x.(type) {
	case nil, *syntax.Nop, *syntax.Undef, *syntax.Default, *syntax.Bool, *syntax.Int, *syntax.Float, *syntax.Str, *syntax.Regexp,
		*syntax.Name, *syntax.TypeName, *syntax.Reserved, *syntax.Var, *syntax.List, *syntax.Hash, *syntax.Index, *syntax.Not, *syntax.Neg, *syntax.Splat,
		*syntax.Text, *syntax.Concat, *syntax.Heredoc, *syntax.Selector:
		return true
	case *syntax.Paren:
		return l.idle(x.X)
	case *syntax.Binary:
		return x.Op != syntax.Match && x.Op != syntax.NoMatch // these set $0, $1, …
	case *syntax.Block:
		for _, e := range x.Exprs {
			if !l.idle(e) {
				return false
			}
		}
		return true
	case *syntax.If:
		return l.idle(x.Cond) && l.idle(x.Then) && (x.Else == nil || l.idle(x.Else))
	case *syntax.Unless:
		return l.idle(x.Cond) && l.idle(x.Then) && (x.Else == nil || l.idle(x.Else))
	case *syntax.Case:
		if !l.idle(x.X) {
			return false
		}
		for _, o := range x.Options {
			for _, v := range o.Values {
				if !l.idle(v) {
					return false
				}
			}
			if !l.idle(o.Then) {
				return false
			}
		}
		return true
	}
	return false
}
