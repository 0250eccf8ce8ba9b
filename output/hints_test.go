package output

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"bolt/event"
)

func TestHints(t *testing.T) {
	f := fleet("web1", "web2", "db1")
	hinted := func(n int, hint string) event.Event {
		r := unreachable(f[n], "no")
		r.Err.Hint = hint
		return finished(r)
	}
	var order, b strings.Builder
	next := event.Func(func(_ context.Context, e event.Event) error {
		if _, ok := e.(event.ActionEnd); ok {
			order.WriteString(b.String() + "end")
		}
		return nil
	})
	h := NewHints(next, &b)
	events := []event.Event{hinted(0, "start it\x1b[31m"), finished(command(t, f[2], 0)), hinted(2, "ask"), hinted(1, "start it\x1b[31m"), on(&event.Step{}, hinted(0, "of a plan"))}
	for i := range 7 {
		events = append(events, hinted(0, fmt.Sprint(i)))
	}
	for _, e := range append(events, event.ActionEnd{}) {
		if err := h.Event(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, order.String(), "end") // the hints follow it
	equal(t, b.String(), "hint for web[1-2]: start it\nhint for db1: ask\nhint for web1: 0\nhint for web1: 1\nhint for web1: 2\nhint for web1: 3\nhint for web1: 4\nhint for web1: 5\n"+
		"hint: 1 more, see --format ndjson\n")
}

// TestHintsAfterError checks that no hint is printed if the end could not
// be printed.
func TestHintsAfterError(t *testing.T) {
	gone := errors.New("gone")
	var b strings.Builder
	h := NewHints(event.Func(func(_ context.Context, e event.Event) error {
		if _, ok := e.(event.ActionEnd); ok {
			return gone
		}
		return nil
	}), &b)
	r := unreachable(fleet("web1")[0], "no")
	r.Err.Hint = "ask"
	if err := errors.Join(h.Event(t.Context(), finished(r)), h.Event(t.Context(), event.ActionEnd{})); !errors.Is(err, gone) || b.String() != "" {
		t.Errorf("%v, %q", err, b.String())
	}
}
