package main

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"bolt/cli"
	"bolt/output/listing"
	"bolt/plans/runs"
)

// opened calls f with an app for the flags of a command line that is not complete.
// A configuration with mistakes completes nothing.
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

// completeTargets offers the names that the last element of a comma-separated
// list may become, after "!" or "&", too.
func completeTargets(ctx context.Context, a *app, q cli.Query) cli.Completions {
	done, last := "", q.Prefix
	if i := strings.LastIndexByte(q.Prefix, ','); i >= 0 {
		done, last = q.Prefix[:i+1], q.Prefix[i+1:]
	}
	given := strings.Split(done, ",")
	for i, n := range given {
		given[i] = strings.TrimLeft(n, "!&")
	}
	if last != "" && (last[0] == '!' || last[0] == '&') {
		done, last = done+last[:1], last[1:]
	}
	inv, err := a.inventory(ctx)
	if err != nil {
		return cli.Completions{}
	}
	c := cli.Completions{NoSpace: true}
	for _, n := range inv.Names() {
		if strings.HasPrefix(n, last) && !slices.Contains(given, n) {
			c.Words = append(c.Words, cli.Word{Text: done + n})
		}
	}
	return c
}

// A lister returns things that have names.
type lister func(ctx context.Context, a *app) ([]listing.Described, error)

// names completes the names of a list, with their descriptions. If it cannot be
// listed, there are none.
func (s system) names(list lister) cli.Completer {
	return s.opened(func(ctx context.Context, a *app, q cli.Query) cli.Completions {
		all, err := list(ctx, a)
		if err != nil {
			return cli.Completions{}
		}
		var c cli.Completions
		for _, d := range all {
			if strings.HasPrefix(d.Name, q.Prefix) {
				c.Words = append(c.Words, cli.Word{Text: d.Name, About: firstLine(d.Description)})
			}
		}
		return c
	})
}

// orFiles completes files as well.
func orFiles(complete cli.Completer) cli.Completer {
	return func(ctx context.Context, q cli.Query) cli.Completions {
		c := complete(ctx, q)
		c.Files = true
		return c
	}
}

// publicTasks are all tasks but those that are private.
func publicTasks(ctx context.Context, a *app) ([]listing.Described, error) {
	list, err := a.tasks().List(ctx)
	var public []listing.Described
	for _, t := range list {
		if !t.Private {
			public = append(public, listing.Described{Name: t.Name, Description: t.Description})
		}
	}
	return public, err
}

// publicPlans are all plans but those that are private.
func publicPlans(ctx context.Context, a *app) ([]listing.Described, error) {
	list, err := a.plans().List(ctx)
	var public []listing.Described
	for _, p := range list {
		if !p.Private {
			public = append(public, listing.Described{Name: p.Name, Description: p.Description})
		}
	}
	return public, err
}

// yamlPlans are those that can be converted.
func yamlPlans(ctx context.Context, a *app) ([]listing.Described, error) {
	list, err := a.plans().List(ctx)
	var convertible []listing.Described
	for _, p := range list {
		if path.Ext(p.File) == ".yaml" {
			convertible = append(convertible, listing.Described{Name: p.Name, Description: p.Description})
		}
	}
	return convertible, err
}

// allModules are the modules on the module path.
func allModules(_ context.Context, a *app) ([]listing.Described, error) {
	var all []listing.Described
	for _, m := range a.modules.All() {
		all = append(all, listing.Described{Name: m.Name})
	}
	return all, nil
}

// A declared is a parameter of a task or plan.
type declared interface {
	// Choices are the values that it has, if it has only some.
	Choices() []string
}

// A parameterNamed is what completion knows of one.
type parameterNamed struct {
	name, description string
	declared
}

func taskParameters(ctx context.Context, a *app, name string) []parameterNamed {
	t, err := a.tasks().Find(ctx, name)
	if err != nil {
		return nil
	}
	var list []parameterNamed
	for i := range t.Parameters {
		list = append(list, parameterNamed{t.Parameters[i].Name, t.Parameters[i].Description, &t.Parameters[i]})
	}
	return list
}

func planParameters(ctx context.Context, a *app, name string) []parameterNamed {
	p, err := a.plans().Find(ctx, name)
	if err != nil {
		return nil
	}
	var list []parameterNamed
	for i := range p.Parameters {
		list = append(list, parameterNamed{p.Parameters[i].Name, p.Parameters[i].Description, &p.Parameters[i]})
	}
	return list
}

// parameters completes the parameters of what the first argument names that are not
// given yet; behind NAME= the values that it has, if it has only some.
func (s system) parameters(of func(ctx context.Context, a *app, name string) []parameterNamed) cli.Completer {
	return s.opened(func(ctx context.Context, a *app, q cli.Query) cli.Completions {
		list := of(ctx, a, q.Args[0])
		if name, text, valued := strings.Cut(q.Prefix, "="); valued {
			i := slices.IndexFunc(list, func(p parameterNamed) bool { return p.name == name })
			if i < 0 {
				return cli.Completions{Files: true}
			}
			var c cli.Completions
			for _, v := range list[i].Choices() {
				if strings.HasPrefix(v, text) {
					c.Words = append(c.Words, cli.Word{Text: name + "=" + v})
				}
			}
			return c
		}
		c := cli.Completions{NoSpace: true}
		for _, p := range list {
			given := slices.ContainsFunc(q.Args[1:], func(arg string) bool { return strings.HasPrefix(arg, p.name+"=") })
			if !given && strings.HasPrefix(p.name, q.Prefix) {
				c.Words = append(c.Words, cli.Word{Text: p.name + "=", About: firstLine(p.description)})
			}
		}
		return c
	})
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// completeRuns completes the names of runs that can be resumed.
func completeRuns(_ context.Context, a *app, _ cli.Query) cli.Completions {
	c := cli.Completions{InOrder: true, Words: []cli.Word{{Text: runs.Last, About: "the last one that was cut off"}}}
	for _, s := range a.runs().Resumable() {
		c.Words = append(c.Words, cli.Word{Text: s.ID, About: fmt.Sprintf("%s, %s", s.Plan, s.State)})
	}
	return c
}
