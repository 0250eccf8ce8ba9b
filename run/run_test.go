package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/run"
	"bolt/transport"
	"bolt/transport/all"
)

// fleet is a Dialer whose connections do nothing. It counts them.
type fleet struct{ open, dialed atomic.Int64 }

func (f *fleet) Dial(_ context.Context, to transport.Dest) (transport.Conn, error) {
	if to.Host == "down" {
		return nil, &transport.Error{Class: transport.ClassConnect, Msg: "it is down"}
	}
	f.open.Add(1)
	f.dialed.Add(1)
	return &conn{fleet: f}, nil
}

type conn struct {
	transport.Conn
	fleet *fleet
}

func (c *conn) Run(ctx context.Context, cmd *transport.Cmd) (transport.Status, error) {
	switch cmd.Line {
	case "hang":
		<-ctx.Done()
		return transport.Status{}, &transport.Error{Class: transport.ClassTimeout, Msg: "ended"}
	case "fail":
		return transport.Status{Code: 3}, nil
	}
	_, err := cmd.Stdout.Write([]byte(cmd.Line))
	return transport.Status{}, err
}

func (c *conn) Close() error { c.fleet.open.Add(-1); return nil }

// act is an action made from a function.
type act struct {
	do      func(context.Context, *run.Site) error
	here    bool
	devices bool
}

func (a *act) Name() string                                 { return "test" }
func (a *act) Object() string                               { return "object" }
func (a *act) Do(ctx context.Context, site *run.Site) error { return a.do(ctx, site) }
func (a *act) Here() bool                                   { return a.here }
func (a *act) OnDevices() bool                              { return a.devices }

func targets(t *testing.T, text string, names ...string) []*inventory.Target {
	t.Helper()
	v, err := ordered.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	inv, err := inventory.New(t.Context(), v.(*ordered.Map), inventory.Options{Transports: all.Tables(all.List()), Transport: "ssh"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := inv.Targets(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// collect runs an action and returns the outcome of each target.
func collect(t *testing.T, ctx context.Context, f *fleet, o run.Options, a run.Action, list []*inventory.Target) map[string]string {
	t.Helper()
	got := make(map[string]string)
	var inside atomic.Int64
	err := run.New(f, o).Run(ctx, a, list, event.Func(func(_ context.Context, e event.Event) error {
		if inside.Add(1) != 1 {
			t.Error("the sink is called twice at a time")
		}
		defer inside.Add(-1)
		if end, ok := e.(event.TargetEnd); ok {
			r := end.Result
			got[r.Target.Name] = "ok"
			if !r.OK() {
				got[r.Target.Name] = r.Err.Kind + ": " + r.Err.Msg
			}
		}
		return nil
	}))
	if err != nil {
		t.Error(err)
	}
	if n := f.open.Load(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
	return got
}

func TestRun(t *testing.T) {
	list := targets(t, `{"targets": ["a", "b", "down"]}`, "a", "b", "down")
	got := collect(t, t.Context(), &fleet{}, run.Options{}, &act{do: func(_ context.Context, s *run.Site) error {
		if s.Target.Name == "b" {
			panic("oh no")
		}
		return nil
	}}, list)
	want := map[string]string{"a": "ok", "down": "puppetlabs.tasks/connect-error: it is down",
		"b": "puppetlabs.tasks/exception-error: internal error: oh no"}
	for name, w := range want {
		if !strings.HasPrefix(got[name], w) {
			t.Errorf("%s: got %q, want %q", name, got[name], w)
		}
	}
	for line, w := range map[string]string{"fail": "puppetlabs.tasks/command-error: The command failed with exit code 3", "hang": "puppetlabs.tasks/timeout-error: Not finished within 20ms: ended", "x": "ok"} {
		synctest.Test(t, func(t *testing.T) {
			if got := collect(t, t.Context(), &fleet{}, run.Options{Timeout: 20 * time.Millisecond}, &run.Command{Line: line}, list[:1]); got["a"] != w {
				t.Errorf("%s: got %q", line, got["a"])
			}
		})
	}
}

// TestRunStopsAtContextEnd checks that nothing begins after the end of ctx, that the remaining
// targets are skipped, and that every target has a result.
func TestRunStopsAtContextEnd(t *testing.T) {
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("t%02d", i))
	}
	list := targets(t, `{}`, names...)
	ctx, cancel := context.WithCancelCause(t.Context())
	var begun []string
	got := collect(t, ctx, &fleet{}, run.Options{Concurrency: 1}, &act{do: func(_ context.Context, s *run.Site) error {
		if begun = append(begun, s.Target.Name); len(begun) == 3 {
			cancel(run.ErrStopped)
		}
		return nil
	}}, list)
	if !slices.Equal(begun, names[:3]) || len(got) != len(names) {
		t.Errorf("begun %q, results %d", begun, len(got))
	}
	for _, n := range names[3:] {
		if !strings.HasPrefix(got[n], "puppetlabs.tasks/skipped-error") {
			t.Errorf("%s: %s", n, got[n])
		}
	}
}

// TestRunConcurrency checks that exactly the given number of targets is in progress at once.
func TestRunConcurrency(t *testing.T) {
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf("t%02d", i))
	}
	var now, most atomic.Int64
	full := make(chan struct{})
	collect(t, t.Context(), &fleet{}, run.Options{Concurrency: 7}, &act{do: func(context.Context, *run.Site) error {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == 7 && most.Load() == 7 {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		<-full // no target continues before all slots have been in use at once
		return nil
	}}, targets(t, `{}`, names...))
	if most.Load() != 7 {
		t.Errorf("%d at once", most.Load())
	}
}

func TestRunWithoutConnection(t *testing.T) {
	f := &fleet{}
	local := &act{here: true, do: func(ctx context.Context, s *run.Site) error {
		if s.Conn != nil || s.Via != s.Target {
			t.Error("a connection for what is done here")
		}
		switch s.Target.Name {
		case "late":
			<-ctx.Done()
			return ctx.Err()
		case "bad":
			return errors.New("of its own")
		}
		return nil
	}}
	list := targets(t, `{}`, "down", "late", "bad")
	var got map[string]string
	synctest.Test(t, func(t *testing.T) {
		got = collect(t, t.Context(), f, run.Options{Timeout: 20 * time.Millisecond}, local, list)
	})
	want := map[string]string{"down": "ok", "late": "puppetlabs.tasks/timeout-error: Not finished within 20ms", "bad": "puppetlabs.tasks/exception-error: of its own"}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s: got %q, want %q", name, got[name], w)
		}
	}
	if f.dialed.Load() != 0 {
		t.Error("it dialed")
	}
}

func TestRunDevices(t *testing.T) {
	const text = `{"targets": ["a", {"name": "dev", "config": {"transport": "remote", "remote": {"run-on": "a"}}},
		{"name": "two", "config": {"transport": "remote", "remote": {"run-on": "all"}}}]}`
	site := &act{devices: true, do: func(_ context.Context, s *run.Site) error {
		if s.Via.Name != "a" || s.Target.Name != "dev" || s.Settings.Host != "a" {
			t.Errorf("%s by %s at %s", s.Target, s.Via, s.Settings.Host)
		}
		return nil
	}}
	got := collect(t, t.Context(), &fleet{}, run.Options{}, site, targets(t, text, "dev", "two"))
	if got["dev"] != "ok" || !strings.HasPrefix(got["two"], "bolt/invalid-remote-target: run-on of two must name one target") {
		t.Errorf("got %v", got)
	}
	f := &fleet{}
	got = collect(t, t.Context(), f, run.Options{}, &act{}, targets(t, text, "dev"))
	if !strings.HasPrefix(got["dev"], "puppetlabs.tasks/exception-error: A test cannot be done on dev") || f.dialed.Load() != 0 {
		t.Errorf("got %v", got)
	}
}

// TestSinkRefuses: a target is not begun if its begin cannot be recorded. Run and
// RunBatches return the error, and the other targets are begun.
func TestSinkRefuses(t *testing.T) {
	list := targets(t, `{"targets": ["a", "b", "c"]}`, "a", "b", "c")
	var done []string
	a := &act{do: func(_ context.Context, site *run.Site) error { done = append(done, site.Target.Name); return nil }}
	refused := errors.New("refused")
	runner := run.New(&fleet{}, run.Options{Concurrency: 1})
	skipped := make(map[string]bool)
	sink := event.Func(func(_ context.Context, e event.Event) error {
		switch e := e.(type) {
		case event.TargetBegin:
			if e.Target.Name == "b" {
				return refused
			}
		case event.TargetEnd:
			skipped[e.Result.Target.Name] = e.Result.NotBegun()
		}
		return nil
	})
	batches := &run.Rolling{Serial: []run.Amount{{N: 1}}}
	for name, err := range map[string]error{"Run": runner.Run(t.Context(), a, list, sink), "RunBatches": runner.RunBatches(t.Context(), batches, a, list, sink)} {
		if !errors.Is(err, refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !slices.Equal(done, []string{"a", "c", "a", "c"}) || !skipped["b"] || skipped["a"] || skipped["c"] || len(skipped) != 3 {
		t.Errorf("done %v, skipped %v", done, skipped)
	}
}

// TestTruncatedOutputIsReported checks that a result reports truncated output, and that the
// streamed output is complete.
func TestTruncatedOutputIsReported(t *testing.T) {
	for line, cut := range map[string]bool{"12345": false, "123456": true} {
		for _, stream := range []bool{false, true} {
			r := run.New(&fleet{}, run.Options{MaxOutput: 5, Stream: stream})
			var streamed strings.Builder
			var result *event.Result
			err := r.Run(t.Context(), &run.Command{Line: line}, targets(t, `{"targets":["web1"]}`, "web1"), event.Func(func(_ context.Context, e event.Event) error {
				switch e := e.(type) {
				case event.TargetOutput:
					streamed.Write(e.Data)
				case event.TargetEnd:
					result = e.Result
					result.Output.Retain()
				}
				return nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			defer result.Output.Close()
			members, err := result.Members()
			if err != nil {
				t.Fatal(err)
			}
			if mark, has := members.Get("truncated"); has != cut || cut && mark != true {
				t.Errorf("%s: truncated is %v, %v", line, mark, has)
			}
			if text := result.Truncated("--way"); (text != "") != cut || cut && !(strings.Contains(text, "web1") && strings.Contains(text, "use --way.")) {
				t.Errorf("%s: warning %q", line, text)
			}
			if stream && streamed.String() != line {
				t.Errorf("%s: streamed %q", line, streamed.String())
			}
		}
	}
}

// TestSinkEndsWork checks that an error of the sink ends the running work and is returned, and
// that the sink still gets the other ends.
func TestSinkEndsWork(t *testing.T) {
	list := targets(t, `{"targets": ["a", "b", "c"]}`, "a", "b", "c")
	a := &act{do: func(ctx context.Context, site *run.Site) error {
		if site.Target.Name == "a" {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	gone := errors.New("nobody reads any more")
	ends := make(map[string]event.Ending)
	for _, rolling := range []*run.Rolling{{}, {Serial: []run.Amount{{N: 2}}}} {
		err := run.New(&fleet{}, run.Options{Concurrency: 2}).RunBatches(t.Context(), rolling, a, list, event.Func(func(_ context.Context, e event.Event) error {
			if end, ok := e.(event.TargetEnd); ok {
				ends[end.Result.Target.Name] = end.Result.Ending()
				return gone
			}
			return nil
		}))
		if !errors.Is(err, gone) || ends["a"] != event.EndOK || ends["b"] == event.EndOK || ends["c"] == event.EndOK || len(ends) != 3 {
			t.Errorf("error %v, ends %v", err, ends)
		}
	}
}
