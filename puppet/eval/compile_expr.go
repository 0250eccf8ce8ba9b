package eval

import (
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

func (c *compiler) concat(x *syntax.Concat) node {
	n := &concatNode{pos: c.at(x)}
	for _, p := range x.Parts {
		n.parts = append(n.parts, c.text(p))
	}
	return n
}

// text compiles a part of a string.
func (c *compiler) text(x syntax.Expr) node {
	t, is := x.(*syntax.Text)
	if !is {
		return c.expr(x)
	}
	if name, is := t.X.(*syntax.Name); is {
		return c.variable(t, name.Value)
	}
	return c.expr(t.X)
}

func (c *compiler) list(x *syntax.List) node {
	l := c.exprs(x.Items)
	if values, all := l.constants(); all {
		return constNode{value.NewArray(values...)}
	}
	return &listNode{c.at(x), l}
}

func (c *compiler) hash(x *syntax.Hash) node {
	n := &hashNode{c.at(x), make([][2]node, len(x.Entries))}
	all := true
	for i := range x.Entries {
		k, v := c.expr(x.Entries[i].Key), c.expr(x.Entries[i].Value)
		n.entries[i] = [2]node{k, v}
		_, ck := k.(constNode)
		_, cv := v.(constNode)
		all = all && ck && cv
	}
	if !all {
		return n
	}
	var b value.HashBuilder
	for _, e := range n.entries {
		b.Put(e[0].(constNode).v, e[1].(constNode).v)
	}
	return constNode{b.Build()}
}

func (c *compiler) neg(x *syntax.Neg) node {
	n := c.expr(x.X)
	if k, is := n.(constNode); is {
		switch v := k.v.(type) {
		case value.Int:
			if v != -v || v == 0 {
				return constNode{-v}
			}
		case value.Float:
			return constNode{-v}
		}
	}
	return &negNode{c.at(x), n}
}

func (c *compiler) binary(x *syntax.Binary) node {
	b := binary{c.at(x), x.Op, c.expr(x.X), c.expr(x.Y), c.at(x.X), c.at(x.Y)}
	switch x.Op {
	case syntax.And:
		return &andNode{b.x, b.y}
	case syntax.Or:
		return &orNode{b.x, b.y}
	case syntax.Eq, syntax.Ne:
		return &equalNode{b}
	case syntax.Lt, syntax.Le, syntax.Gt, syntax.Ge:
		return &compareNode{b}
	case syntax.Match, syntax.NoMatch:
		return &matchNode{b}
	case syntax.In:
		return &inNode{b}
	}
	return &arithNode{b}
}

func (c *compiler) index(x *syntax.Index) node {
	n := &indexNode{pos: c.at(x), x: c.expr(x.X), xAt: c.at(x.X), keys: make([]node, len(x.Keys)), keyAt: make([]pos, len(x.Keys))}
	n.from = tracerOf(n.x)
	fixed := true
	for i, k := range x.Keys {
		n.keyAt[i] = c.at(k)
		n.keys[i] = c.expr(k)
		_, is := n.keys[i].(constNode)
		fixed = fixed && is
	}
	if k, is := n.x.(constNode); is && fixed {
		if t, is := k.v.(value.Type); is && plainType(t) {
			args := make([]value.Value, len(n.keys))
			for i := range n.keys {
				args[i] = n.keys[i].(constNode).v
			}
			if t, err := value.Parametrize(t, args); err == nil && t != nil {
				return constNode{t}
			}
		}
	}
	if name, is := n.x.(*typeNode); is && name.lenient {
		return &lenientNode{name: name, index: n, fixed: constants(x.Keys), text: bracketed(c.file.Src[x.X.At().Off:])}
	}
	return n
}

// bracketed returns the start of src up to the bracket that closes it.
func bracketed(src string) string {
	depth := 0
	var quote byte
	for i := 0; i < len(src); i++ {
		switch b := src[i]; {
		case quote != 0 && b == '\\':
			i++
		case quote != 0 && b == quote:
			quote = 0
		case quote != 0:
		case b == '\'' || b == '"':
			quote = b
		case b == '[':
			depth++
		case b == ']':
			if depth--; depth == 0 {
				return src[:i+1]
			}
		}
	}
	return src
}

func (c *compiler) call(x *syntax.Call) node {
	switch f := x.Func.(type) {
	case *syntax.Name:
		n := &callNode{pos: c.at(x), name: f.Value, key: lower(f.Value), cache: c.cache()}
		n.setArgs(c.exprs(x.Args))
		n.lambda = c.lambda(x.Lambda)
		return n
	case *syntax.TypeName:
		return c.construct(x, f)
	case *syntax.Index:
		if _, is := f.X.(*syntax.TypeName); is {
			return c.construct(x, f)
		}
	}
	return &failNode{c.at(x.Func), "illegal-expression", "only names of functions and types can be called"}
}

func (n *callNode) setArgs(args items) {
	n.args = args
	if len(args.nodes) > 0 && args.splat == nil {
		n.from = tracerOf(args.nodes[0])
	}
}

// construct compiles Type(args), which is new(Type, args).
func (c *compiler) construct(x *syntax.Call, t syntax.Expr) node {
	n := &callNode{pos: c.at(x), name: "new", key: "new", cache: c.cache()}
	n.args = c.exprs(append([]syntax.Expr{t}, x.Args...))
	n.lambda = c.lambda(x.Lambda)
	return n
}

func (c *compiler) method(x *syntax.Method) node {
	f, is := x.Func.(*syntax.Name)
	if !is {
		return &failNode{c.at(x.Func), "illegal-expression", "only names of functions can be called"}
	}
	n := &callNode{pos: c.at(x), name: f.Value, key: lower(f.Value), method: true, cache: c.cache()}
	n.setArgs(c.exprs(append([]syntax.Expr{x.X}, x.Args...)))
	n.lambda = c.lambda(x.Lambda)
	return n
}

func (c *compiler) caseOf(x *syntax.Case) node {
	n := &caseNode{x: c.expr(x.X)}
	for _, o := range x.Options {
		var opt caseOption
		for _, v := range o.Values {
			opt.values = append(opt.values, c.pattern(v))
		}
		opt.then = c.block(o.Then)
		n.options = append(n.options, opt)
	}
	return n
}

func (c *compiler) selector(x *syntax.Selector) node {
	n := &caseNode{x: c.expr(x.X), selector: true, at: c.at(x.X)}
	for i := range x.Options {
		o := &x.Options[i]
		n.options = append(n.options, caseOption{[]pattern{c.pattern(o.Key)}, c.expr(o.Value)})
	}
	return n
}

func (c *compiler) pattern(x syntax.Expr) pattern {
	for {
		p, is := x.(*syntax.Paren)
		if !is {
			break
		}
		x = p.X
	}
	if _, is := x.(*syntax.Default); is {
		return pattern{isDefault: true}
	}
	n, splat := c.item(x)
	return pattern{at: c.at(x), x: n, splat: splat}
}

func (c *compiler) resource(x syntax.Expr) node {
	switch x := x.(type) {
	case *syntax.Resource:
		n := &resourceNode{pos: c.at(x), form: x.Form, typeAt: c.at(x.Type)}
		switch t := x.Type.(type) {
		case *syntax.Name:
			n.name = t.Value
		case *syntax.TypeName:
			n.typ, n.typeOK = c.expr(t), true
		case *syntax.Index:
			_, n.typeOK = t.X.(*syntax.TypeName)
			n.typ = c.expr(t)
		default:
			n.typ = c.expr(t)
		}
		for _, b := range x.Bodies {
			n.bodies = append(n.bodies, resourceBody{c.at(b), c.expr(b.Title), c.at(b.Title), c.attrs(b.Attrs)})
		}
		return n
	case *syntax.Defaults:
		return &defaultsNode{c.at(x), c.expr(x.Type), c.at(x.Type), c.attrs(x.Attrs)}
	case *syntax.Override:
		return &overrideNode{c.at(x), c.expr(x.X), x.Form, c.attrs(x.Attrs)}
	case *syntax.Collect:
		n := &collectNode{pos: c.at(x), exported: x.Exported, attrs: c.attrs(x.Attrs)}
		if t, is := x.Type.(*syntax.TypeName); is {
			n.typ = lower(t.Value)
		}
		if x.Query != nil {
			if _, nop := x.Query.(*syntax.Nop); !nop {
				n.query = c.query(x.Query)
			}
		}
		return n
	}
	return undefNode
}

func (c *compiler) attrs(list []syntax.Attr) []attr {
	out := make([]attr, len(list))
	for i := range list {
		a := &list[i]
		out[i] = attr{c.at(a), a.Name, a.Add, a.Splat, c.expr(a.Value), c.at(a.Value)}
	}
	return out
}

// comparable reports whether an expression can be an operand of == or != in a
// query.
func comparable(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Paren:
		return comparable(x.X)
	case *syntax.Str, *syntax.Name, *syntax.Concat, *syntax.Int, *syntax.Float, *syntax.Bool, *syntax.Undef, *syntax.Var, *syntax.Index:
		return true
	}
	return false
}

// query compiles the query of a collector.
func (c *compiler) query(x syntax.Expr) queryNode {
	switch x := x.(type) {
	case *syntax.Paren:
		return c.query(x.X)
	case *syntax.Binary:
		switch x.Op {
		case syntax.And, syntax.Or:
			return &queryBool{x.Op == syntax.Or, c.query(x.X), c.query(x.Y)}
		case syntax.Eq, syntax.Ne:
			if !comparable(x.X) || !comparable(x.Y) {
				return &queryFault{}
			}
			return &queryCompare{x.Op == syntax.Ne, c.expr(x.X), c.expr(x.Y)}
		}
	}
	return &queryFault{}
}
