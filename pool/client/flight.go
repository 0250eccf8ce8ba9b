package client

import (
	"context"
	"sync"
)

// flights shares the result of work among concurrent callers with the same key.
type flights[K comparable, T any] struct {
	mu sync.Mutex
	m  map[K]*flight[T]
}

// A flight is work that the first caller is doing.
type flight[T any] struct {
	done   chan struct{}
	value  T
	err    error
	gaveUp bool // the first caller's ctx ended, so the others must try again
}

// do returns the result of work to all callers that ask for key while work
// runs. work runs in the first caller's goroutine, under its ctx. If that ctx
// ends, the next caller begins anew. Results are not cached.
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
