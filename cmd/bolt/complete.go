package main

import (
	"context"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/output/listing"
)

// completes returns a Completer that calls f with the parts of the invocation for the flags of an incomplete
// command line. If the configuration has errors, there are no completions.
func completes[V any](s system, parts func(a *app) V, f func(v V, ctx context.Context, q cli.Query) cli.Completions) cli.Completer {
	return func(ctx context.Context, q cli.Query) cli.Completions {
		a, err := openApp(ctx, q.Given, s, quiet)
		if err != nil {
			return cli.Completions{}
		}
		defer a.close()
		return f(parts(a), ctx, q)
	}
}

// completeModules completes the names of modules.
func (a *app) completeModules(_ context.Context, q cli.Query) cli.Completions {
	var all []listing.Described
	for _, m := range a.modules.All() {
		all = append(all, listing.Described{Name: m.Name})
	}
	return acting.CompleteNames(q.Prefix, all)
}

// completePolicies completes the names of policies.
func (a *app) completePolicies(_ context.Context, q cli.Query) cli.Completions {
	names, _ := a.config.PolicyNames()
	all := make([]listing.Described, len(names))
	for i, name := range names {
		all[i] = listing.Described{Name: name}
	}
	return acting.CompleteNames(q.Prefix, all)
}
