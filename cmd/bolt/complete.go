package main

import (
	"context"

	"bolt/cli"
)

// completes returns a Completer that calls f with the parts of the invocation for the flags of an incomplete
// command line. If the configuration has errors, there are no completions.
func completes[V any](s system, parts func(a *app) V, f func(v V, ctx context.Context, q cli.Query) cli.Completions) cli.Completer {
	return func(ctx context.Context, q cli.Query) cli.Completions {
		a, err := openApp(ctx, s, s.flags(), q.Given, quiet)
		if err != nil {
			return cli.Completions{}
		}
		defer a.close()
		return f(parts(a), ctx, q)
	}
}
