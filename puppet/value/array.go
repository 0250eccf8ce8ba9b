package value

import (
	"iter"
	"slices"
)

// An Array is a list of values. It is immutable.
type Array struct {
	elems []Value
	shape
}

// emptyArray is used for all empty arrays, to save the allocation.
var emptyArray = &Array{shape: shape{1, 1}}

// NewArray returns the array of elems and keeps the slice.
func NewArray(elems ...Value) *Array {
	if len(elems) == 0 {
		return emptyArray
	}
	var s shape
	for _, v := range elems {
		s.add(v)
	}
	return &Array{elems, s.close()}
}

// Len returns the number of elements.
func (a *Array) Len() int { return len(a.elems) }

// At returns element i, which must be in range.
func (a *Array) At(i int) Value { return a.elems[i] }

// Elems returns the elements. The caller must not change the slice.
func (a *Array) Elems() []Value { return a.elems }

// Slice returns elements i to j, j not included, without copying them.
func (a *Array) Slice(i, j int) *Array { return NewArray(a.elems[i:j:j]...) }

// All returns an iterator over indexes and elements.
func (a *Array) All() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		for i, v := range a.elems {
			if !yield(i, v) {
				return
			}
		}
	}
}

// Flatten returns the values with arrays replaced by their elements, at any
// depth. If list contains no arrays, Flatten returns list itself.
func Flatten(list []Value) []Value {
	if !slices.ContainsFunc(list, isArray) {
		return list
	}
	var flat []Value
	rest := [][]Value{list} // of the outer arrays
	for len(rest) > 0 {
		last := len(rest) - 1
		if len(rest[last]) == 0 {
			rest = rest[:last]
			continue
		}
		v := rest[last][0]
		rest[last] = rest[last][1:]
		if a, ok := v.(*Array); ok {
			rest = append(rest, a.elems)
		} else {
			flat = append(flat, v)
		}
	}
	return flat
}

func isArray(v Value) bool {
	_, ok := v.(*Array)
	return ok
}
