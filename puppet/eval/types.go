package eval

import (
	"fmt"
	"strings"
	"sync/atomic"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// typesOf returns the types of the parameters and the result. If they are
// constant, they are evaluated once for a world. The code of a Library uses the
// types of the Library, which are the same for all Interps. Only if it names a
// type that the Library does not have, it uses the types of the Interp.
func (t *thread) typesOf(c *code, f *Scope) (*codeTypes, error) {
	if types := c.types.Load(); types != nil && types.w == t.w {
		return types, nil
	}
	if c.def == nil || c.def.own || t.w.defs == nil {
		return t.typesIn(t.w, c, f)
	}
	types, err := t.typesIn(t.w.lib.world, c, f)
	if e, is := err.(*Error); is && e.Kind == "unknown-type" {
		return t.typesIn(t.w, c, f)
	}
	return types, err
}

func (t *thread) typesIn(w *world, c *code, f *Scope) (*codeTypes, error) {
	if types := c.types.Load(); types != nil && types.w == w {
		return types, nil
	}
	if err := t.climb(c.at, c.height); err != nil {
		return nil, err
	}
	defer t.descend(c.height)
	was := t.w
	t.w = w
	defer func() { t.w = was }()
	types := &codeTypes{w: w, params: make([]value.Type, len(c.params))}
	fixed := true
	around := f.outer
	if around == nil {
		around = &Scope{named: f.named} // matches in types are not visible elsewhere
	}
	for i := range c.params {
		p := &c.params[i]
		if p.typ == nil {
			if p.rest {
				types.hi = -1
			}
			continue
		}
		fixed = fixed && p.fixed
		typ, err := t.typeFrom(p.at, p.typ, around)
		if err != nil {
			return nil, err
		}
		if p.rest {
			typ, types.lo, types.hi = restType(typ)
		}
		types.params[i] = typ
		if _, any := typ.(value.AnyType); any {
			types.params[i] = nil
		}
	}
	if c.returns != nil {
		typ, err := t.typeFrom(c.at, c.returns, around)
		if err != nil {
			return nil, err
		}
		types.returns = typ
	}
	if fixed && t.resolving == nil && (c.def == nil || c.def.own || w.defs == nil) {
		c.types.Store(types)
	}
	return types, nil
}

// restType returns the type of each value of a rest parameter, and the limits
// for their number. For example, Array[Integer, 1, 3] *$x takes one to three
// integers.
func restType(typ value.Type) (elem value.Type, lo, hi int) {
	a, is := typ.(*value.ArrayType)
	if !is {
		return typ, 0, -1
	}
	lo, hi = 0, -1
	if a.Size != nil {
		if a.Size.HasMin {
			lo = int(a.Size.Min)
		}
		if a.Size.HasMax {
			hi = int(a.Size.Max)
		}
	}
	return a.Elem, lo, hi
}

// typeFrom evaluates an expression whose value must be a type.
func (t *thread) typeFrom(at pos, n node, s *Scope) (value.Type, error) {
	v, err := n.eval(t, s)
	if err != nil {
		return nil, err
	}
	return t.asType(at, v)
}

func (t *thread) asType(at pos, v value.Value) (value.Type, error) {
	typ, is := v.(value.Type)
	if !is {
		return nil, t.fail(at, "not-a-type", "%s is not a type", t.inspect(v))
	}
	return typ, nil
}

// check checks the arguments in a scope.
func (t *thread) check(at pos, c *code, types *codeTypes, f *Scope, given int) error {
	for i := range c.params {
		typ := types.params[i]
		if c.params[i].rest {
			rest, is := f.slots[i].(*value.Array)
			if !is {
				continue
			}
			if typ != nil {
				for _, v := range rest.Elems() {
					if err := t.testing(at, typ, v); err != nil {
						return err
					}
				}
			}
			if !fitsRest(types, typ, rest.Elems()) {
				return t.mismatchSlots(at, c, types, f, given)
			}
			continue
		}
		if typ == nil {
			continue
		}
		switch f.slots[i].(type) {
		case *value.Array, *value.Hash, value.String:
			if err := t.testing(at, typ, f.slots[i]); err != nil {
				return err
			}
		}
		if !instance(typ, f.slots[i]) {
			return t.mismatchSlots(at, c, types, f, given)
		}
	}
	return nil
}

func fitsRest(types *codeTypes, typ value.Type, rest []value.Value) bool {
	if len(rest) < types.lo || types.hi >= 0 && len(rest) > types.hi {
		return false
	}
	if typ == nil {
		return true
	}
	for _, v := range rest {
		if !instance(typ, v) {
			return false
		}
	}
	return true
}

// instance is value.Instance with a fast path for the most common types of
// parameters.
func instance(typ value.Type, v value.Value) bool {
	switch typ := typ.(type) {
	case *value.IntegerType:
		i, is := v.(value.Int)
		return is && (!typ.HasMin || int64(i) >= typ.Min) && (!typ.HasMax || int64(i) <= typ.Max)
	case *value.BooleanType:
		if !typ.HasValue {
			_, is := v.(value.Bool)
			return is
		}
	}
	return value.Instance(typ, v)
}

// mismatchSlots returns the error of arguments that are in a scope already. As
// in Puppet, the position is the position of the call. If a default has the
// wrong type, the message contains the position of the default.
func (t *thread) mismatchSlots(at pos, c *code, types *codeTypes, f *Scope, given int) error {
	for i := range c.params {
		p, typ := &c.params[i], types.params[i]
		written := ""
		if i >= given && p.value != nil {
			written = fmt.Sprintf(" (its default, at %v)", p.defaultAt.position())
		}
		if p.rest {
			rest, is := f.slots[i].(*value.Array)
			if !is {
				continue
			}
			if n := rest.Len(); n < types.lo || types.hi >= 0 && n > types.hi {
				return t.fail(at, "type-mismatch", "%s takes %s values for *$%s, got %d", c.title(), span(types.lo, types.hi), p.name, n)
			}
			for _, v := range rest.Elems() {
				if typ != nil && !value.Instance(typ, v) {
					return t.fail(at, "type-mismatch", "%s: %s%s", c.title(), value.Mismatch("parameter '"+p.name+"'", typ, v), written)
				}
			}
			continue
		}
		if typ != nil && !value.Instance(typ, f.slots[i]) {
			return t.fail(at, "type-mismatch", "%s: %s%s", c.title(), value.Mismatch("parameter '"+p.name+"'", typ, f.slots[i]), written)
		}
	}
	return t.fail(at, "type-mismatch", "%s does not take these arguments", c.title())
}

// mismatch returns the error of a wrong number of arguments.
func (t *thread) mismatch(at pos, c *code, args []value.Value) error {
	return t.fail(at, "argument-count", "%s", expected(c.name, c.min, c.max, len(args)))
}

// expected describes how many arguments a function takes and how many were
// given. The words are Puppet's, because tools search for them.
func expected(name string, lo, hi, given int) string {
	got := "none"
	if given > 0 {
		got = fmt.Sprint(given)
	}
	takes := count(lo, hi)
	switch {
	case hi < 0 && lo == 1:
		takes = "at least 1 argument"
	case hi > lo:
		takes = fmt.Sprintf("between %d and %d arguments", lo, hi)
	}
	return fmt.Sprintf("'%s' expects %s, got %s", name, takes, got)
}

// count describes a number of arguments.
func count(lo, hi int) string {
	if lo == hi && hi == 1 {
		return "1 argument"
	}
	if hi == 0 {
		return "no arguments"
	}
	return span(lo, hi) + " arguments"
}

func span(lo, hi int) string {
	switch {
	case hi < 0:
		return fmt.Sprintf("at least %d", lo)
	case lo == hi:
		return fmt.Sprint(lo)
	}
	return fmt.Sprintf("%d to %d", lo, hi)
}

// A typeNode is the name of a type that is not built in.
type typeNode struct {
	pos
	name, key string
	// lenient is set in aliases, where an unknown name stands for itself.
	lenient bool
	cache   callCache
}

func (n *typeNode) eval(t *thread, s *Scope) (value.Value, error) {
	typ, err := n.resolve(t)
	if err != nil {
		return nil, err
	}
	if typ == nil {
		if n.lenient {
			return &value.ReferenceType{Text: n.name}, nil
		}
		return nil, t.unheard(n.pos, KindType, n.name)
	}
	return typ, nil
}

// A lenientNode is Name[arguments] in an alias. If the name is unknown, it
// stands for itself, with its arguments.
//
// Differs from Puppet: there the text of such an alias begins and ends at other
// positions.
type lenientNode struct {
	name  *typeNode
	index *indexNode
	fixed bool // the arguments are constants
	text  string
}

func (n *lenientNode) eval(t *thread, s *Scope) (value.Value, error) {
	typ, err := n.name.resolve(t)
	if err != nil {
		return nil, err
	}
	switch {
	case typ == nil && !n.fixed:
		return nil, t.unheard(n.index.pos, KindType, n.name.name)
	case typ == nil:
		return &value.ReferenceType{Text: n.text}, nil
	}
	return n.index.eval(t, s)
}

// resolve returns the type, or nil if there is none.
func (n *typeNode) resolve(t *thread) (value.Type, error) {
	for i := len(t.sets) - 1; i >= 0; i-- {
		if typ, is := t.sets[i].Lookup(n.key); is {
			return typ, nil
		}
	}
	d, err := n.cache.resolve(t, KindType, n.key)
	if err != nil {
		return nil, t.wrap(n.pos, err)
	}
	if d != nil {
		return t.defined(n.pos, d)
	}
	return t.otherType(n.pos, n.key)
}

// typeNamed returns the type of a name in lower case, or nil if there is none.
func (t *thread) typeNamed(at pos, key string) (value.Type, error) {
	if typ, is := value.Builtin(key); is {
		return typ, nil
	}
	d, err := t.find(KindType, key)
	if err != nil {
		return nil, t.wrap(at, err)
	}
	if d != nil {
		return t.defined(at, d)
	}
	return t.otherType(at, key)
}

// otherType returns a resource type, or a type in a type set.
func (t *thread) otherType(at pos, key string) (value.Type, error) {
	if typ, err := t.resourceType(at, key); typ != nil || err != nil {
		return typ, err
	}
	i := strings.LastIndex(key, "::")
	if i < 0 {
		return nil, nil
	}
	outer, err := t.typeNamed(at, key[:i])
	if err != nil {
		return nil, err
	}
	if set, is := outer.(*value.TypeSetType); is {
		if typ, is := set.Lookup(key[i+2:]); is {
			return typ, nil
		}
	}
	return nil, nil
}

// coreResources are the resource types of Puppet itself.
var coreResources = [...]string{
	"component", "exec", "file", "filebucket", "group", "notify", "package", "resources",
	"schedule", "service", "stage", "tidy", "user", "whit",
}

// resourceType returns the resource type of a name, or nil if there is none.
func (t *thread) resourceType(at pos, key string) (value.Type, error) {
	for _, name := range coreResources {
		if name == key {
			return resourceRef(key), nil
		}
	}
	for _, kind := range [...]Kind{KindResourceType, KindDefine} {
		d, err := t.find(kind, key)
		if err != nil {
			return nil, t.wrap(at, err)
		}
		if d != nil {
			return resourceRef(key), nil
		}
	}
	return nil, nil
}

// resourceRef returns the resource type of a name in lower case.
func resourceRef(key string) value.Type {
	return value.NewResourceType(capitalize(key))
}

// capitalize capitalizes each part of a qualified name.
func capitalize(name string) string {
	parts := strings.Split(name, "::")
	for i, p := range parts {
		if p != "" {
			parts[i] = strings.ToUpper(p[:1]) + strings.ToLower(p[1:])
		}
	}
	return strings.Join(parts, "::")
}

// A typeCell caches the type of a definition.
type typeCell struct{ p atomic.Pointer[value.Type] }

// defined returns the type that a definition defines.
//
// Types can refer to themselves and to each other. While a type is resolved,
// its own thread knows it as an alias that is still empty. When the outermost
// type is complete, all of them are published at once. The expression of a type
// can be any expression, with calls of functions that need other types.
// Therefore no lock is held meanwhile, and threads do not wait for each other.
// If two threads resolve the same type at the same time, both do the work. The
// second one discards its result and uses the type that the first one
// published, so that each name has one type in the end.
//
// Differs from Puppet: an alias of a manifest can refer to an alias further
// down. Puppet treats that alias as an unknown type.
func (t *thread) defined(at pos, d *Definition) (value.Type, error) {
	if d.Type != nil {
		return d.Type, nil
	}
	if typ := t.resolving[d]; typ != nil { // also if another thread has published a type by now
		t.private = true
		return typ, nil
	}
	if p := d.typ.p.Load(); p != nil {
		return *p, nil
	}
	if t.resolving != nil {
		t.private = true
		return t.resolve(at, d)
	}
	for {
		typ, made, err := t.resolveAll(at, d)
		if err != nil {
			return nil, t.aliasFault(at, err)
		}
		if t.w.lib.publish(made) {
			return typ, nil
		}
		// In each iteration, at least one more type has been published.
		if p := d.typ.p.Load(); p != nil {
			return *p, nil
		}
	}
}

// resolveAll resolves a type and all types that it needs and that are not
// published yet.
func (t *thread) resolveAll(at pos, d *Definition) (typ value.Type, made map[*Definition]value.Type, err error) {
	made = map[*Definition]value.Type{}
	t.resolving = made
	defer func() { t.resolving, t.private = nil, false }()
	typ, err = t.resolve(at, d)
	return typ, made, err
}

// publish makes types known to all threads. If one of the types is published
// already, publish changes nothing and returns false, because the other types
// refer to another version of it.
func (l *Library) publish(made map[*Definition]value.Type) bool {
	l.types.Lock()
	defer l.types.Unlock()
	for d := range made {
		if d.typ.p.Load() != nil {
			return false
		}
	}
	for d, typ := range made {
		d.typ.p.Store(&typ)
	}
	return true
}

// aliasFault returns the error of a type at the position of its use, as Puppet
// does.
func (t *thread) aliasFault(at pos, err error) error {
	e, is := err.(*Error)
	if !is {
		return err
	}
	c := *e
	c.Msg += " (" + e.Pos.String() + ")"
	c.Pos, c.Stack = at.position(), t.stack(at)
	return &c
}

func (t *thread) resolve(at pos, d *Definition) (value.Type, error) {
	x, is := d.Node.(*syntax.TypeAlias)
	if !is {
		return nil, t.fail(at, "internal", "internal error: %s %s is not a type", d.Kind, d.Name)
	}
	if len(t.resolving) > 1000 {
		return nil, t.fail(at, "too-deep", "type %s refers to types that refer to more than 1000 others", x.Name)
	}
	was := t.w
	if !d.own {
		t.w = t.w.lib.world
	}
	defer func() { t.w = was }()
	src := typeSource{x.Name, d.Program.File, x.Value, at}
	if init := argOf(x.Value, "typeset"); init != nil {
		typ, err := t.typeSet(src, init)
		if err == nil {
			t.resolving[d] = typ
		}
		return typ, err
	}
	typ, define := t.declare(src)
	t.resolving[d] = typ
	if err := define(); err != nil {
		delete(t.resolving, d)
		return nil, err
	}
	return typ, nil
}

// parseType returns the type that a string describes.
func (t *thread) parseType(at pos, text string) (value.Type, error) {
	if typ, ok := value.Builtin(text); ok {
		return typ, nil
	}
	p, err := syntax.Parse(syntax.NewFile("", text), syntax.Options{})
	if err != nil {
		return nil, t.fail(at, "not-a-type", "%q is not a type: %v", text, err)
	}
	if p.Body == nil || len(p.Body.Exprs) != 1 || !constant(p.Body.Exprs[0]) {
		return nil, t.fail(at, "not-a-type", "%q is not a type", text)
	}
	n := compileExpr(p.File, p.Body.Exprs[0])
	v, err := n.eval(t, t.in.top)
	if err != nil {
		if e, is := err.(*Error); is {
			c := *e
			c.Pos = at.position()
			return nil, &c
		}
		return nil, err
	}
	typ, is := v.(value.Type)
	if !is {
		return nil, t.fail(at, "not-a-type", "%q is not a type", text)
	}
	return typ, nil
}
