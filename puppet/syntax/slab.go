package syntax

// A slab allocates nodes of one type in chunks of growing size, so that a node
// does not need its own allocation. A chunk lives as long as any node in it.
type slab[T any] struct {
	free []T
	size int
}

// Chunks grow up to slabMax nodes. A short text needs only a few nodes.
const (
	slabMin = 4
	slabMax = 256
)

func (s *slab[T]) get() *T {
	if len(s.free) == 0 {
		s.grow()
	}
	p := &s.free[0]
	s.free = s.free[1:]
	return p
}

func (s *slab[T]) grow() {
	s.size = min(max(2*s.size, slabMin), slabMax)
	s.free = make([]T, s.size)
}

// A lists makes slices whose length is known only at their end. Lists can be
// nested, so elements are on a stack until their list is complete.
type lists[T any] struct {
	stack []T
	free  []T
	size  int
}

func (l *lists[T]) mark() int { return len(l.stack) }

func (l *lists[T]) push(v T) { l.stack = append(l.stack, v) }

// take returns the elements that were pushed since the mark.
func (l *lists[T]) take(mark int) []T {
	n := len(l.stack) - mark
	if n == 0 {
		return nil
	}
	if n > len(l.free) {
		l.size = min(max(2*l.size, 2*slabMin), slabMax)
		l.free = make([]T, max(n, l.size))
	}
	list := l.free[:n:n]
	l.free = l.free[n:]
	copy(list, l.stack[mark:])
	clear(l.stack[mark:])
	l.stack = l.stack[:mark]
	return list
}
