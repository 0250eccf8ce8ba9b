package runlog_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/apply/frame"
	"bolt/apply/runlog"
)

// TestDrift checks the releases that a run accepts, and the record after it.
func TestDrift(t *testing.T) {
	d := open(t)
	l := lock(t, d, "x")
	for _, c := range []struct {
		run, release, expected string
		noop                   bool
		have                   string // of the error
		drifts                 bool
	}{
		{"unknown", "r1", "r0", false, "", false},
		{"again", "r1", "r0", false, "", false},
		{"next", "r2", "r1", false, "", false},
		{"skipped-one", "r4", "r3", false, "r2", true},
		{"unexpected", "r3", "", false, "", false},
		{"noop", "r9", "r8", true, "", false}, // its caller asks Drift
		{"after-noop", "r4", "r3", false, "", false},
		{"plain", "", "", false, "", false},
		{"after-plain", "r5", "r4", false, "", true},
		{"back", "r3", "r4", false, "", true},
		{"ignored", "r5", "", false, "", false},
	} {
		j, err := l.Begin(t.Context(), runlog.Start{Run: c.run, Node: "n1", Release: c.release, Expected: c.expected, Noop: c.noop}, time.Now())
		drift, is := errors.AsType[*runlog.DriftError](err)
		if is != c.drifts || err != nil && !is || is && (drift.Have != c.have || drift.Want != c.expected) {
			t.Fatalf("%s: %v", c.run, err)
		}
		if is {
			if f := fate(t, d, c.run, ""); f.State != frame.StateUnknown {
				t.Errorf("%s: %+v", c.run, f)
			}
			continue
		}
		if err := j.Done(&frame.Done{}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Drift(&runlog.Start{Node: "n1", Release: "r9", Expected: "r8"}); err == nil || !strings.Contains(err.Error(), "has the release r5, and the release r8 is expected") {
		t.Errorf("%v", err)
	}
	if err := l.Drift(&runlog.Start{Node: "n2", Release: "r9", Expected: "r8"}); err != nil {
		t.Errorf("another node: %v", err)
	}
}

// TestRepeatedRun: a run that was there already is no drift, although something else was applied after it.
func TestRepeatedRun(t *testing.T) {
	d := open(t)
	l := lock(t, d, "x")
	for _, s := range []runlog.Start{{Run: "1", Node: "n1", Release: "r1", Expected: "r0"}, {Run: "2", Node: "n1"}} {
		if _, err := l.Begin(t.Context(), s, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Begin(t.Context(), runlog.Start{Run: "1", Node: "n1", Release: "r1", Expected: "r0"}, time.Now()); !errors.Is(err, runlog.ErrTwice) {
		t.Errorf("%v", err)
	}
}

// TestReleaseNotWritten: a run whose release cannot be recorded does not begin.
func TestReleaseNotWritten(t *testing.T) {
	d := open(t)
	l := lock(t, d, "x")
	for _, text := range []string{"x", "null", `{"n1": 3}`} {
		if err := os.WriteFile(d.Path("release"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Begin(t.Context(), runlog.Start{Run: "1", Node: "n1", Release: "r1"}, time.Now()); err == nil || !strings.Contains(err.Error(), "damaged: remove it") {
			t.Errorf("%v", err)
		}
	}
	if err := errors.Join(os.Remove(d.Path("release")), os.MkdirAll(filepath.Join(d.Path("release"), "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Begin(t.Context(), runlog.Start{Run: "1", Node: "n1", Release: "r1"}, time.Now()); err == nil {
		t.Error("the run has begun")
	}
	if f := fate(t, d, "1", ""); f.State != frame.StateUnknown {
		t.Errorf("%+v", f)
	}
	if err := os.RemoveAll(d.Path("release")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Begin(t.Context(), runlog.Start{Run: "1", Node: "n1", Release: "r1"}, time.Now()); err != nil {
		t.Error(err)
	}
}

// TestJournalNotWritten: a run that cannot be recorded leaves the release of the node.
func TestJournalNotWritten(t *testing.T) {
	d := open(t)
	l := lock(t, d, "x")
	if _, err := l.Begin(t.Context(), runlog.Start{Run: "1", Node: "n1", Release: "r1"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	unwritable := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) // JSON has no such time
	if _, err := l.Begin(t.Context(), runlog.Start{Run: "2", Node: "n1", Release: "r2", Expected: "r1"}, unwritable); err == nil {
		t.Error("the run has begun")
	}
	if f := fate(t, d, "2", ""); f.State != frame.StateUnknown {
		t.Errorf("%+v", f)
	}
	if err := l.Drift(&runlog.Start{Node: "n1", Release: "r3", Expected: "r1"}); err != nil {
		t.Error(err)
	}
}
