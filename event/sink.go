package event

import "context"

// A Sink receives events.
//
// Event is called from one goroutine at a time. A slow sink slows the work.
//
// If Event returns an error for the beginning of an action, a batch, a
// container or a target, it is not begun. An error for another event ends the
// work, for example when the disk is full or the reader of the output has
// ended. Events continue to arrive after an error, so that the sinks without an
// error receive the end.
type Sink interface {
	Event(ctx context.Context, e Event) error
}

// Func makes a function a Sink.
type Func func(ctx context.Context, e Event) error

// Event calls f.
func (f Func) Event(ctx context.Context, e Event) error { return f(ctx, e) }

// Fan returns a Sink that passes each event to sinks, in their order, and
// returns the first error. If a sink returns an error for a beginning, the
// later sinks do not get that event, because it is not begun. Fan skips nil
// sinks.
func Fan(sinks ...Sink) Sink {
	var list fan
	for _, s := range sinks {
		if s != nil {
			list = append(list, s)
		}
	}
	return list
}

type fan []Sink

func (f fan) Event(ctx context.Context, e Event) error {
	var first error
	for _, s := range f {
		if err := s.Event(ctx, e); err != nil && first == nil {
			first = err
			if Begins(e) {
				break
			}
		}
	}
	return first
}

// Begins reports whether an event is a beginning that a sink can prevent by an
// error.
func Begins(e Event) bool {
	switch e.(type) {
	case ActionBegin, BatchBegin, ContainerBegin, TargetBegin:
		return true
	}
	return false
}

// StepOf returns the step of an event; nil if it has none.
func StepOf(e Event) *Step {
	switch e := e.(type) {
	case TargetBegin:
		return e.Step
	case TargetOutput:
		return e.Step
	case TargetResource:
		return e.Step
	case TargetEnd:
		return e.Step
	case StepBegin:
		return e.Step
	case BatchBegin:
		return e.Step
	case StepEnd:
		return e.Step
	}
	return nil
}

// OfStep returns an event of a target with its step set.
func OfStep(e Event, s *Step) Event {
	switch e := e.(type) {
	case TargetBegin:
		e.Step = s
		return e
	case TargetOutput:
		e.Step = s
		return e
	case TargetResource:
		e.Step = s
		return e
	case TargetEnd:
		e.Step = s
		return e
	case StepBegin:
		e.Step = s
		return e
	case BatchBegin:
		e.Step = s
		return e
	case StepEnd:
		e.Step = s
		return e
	}
	return e
}
