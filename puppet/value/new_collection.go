package value

import (
	"slices"
	"unicode/utf8"
)

// maxElements is the largest number of values that are made from one value.
const maxElements = 10_000_000

func errTooMany() error {
	return convErr(KindLimit, "there would be more than %d values", maxElements)
}

// drain returns all values of an iterator.
func drain(it *Iterator) ([]Value, error) {
	var elems []Value
	for v := range it.All() {
		if len(elems) == maxElements {
			return nil, errTooMany()
		}
		elems = append(elems, v)
	}
	return elems, nil
}

// Elements returns the values in an iteration over v: elements of an array,
// entries of a hash as arrays of two, characters, integers from 0 or in a
// range, the values of an Enum. If v cannot be iterated, ok is false. The error
// is a *[ConversionError] of [KindLimit].
func Elements(v Value) (elems []Value, ok bool, err error) {
	switch v := v.(type) {
	case *Array:
		return v.Elems(), true, nil
	case *Hash:
		return pairsOf(v).Elems(), true, nil
	case *Iterator:
		elems, err = drain(v)
		return elems, true, err
	case String:
		if utf8.RuneCountInString(string(v)) > maxElements {
			return nil, true, errTooMany()
		}
		for s := string(v); s != ""; {
			_, size := utf8.DecodeRuneInString(s)
			elems = append(elems, String(s[:size]))
			s = s[size:]
		}
		return elems, true, nil
	case Int:
		if v < 0 {
			return nil, false, nil
		}
		elems, err = numbers(0, int64(v)-1)
		return elems, true, err
	case *IntegerType:
		if !v.HasMin || !v.HasMax {
			return nil, false, nil
		}
		elems, err = numbers(v.Min, v.Max)
		return elems, true, err
	case *EnumType:
		for _, s := range v.Values {
			elems = append(elems, String(s))
		}
		return elems, true, nil
	case *AliasType:
		if t := resolveAlias(v); t != Type(v) {
			return Elements(t)
		}
	}
	return nil, false, nil
}

// numbers returns all integers from lo to hi.
func numbers(lo, hi int64) ([]Value, error) {
	if lo > hi {
		return nil, nil
	}
	if uint64(hi)-uint64(lo) >= maxElements {
		return nil, errTooMany()
	}
	elems := make([]Value, 0, hi-lo+1)
	for n := lo; ; n++ {
		elems = append(elems, Int(n))
		if n == hi {
			return elems, nil
		}
	}
}

func newArray(args []Value) (Value, error) {
	if err := count("Array", args, 1, 2); err != nil {
		return nil, err
	}
	wrap := Bool(false)
	if len(args) == 2 {
		b, ok := args[1].(Bool)
		if !ok {
			return nil, misfit("Array", args, "a value, and whether to wrap it")
		}
		wrap = b
	}
	if a, ok := args[0].(*Array); ok {
		return a, nil
	}
	if wrap {
		return NewArray(args[0]), nil
	}
	if b, ok := args[0].(*Binary); ok {
		if len(b.Bytes()) > maxElements {
			return nil, errTooMany()
		}
		elems := make([]Value, len(b.Bytes()))
		for i, c := range b.Bytes() {
			elems[i] = Int(c)
		}
		return NewArray(elems...), nil
	}
	elems, ok, err := Elements(args[0])
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, convErr(KindValue, "%s cannot be converted to Array", article(args[0]))
	}
	return NewArray(elems...), nil
}

func newBinary(args []Value) (Value, error) {
	if err := count("Binary", args, 1, 2); err != nil {
		return nil, err
	}
	from, format := args[0], argument(args, 1)
	if h, ok := hashOnly(args, "value", "format"); ok {
		from, format = entry(h, "value"), entry(h, "format")
		if _, undef := format.(Undef); undef {
			format = nil
		}
	}
	bad := misfit("Binary", args, "a String with a format, or an Array of bytes, one by one or in a Hash")
	var b *Binary
	var err error
	switch v := from.(type) {
	case String:
		b, err = binaryOf(string(v), format)
	case *Array:
		if format != nil {
			return nil, bad
		}
		bytes := make([]byte, v.Len())
		for i, e := range v.All() {
			n, ok := e.(Int)
			if !ok || n < 0 || n > 255 {
				return nil, convErr(KindArguments, "a byte is a number from 0 to 255")
			}
			bytes[i] = byte(n)
		}
		b = NewBinary(bytes)
	default:
		return nil, bad
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

func binaryOf(s string, format Value) (*Binary, error) {
	f, ok := format.(String)
	if format == nil {
		f, ok = "%B", true
	}
	if ok {
		switch f {
		case "%B":
			return parseBase64(s)
		case "%b":
			return parseBase64Loose(s), nil
		case "%u":
			return parseBase64URL(s)
		case "%s":
			if !utf8.ValidString(s) {
				return nil, convErr(KindValue, "the text is not in UTF-8")
			}
			return NewBinary([]byte(s)), nil
		case "%r":
			return NewBinary([]byte(s)), nil
		}
	}
	return nil, convErr(KindArguments, "the format of a Binary is one of %%b, %%B, %%u, %%s and %%r, not %s", clip(Inspect(format)))
}

// pairs reports whether v is an array of pairs. If tree is set, the first
// element of each pair must be an array.
func pairs(v Value, tree bool) bool {
	a, ok := v.(*Array)
	if !ok || a.Len() == 0 {
		return false
	}
	for _, e := range a.All() {
		p, ok := e.(*Array)
		if !ok || p.Len() != 2 {
			return false
		}
		if tree {
			if _, ok := p.At(0).(*Array); !ok {
				return false
			}
		}
	}
	return true
}

func newHash(args []Value) (Value, error) {
	if err := count("Hash", args, 1, 2); err != nil {
		return nil, err
	}
	if len(args) == 2 {
		option, _ := args[1].(String)
		if option != "tree" && option != "hash_tree" || !pairs(args[0], true) {
			return nil, misfit("Hash", args, "an Array of paths and values, with tree or hash_tree")
		}
		return hashOfTree(args[0].(*Array), option == "hash_tree")
	}
	if pairs(args[0], false) {
		return hashOfPairs(args[0].(*Array)), nil
	}
	switch v := args[0].(type) {
	case *Hash:
		return v, nil
	case *Array:
		return hashOfList(v.Elems())
	}
	elems, ok, err := Elements(args[0])
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, convErr(KindValue, "%s cannot be converted to Hash", article(args[0]))
	case len(elems) == 1:
		return hashOfOne(elems[0])
	}
	return hashOfList(elems)
}

func hashOfPairs(a *Array) *Hash {
	var b HashBuilder
	for _, e := range a.All() {
		p := e.(*Array)
		b.Put(p.At(0), p.At(1))
	}
	return b.Build()
}

// hashOfList makes a hash from alternating keys and values.
func hashOfList(elems []Value) (Value, error) {
	if len(elems)%2 != 0 {
		return nil, convErr(KindValue, "a Hash cannot be made of %d values, which is an odd number", len(elems))
	}
	var b HashBuilder
	for i := 0; i < len(elems); i += 2 {
		b.Put(elems[i], elems[i+1])
	}
	return b.Build(), nil
}

// hashOfOne makes a hash from the only value of an iteration: a hash, or an
// array of pairs, in which values can be missing.
func hashOfOne(v Value) (Value, error) {
	switch v := v.(type) {
	case *Hash:
		return v, nil
	case *Array:
		var b HashBuilder
		for _, e := range v.All() {
			p, ok := e.(*Array)
			if !ok || p.Len() < 1 || p.Len() > 2 {
				return nil, convErr(KindValue, "a Hash cannot be made of %s", article(e))
			}
			value := Value(Undef{})
			if p.Len() == 2 {
				value = p.At(1)
			}
			b.Put(p.At(0), value)
		}
		return b.Build(), nil
	}
	return nil, convErr(KindValue, "a Hash cannot be made of one value, which is an odd number")
}

// A treeNode is an array or a hash that is not complete yet.
type treeNode struct {
	isArray bool
	keys    HashBuilder // of a hash: the index of each key
	names   []Value
	elems   []any // Value or *treeNode
}

// node returns v as a treeNode, or nil if v is not a collection.
func node(v Value) *treeNode {
	switch v := v.(type) {
	case *Array:
		n := &treeNode{isArray: true}
		for _, e := range v.All() {
			n.elems = append(n.elems, e)
		}
		return n
	case *Hash:
		n := &treeNode{}
		for k, e := range v.All() {
			n.set(k, e)
		}
		return n
	}
	return nil
}

// set sets an element. If the key is not a valid index of an array, ok is
// false.
func (n *treeNode) set(key Value, v any) (ok bool) {
	if !n.isArray {
		if i, ok := n.keys.Get(key); ok {
			n.elems[i.(Int)] = v
			return true
		}
		n.keys.Put(key, Int(len(n.elems)))
		n.names = append(n.names, key)
		n.elems = append(n.elems, v)
		return true
	}
	i, ok := key.(Int)
	if i < 0 {
		i += Int(len(n.elems))
	}
	if !ok || i < 0 || i >= maxElements {
		return false
	}
	for int(i) >= len(n.elems) {
		n.elems = append(n.elems, Value(Undef{}))
	}
	n.elems[i] = v
	return true
}

// child returns the node at a key. In a hash it makes the node if it does not
// exist.
func (n *treeNode) child(key Value) *treeNode {
	at := -1
	if n.isArray {
		i, ok := key.(Int)
		if i < 0 {
			i += Int(len(n.elems))
		}
		if ok && i >= 0 && i < Int(len(n.elems)) {
			at = int(i)
		}
	} else if i, ok := n.keys.Get(key); ok {
		at = int(i.(Int))
	} else {
		c := &treeNode{}
		n.set(key, c)
		return c
	}
	if at < 0 {
		return nil
	}
	switch e := n.elems[at].(type) {
	case *treeNode:
		return e
	case Value:
		if c := node(e); c != nil {
			n.elems[at] = c
			return c
		}
	}
	return nil
}

// build returns the finished value.
func (n *treeNode) build() Value {
	elems := make([]Value, len(n.elems))
	for i, e := range n.elems {
		switch e := e.(type) {
		case *treeNode:
			elems[i] = e.build()
		case Value:
			elems[i] = e
		}
	}
	if n.isArray {
		return NewArray(elems...)
	}
	var b HashBuilder
	for i, k := range n.names {
		b.Put(k, elems[i])
	}
	return b.Build()
}

// hashOfTree puts values at the ends of paths. If hashes is set, it converts
// arrays to hashes by index.
func hashOfTree(a *Array, hashes bool) (Value, error) {
	root := &treeNode{}
	for _, e := range a.All() {
		path, v := e.(*Array).At(0).(*Array), e.(*Array).At(1)
		if path.Len() > MaxDepth {
			return nil, convErr(KindLimit, "a path of %d keys is too long", path.Len())
		}
		if path.Len() == 0 {
			if err := root.merge(v); err != nil {
				return nil, err
			}
			continue
		}
		n := root
		for _, key := range path.Elems()[:path.Len()-1] {
			if n = n.child(key); n == nil {
				break
			}
		}
		if hashes {
			v = arraysAsHashes(v)
		}
		if n == nil || !n.set(path.At(path.Len()-1), v) {
			return nil, convErr(KindValue, "the path %s leads through a value that is not a collection", clip(Inspect(path)))
		}
	}
	return root.build(), nil
}

// merge adds the elements of a collection to the root.
func (n *treeNode) merge(v Value) error {
	from := node(v)
	if from == nil {
		return convErr(KindValue, "%s cannot be the root of a Hash", article(v))
	}
	for i, e := range from.elems {
		if from.isArray {
			n.set(Int(i), e)
		} else {
			n.set(from.names[i], e)
		}
	}
	return nil
}

// arraysAsHashes converts an array and the arrays in it to hashes by index.
func arraysAsHashes(v Value) Value {
	a, ok := v.(*Array)
	if !ok {
		return v
	}
	var b HashBuilder
	for i, e := range slices.All(a.Elems()) {
		b.Put(Int(i), arraysAsHashes(e))
	}
	return b.Build()
}
