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
	// Parameters returns the names of a task's parameters; ok is false if the
	// task does not exist. any is set if the task declares no parameters and so
	// accepts all.
	Parameters(ctx context.Context, task string) (names []string, any, ok bool, err error)
	// Run checks the parameters and runs the task on this machine as the user
	// runAs ("": the current user). The result is the task's result; a failed
	// task is an error. Parameters whose names begin with an underscore
	// (_boltdir) are passed unchecked, because tasks do not declare them.
	// Errors are *fault.Error of kind bolt/validation-error for invalid
	// parameters, bolt/unknown-task, or the error of the task itself.
	Run(ctx context.Context, task string, params *ordered.Map, runAs string) (*ordered.Map, error)
}

// A Describer is a Tasks that also returns the descriptions of tasks.
type Describer interface {
	// Description returns the description in a task's metadata; "" if there is
	// none.
	Description(ctx context.Context, task string) (string, error)
}

// task is the plugin that runs any task. Its value is the key "value" of the
// task's result.
//
// Differs from Bolt: _run_as takes effect; Bolt uses it only for
// puppet_library.
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

// runTask runs a task. It returns a task's error without its details.
func (p *Plugins) runTask(ctx context.Context, name string, params *ordered.Map, runAs string) (*ordered.Map, error) {
	if p.opts.Tasks == nil {
		return nil, errors.New("this command cannot run tasks")
	}
	result, err := p.opts.Tasks.Run(ctx, name, params, runAs)
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return nil, &fault.Error{Kind: f.Kind, Msg: f.Msg, Err: err} // without details, as in Bolt
	}
	return result, err
}

// keysOf lists the keys of a result without their values, because values may be
// secret.
func keysOf(result *ordered.Map) string {
	if result.Len() == 0 {
		return "it is empty"
	}
	return "it has " + strings.Join(result.Keys(), ", ")
}
