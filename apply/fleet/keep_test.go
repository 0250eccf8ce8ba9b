package fleet

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"bolt/apply/frame"
	"bolt/apply/history"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/inventory"
)

// keeping returns a keeper, and the catalog of two resources.
func keeping(t *testing.T) (*Keeper, *catalog.Catalog) {
	c := &catalog.Catalog{Name: "web1"}
	for _, title := range []string{"a", "b"} {
		if err := c.Add(&catalog.Resource{Ref: catalog.Ref{Type: "Notify", Title: title}, File: "site.pp", Line: 3}); err != nil {
			t.Fatal(err)
		}
	}
	return &Keeper{Dir: history.Open(t.TempDir(), history.Keep), By: "ann@desk",
		Redact: func(text string) string { return strings.ReplaceAll(text, "hunter2", "[redacted]") },
		Lost:   func(_ *inventory.Target, err error) { t.Error(err) }}, c
}

// TestKeep checks that a report has the outcomes in the order of the catalog, and no secrets in any text.
func TestKeep(t *testing.T) {
	k, c := keeping(t)
	b, a := c.Resources()[1].Ref, c.Resources()[0].Ref
	done := &report.Run{ID: "run1", Start: time.Unix(100, 0), Took: time.Second, Stopped: true, Why: "lost hunter2", Results: []*report.Result{
		{Ref: b, Status: report.Failed, Reason: "hunter2", Events: []report.Event{{Outcome: report.Failure, Is: "hunter2", Should: "xhunter2", Was: "hunter2", Message: "hunter2", Diff: "-hunter2\n"}}},
		{Ref: a, Status: report.Changed, Took: time.Second},
		{Ref: catalog.Ref{Type: "Notify", Title: "c"}, Status: report.Unchanged},
	}, Logs: []report.Log{{Level: report.Notice, Message: "hunter2"}, {Level: report.Debug, Message: "left out"}}}
	if err := k.Keep(Origin{"release1", "rollout1"})(t.Context(), &inventory.Target{Name: "web1"}, c, done); err != nil {
		t.Fatal(err)
	}
	r, err := k.Dir.Get(t.Context(), "web1", "run1")
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v", r); strings.Contains(text, "hunter2") || strings.Count(text, "[redacted]") != 8 {
		t.Errorf("%s", text)
	}
	if r.Status != history.Failed || r.Release != "release1" || r.Rollout != "rollout1" || r.By != "ann@desk" || r.Counts != (history.Counts{Changed: 1, Failed: 1, Unchanged: 1}) {
		t.Errorf("%+v", r.Summary)
	}
	if len(r.Resources) != 2 || r.Resources[0].Ref != "Notify[a]" || r.Resources[0].Took != 1 || r.Resources[0].Place != "site.pp:3" || len(r.Logs) != 1 {
		t.Errorf("%+v", r)
	}
}

// TestKeepPart checks that a report with the whole run stays.
func TestKeepPart(t *testing.T) {
	k, c := keeping(t)
	node := &inventory.Target{Name: "web1"}
	part := &report.Run{ID: "run1", Start: time.Unix(100, 0), Stopped: true, Why: "the connection is lost", Results: []*report.Result{{Ref: c.Resources()[0].Ref, Status: report.Changed}}}
	whole := *part
	whole.Why, whole.Start = "", time.Unix(99, 0)
	for _, run := range []string{"run1", "run2"} {
		part.ID, whole.ID = run, run
		if run == "run2" {
			if err := k.Keep(Origin{})(t.Context(), node, c, &whole); err != nil {
				t.Fatal(err)
			}
		}
		k.KeepPart(node, c, part, Origin{})
	}
	for run, want := range map[string]string{"run1": "the connection is lost", "run2": "The run was stopped before it reached all resources"} {
		if r, err := k.Dir.Get(t.Context(), "web1", run); err != nil || r.Error != want {
			t.Errorf("%s: %+v %v", run, r, err)
		}
	}
	if runs, err := k.Dir.Runs("web1"); err != nil || len(runs) != 2 {
		t.Error(runs, err)
	}
}

// TestKeepFate checks the report of a run whose result was asked for.
func TestKeepFate(t *testing.T) {
	begin := time.Unix(100, 0)
	ended := []frame.Ended{{Ref: "Notify[a]", Status: report.Changed}}
	target := &inventory.Target{Name: "web1"}
	for name, tt := range map[string]struct {
		fate frame.Fate
		want history.Status // "": no report
		text string
	}{
		"ended":   {frame.Fate{State: frame.StateEnded, Begin: begin, End: begin.Add(time.Second), Done: &frame.Done{}, Ended: ended}, history.Changed, ""},
		"failed":  {frame.Fate{State: frame.StateEnded, Begin: begin, End: begin, Done: &frame.Done{Error: "disk hunter2"}, Ended: ended}, history.Stopped, "disk [redacted]"},
		"broken":  {frame.Fate{State: frame.StateBroken, Begin: begin, Ended: ended}, history.Stopped, "The run was interrupted there"},
		"refused": {frame.Fate{State: frame.StateEnded, Begin: begin, Done: &frame.Done{Refused: &frame.Refusal{}}}, "", ""},
		"running": {frame.Fate{State: frame.StateRunning, Begin: begin}, "", ""},
		"unknown": {frame.Fate{State: frame.StateUnknown}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			k, c := keeping(t)
			find := func() (*catalog.Catalog, error) { return c, nil }
			k.KeepFate(target, "run1", false, &tt.fate, Origin{}, find)
			if !k.Dir.Has("web1", "run1") {
				if tt.want != "" {
					t.Error("no report")
				}
				return
			}
			r, err := k.Dir.Get(t.Context(), "web1", "run1")
			if err != nil || r.Status != tt.want || r.Error != tt.text || r.Counts.Changed != 1 {
				t.Errorf("%+v, %v", r, err)
			}
			// The report of the driver itself has more, and stays.
			k.KeepFate(target, "run1", false, &tt.fate, Origin{}, func() (*catalog.Catalog, error) { return nil, errors.New("read again") })
		})
	}
	var none *Keeper
	none.KeepFate(target, "run1", false, &frame.Fate{State: frame.StateBroken, Begin: begin}, Origin{}, nil)
}
