package hiera

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"bolt/puppet/value"
)

// deepOptions are the options of a deep merge.
type deepOptions struct {
	knockout        knockout
	sort            bool
	hashArrays      bool
	overwriteArrays bool
	extend          bool
	preserve        bool
	unpack          string
	unpacks         bool
}

// A knockout is the prefix of values that removes them. As in Puppet, it is a
// regular expression that is anchored at the beginning of each line.
type knockout struct {
	set    bool
	prefix string
	re     *value.Regexp // nil: the prefix is a literal string
}

func (o *deepOptions) setKnockout(prefix string, set bool) error {
	if !set {
		return nil
	}
	if prefix == "" {
		return errorf("merge", "the merge option knockout_prefix must not be empty")
	}
	o.knockout = knockout{set: true, prefix: prefix}
	if strings.ContainsAny(prefix, `\.+*?()|[]{}^$/`) {
		re, err := value.NewRegexp("^" + prefix)
		if err != nil {
			return errorf("merge", "the merge option knockout_prefix is used as a regular expression, and '%s' is none: %v", prefix, err)
		}
		o.knockout.re = re
	}
	return nil
}

// strip removes the prefix from each line of s.
func (k *knockout) strip(s string) (string, error) {
	if k.re == nil {
		if !strings.Contains(s, k.prefix) {
			return s, nil
		}
		lines := strings.SplitAfter(s, "\n")
		for i, line := range lines {
			lines[i] = strings.TrimPrefix(line, k.prefix)
		}
		return strings.Join(lines, ""), nil
	}
	lines := strings.SplitAfter(s, "\n")
	for i, line := range lines {
		groups, ok, err := k.re.Match(line)
		if err != nil {
			return "", errorf("merge", "knockout_prefix: %v", err)
		}
		if ok {
			lines[i] = strings.TrimPrefix(line, value.ToString(groups[0]))
		}
	}
	return strings.Join(lines, ""), nil
}

// A cell is a value during a merge. The algorithm is that of the Ruby library
// deep_merge. It changes arrays and hashes during the merge, and the source and
// the destination can be the same object. Therefore arrays and hashes are
// shared and changed here, too, so that the results are identical.
type cell any // a value.Value that is not a collection, *cellArray or *cellHash

type cellArray struct{ elems []cell }

type cellHash struct {
	keys  []value.Value
	cells []cell
	index value.HashBuilder // from key to index, if there are many keys
}

// indexFrom is the smallest number of keys for which an index is faster.
const indexFrom = 12

func newCellHash(n int) *cellHash {
	return &cellHash{keys: make([]value.Value, 0, n), cells: make([]cell, 0, n)}
}

// find returns the index of a key, or -1.
func (h *cellHash) find(k value.Value) int {
	if h.index.Len() > 0 {
		if i, ok := h.index.Get(k); ok {
			return int(i.(value.Int))
		}
		return -1
	}
	for i, have := range h.keys {
		if value.Same(have, k) {
			return i
		}
	}
	return -1
}

func (h *cellHash) get(k value.Value) cell {
	if i := h.find(k); i >= 0 {
		return h.cells[i]
	}
	return nil
}

func (h *cellHash) set(k value.Value, c cell) {
	if i := h.find(k); i >= 0 {
		h.cells[i] = c
		return
	}
	h.add(k, c)
}

// add adds a new key.
func (h *cellHash) add(k value.Value, c cell) {
	h.keys, h.cells = append(h.keys, k), append(h.cells, c)
	switch n := len(h.keys); {
	case n < indexFrom:
	case n == indexFrom:
		for i, k := range h.keys {
			h.index.Put(k, value.Int(i))
		}
	default:
		h.index.Put(k, value.Int(n-1))
	}
}

func thaw(v value.Value) cell {
	switch v := v.(type) {
	case *value.Array:
		a := &cellArray{make([]cell, v.Len())}
		for i, e := range v.All() {
			a.elems[i] = thaw(e)
		}
		return a
	case *value.Hash:
		h := newCellHash(v.Len())
		for k, e := range v.All() {
			h.add(k, thaw(e))
		}
		return h
	}
	return v
}

func freeze(c cell) value.Value {
	switch c := c.(type) {
	case *cellArray:
		elems := make([]value.Value, len(c.elems))
		for i, e := range c.elems {
			elems[i] = freeze(e)
		}
		return value.NewArray(elems...)
	case *cellHash:
		entries := make([]value.Entry, len(c.keys))
		for i, k := range c.keys {
			entries[i] = value.Entry{Key: k, Value: freeze(c.cells[i])}
		}
		return value.NewHash(entries...)
	case value.Value:
		return c
	}
	return value.Undef{}
}

// merge merges source, which has the higher priority, into dest.
func (o *deepOptions) merge(source, dest value.Value) (value.Value, error) {
	c, err := o.mergeCells(thaw(source), thaw(dest))
	if err != nil {
		return nil, err
	}
	return freeze(c), nil
}

// falsy reports whether Ruby treats c as false.
func falsy(c cell) bool {
	switch c := c.(type) {
	case nil, value.Undef:
		return true
	case value.Bool:
		return !bool(c)
	}
	return false
}

func isUndef(c cell) bool {
	_, undef := c.(value.Undef)
	return c == nil || undef
}

func (o *deepOptions) mergeCells(source, dest cell) (cell, error) {
	if isUndef(source) {
		return dest, nil
	}
	if falsy(dest) && !o.preserve {
		return source, nil
	}
	switch src := source.(type) {
	case *cellHash:
		return o.mergeHash(src, dest)
	case *cellArray:
		return o.mergeArray(src, dest)
	}
	if d, ok := dest.(*cellArray); ok && o.extend {
		d.elems = append(d.elems, source)
		return d, nil
	}
	return o.overwrite(source, dest)
}

func (o *deepOptions) mergeHash(src *cellHash, dest cell) (cell, error) {
	for i := range len(src.keys) { // the present keys: dest can be the same hash
		k, v := src.keys[i], src.cells[i]
		switch d := dest.(type) {
		case *cellHash:
			old := d.get(k)
			if falsy(old) {
				// A new value is merged into a copy of itself, so that knocked
				// out elements are removed.
				old = shallow(v)
			}
			merged, err := o.mergeCells(v, old)
			if err != nil {
				return nil, err
			}
			d.set(k, merged)
			continue
		case *cellArray:
			if o.extend {
				d.elems = append(d.elems, src)
				continue
			}
		}
		if !o.preserve {
			over, err := o.overwrite(src, dest)
			if err != nil {
				return nil, err
			}
			dest = over
		}
	}
	return dest, nil
}

// shallow copies the top level of a collection.
func shallow(c cell) cell {
	switch c := c.(type) {
	case *cellArray:
		return &cellArray{slices.Clone(c.elems)}
	case *cellHash:
		h := newCellHash(len(c.keys))
		for i, k := range c.keys {
			h.add(k, c.cells[i])
		}
		return h
	}
	return c
}

func (o *deepOptions) mergeArray(src *cellArray, dest cell) (cell, error) {
	if o.overwriteArrays {
		return src, nil
	}
	if o.unpacks {
		src = o.unpackArray(src)
		if d, ok := dest.(*cellArray); ok {
			dest = o.unpackArray(d)
		}
	}
	if o.knockout.set && slices.ContainsFunc(src.elems, o.bare) {
		switch d := dest.(type) {
		case *cellArray:
			d.elems = nil
		case *cellHash:
			*d = cellHash{}
		case value.String:
			dest = value.String("")
		default:
			dest = value.Undef{}
		}
		src.elems = slices.DeleteFunc(src.elems, o.bare)
	}
	d, ok := dest.(*cellArray)
	if !ok {
		if o.preserve {
			return dest, nil
		}
		return o.overwrite(src, dest)
	}
	if o.knockout.set {
		if err := o.knockOut(src, d); err != nil {
			return nil, err
		}
	}
	var out *cellArray
	if o.hashArrays && allHashes(src) && allHashes(d) {
		out = &cellArray{}
		for i := range d.elems {
			var s cell = &cellHash{}
			if i < len(src.elems) {
				s = src.elems[i]
			}
			merged, err := o.mergeCells(s, d.elems[i])
			if err != nil {
				return nil, err
			}
			out.elems = append(out.elems, merged)
		}
		if len(src.elems) > len(d.elems) {
			out.elems = append(out.elems, src.elems[len(d.elems):]...)
		}
	} else {
		out = union(d, src)
	}
	if o.sort {
		if err := sortCells(out.elems); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (o *deepOptions) bare(c cell) bool {
	s, ok := c.(value.String)
	return ok && string(s) == o.knockout.prefix
}

// knockOut removes the marked elements of src, and the elements that they mark
// from dest. Both can be the same array. Then, as in Ruby's delete_if, each
// removal moves the elements that are not visited yet.
func (o *deepOptions) knockOut(src, dest *cellArray) error {
	seen, kept := 0, 0
	for ; seen < len(src.elems); seen++ {
		e := src.elems[seen]
		s, ok := e.(value.String)
		if ok {
			plain, err := o.knockout.strip(string(s))
			if err != nil {
				return err
			}
			if plain != string(s) {
				remove(dest, value.String(plain))
				remove(dest, s)
				continue
			}
		}
		if seen != kept {
			for len(src.elems) <= kept {
				src.elems = append(src.elems, value.Undef{})
			}
			src.elems[kept] = e
		}
		kept++
	}
	if n := len(src.elems); kept < n && kept < seen {
		var tail []cell
		if seen < n {
			tail = slices.Clone(src.elems[seen:])
		}
		src.elems = append(src.elems[:kept], tail...)
	}
	return nil
}

func remove(a *cellArray, v value.Value) {
	a.elems = slices.DeleteFunc(slices.Clone(a.elems), func(c cell) bool {
		w, ok := c.(value.Value)
		return ok && value.Same(w, v)
	})
}

func allHashes(a *cellArray) bool {
	return !slices.ContainsFunc(a.elems, func(c cell) bool {
		_, ok := c.(*cellHash)
		return !ok
	})
}

// union returns the elements of both arrays without duplicates.
func union(a, b *cellArray) *cellArray {
	out := &cellArray{}
	seen := make([]value.Value, 0, len(a.elems)+len(b.elems))
	var large value.HashBuilder
	for _, list := range [][]cell{a.elems, b.elems} {
		for _, c := range list {
			v := freeze(c)
			if len(seen) < 16 {
				if slices.ContainsFunc(seen, func(s value.Value) bool { return value.Same(s, v) }) {
					continue
				}
			} else {
				if large.Len() == 0 {
					for _, s := range seen {
						large.Put(s, value.Undef{})
					}
				}
				if _, is := large.Get(v); is {
					continue
				}
				large.Put(v, value.Undef{})
			}
			seen = append(seen, v)
			out.elems = append(out.elems, c)
		}
	}
	return out
}

// overwrite replaces dest with source. If the source is knocked out, the result
// is an empty string.
func (o *deepOptions) overwrite(source, dest cell) (cell, error) {
	if o.preserve {
		return dest, nil
	}
	if !o.knockout.set {
		return source, nil
	}
	switch s := source.(type) {
	case value.String:
		plain, err := o.knockout.strip(string(s))
		if err != nil {
			return nil, err
		}
		if plain != string(s) {
			return value.String(""), nil
		}
	case *cellArray:
		s.elems = slices.DeleteFunc(s.elems, func(c cell) bool {
			e, ok := c.(value.String)
			if !ok {
				return false
			}
			plain, err := o.knockout.strip(string(e))
			return err == nil && plain != string(e)
		})
	}
	return source, nil
}

// unpackArray joins an array with the separator and splits it again.
func (o *deepOptions) unpackArray(a *cellArray) *cellArray {
	var parts []string
	for _, v := range flatten(nil, freeze(a)) {
		parts = append(parts, text(v))
	}
	all := strings.Split(strings.Join(parts, o.unpack), o.unpack)
	for len(all) > 0 && all[len(all)-1] == "" { // as in Ruby's split
		all = all[:len(all)-1]
	}
	out := &cellArray{}
	for _, s := range all {
		out.elems = append(out.elems, value.String(s))
	}
	return out
}

// sortCells sorts in the order of Ruby's <=>: strings by bytes, numbers by
// value, arrays by their elements. Other values and mixtures do not have an
// order.
func sortCells(cells []cell) error {
	var failed error
	slices.SortStableFunc(cells, func(a, b cell) int {
		n, ok := compare(freeze(a), freeze(b))
		if !ok && failed == nil {
			failed = errorf("merge", "sort_merged_arrays: %s and %s have no order", typeName(freeze(a)), typeName(freeze(b)))
		}
		return n
	})
	return failed
}

func compare(a, b value.Value) (int, bool) {
	switch x := a.(type) {
	case value.String:
		if y, ok := b.(value.String); ok {
			return cmp.Compare(x, y), true
		}
	case value.Int:
		switch y := b.(type) {
		case value.Int:
			return cmp.Compare(x, y), true
		case value.Float:
			return cmp.Compare(float64(x), float64(y)), !math.IsNaN(float64(y))
		}
	case value.Float:
		switch y := b.(type) {
		case value.Int:
			return cmp.Compare(float64(x), float64(y)), !math.IsNaN(float64(x))
		case value.Float:
			return cmp.Compare(x, y), !math.IsNaN(float64(x)) && !math.IsNaN(float64(y))
		}
	case *value.Array:
		y, ok := b.(*value.Array)
		if !ok {
			return 0, false
		}
		for i := range min(x.Len(), y.Len()) {
			if n, ok := compare(x.At(i), y.At(i)); !ok || n != 0 {
				return n, ok
			}
		}
		return cmp.Compare(x.Len(), y.Len()), true
	}
	return 0, value.Same(a, b)
}
