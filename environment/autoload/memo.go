package autoload

import (
	"context"
	"errors"
	"sync"
)

// maxMisses is the maximum number of keys without a result in a memo. Programs
// can use any number of names.
const maxMisses = 4096

// A memo caches the results for keys. Each key is searched once, even if many
// goroutines request it at the same time. A key without a result is removed
// after maxMisses others, and then searched again. If the context of a search
// ends, its result is not cached, because it does not apply to other callers.
type memo[K comparable, V any] struct {
	entries sync.Map // K → *entry[V]

	mu     sync.Mutex // guards the fields below
	misses []K        // a ring
	oldest int        // index of the oldest entry once the ring is full
}

// An entry is a search. The fields below done are read after done is closed.
type entry[V any] struct {
	done  chan struct{}
	v     V
	err   error
	ended bool // the context ended; the memo no longer contains the entry
}

// get returns the result of find. found reports whether the memo keeps the
// result permanently.
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

// entry returns the entry of a key; mine is set if the caller must search.
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
	// This error remains if find panics, so that the next caller does not see
	// an empty result.
	e.err = errors.New("the search ended with an internal error")
	e.v, found, e.err = find()
	e.ended = e.err != nil && ctx.Err() != nil
	found = found && !e.ended
}

// miss records that a key has no result, and removes the oldest such key.
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
