package serve_test

import (
	"bytes"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"bolt/apply/frame"
	"bolt/apply/serve"
)

// stop requests the end of a run.
func stop(t *testing.T, m *serve.Machine, run string) *frame.Fate {
	t.Helper()
	var out bytes.Buffer
	a := read(t, run, m.Asked(run, true, &out), &out)
	if a.fate == nil {
		t.Fatalf("%+v", a)
	}
	return a.fate
}

// requests returns the requests to stop runs that are left.
func requests(t *testing.T, m *serve.Machine) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(m.Dir, "runs", "*.stop"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestStop stops a run that goes on without a reader and after a signal. The resource in work is finished.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		m := machine(t, f)
		lost, signal := make(chan struct{}), make(chan struct{})
		m.Lost, m.Signal = lost, signal
		c := pack(t, text(t, exec("a"), exec("b", "user", "wait"), exec("c"), exec("d", "user", "wait"), exec("e")))
		done := make(chan *answer)
		go func() { done <- apply(t, m, serve.Request{Run: "1", Continue: true}, c) }()
		begun := func(title string) {
			for got := range f.begun {
				if got == title {
					return
				}
			}
		}
		begun("b")
		close(signal)
		stop(t, m, "2") // another run
		time.Sleep(time.Minute)
		f.gate <- struct{}{}
		begun("d")
		if fate := stop(t, m, "1"); fate.State != frame.StateRunning {
			t.Errorf("%+v", fate)
		}
		time.Sleep(time.Second)
		close(f.gate)
		want := frame.Counts{Changed: 4, Skipped: 1}
		if a := <-done; a.code != serve.ExitFailed || a.done.Stopped != frame.StopAsked || a.done.Counts != want {
			t.Errorf("%+v", a.done)
		}
		if fate := stop(t, m, "1"); fate.State != frame.StateEnded || fate.Done.Stopped != frame.StopAsked || fate.Done.Counts != want {
			t.Errorf("%+v", fate)
		}
		f.took()
		m.Lost, m.Signal = nil, nil
		// The other run begins later, and changes nothing.
		if a := apply(t, m, serve.Request{Run: "2", Continue: true}, pack(t, text(t, exec("x"), exec("y")))); a.done.Stopped != frame.StopAsked || a.done.Counts != (frame.Counts{Skipped: 2}) {
			t.Errorf("%+v", a.done)
		}
		if events, left := f.took(), requests(t, m); events != nil || len(left) > 0 {
			t.Errorf("%q, requests %q", events, left)
		}
	})
}

// TestStopUnknown: a request for a run that never comes stays for a day.
func TestStopUnknown(t *testing.T) {
	f := newFake()
	m := machine(t, f)
	if fate := stop(t, m, "1"); fate.State != frame.StateUnknown || len(requests(t, m)) != 1 {
		t.Errorf("%+v", fate)
	}
	var out bytes.Buffer
	if a := read(t, "../x", m.Asked("../x", true, &out), &out); a.code != serve.ExitRefused || len(requests(t, m)) != 1 {
		t.Errorf("%+v", a)
	}
}
