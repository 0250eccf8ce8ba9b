// Package inorder works on the elements of a list at the same time, and yields the results
// in the order of the list.
package inorder

import (
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
)

// Each yields f of each element, in order. It runs as many calls at a time
// as there are processors, and holds only a few finished results.
func Each[T, R any](list []T, f func(T) R) iter.Seq[R] {
	return func(yield func(R) bool) {
		workers := min(runtime.GOMAXPROCS(0), len(list))
		results := make([]chan R, len(list))
		for i := range results {
			results[i] = make(chan R, 1)
		}
		// ahead bounds the elements that are begun and not yet taken, so a slow reader
		// slows the work.
		ahead := make(chan struct{}, 4*workers)
		var next atomic.Int64
		var all sync.WaitGroup
		done := make(chan struct{})
		defer all.Wait()
		defer close(done)
		for range workers {
			all.Go(func() {
				for {
					select {
					case ahead <- struct{}{}:
					case <-done:
						return
					}
					i := int(next.Add(1)) - 1
					if i >= len(list) {
						return
					}
					results[i] <- f(list[i])
				}
			})
		}
		for _, r := range results {
			v := <-r
			<-ahead
			if !yield(v) {
				return
			}
		}
	}
}
