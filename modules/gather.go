package modules

import (
	"context"
	"slices"
	"sync"
)

// readers is the number of modules that are read at the same time.
const readers = 8

// Gather returns the results of list for each module, in order. It calls list
// from several goroutines. It returns an error only if ctx is done.
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
