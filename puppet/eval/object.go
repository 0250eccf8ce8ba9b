package eval

import (
	"strings"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// member returns the value of X.name if X has a member of that name. If X does
// not have one, is is false, and the expression is a call of a function.
func (t *thread) member(n *callNode, s *Scope, args []value.Value) (v value.Value, is bool, err error) {
	switch x := args[0].(type) {
	case *value.Object, *value.Runtime:
		block, err := n.block(t, s)
		if err != nil {
			return nil, false, err
		}
		return t.memberOf(s, n.pos, x, n.name, args[1:], block)
	case *value.URI:
		for _, part := range [...]string{"scheme", "userinfo", "host", "port", "path", "query", "fragment", "opaque"} {
			if part == n.name {
				return x.Part(part), true, t.noArgs(n.pos, part, args[1:])
			}
		}
	}
	return nil, false, nil
}

func (t *thread) noArgs(at pos, name string, args []value.Value) error {
	if len(args) > 0 {
		return t.fail(at, "argument-count", "%s is an attribute and takes no arguments", name)
	}
	return nil
}

// memberOf returns the value of an attribute, or calls a function of an object.
// These functions are implemented in Go. The Library has them under the name of
// the type, a dot, and the name of the function; other functions cannot have
// such a name. Their first argument is the object.
func (t *thread) memberOf(s *Scope, at pos, x value.Value, name string, args []value.Value, block *Closure) (v value.Value, is bool, err error) {
	var typ *value.ObjectType
	var typeName string
	switch x := x.(type) {
	case *value.Runtime:
		typeName = x.Name
	case *value.Object:
		typ = x.Type()
		m, has := typ.Member(name)
		if !has {
			return nil, false, nil
		}
		if v, has := x.Get(name); has {
			return v, true, t.noArgs(at, name, args)
		}
		typeName = m.Of.Name()
	}
	f := t.w.lib.functions[strings.ToLower(typeName)+"."+name]
	if f == nil {
		if typ == nil {
			return nil, false, nil
		}
		return nil, true, t.fail(at, "unknown-function", "%s of %s has no implementation", name, typeName)
	}
	v, err = t.native(s, at, name, f.Function, append([]value.Value{x}, args...), block)
	return v, true, err
}

// objectInit returns the hash that defines an object type: type T = {…} or type
// T = Object[{…}]. It returns nil for other types.
func objectInit(x syntax.Expr) syntax.Expr {
	if h, is := x.(*syntax.Hash); is {
		return h
	}
	return argOf(x, "object")
}

// argOf returns X of Name[X], or nil for anything else.
func argOf(x syntax.Expr, name string) syntax.Expr {
	i, is := x.(*syntax.Index)
	if !is || len(i.Keys) != 1 {
		return nil
	}
	if t, is := i.X.(*syntax.TypeName); !is || lower(t.Value) != name {
		return nil
	}
	return i.Keys[0]
}

// A typeSource is the source of a type: a name and an expression.
type typeSource struct {
	name string
	file *syntax.File
	x    syntax.Expr
	at   pos
}

// declare returns a type that has a name but no definition yet, and a function
// that defines it.
func (t *thread) declare(src typeSource) (value.Type, func() error) {
	if init := objectInit(src.x); init != nil {
		o := value.DeclareObjectType(src.name)
		return o, func() error {
			h, err := t.initHash(src, init)
			if err != nil {
				return err
			}
			return t.typeFault(src, o.Define(h))
		}
	}
	alias := value.NewAlias(src.name)
	return alias, func() error {
		v, err := t.alias(src.file, src.x)
		if err != nil {
			return err
		}
		typ, err := t.asType(src.exprAt(), v)
		if err != nil {
			return err
		}
		return t.typeFault(src, alias.Resolve(typ))
	}
}

func (s *typeSource) exprAt() pos { return pos{s.file, s.x.At().Off} }

func (t *thread) typeFault(src typeSource, err error) error {
	if err == nil {
		return nil
	}
	return t.wrap(src.at, err)
}

func (t *thread) initHash(src typeSource, x syntax.Expr) (*value.Hash, error) {
	v, err := t.alias(src.file, x)
	if err != nil {
		return nil, err
	}
	h, is := v.(*value.Hash)
	if !is {
		return nil, t.fail(src.exprAt(), "type-mismatch", "type %s is made of a hash, not of %s", src.name, t.kindOf(v))
	}
	return h, nil
}

// typeSet makes a type set. Differs from Puppet: a type set in a manifest works
// like a type set in a module.
//
// The hash is evaluated entry by entry, because its keys can be names of types.
// The types of the set can refer to each other by their short names.
func (t *thread) typeSet(src typeSource, init syntax.Expr) (value.Type, error) {
	h, is := init.(*syntax.Hash)
	if !is {
		return nil, t.fail(src.exprAt(), "type-mismatch", "type set %s is made of a hash", src.name)
	}
	var b, types value.HashBuilder
	var define []func() error
	for i := range h.Entries {
		e := &h.Entries[i]
		key, err := t.typeKey(src.file, e.Key)
		if err != nil {
			return nil, err
		}
		inner, is := e.Value.(*syntax.Hash)
		switch {
		case key == "types" && is:
			for j := range inner.Entries {
				name, err := t.typeKey(src.file, inner.Entries[j].Key)
				if err != nil {
					return nil, err
				}
				typ, def := t.declare(typeSource{src.name + "::" + name, src.file, inherit(inner.Entries[j].Value), pos{src.file, inner.Entries[j].Off}})
				types.Put(value.String(name), typ)
				define = append(define, def)
			}
			b.Put(value.String(key), types.Build())
			continue
		case key == "references" && is:
			var refs value.HashBuilder
			for j := range inner.Entries {
				name, err := t.typeKey(src.file, inner.Entries[j].Key)
				if err != nil {
					return nil, err
				}
				v, err := t.alias(src.file, inner.Entries[j].Value)
				if err != nil {
					return nil, err
				}
				refs.Put(value.String(name), v)
			}
			b.Put(value.String(key), refs.Build())
			continue
		}
		v, err := t.alias(src.file, e.Value)
		if err != nil {
			return nil, err
		}
		b.Put(value.String(key), v)
	}
	set, err := value.NewTypeSetType(src.name, value.RuntimeAuthority, b.Build())
	if err != nil {
		return nil, t.wrap(src.at, err)
	}
	for _, r := range set.References() {
		typ, err := t.typeNamed(src.at, lower(r.Name))
		if err != nil {
			return nil, err
		}
		other, is := typ.(*value.TypeSetType)
		if !is {
			return nil, t.fail(src.at, "unknown-type", "type set %s refers to %s, which is not a type set", src.name, r.Name)
		}
		if err := r.Resolve(other); err != nil {
			return nil, t.wrap(src.at, err)
		}
	}
	t.sets = append(t.sets, set)
	defer func() { t.sets = t.sets[:len(t.sets)-1] }()
	for _, def := range define {
		if err := def(); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// inherit returns the object type that Parent { … } stands for in a type set.
func inherit(x syntax.Expr) syntax.Expr {
	d, is := x.(*syntax.Defaults)
	if !is {
		return x
	}
	h := &syntax.Hash{Span: d.Span}
	if name, is := d.Type.(*syntax.TypeName); is {
		switch lower(name.Value) {
		case "object", "typeset":
		default:
			h.Entries = append(h.Entries, syntax.Entry{Span: d.Span, Key: &syntax.Str{Span: d.Span, Value: "parent"}, Value: d.Type})
		}
	}
	for i := range d.Attrs {
		a := &d.Attrs[i]
		h.Entries = append(h.Entries, syntax.Entry{Span: a.Span, Key: &syntax.Str{Span: a.Span, Value: a.Name}, Value: a.Value})
	}
	return h
}

// typeKey returns a key of the hash of a type set. A key that is the name of a
// type stands for itself.
func (t *thread) typeKey(file *syntax.File, x syntax.Expr) (string, error) {
	if name, is := x.(*syntax.TypeName); is {
		return name.Value, nil
	}
	v, err := t.alias(file, x)
	if err != nil {
		return "", err
	}
	return value.ToString(v), nil
}
