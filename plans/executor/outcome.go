package executor

import (
	"context"
	"errors"

	"bolt/event"
	"bolt/format/fault"
	"bolt/puppet/eval"
	"bolt/puppet/value"
	"bolt/run"
)

// Returned returns the event for the return value of Run. The error means that
// the value cannot be written.
func (x *Executor) Returned(v value.Value) (event.Returned, error) {
	if results, ok := resultsOf(v); ok {
		return event.Returned{Results: results}, nil
	}
	if o, ok := v.(*value.Object); ok {
		if o.Type() == value.ErrorType() {
			f := x.again(o).Event()
			return event.Returned{Error: &f}, nil
		}
		switch p := o.Payload().(type) {
		case *event.Result:
			return event.Returned{Result: p}, nil
		case *event.ContainerResult:
			return event.Returned{Container: p}, nil
		}
	}
	data, err := ToWrite(v)
	if err != nil {
		return event.Returned{}, fault.New("bolt/invalid-plan-result", "The plan returned a value that cannot be written as JSON: %v", err)
	}
	return event.Returned{Value: data}, nil
}

// Event returns the event for a failure that has ended a plan.
func (f *Failure) Event() event.Failed {
	e := event.Failed{Msg: f.Msg, Place: f.Place(), Data: f.Map(), Cause: f.Err}
	if results, ok := f.Results(); ok {
		e.Results = results
	} else if r, ok := f.Container(); ok {
		e.Container = r
	}
	return e
}

// Stopped returns the event for a run of a plan that was stopped, with its
// failure.
func (x *Executor) Stopped(plan string, f *Failure) event.Stopped {
	told := *f
	told.Kind, told.Msg = "bolt/cancelled-error", "The plan "+plan+" was stopped. Its remaining steps were not begun."
	return x.events.stopped(event.Failed{Msg: told.Msg, Place: told.Place(), Data: told.Map()})
}

// WasStopped reports whether an error of Run means that its context has ended.
func WasStopped(err error) bool {
	e, ok := errors.AsType[*eval.Error](err)
	return errors.Is(err, run.ErrStopped) || errors.Is(err, context.Canceled) || ok && e.Kind == "canceled"
}
