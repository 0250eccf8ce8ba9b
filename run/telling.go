package run

import (
	"cmp"
	"context"
	"sync"

	"bolt/event"
	"bolt/event/capture"
	"bolt/inventory"
)

// telling passes the events of one Run to its sink, one at a time. It stores the first
// error. If the sink returns an error for an event that is not a begin, telling ends the
// work.
type telling struct {
	stop context.CancelCauseFunc

	mu   sync.Mutex // held during calls of sink
	sink event.Sink
	err  error // the first error
}

func (t *telling) begin(ctx context.Context, target *inventory.Target) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.sink.Event(ctx, event.TargetBegin{Target: target})
	t.err = cmp.Or(t.err, err)
	return err
}

func (t *telling) output(ctx context.Context, target *inventory.Target, s capture.Stream, p []byte) {
	t.tell(ctx, event.TargetOutput{Target: target, Stream: s, Data: p})
}

func (t *telling) end(ctx context.Context, r *event.Result) { t.tell(ctx, event.TargetEnd{Result: r}) }

// Resource emits the event of a resource that was applied.
func (site *Site) Resource(ctx context.Context, r *event.Resource) {
	site.told.tell(ctx, event.TargetResource{Target: site.Target, Resource: r})
}

// Log emits a message. level is a level of event.Log.
func (site *Site) Log(ctx context.Context, level, text string) {
	site.told.tell(ctx, event.Log{Level: level, Text: text})
}

func (t *telling) tell(ctx context.Context, e event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.sink.Event(ctx, e); err != nil {
		t.err = cmp.Or(t.err, err)
		t.stop(ErrStopped)
	}
}
