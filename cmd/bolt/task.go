package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"bolt/cli"
	"bolt/environment"
	"bolt/event"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/glob"
	"bolt/inventory"
	"bolt/modules"
	"bolt/modules/builtin/httprequest"
	"bolt/modules/builtin/terraformcli"
	"bolt/output/listing"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
	"bolt/run"
	"bolt/tasks"
)

func wordsOfTask(args []string) error {
	if len(args) == 0 || args[0] == "" {
		return usagef("Must specify a task to run")
	}
	if err := taskName(args[0]); err != nil {
		return err
	}
	return pairs(args[1:], "task")
}

// pairs refuses words that are not NAME=VALUE.
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

// taskName refuses what cannot be the name of a task. Names of more than two
// parts are only unknown.
func taskName(name string) error {
	for part := range strings.SplitSeq(strings.TrimPrefix(name, "::"), "::") {
		if !modules.ValidName(part) {
			return hinted(usagef("Invalid task '%s'", name), "a task is called MODULE or MODULE::NAME, in lowercase letters, digits and underscores; bolt task show lists them")
		}
	}
	return nil
}

// tasks is the library of the module path.
func (a *app) tasks() *tasks.Library {
	if a.library == nil {
		a.library = tasks.NewLibrary(tasks.Options{Modules: a.modules, Type: a.typeReader(), Warn: a.logs.Warn})
	}
	return a.library
}

// typeReader returns what reads the types of parameters.
func (a *app) typeReader() func(ctx context.Context, text string) (value.Type, error) {
	types := sync.OnceValue(func() *environment.Environment { return a.environment(true) })
	return func(ctx context.Context, text string) (value.Type, error) {
		t, err := types().Type(ctx, text)
		return t, ofPrograms(err)
	}
}

// ofPrograms words what is wrong with a type as Puppet does. Our own words, which
// say more, are its cause's.
func ofPrograms(err error) error {
	if err == nil {
		return nil
	}
	msg := err.Error()
	if errs, ok := errors.AsType[syntax.Errors](err); ok {
		first := errs[0]
		msg = "Syntax error at end of input"
		if text := first.File.Src; !first.Incomplete && int(first.Span.Off) < len(text) {
			msg = fmt.Sprintf("Syntax error at '%s'", text[first.Span.Off:min(int(first.Span.End()), len(text))])
		}
		err = errors.New(first.Msg)
	} else if e, ok := errors.AsType[*eval.Error](err); ok {
		msg = e.Msg
	}
	return &fault.Error{Kind: "bolt/pal-error", Msg: msg, Err: err}
}

type taskOptions struct {
	actionOptions
	task   string
	params paramOptions
	noop   bool
}

func (o *taskOptions) bind(b *cli.Binder) {
	o.bindPrints(b)
	b.Arg(&o.task)
	o.params.bind(b)
	b.Switch("noop", &o.noop)
}

func runTask(ctx context.Context, a *app, o *taskOptions) error {
	given, err := a.taskParams(ctx, &o.params)
	if err != nil {
		return err
	}
	library := a.tasks()
	return a.act(ctx, &o.actionOptions, "task", o.task, func(targets []*inventory.Target) (run.Action, error) {
		t, err := library.Find(ctx, o.task)
		if err != nil {
			return nil, err
		}
		action, err := a.taskAction(ctx, library, t, given(t), o.noop)
		if err != nil {
			return nil, err
		}
		a.warnHere(action, targets)
		return action, nil
	})
}

// taskAction checks the parameters of a task and makes an action of it. Those
// whose names begin with _ are no parameters, but options of the run.
func (a *app) taskAction(ctx context.Context, library *tasks.Library, t *tasks.Task, given *ordered.Map, noop bool) (*tasks.Run, error) {
	opts := tasks.RunOptions{Noop: noop, Natives: a.natives()}
	params := &ordered.Map{}
	for name, v := range given.All() {
		ok := true
		switch name {
		case "_noop":
			var on bool
			on, ok = v.(bool)
			opts.Noop = opts.Noop || on
		case "_run_as":
			opts.RunAs, ok = v.(string)
		case "_catch_errors", "_description": // of plans: there is nothing to catch, and nobody to tell
		default:
			if strings.HasPrefix(name, "_") {
				return nil, fault.New("bolt/pal-error", "There is no option '%s' for running a task: the options are _noop and _run_as, as --noop and --run-as.", name)
			}
			params.Set(name, v)
		}
		if !ok {
			return nil, fault.New("bolt/pal-error", "The option '%s' of running a task cannot be %v: _noop is true or false, _run_as the name of a user.", name, v)
		}
	}
	checked, err := t.Check(params)
	if err != nil {
		return nil, err
	}
	return library.Run(ctx, t, checked, opts)
}

// natives are the tasks of built-in modules that this program does itself.
func (a *app) natives() map[string]tasks.Native {
	all := a.secretTasks()
	all["http_request"] = httprequest.Run
	for name, run := range terraformcli.Tasks() {
		all[name] = run
	}
	return all
}

// taskParams reads the parameters of a task on the command line; what they are
// depends on their types.
func (a *app) taskParams(ctx context.Context, o *paramOptions) (func(*tasks.Task) *ordered.Map, error) {
	given, err := o.object(ctx, a)
	if err != nil {
		return nil, err
	}
	return func(t *tasks.Task) *ordered.Map {
		if given != nil {
			return given
		}
		params := &ordered.Map{}
		for _, word := range o.pairs {
			name, text, _ := strings.Cut(word, "=")
			params.Set(name, t.Read(name, text))
		}
		return params
	}, nil
}

// paramOptions are the parameters of a task or plan.
type paramOptions struct {
	pairs  []string // NAME=VALUE
	params cli.Optional
}

func (o *paramOptions) bind(b *cli.Binder) {
	b.Rest(1, &o.pairs)
	b.Optional("params", &o.params)
}

// object is the object of --params, nil without that; it cannot stand beside pairs.
func (o *paramOptions) object(ctx context.Context, a *app) (*ordered.Map, error) {
	if !o.params.Given {
		return nil, nil
	}
	if len(o.pairs) > 0 {
		return nil, usagef("Parameters must be specified through either the --params option or param=value pairs, not both")
	}
	text, err := a.readArg(ctx, o.params.Text)
	if err != nil {
		return nil, err
	}
	v, err := ordered.ParseJSON([]byte(text))
	if err != nil {
		return nil, usagef("Unable to parse --params value as JSON: %v", err)
	}
	params, ok := v.(*ordered.Map)
	if !ok {
		return nil, hinted(usagef("Unable to parse --params value as JSON: it must be an object"), `for example '{"name": "value"}'`)
	}
	return params, nil
}

func showTasks(ctx context.Context, a *app, o *listOptions) error {
	library := a.tasks()
	if o.name != "" {
		t, err := library.Find(ctx, o.name)
		if err != nil {
			return err
		}
		return written(listing.PrintTask(a.sys.out, a.listOptions(), taskView(t, library.Files(t))))
	}
	list, err := publicTasks(ctx, a)
	if err != nil {
		return err
	}
	if list, err = o.offered("tasks", a.config.TaskFilter, list); err != nil {
		return err
	}
	return written(listing.PrintTaskList(a.sys.out, a.listOptions(), &listing.TaskList{Tasks: list, Modulepath: a.modules.Dirs()}))
}

// offered are those of a list that --filter and the globs of a setting let be
// listed; no globs let all.
func (o *listOptions) offered(setting string, globs []string, list []listing.Described) ([]listing.Described, error) {
	listed, err := offers(setting, globs)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(d listing.Described) bool {
		return !strings.Contains(d.Name, o.filter) || !listed(d.Name)
	}), nil
}

// offers returns what tells whether the globs of a setting let a task or plan be
// listed; nil lets all.
func offers(setting string, globs []string) (func(name string) bool, error) {
	if globs == nil {
		return func(string) bool { return true }, nil
	}
	var compiled []glob.Glob
	for _, text := range globs {
		g, err := glob.Compile(text)
		if err != nil {
			return nil, fault.New("bolt/validation-error", "The pattern '%s' of the setting %s cannot be used: %v", text, setting, err)
		}
		compiled = append(compiled, g)
	}
	return func(name string) bool {
		return slices.ContainsFunc(compiled, func(g glob.Glob) bool { return g.Match(name) })
	}, nil
}

func taskView(t *tasks.Task, files []tasks.File) *listing.Task {
	view := &listing.Task{
		Name: t.Name, Description: t.Description, Noop: t.SupportsNoop, Metadata: t.Metadata, Dir: t.Module.Dir,
		BuiltIn: t.Module.BuiltIn(),
	}
	for _, f := range files {
		view.Files = append(view.Files, ordered.Of("name", f.Name, "path", f.Path()))
	}
	for i := range t.Parameters {
		p := &t.Parameters[i]
		view.Parameters = append(view.Parameters, listing.Parameter{
			Name: p.Name, Type: p.Shown(), Description: p.Description, HasDescription: p.HasDescription,
			Default: p.ShownDefault(), HasDefault: p.HasDefault, Usage: p.Usage(),
		})
	}
	slices.SortFunc(view.Parameters, func(a, b listing.Parameter) int { return strings.Compare(a.Name, b.Name) })
	for i := range t.Outputs {
		o := &t.Outputs[i]
		view.Outputs = append(view.Outputs, listing.Parameter{Name: o.Name, Type: o.TypeText + " (" + string(o.Aggregate) + ")", Description: o.Description, HasDescription: o.Description != ""})
	}
	return view
}

// tallyOf is where an action's promised outputs are put together; nil if it
// promises none.
func tallyOf(action run.Action) *tasks.Tally {
	if r, ok := action.(*tasks.Run); ok {
		return r.Task().Tally()
	}
	return nil
}

// outputsOf is what they come to, with targets in the order of the run.
func outputsOf(sum *tasks.Tally, targets []*inventory.Target) []event.Output {
	if sum == nil {
		return nil
	}
	var list []event.Output
	for _, t := range sum.Totals(targets) {
		o := event.Output{Name: t.Output.Name, Description: t.Output.Description, Aggregate: string(t.Output.Aggregate), Count: t.Count}
		for _, v := range t.Values {
			names := make([]string, len(v.Targets))
			for i, target := range v.Targets {
				names[i] = target.SafeName()
			}
			o.Values = append(o.Values, event.OutputValue{Value: v.Value, Count: v.Count, Targets: names})
		}
		list = append(list, o)
	}
	return list
}
