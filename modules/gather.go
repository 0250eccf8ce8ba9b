package modules

import (
	"context"
	"slices"
	"sync"
)

// readers is how many modules are read at once.
const readers = 8

// Gather returns what list finds in each module, in their order. It reads
// several at once; list is called by as many goroutines. The error is that ctx
// is done.
func Gather[T any](ctx context.Context, all []Module, list func(Module) []T) ([]T, error) {
	found := make([][]T, len(all))
	var wg sync.WaitGroup
	turns := make(chan struct{}, readers)
	for i, m := range all {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			found[i] = list(m)
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return slices.Concat(found...), nil
}
