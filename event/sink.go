package event

import "context"

// A Sink takes events.
//
// Event is called from one goroutine at a time. A slow sink slows the work.
//
// An error from the begin of an action, a batch, a container or a target means that it
// cannot be recorded or shown: it is not begun. An error from another event ends the work:
// nobody reads any more, or the disk is full. Events come after an error too, so that
// the sinks that have no error know the end.
type Sink interface {
	Event(ctx context.Context, e Event) error
}

// Func is a function as a Sink.
type Func func(ctx context.Context, e Event) error

// Event calls f.
func (f Func) Event(ctx context.Context, e Event) error { return f(ctx, e) }

// Fan is a Sink that hands each event to sinks, in their order, and returns the first
// error. After an error from a begin, the sinks behind do not get it, as it is not begun.
// A nil sink is passed over.
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

// Begins reports whether something begins with an event, which an error prevents.
func Begins(e Event) bool {
	switch e.(type) {
	case ActionBegin, BatchBegin, ContainerBegin, TargetBegin:
		return true
	}
	return false
}

// StepOf is the step that an event is about; nil for none.
func StepOf(e Event) *Step {
	switch e := e.(type) {
	case TargetBegin:
		return e.Step
	case TargetOutput:
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

// OfStep is an event of a target as one of a step.
func OfStep(e Event, s *Step) Event {
	switch e := e.(type) {
	case TargetBegin:
		e.Step = s
		return e
	case TargetOutput:
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
