package client

import (
	"context"
	"sync"
)

// flights shares work among those who want the same done at the same time.
type flights[K comparable, T any] struct {
	mu sync.Mutex
	m  map[K]*flight[T]
}

// A flight is work that is being done by the first who wanted it.
type flight[T any] struct {
	done   chan struct{}
	value  T
	err    error
	gaveUp bool // it was the first one's own end, and says nothing to the others
}

// do returns what work returned, to all who ask for key while it is being
// done. work runs in the caller's goroutine, for its ctx; when that has ended,
// the next one begins anew. Nothing is kept.
func (f *flights[K, T]) do(ctx context.Context, key K, work func() (T, error)) (T, error) {
	for {
		f.mu.Lock()
		fl := f.m[key]
		if fl == nil {
			fl = &flight[T]{done: make(chan struct{}), gaveUp: true}
			if f.m == nil {
				f.m = make(map[K]*flight[T])
			}
			f.m[key] = fl
			f.mu.Unlock()
			return f.lead(ctx, key, fl, work)
		}
		f.mu.Unlock()
		select {
		case <-fl.done:
			if !fl.gaveUp {
				return fl.value, fl.err
			}
		case <-ctx.Done():
			var none T
			return none, context.Cause(ctx)
		}
	}
}

func (f *flights[K, T]) lead(ctx context.Context, key K, fl *flight[T], work func() (T, error)) (T, error) {
	defer func() { // also if work panics
		f.mu.Lock()
		delete(f.m, key)
		f.mu.Unlock()
		close(fl.done)
	}()
	fl.value, fl.err = work()
	fl.gaveUp = fl.err != nil && ctx.Err() != nil
	return fl.value, fl.err
}
