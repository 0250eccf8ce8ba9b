package serve_test

import (
	"strings"
	"testing"

	"bolt/apply/frame"
	"bolt/apply/serve"
)

// TestDrift applies something else between two releases. The second release is refused before any change, and a run in noop mode
// reports it.
func TestDrift(t *testing.T) {
	f := newFake()
	m := machine(t, f)
	c := func(title string) []byte { return pack(t, text(t, exec(title))) }
	for _, step := range []struct {
		run   string
		q     serve.Request
		title string // of the resource
	}{
		{"first", serve.Request{Release: "r1", Expected: "r0"}, "a"},
		{"second", serve.Request{Release: "r2", Expected: "r1"}, "b"},
		{"noop", serve.Request{Noop: true}, "c"},
		{"failed", serve.Request{Release: "r3", Expected: "r2"}, "d"},
		{"other", serve.Request{}, "e"},
	} {
		step.q.Run = step.run
		if a := apply(t, m, step.q, c(step.title)); a.code != serve.ExitOK || a.done.Drift != "" {
			t.Fatalf("%s: %+v %+v", step.run, a, a.done)
		}
	}
	f.took()
	a := apply(t, m, serve.Request{Run: "drifted", Release: "r4", Expected: "r3"}, c("f"))
	if a.code != serve.ExitRefused || a.done.Refused == nil || a.done.Refused.Kind != frame.KindDrifted || !strings.Contains(a.done.Refused.Messages[0], "the release r3 is expected") {
		t.Errorf("%+v %+v", a, a.done.Refused)
	}
	if a := apply(t, m, serve.Request{Run: "noop-2", Release: "r4", Expected: "r3", Noop: true}, c("f")); a.code != serve.ExitOK || !strings.Contains(a.done.Drift, "the release r3 is expected") {
		t.Errorf("%+v %+v", a, a.done)
	}
	if events := f.took(); events != nil {
		t.Errorf("%q", events)
	}
	if fate := asked(t, m, "noop-2"); fate.Done == nil || fate.Done.Drift == "" {
		t.Errorf("%+v", fate)
	}
	if fate := asked(t, m, "drifted"); fate.State != frame.StateUnknown {
		t.Errorf("%+v", fate)
	}
	if a := apply(t, m, serve.Request{Run: "ignored", Release: "r4"}, c("f")); a.code != serve.ExitOK {
		t.Errorf("%+v", a)
	}
	if a := apply(t, m, serve.Request{Run: "next", Release: "r5", Expected: "r4"}, c("g")); a.code != serve.ExitOK {
		t.Errorf("%+v", a)
	}
}
