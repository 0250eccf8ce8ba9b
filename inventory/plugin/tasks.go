package plugin

import (
	"context"
	"errors"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
)

// Tasks finds and runs tasks on this machine. It is safe for concurrent use.
type Tasks interface {
	// Parameters are the names of what a task takes; ok is false if there is
	// no such task. any: it declares none and takes everything.
	Parameters(ctx context.Context, task string) (names []string, any, ok bool, err error)
	// Run checks the parameters and runs the task here as runAs ("": as who
	// we are); the result is what it returned, a failure is an error.
	// Parameters whose names begin with an underscore (_boltdir) are the
	// task's as they are: they are not among those that it declares. Errors
	// are *fault.Error of kind bolt/validation-error for bad parameters,
	// bolt/unknown-task, or what the task itself says.
	Run(ctx context.Context, task string, params *ordered.Map, runAs string) (*ordered.Map, error)
}

// A Describer is a Tasks that also knows what tasks are for.
type Describer interface {
	// Description is what a task's metadata says of it; "" if it says nothing.
	Description(ctx context.Context, task string) (string, error)
}

// task is the plugin that runs any task: its value is that of the result's key
// "value".
//
// Differs from Bolt: _run_as counts; Bolt takes it for puppet_library alone.
func (p *Plugins) task(ctx context.Context, _, ref *ordered.Map) (any, error) {
	name, ok, err := text("task", ref, "task")
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, invalid("Task plugin requires that the 'task' is specified")
	}
	params := &ordered.Map{}
	if v := ref.Value("parameters"); v != nil {
		if params, ok = v.(*ordered.Map); !ok {
			return nil, invalid("task plugin requires that 'parameters' is a Hash")
		}
	}
	runAs, _, err := text("task", ref, runAsKey)
	if err != nil {
		return nil, err
	}
	result, err := p.runTask(ctx, name, params, runAs)
	if err != nil {
		return nil, err
	}
	v, ok := result.Get("value")
	if !ok {
		return nil, fault.New(kindPlugin, "Task result did not return 'value': %s", keysOf(result))
	}
	return v, nil
}

// runTask runs a task. Of an error remains what people are to know.
func (p *Plugins) runTask(ctx context.Context, name string, params *ordered.Map, runAs string) (*ordered.Map, error) {
	if p.opts.Tasks == nil {
		return nil, errors.New("tasks cannot be run here")
	}
	result, err := p.opts.Tasks.Run(ctx, name, params, runAs)
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return nil, &fault.Error{Kind: f.Kind, Msg: f.Msg, Err: err} // without details, as Bolt
	}
	return result, err
}

// keysOf says what a result has instead, without its values: they may be
// secrets.
func keysOf(result *ordered.Map) string {
	if result.Len() == 0 {
		return "it is empty"
	}
	return "it has " + strings.Join(result.Keys(), ", ")
}
