package value

import "iter"

// An Iterator yields values one by one and can be asked for them again and
// again.
type Iterator struct {
	Elem Type // of what it yields; nil if unknown
	// Pairs: it yields entries of a hash, as arrays of two.
	Pairs bool
	// Source is for the use of whoever made it: what it goes through. nil: its
	// values tell nothing of each other.
	Source any
	seq    iter.Seq[Value]
}

// NewIterator returns an iterator over seq, which must yield the same each time
// it is asked.
func NewIterator(elem Type, seq iter.Seq[Value]) *Iterator {
	return &Iterator{Elem: elem, seq: seq}
}

// All returns what the iterator yields.
func (it *Iterator) All() iter.Seq[Value] { return it.seq }
