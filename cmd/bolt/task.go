package main

import (
	"context"
	"strings"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/output/listing"
	"bolt/run"
	"bolt/tasks"
	"bolt/tasks/natives"
)

func wordsOfTask(args []string) error {
	if len(args) == 0 || args[0] == "" {
		return usagef("Must specify a task to run")
	}
	if !tasks.PossibleName(args[0]) {
		return hinted(usagef("Invalid task '%s'", args[0]), "a task is called MODULE or MODULE::NAME, in lowercase letters, digits and underscores; bolt task show lists them")
	}
	return pairs(args[1:], "task")
}

// pairs rejects arguments that are not NAME=VALUE.
func pairs(words []string, of string) error {
	var rest []string
	for _, arg := range words {
		if name, _, ok := strings.Cut(arg, "="); !ok || name == "" {
			rest = append(rest, arg)
		}
	}
	if rest != nil {
		return hinted(usagef("Unknown argument(s) %s", strings.Join(rest, ", ")), "parameters of the %s are NAME=VALUE", of)
	}
	return nil
}

type taskOptions struct {
	acting.Options
	task   string
	params paramOptions
	noop   bool
}

func (o *taskOptions) Bind(b *cli.Binder) {
	o.BindPrints(b)
	b.Arg(&o.task)
	o.params.Bind(b)
	b.Switch("noop", &o.noop)
}

func runTask(ctx context.Context, a *app, o *taskOptions) error {
	given, err := a.taskParams(ctx, &o.params)
	if err != nil {
		return err
	}
	library := a.tasks
	return a.running().Act(ctx, &o.Options, "task", o.task, func(targets []*inventory.Target) (run.Action, error) {
		t, err := library.Find(ctx, o.task)
		if err != nil {
			return nil, err
		}
		action, err := a.taskAction(ctx, library, t, given(t), o.noop)
		if err != nil {
			return nil, err
		}
		action.WarnHere(targets, a.logs.Warn)
		return action, nil
	})
}

// taskAction checks the parameters of a task and returns its action.
func (a *app) taskAction(ctx context.Context, library *tasks.Library, t *tasks.Task, given *ordered.Map, noop bool) (*tasks.Run, error) {
	return library.Asked(ctx, t, given, tasks.RunOptions{Noop: noop, Natives: natives.All(a.project.Dir), Helpers: a.applying().Helpers()})
}

// taskParams reads the parameters of a task on the command line. Their
// interpretation depends on their types.
func (a *app) taskParams(ctx context.Context, o *paramOptions) (func(*tasks.Task) *ordered.Map, error) {
	given, err := o.object(ctx, a)
	if err != nil {
		return nil, err
	}
	return func(t *tasks.Task) *ordered.Map {
		if given != nil {
			return given
		}
		return t.ReadPairs(o.pairs)
	}, nil
}

// paramOptions are the parameters of a task or plan.
type paramOptions struct {
	pairs  []string // NAME=VALUE
	params cli.Optional
}

func (o *paramOptions) Bind(b *cli.Binder) {
	b.Rest(1, &o.pairs)
	b.Optional("params", &o.params)
}

// object returns the object of --params, or nil if it is not given. It cannot be
// combined with pairs.
func (o *paramOptions) object(ctx context.Context, a *app) (*ordered.Map, error) {
	if !o.params.Given {
		return nil, nil
	}
	if len(o.pairs) > 0 {
		return nil, usagef("Parameters must be specified through either the --params option or param=value pairs, not both")
	}
	params, err := a.Object(ctx, "params", o.params.Text)
	return params, stopped(err)
}

func showTasks(ctx context.Context, a *app, o *listOptions) error {
	library := a.tasks
	if o.name != "" {
		t, err := library.Find(ctx, o.name)
		if err != nil {
			return err
		}
		return written(listing.PrintTask(a.sys.out, a.listOptions(), t, library.Files(t)))
	}
	list, err := publicTasks(ctx, a)
	if err != nil {
		return err
	}
	if list, err = listing.Offered(list, o.filter, "tasks", a.config.TaskFilter); err != nil {
		return err
	}
	return written(listing.PrintTaskList(a.sys.out, a.listOptions(), &listing.TaskList{Tasks: list, Modulepath: a.modules.Dirs()}))
}
