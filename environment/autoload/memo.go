package autoload

import (
	"context"
	"errors"
	"sync"
)

// maxMisses is how many keys a memo remembers that nothing was found for.
// Programs can make up names without end.
const maxMisses = 4096

// A memo keeps what was found for keys. Each is searched for once, also when
// many goroutines ask at the same time; one that nothing was found for is
// forgotten after so many others, and searched for again. So is one whose
// search was ended by its context: that is no answer for others.
type memo[K comparable, V any] struct {
	entries sync.Map // K → *entry[V]

	mu     sync.Mutex // guards the fields below
	misses []K        // a ring
	oldest int        // of a ring that is full
}

// An entry is a search. What is below done is read after that was closed.
type entry[V any] struct {
	done  chan struct{}
	v     V
	err   error
	ended bool // by its context; the entry is no longer the memo's
}

// get returns what find finds. found tells whether that is to be kept for good.
func (m *memo[K, V]) get(ctx context.Context, key K, find func() (v V, found bool, err error)) (V, error) {
	for {
		e, mine := m.entry(key)
		if mine {
			m.search(ctx, key, e, find)
			return e.v, e.err
		}
		select {
		case <-e.done:
		default:
			select {
			case <-e.done:
			case <-ctx.Done():
				var none V
				return none, context.Cause(ctx)
			}
		}
		if !e.ended {
			return e.v, e.err
		}
	}
}

// entry returns the entry of a key; mine tells that the caller has to search.
func (m *memo[K, V]) entry(key K) (e *entry[V], mine bool) {
	v, ok := m.entries.Load(key)
	if !ok {
		v, ok = m.entries.LoadOrStore(key, &entry[V]{done: make(chan struct{})})
	}
	return v.(*entry[V]), !ok
}

func (m *memo[K, V]) search(ctx context.Context, key K, e *entry[V], find func() (V, bool, error)) {
	found := false
	defer func() {
		switch {
		case found:
		case e.ended:
			m.entries.CompareAndDelete(key, e)
		default:
			m.miss(key)
		}
		close(e.done)
	}()
	// What stands if find panics: who comes next must not take it for nothing
	// found.
	e.err = errors.New("the search ended with an internal error")
	e.v, found, e.err = find()
	e.ended = e.err != nil && ctx.Err() != nil
	found = found && !e.ended
}

// miss notes that nothing was found for a key, and forgets the oldest of such.
func (m *memo[K, V]) miss(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.misses) < maxMisses {
		m.misses = append(m.misses, key)
		return
	}
	m.entries.Delete(m.misses[m.oldest])
	m.misses[m.oldest] = key
	m.oldest = (m.oldest + 1) % maxMisses
}
