package tasks

import (
	"context"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
)

// Asked checks the parameters that a user has given, and returns an action of a
// task. Names that begin with _ are options of the run, not parameters. Errors are
// *fault.Error.
func (l *Library) Asked(ctx context.Context, t *Task, given *ordered.Map, opts RunOptions) (*Run, error) {
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
		case "_catch_errors", "_description": // options of plans: they have no effect here
		default:
			if strings.HasPrefix(name, "_") {
				return nil, fault.New(palError, "Tasks have no run option '%s'. The options are _noop and _run_as, which correspond to --noop and --run-as.", name)
			}
			params.Set(name, v)
		}
		if !ok {
			return nil, fault.New(palError, "The run option '%s' of a task cannot be %v: _noop must be true or false, and _run_as must be the name of a user.", name, v)
		}
	}
	checked, err := t.Check(params)
	if err != nil {
		return nil, err
	}
	return l.Run(ctx, t, checked, opts)
}
