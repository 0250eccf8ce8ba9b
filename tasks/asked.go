package tasks

import (
	"context"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
)

// Asked checks parameters as a person has given them, and makes an action of a task.
// Those whose names begin with _ are no parameters, but options of the run. Errors
// are *fault.Error.
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
		case "_catch_errors", "_description": // of plans: there is nothing to catch, and nobody to tell
		default:
			if strings.HasPrefix(name, "_") {
				return nil, fault.New(palError, "There is no option '%s' for running a task: the options are _noop and _run_as, as --noop and --run-as.", name)
			}
			params.Set(name, v)
		}
		if !ok {
			return nil, fault.New(palError, "The option '%s' of running a task cannot be %v: _noop is true or false, _run_as the name of a user.", name, v)
		}
	}
	checked, err := t.Check(params)
	if err != nil {
		return nil, err
	}
	return l.Run(ctx, t, checked, opts)
}
