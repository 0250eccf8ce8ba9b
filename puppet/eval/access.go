package eval

import (
	"errors"
	"strings"
	"sync/atomic"

	"bolt/puppet/value"
)

// An indexNode is X[Keys].
type indexNode struct {
	pos
	x     node
	xAt   pos
	keys  []node
	keyAt []pos
	from  tracer // x, if x is a variable or a part of one
	last  atomic.Pointer[typeAccess]
}

// A typeAccess caches the last type that [] made from a type and its arguments.
type typeAccess struct {
	typ  value.Type
	args []value.Value
	made value.Type
}

// plainType reports whether [] on t returns a type. On a resource or a class
// type, [] returns references or the values of parameters.
func plainType(t value.Type) bool {
	switch t := t.(type) {
	case *value.ResourceType, *value.ClassType:
		return false
	case *value.ReferenceType:
		return t == nil
	}
	return true
}

func (n *indexNode) eval(t *thread, s *Scope) (value.Value, error) {
	if t.reads && n.from != nil {
		r := t.tracing()
		v, err := n.trace(t, s, r)
		t.traceEnds(r)
		return v, err
	}
	x, err := n.x.eval(t, s)
	if err != nil {
		return nil, err
	}
	if len(n.keys) == 1 {
		k, err := n.key(t, s, x, 0)
		if err != nil {
			return nil, err
		}
		switch a := x.(type) {
		case *value.Hash:
			if v, is := a.Get(k); is {
				return v, nil
			}
			return value.Undef{}, nil
		case *value.Array:
			if i, is := k.(value.Int); is {
				return at(a, int64(i)), nil
			}
		}
		return n.access(t, s, x, []value.Value{k})
	}
	keys := make([]value.Value, len(n.keys))
	for i := range keys {
		if keys[i], err = n.key(t, s, x, i); err != nil {
			return nil, err
		}
	}
	return n.access(t, s, x, keys)
}

// key evaluates key i. In Class[Name], Name need not be a known type.
func (n *indexNode) key(t *thread, s *Scope, x value.Value, i int) (value.Value, error) {
	if name, is := n.keys[i].(*typeNode); is {
		if _, class := x.(*value.ClassType); class {
			typ, err := name.resolve(t)
			if err != nil {
				return nil, err
			}
			if typ == nil {
				return &value.ReferenceType{Text: name.name}, nil
			}
			return typ, nil
		}
	}
	return n.keys[i].eval(t, s)
}

// at returns element i. A negative index counts from the end.
func at(a *value.Array, i int64) value.Value {
	if i < 0 {
		i += int64(a.Len())
	}
	if i < 0 || i >= int64(a.Len()) {
		return value.Undef{}
	}
	return a.At(int(i))
}

// blame returns the position of key i.
func (n *indexNode) blame(i int) pos {
	if i >= 0 && i < len(n.keyAt) {
		return n.keyAt[i]
	}
	return n.pos
}

func (n *indexNode) access(t *thread, s *Scope, x value.Value, keys []value.Value) (value.Value, error) {
	switch x := x.(type) {
	case *value.Hash:
		return n.hash(x, keys), nil
	case *value.Array:
		return n.array(t, x, flatten(keys))
	case value.String:
		return n.string(t, x, flatten(keys))
	case *value.Binary:
		return n.binary(t, x, flatten(keys))
	case *value.ResourceType:
		return n.resource(t, s, x, keys)
	case *value.ClassType:
		return n.class(t, s, x, keys)
	case *value.ReferenceType:
		return nil, t.unheard(n.pos, KindType, x.Text)
	case value.Type:
		return n.typed(t, x, keys)
	case *value.Object:
		if v, is, err := t.memberOf(s, n.pos, x, "[]", keys, nil); is || err != nil {
			return v, err
		}
	}
	return nil, t.fail(n.xAt, "operator-not-applicable", "the operator [] cannot be applied to %s", t.kindOf(x))
}

// flatten returns list with the elements of nested arrays in place of the
// arrays.
func flatten(list []value.Value) []value.Value {
	for i, v := range list {
		if _, is := v.(*value.Array); !is {
			continue
		}
		out := append([]value.Value{}, list[:i]...)
		for _, v := range list[i:] {
			if a, is := v.(*value.Array); is {
				out = append(out, flatten(a.Elems())...)
			} else {
				out = append(out, v)
			}
		}
		return out
	}
	return list
}

func (n *indexNode) hash(h *value.Hash, keys []value.Value) value.Value {
	var list []value.Value
	for _, k := range keys {
		v, is := h.Get(k)
		if !is {
			v = value.Undef{}
		}
		if len(keys) == 1 {
			return v
		}
		if _, undef := v.(value.Undef); !undef {
			list = append(list, v)
		}
	}
	return value.NewArray(list...)
}

func (n *indexNode) array(t *thread, a *value.Array, keys []value.Value) (value.Value, error) {
	if len(keys) != 1 && len(keys) != 2 {
		return nil, t.fail(n.xAt, "argument-count", "an array takes one or two indexes, got %d", len(keys))
	}
	var idx [2]int64
	for i, k := range keys {
		k, err := t.numeric(n.blame(i), k)
		if err != nil {
			return nil, err
		}
		j, is := k.(value.Int)
		if !is {
			return nil, t.fail(n.blame(i), "bad-index", "%s cannot be the index of an array", t.kindOf(k))
		}
		idx[i] = int64(j)
	}
	if len(keys) == 1 {
		return at(a, idx[0]), nil
	}
	i, j, ok := slice(idx[0], idx[1], int64(a.Len()))
	if !ok {
		return value.NewArray(), nil
	}
	if err := t.step(n.pos, (j-i)/copyPerStep); err != nil {
		return nil, err
	}
	return a.Slice(i, j), nil
}

// slice returns the bounds of x[from, count]. A negative from counts from the
// end. A negative count is a position, counted from the end.
func slice(from, count, size int64) (i, j int, ok bool) {
	if from < 0 {
		from += size
	}
	if count < 0 {
		count = size - from + count + 1
	}
	if from < 0 {
		count += from
		from = 0
	}
	if from > size || count < 0 {
		return 0, 0, false
	}
	return int(from), int(min(from+min(count, size), size)), true
}

func (n *indexNode) indexes(t *thread, kind string, keys []value.Value) (idx [2]int64, err error) {
	if len(keys) != 1 && len(keys) != 2 {
		return idx, t.fail(n.xAt, "argument-count", "%s takes one or two indexes, got %d", kind, len(keys))
	}
	for i, k := range keys {
		if s, is := k.(value.String); is {
			if p := parseNumber(string(s)); p != nil {
				k = p
			}
		}
		j, is := k.(value.Int)
		if !is {
			return idx, t.fail(n.blame(i), "bad-index", "%s cannot be the index of %s", t.kindOf(k), kind)
		}
		idx[i] = int64(j)
	}
	return idx, nil
}

func (n *indexNode) string(t *thread, v value.String, keys []value.Value) (value.Value, error) {
	idx, err := n.indexes(t, "a string", keys)
	if err != nil {
		return nil, err
	}
	if err := t.walk(n.pos, v); err != nil {
		return nil, err
	}
	s := string(v)
	size := int64(len(s))
	ascii := true
	for i := range len(s) {
		if s[i] >= 0x80 {
			ascii = false
			break
		}
	}
	var runes []rune
	if !ascii {
		runes = []rune(s)
		size = int64(len(runes))
	}
	if len(keys) == 1 {
		if idx[0] < 0 {
			idx[0] += size
		}
		if idx[0] < 0 {
			return value.String(""), nil
		}
		idx[1] = 1
	}
	i, j, ok := slice(idx[0], idx[1], size)
	switch {
	case !ok:
		return value.String(""), nil
	case ascii:
		return v[i:j], nil
	}
	return value.String(runes[i:j]), nil
}

func (n *indexNode) binary(t *thread, b *value.Binary, keys []value.Value) (value.Value, error) {
	idx, err := n.indexes(t, "a Binary", keys)
	if err != nil {
		return nil, err
	}
	size := int64(len(b.Bytes()))
	if len(keys) == 1 {
		if idx[0] < 0 {
			idx[0] += size
		}
		if idx[0] < 0 {
			return value.NewBinary(nil), nil
		}
		idx[1] = 1
	}
	i, j, ok := slice(idx[0], idx[1], size)
	if !ok {
		return value.NewBinary(nil), nil
	}
	return value.NewBinary(b.Bytes()[i:j:j]), nil
}

// typed returns typ with the parameters keys.
func (n *indexNode) typed(t *thread, typ value.Type, keys []value.Value) (value.Value, error) {
	if last := n.last.Load(); last != nil && last.typ == typ && sameArgs(last.args, keys) {
		return last.made, nil
	}
	size := 0
	for _, k := range keys {
		size += typeSize(k)
	}
	if err := t.step(n.pos, size); err != nil {
		return nil, err
	}
	made, err := value.Parametrize(typ, keys)
	if err != nil {
		return nil, n.typeError(t, typ, err)
	}
	n.last.Store(&typeAccess{typ, keys, made})
	return made, nil
}

func sameArgs(a, b []value.Value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !identical(a[i], b[i]) {
			return false
		}
	}
	return true
}

// identical reports whether two values are the same. It does only cheap
// comparisons, so it can return false for equal values.
func identical(a, b value.Value) bool {
	switch a := a.(type) {
	case value.Int:
		b, is := b.(value.Int)
		return is && a == b
	case value.String:
		b, is := b.(value.String)
		return is && a == b
	case value.Default:
		_, is := b.(value.Default)
		return is
	case *value.Hash:
		b, is := b.(*value.Hash)
		return is && a == b
	case *value.AliasType:
		b, is := b.(*value.AliasType)
		return is && a == b
	}
	return false
}

func (n *indexNode) typeError(t *thread, typ value.Type, err error) error {
	var te *value.TypeError
	if !errors.As(err, &te) {
		return t.wrap(n.pos, err)
	}
	at := n.pos
	o, is := typ.(*value.ObjectType)
	if te.Arg >= 0 && (!is || o.Name() == "Object") {
		at = n.blame(te.Arg)
	}
	e := t.fail(at, te.Kind, "%s", te.Msg)
	e.Err = err
	return e
}

// compact returns list without undef.
func compact(list []value.Value) []value.Value {
	out := make([]value.Value, 0, len(list))
	for _, v := range list {
		if _, undef := v.(value.Undef); !undef {
			out = append(out, v)
		}
	}
	return out
}

// resource evaluates File[title], Resource[File, title] and
// File[title][parameter].
func (n *indexNode) resource(t *thread, s *Scope, r *value.ResourceType, keys []value.Value) (value.Value, error) {
	if len(keys) == 0 {
		return nil, t.fail(n.pos, "argument-count", "%s takes at least one argument", value.TypeString(r))
	}
	name := r.TypeName
	titles := keys
	if name == "" {
		switch k := keys[0].(type) {
		case *value.ResourceType:
			if len(keys) == 1 {
				return k, nil
			}
			name = k.TypeName
		case *value.ReferenceType: // an unknown name in an alias
			name = k.Text
		case value.String:
			name = capitalize(string(k))
		}
		if name == "" {
			return nil, t.fail(n.blame(0), "bad-resource-type", "%s is not the name of a type of resources", t.inspect(keys[0]))
		}
		titles = keys[1:]
	}
	if !classRef(name) {
		return nil, t.fail(n.blame(0), "bad-resource-type", "%q is not the name of a type of resources", name)
	}
	many := len(titles) > 1
	if len(titles) > 0 {
		_, is := titles[0].(*value.Array)
		many = many || is
	}
	given := len(titles)
	flat := compact(flatten(titles))
	if len(flat) == 0 && given > 0 {
		if many {
			return value.NewArray(), nil
		}
		return value.Undef{}, nil
	}
	if r.HasTitle {
		return n.parameters(t, s, lower(name), value.TypeString(r), r.Title, flat, many)
	}
	if given == 0 {
		return value.NewResourceType(name), nil
	}
	list := make([]value.Value, len(flat))
	for i, v := range flat {
		title, is := v.(value.String)
		if !is {
			j := i
			if given != len(flat) {
				j++
			}
			return nil, t.fail(n.blame(j), "bad-title", "%s cannot be the title of a resource", t.kindOf(v))
		}
		list[i] = value.NewResourceRef(name, string(title))
	}
	if many {
		return value.NewArray(list...), nil
	}
	return list[len(list)-1], nil
}

// parameters returns the values of parameters of a resource or a class.
func (n *indexNode) parameters(t *thread, s *Scope, typ, ref, title string, names []value.Value, many bool) (value.Value, error) {
	if err := t.catalog(n.pos, "the parameter of a resource"); err != nil {
		return nil, err
	}
	list := make([]value.Value, len(names))
	site := t.site(s, n.pos)
	for i, name := range names {
		text, is := name.(value.String)
		if !is {
			return nil, t.fail(n.pos, "unknown-parameter", "%s has no parameter %s", ref, t.inspect(name))
		}
		v, found, err := t.in.env.Builder.Parameter(site, typ, title, string(text))
		if err != nil {
			return nil, t.wrap(n.pos, err)
		}
		if !found {
			return nil, t.fail(n.pos, "unknown-resource", "%s is not in the catalog", ref)
		}
		if v == nil {
			v = value.Undef{}
		}
		list[i] = v
	}
	if many {
		return value.NewArray(list...), nil
	}
	return list[len(list)-1], nil
}

// class evaluates Class[name] and Class[name][parameter].
func (n *indexNode) class(t *thread, s *Scope, c *value.ClassType, keys []value.Value) (value.Value, error) {
	if len(keys) == 0 {
		return nil, t.fail(n.pos, "argument-count", "%s takes at least one argument", value.TypeString(c))
	}
	_, is := keys[0].(*value.Array)
	many := is || len(keys) > 1
	flat := compact(flatten(keys))
	if len(flat) == 0 {
		if many {
			return value.NewArray(), nil
		}
		return value.Undef{}, nil
	}
	if c.Title != "" {
		return n.parameters(t, s, "class", value.TypeString(c), lower(c.Title), flat, many)
	}
	list := make([]value.Value, len(flat))
	for i, v := range flat {
		text, is := v.(value.String)
		if !is {
			return nil, t.fail(n.blame(i), "bad-class-name", "%s is not the name of a class", t.inspect(v))
		}
		name := lower(string(text))
		if !className(name) {
			return nil, t.fail(n.blame(i), "bad-class-name", "%q is not the name of a class", string(text))
		}
		list[i] = value.NewClassRef(name)
	}
	if many {
		return value.NewArray(list...), nil
	}
	return list[len(list)-1], nil
}

// classRef reports whether name has the form of a type name: each part begins
// with a capital letter.
func classRef(name string) bool { return segments(strings.TrimPrefix(name, "::"), 'A', 'Z') }

// className reports whether name has the form of a class name.
func className(name string) bool { return segments(name, 'a', 'z') }

func segments(name string, first, last byte) bool {
	for _, p := range strings.Split(name, "::") {
		if p == "" || p[0] < first || p[0] > last {
			return false
		}
		for i := range len(p) {
			c := p[i]
			if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
				return false
			}
		}
	}
	return true
}
