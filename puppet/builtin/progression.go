package builtin

import (
	"iter"

	"bolt/puppet/value"
)

// A progression is numbers at equal distances. Ranges can have more of them
// than anybody could go through, so every n-th one is computed, not counted
// out, and what step and reverse_each make of one is one again.
type progression struct {
	first int64
	by    uint64 // the distance
	down  bool
	more  uint64 // how many follow the first
	none  bool   // there is not even a first
}

// progressionOf returns the numbers that a value goes through, if it is numbers
// at equal distances that it does.
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

// upTo is the numbers from lo to hi.
func upTo(lo, hi int64) progression {
	if lo > hi {
		return progression{none: true}
	}
	return progression{first: lo, by: 1, more: uint64(hi) - uint64(lo)}
}

// at is the i-th number. All are within 64 bits, so it does no harm that what
// is computed on the way wraps around.
func (p progression) at(i uint64) int64 {
	if p.down {
		return int64(uint64(p.first) - i*p.by)
	}
	return int64(uint64(p.first) + i*p.by)
}

// every is each n-th number.
func (p progression) every(n uint64) progression {
	p.more /= n
	p.by *= n // which wraps around only if nothing follows the first
	return p
}

// reversed is the numbers from the last to the first.
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
