package audit

import (
	"iter"
	"math/bits"
)

// A set has numbers of parts.
type set []uint64

func (s *set) add(n int) {
	for n/64 >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[n/64] |= 1 << (n % 64)
}

func (s *set) merge(other set) {
	for len(*s) < len(other) {
		*s = append(*s, 0)
	}
	for i, word := range other {
		(*s)[i] |= word
	}
}

func (s set) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(i*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// A reach finds the parts that bodies reach. Each body is read once, because all bodies of a cycle reach the same parts:
// these bodies are a strongly connected component, which is found by the algorithm of Tarjan (Depth-first search and
// linear graph algorithms, 1972).
type reach struct {
	parts   []*Part
	numbers map[*Part]int
	visits  map[*body]*visit
	stack   []*visit // of the bodies whose component is not complete
}

// A visit has the facts that are known about a body.
type visit struct {
	order, low int // low is the order of the first body on the stack that the body is known to reach
	open       bool
	set        set // shared by the bodies of a component when open is false
}

func newReach() *reach {
	return &reach{numbers: make(map[*Part]int), visits: make(map[*body]*visit)}
}

// of returns the numbers of the parts of a body and of everything that it reaches. They are indexes of r.parts.
func (r *reach) of(b *body) set {
	v := r.visits[b]
	if v == nil {
		v = r.visit(b)
	}
	return v.set
}

func (r *reach) visit(b *body) *visit {
	v := &visit{order: len(r.visits), low: len(r.visits), open: true}
	r.visits[b] = v
	from := len(r.stack)
	r.stack = append(r.stack, v)
	for _, f := range b.parts {
		n, known := r.numbers[f.part]
		if !known {
			n = len(r.parts)
			r.numbers[f.part] = n
			r.parts = append(r.parts, f.part)
		}
		v.set.add(n)
	}
	for _, d := range b.deps {
		w := r.visits[d]
		if w == nil {
			w = r.visit(d)
		}
		if w.open {
			v.low = min(v.low, w.low)
		} else {
			v.set.merge(w.set)
		}
	}
	if v.low < v.order {
		return v
	}
	for _, w := range r.stack[from+1:] {
		v.set.merge(w.set)
	}
	for _, w := range r.stack[from:] {
		w.set, w.open = v.set, false
	}
	r.stack = r.stack[:from]
	return v
}
