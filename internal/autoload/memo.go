package autoload

import (
	"errors"
	"sync"
)

// maxMisses is how many keys a memo remembers that nothing was found for.
// Programs can make up names without end.
const maxMisses = 4096

// A memo keeps what was found for keys. Each is searched for once, also when
// many goroutines ask at the same time; one that nothing was found for is
// forgotten after so many others, and searched for again.
type memo[K comparable, V any] struct {
	entries sync.Map // K → *entry[V]

	mu     sync.Mutex // guards what follows
	misses []K        // a ring
	oldest int        // of a ring that is full
}

type entry[V any] struct {
	once sync.Once
	v    V
	err  error
}

// get returns what find finds. found tells whether that is to be kept for good.
func (m *memo[K, V]) get(key K, find func() (v V, found bool, err error)) (V, error) {
	v, ok := m.entries.Load(key)
	if !ok {
		v, _ = m.entries.LoadOrStore(key, new(entry[V]))
	}
	e := v.(*entry[V])
	e.once.Do(func() {
		found := false
		defer func() {
			if !found {
				m.miss(key)
			}
		}()
		// What stands if find panics: who comes next must not take it for
		// nothing found.
		e.err = errors.New("the search ended with an internal error")
		e.v, found, e.err = find()
	})
	return e.v, e.err
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
