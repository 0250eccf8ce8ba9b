// Package tasking carries out the commands that run and show tasks. It also makes the actions of tasks for rollouts and
// for the collection of facts.
//
// Mistakes of the user are *cli.UsageError.
package tasking

import (
	"context"
	"io"

	"bolt/cli"
	"bolt/cli/acting"
	"bolt/cli/content"
	"bolt/cli/input"
	"bolt/format/ordered"
	"bolt/internal/logging"
	"bolt/inventory"
	"bolt/output/listing"
	"bolt/run"
	"bolt/tasks"
	"bolt/tasks/natives"
)

// An Invocation has the parts of one invocation of bolt that the commands use.
type Invocation struct {
	Out     io.Writer
	How     listing.Options
	Content *content.Content
	Filter  []string // of the project: the tasks that are listed; nil for all
	Project string   // the directory
	Logs    *logging.Log
	Input   *input.Input
	// Helpers returns the tasks that bolt's helper can do.
	Helpers func() map[string]tasks.Helper
	// Act performs an action on the targets that options select, and prints its results.
	Act func(ctx context.Context, o *acting.Options, name, object string, prepare func([]*inventory.Target) (run.Action, error)) error
}

// Need is the Check of commands that take a task and its parameters.
func Need(args []string) error {
	if len(args) == 0 || args[0] == "" {
		return cli.Errorf("Must specify a task to run")
	}
	if !tasks.PossibleName(args[0]) {
		return cli.Hinted(cli.Errorf("Invalid task '%s'", args[0]), "a task is called MODULE or MODULE::NAME, in lowercase letters, digits and underscores; bolt task show lists them")
	}
	return input.CheckPairs(args[1:], "task")
}

// RunOptions are the options of task run.
type RunOptions struct {
	acting.Options
	task   string
	params input.Params
	noop   bool
}

// Bind reads the flags and arguments.
func (o *RunOptions) Bind(b *cli.Binder) {
	o.BindPrints(b)
	b.Arg(&o.task)
	o.params.Bind(b)
	b.Switch("noop", &o.noop)
}

// Run carries out task run.
func (v *Invocation) Run(ctx context.Context, o *RunOptions) error {
	object, err := o.params.Object(ctx, v.Input)
	if err != nil {
		return err
	}
	return v.Act(ctx, &o.Options, "task", o.task, func(targets []*inventory.Target) (run.Action, error) {
		t, err := v.Content.Tasks.Find(ctx, o.task)
		if err != nil {
			return nil, err
		}
		given := object
		if given == nil {
			given = t.ReadPairs(o.params.Pairs)
		}
		action, err := v.Action(ctx, t, given, o.noop)
		if err != nil {
			return nil, err
		}
		action.WarnHere(targets, v.Logs.Warn)
		return action, nil
	})
}

// Action checks the parameters of a task and returns its action.
func (v *Invocation) Action(ctx context.Context, t *tasks.Task, given *ordered.Map, noop bool) (*tasks.Run, error) {
	return v.Content.Tasks.Asked(ctx, t, given, tasks.RunOptions{Noop: noop, Natives: natives.All(v.Project), Helpers: v.Helpers()})
}

// Named returns the action of a task with parameters in the form of encoding/json.
func (v *Invocation) Named(ctx context.Context, name string, params map[string]any, noop bool) (run.Action, error) {
	t, err := v.Content.Tasks.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	given, err := input.Ordered(params)
	if err != nil {
		return nil, err
	}
	return v.Action(ctx, t, given, noop)
}

// Parameters returns the parameters of a task; nil if it takes any.
func (v *Invocation) Parameters(ctx context.Context, name string) ([]cli.Parameter, error) {
	t, err := v.Content.Tasks.Find(ctx, name)
	if err != nil || !t.Typed {
		return nil, err
	}
	list := make([]cli.Parameter, len(t.Parameters))
	for i := range t.Parameters {
		p := &t.Parameters[i]
		list[i] = cli.Parameter{Name: p.Name, About: p.Description, Choices: p.Choices(), Required: !p.Optional()}
	}
	return list, nil
}

// Complete completes the name of a task.
func (v *Invocation) Complete(ctx context.Context, q cli.Query) cli.Completions {
	list, _ := v.public(ctx) // without a list, there are no completions
	return acting.CompleteNames(q.Prefix, list)
}

// CompleteParameters completes the parameters of the task in the first argument.
func (v *Invocation) CompleteParameters(ctx context.Context, q cli.Query) cli.Completions {
	list, _ := v.Parameters(ctx, q.Args[0])
	return cli.Assignments(list, q.Args[1:], q.Prefix)
}

// public returns the tasks that are listed.
func (v *Invocation) public(ctx context.Context) ([]listing.Described, error) {
	list, err := v.Content.Tasks.List(ctx)
	return listing.PublicTasks(list), err
}

// ShowOptions are the options of task show.
type ShowOptions struct{ name, filter string }

// Bind reads the flags and arguments.
func (o *ShowOptions) Bind(b *cli.Binder) {
	b.Arg(&o.name)
	b.Text("filter", &o.filter)
}

// Show carries out task show: it prints a task, or lists the tasks.
func (v *Invocation) Show(ctx context.Context, o *ShowOptions) error {
	if o.name != "" {
		t, err := v.Content.Tasks.Find(ctx, o.name)
		if err != nil {
			return err
		}
		return listing.PrintTask(v.Out, v.How, t, v.Content.Tasks.Files(t))
	}
	list, err := v.public(ctx)
	if err != nil {
		return err
	}
	if list, err = listing.Offered(list, o.filter, "tasks", v.Filter); err != nil {
		return err
	}
	return listing.PrintTaskList(v.Out, v.How, &listing.TaskList{Tasks: list, Modulepath: v.Content.Modules.Dirs()})
}
