package output

import (
	"testing"
	"time"

	"bolt/event"
	"bolt/event/capture"
	"bolt/inventory"
)

// shown passes events to a sink as package run does: it closes the outputs of
// results.
type shown struct {
	t    testing.TB
	sink event.Sink
}

func newShown(t testing.TB, o Options) shown {
	t.Helper()
	sink, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return shown{t, sink}
}

func (s shown) Event(e event.Event) error {
	err := s.sink.Event(s.t.Context(), e)
	if end, ok := e.(event.TargetEnd); ok && end.Step == nil {
		if cerr := end.Result.Output.Close(); cerr != nil {
			s.t.Error(cerr)
		}
	}
	return err
}

func (s shown) Start(e event.ActionBegin) error { return s.Event(e) }

func (s shown) End(elapsed time.Duration, outputs ...event.Output) error {
	return s.Event(event.ActionEnd{Elapsed: elapsed, Outputs: outputs})
}

func (s shown) Fatal(err error) error { return s.Event(event.FailedBy(err)) }

func started(t *inventory.Target) event.Event { return event.TargetBegin{Target: t} }

func finished(r *event.Result) event.Event { return event.TargetEnd{Result: r} }

func arrived(t *inventory.Target, s capture.Stream, data string) event.Event {
	return event.TargetOutput{Target: t, Stream: s, Data: []byte(data)}
}
