package value

import "iter"

// An Iterator yields a sequence of values. It can be used repeatedly.
type Iterator struct {
	Elem Type // type of the values; nil if unknown
	// Pairs is set if it yields the entries of a hash, as arrays of two.
	Pairs bool
	// Source is for the code that made the iterator: the value that it iterates
	// over. nil: the values are independent of each other.
	Source any
	seq    iter.Seq[Value]
}

// NewIterator returns an iterator over seq, which must yield the same values
// each time.
func NewIterator(elem Type, seq iter.Seq[Value]) *Iterator {
	return &Iterator{Elem: elem, seq: seq}
}

// All returns the values of the iterator.
func (it *Iterator) All() iter.Seq[Value] { return it.seq }
