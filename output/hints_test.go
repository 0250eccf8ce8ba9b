package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"bolt/event"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory"
)

// hintedOn returns the result of a target that was not reached, with a hint.
func hintedOn(target *inventory.Target, msg, hint string) *event.Result {
	r := unreachable(target, msg)
	r.Err.Hint = hint
	return r
}

// TestHintsBelowErrors checks that the formats for people print each hint once, directly below the
// first error that it explains.
func TestHintsBelowErrors(t *testing.T) {
	f := fleet("web1", "web2", "db1")
	events := func() []event.Event {
		return []event.Event{
			finished(hintedOn(f[1], "no way to web2", "start web2")), finished(hintedOn(f[2], "no", "start it\x1b[31m\nor ask")), finished(hintedOn(f[0], "no way to web1", "start web1")),
		}
	}
	equal(t, show(t, Options{}, f, time.Second, events()...), `Failed on web2:
  no way to web2
  hint: start web2
Failed on db1:
  no
  hint: start it
  or ask
Failed on web1:
  no way to web1
  hint: start web1
Failed on 3 targets: web1,web2,db1
Ran on 3 targets in 1.0 sec
`)
	equal(t, show(t, Options{Fold: true}, f, time.Second, events()...), `Failed on web[1-2] (2 targets):
  no way to <target>
  hint: start <target>
Failed on db1:
  no
  hint: start it
  or ask
Failed on 3 targets: web[1-2],db1
Ran on 3 targets in 1.0 sec
`)
	again := show(t, Options{}, f[:2], time.Second, finished(hintedOn(f[0], "no", "ask")), finished(hintedOn(f[1], "no", "ask")))
	equal(t, again, "Failed on web1:\n  no\n  hint: ask\nFailed on web2:\n  no\nFailed on 2 targets: web1,web2\nRan on 2 targets in 1.0 sec\n")
}

// TestHintsOfApplies checks that the hint about an apply that ended early is below its error.
func TestHintsOfApplies(t *testing.T) {
	lost := func(name string) *event.Result {
		r := appliedOn(name, &event.Applied{Changed: 1, Resources: []event.Resource{motd}})
		r.Err = &event.Error{Class: "lost", Msg: "The connection was lost", Hint: "ask"}
		return r
	}
	for _, results := range [][]*event.Result{{lost("web1")}, {lost("web1"), lost("web2")}} {
		if got := printApplied(t, Options{}, results...); !strings.Contains(got, "  The connection was lost\n  hint: ask\n") || strings.Count(got, "hint") != 1 {
			t.Errorf("output is\n%s", got)
		}
	}
}

// TestHintsOfPlans checks the order of the failure of a plan: the results or the problem, the calls, and
// the hint. The calls and the hint go to standard error if hints are apart, and in JSON.
func TestHintsOfPlans(t *testing.T) {
	f := fleet("web1")
	alone := event.Failed{Msg: "bad", Place: "(file: p.pp)", Trace: "  called\x1b[31m from q.pp\n", Hint: "ask", Data: ordered.Of("kind", "k")}
	acted := event.Failed{Results: []*event.Result{hintedOn(f[0], "no", "start it")}, Trace: "bad\n", Hint: "ask", Data: ordered.Of("kind", "k")}
	summary := "Failed on 1 target: web1\nRan on 1 target\n"
	for _, tt := range []struct {
		o           Options
		last        event.Failed
		out, beside string
	}{
		{Options{}, alone, "bad\n  (file: p.pp)\n  called from q.pp\nhint: ask\n", ""},
		{Options{Apart: true}, alone, "bad\n  (file: p.pp)\n", "  called from q.pp\nhint: ask\n"},
		{Options{Format: JSON}, alone, `{"kind":"k"}` + "\n", "  called from q.pp\nhint: ask\n"},
		{Options{}, acted, "Failed on web1:\n  no\n  hint: start it\n" + summary + "bad\nhint: ask\n", ""},
		{Options{Apart: true}, acted, "Failed on web1:\n  no\n" + summary, "bad\nhint: ask\n"},
	} {
		out, beside := planShown(t, tt.o, tt.last)
		equal(t, out, tt.out)
		equal(t, beside, tt.beside)
	}
}

// TestHintsOfErrors checks the place of the excerpt and the hint of an error that kept an action from
// starting.
func TestHintsOfErrors(t *testing.T) {
	cause := &fault.Error{Kind: "k", Msg: "bad", Hint: "ask\x1b[31m", Err: placedError{}}
	const data = `{"kind":"k","msg":"bad","details":{}}` + "\n"
	for _, tt := range []struct {
		o           Options
		out, beside string
	}{
		{Options{}, "bad\n  a: b: c\n      ^\nhint: ask\n", ""},
		{Options{Apart: true}, "bad\n", "  a: b: c\n      ^\nhint: ask\n"},
		{Options{Format: JSON}, data, "  a: b: c\n      ^\nhint: ask\n"},
	} {
		var out, beside bytes.Buffer
		tt.o.Out, tt.o.Err = &out, &beside
		if err := PrintError(tt.o, cause); err != nil {
			t.Fatal(err)
		}
		equal(t, out.String(), tt.out)
		equal(t, beside.String(), tt.beside)
	}
	var out bytes.Buffer
	if err := PrintError(Options{Out: &out, Format: JSON}, cause); err != nil || out.String() != data {
		t.Errorf("without a second writer: %v, %q", err, out.String())
	}
}

// TestHintsApart checks that hints apart from the errors are folded, and follow the end of the action.
func TestHintsApart(t *testing.T) {
	f := fleet("web1", "web2", "db1")
	hinted := func(n int, hint string) event.Event { return finished(hintedOn(f[n], "no", hint)) }
	var order, b strings.Builder
	next := event.Func(func(_ context.Context, e event.Event) error {
		if _, ok := e.(event.ActionEnd); ok {
			order.WriteString(b.String() + "end")
		}
		return nil
	})
	h := newHints(next, Options{Err: &b})
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
	h := newHints(event.Func(func(_ context.Context, e event.Event) error {
		if _, ok := e.(event.ActionEnd); ok {
			return gone
		}
		return nil
	}), Options{Err: &b})
	if err := errors.Join(h.Event(t.Context(), finished(hintedOn(fleet("web1")[0], "no", "ask"))), h.Event(t.Context(), event.ActionEnd{})); !errors.Is(err, gone) || b.String() != "" {
		t.Errorf("%v, %q", err, b.String())
	}
}
