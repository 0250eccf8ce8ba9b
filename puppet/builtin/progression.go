package builtin

import (
	"iter"

	"bolt/puppet/value"
)

// A progression is a sequence of numbers at equal distances. Ranges can be too
// large to iterate over, so every n-th number is computed directly. step and
// reverse_each of a progression return a progression.
type progression struct {
	first int64
	by    uint64 // the distance
	down  bool
	more  uint64 // number of elements after the first
	none  bool   // the progression is empty
}

// progressionOf returns the numbers of an iteration over v, if they are at
// equal distances.
func progressionOf(v value.Value) (p progression, ok bool) {
	switch v := v.(type) {
	case value.Int:
		return upTo(0, int64(v)-1), v >= 0
	case *value.IntegerType:
		return upTo(v.Min, v.Max), v.HasMin && v.HasMax
	case *value.Iterator:
		p, ok = v.Source.(progression)
		return p, ok
	case *value.AliasType:
		return progressionOf(v.Resolved())
	}
	return progression{}, false
}

// upTo returns the numbers from lo to hi.
func upTo(lo, hi int64) progression {
	if lo > hi {
		return progression{none: true}
	}
	return progression{first: lo, by: 1, more: uint64(hi) - uint64(lo)}
}

// at returns number i. All numbers fit in 64 bits, so overflows in the
// computation have no effect.
func (p progression) at(i uint64) int64 {
	if p.down {
		return int64(uint64(p.first) - i*p.by)
	}
	return int64(uint64(p.first) + i*p.by)
}

// every returns every n-th number.
func (p progression) every(n uint64) progression {
	p.more /= n
	p.by *= n // overflows only if there is only one number
	return p
}

// reversed returns the numbers from the last to the first.
func (p progression) reversed() progression {
	p.first, p.down = p.at(p.more), !p.down
	return p
}

func (p progression) items() iter.Seq[item] {
	return func(yield func(item) bool) {
		for i := uint64(0); !p.none; i++ {
			if !yield(item{val: value.Int(p.at(i))}) || i == p.more {
				return
			}
		}
	}
}
