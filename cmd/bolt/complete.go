package main

import (
	"context"
	"fmt"
	"path"
	"slices"

	"bolt/cli"
	"bolt/output/listing"
	"bolt/plans"
	"bolt/plans/runs"
)

// opened calls f with an app for the flags of an incomplete command line. If the
// configuration has errors, there are no completions.
func (s system) opened(f func(ctx context.Context, a *app, q cli.Query) cli.Completions) cli.Completer {
	return func(ctx context.Context, q cli.Query) cli.Completions {
		a, err := openApp(ctx, q.Given, s, quiet)
		if err != nil {
			return cli.Completions{}
		}
		defer a.close()
		return f(ctx, a, q)
	}
}

// completeTargets completes a list of targets.
func completeTargets(ctx context.Context, a *app, q cli.Query) cli.Completions {
	return a.sources.Complete(ctx, q.Prefix)
}

// names completes names with their descriptions. If they cannot be listed, there are no
// completions.
func (s system) names(list func(ctx context.Context, a *app) ([]listing.Described, error)) cli.Completer {
	return s.opened(func(ctx context.Context, a *app, q cli.Query) cli.Completions {
		all, _ := list(ctx, a)
		words := make([]cli.Word, len(all))
		for i, d := range all {
			words[i] = cli.Word{Text: d.Name, About: d.Description}
		}
		return cli.Named(words, q.Prefix)
	})
}

func publicTasks(ctx context.Context, a *app) ([]listing.Described, error) {
	list, err := a.tasks.List(ctx)
	return listing.PublicTasks(list), err
}

func publicPlans(ctx context.Context, a *app) ([]listing.Described, error) {
	list, err := a.plans.List(ctx)
	return listing.PublicPlans(list), err
}

// yamlPlans returns the plans that can be converted.
func yamlPlans(ctx context.Context, a *app) ([]listing.Described, error) {
	list, err := a.plans.List(ctx)
	list = slices.DeleteFunc(list, func(p plans.Summary) bool { return path.Ext(p.File) != ".yaml" })
	return listing.Plans(list), err
}

func allModules(_ context.Context, a *app) ([]listing.Described, error) {
	var all []listing.Described
	for _, m := range a.modules.All() {
		all = append(all, listing.Described{Name: m.Name})
	}
	return all, nil
}

func policyNames(_ context.Context, a *app) ([]listing.Described, error) {
	names, err := a.config.PolicyNames()
	all := make([]listing.Described, len(names))
	for i, name := range names {
		all[i] = listing.Described{Name: name}
	}
	return all, err
}

func taskParameters(ctx context.Context, a *app, name string) (list []cli.Parameter) {
	t, err := a.tasks.Find(ctx, name)
	if err != nil {
		return nil
	}
	for i := range t.Parameters {
		p := &t.Parameters[i]
		list = append(list, cli.Parameter{Name: p.Name, About: p.Description, Choices: p.Choices()})
	}
	return list
}

func planParameters(ctx context.Context, a *app, name string) (list []cli.Parameter) {
	t, err := a.plans.Find(ctx, name)
	if err != nil {
		return nil
	}
	for i := range t.Parameters {
		p := &t.Parameters[i]
		list = append(list, cli.Parameter{Name: p.Name, About: p.Description, Choices: p.Choices()})
	}
	return list
}

// parameters completes the parameters of the task or plan in the first argument.
func (s system) parameters(of func(ctx context.Context, a *app, name string) []cli.Parameter) cli.Completer {
	return s.opened(func(ctx context.Context, a *app, q cli.Query) cli.Completions {
		return cli.Assignments(of(ctx, a, q.Args[0]), q.Args[1:], q.Prefix)
	})
}

// completeRuns completes the names of runs that can be resumed.
func completeRuns(_ context.Context, a *app, _ cli.Query) cli.Completions {
	c := cli.Completions{InOrder: true, Words: []cli.Word{{Text: runs.Last, About: "the last one that was cut off"}}}
	for _, s := range a.runs().Resumable() {
		c.Words = append(c.Words, cli.Word{Text: s.ID, About: fmt.Sprintf("%s, %s", s.Plan, s.State)})
	}
	return c
}
