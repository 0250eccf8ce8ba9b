package main

import (
	"os"
	"strings"
	"testing"

	"bolt/apply/remote"
	"bolt/apply/report"
)

// TestAudit checks that the helper keeps the values of audited properties from run to run.
func TestAudit(t *testing.T) {
	s := newSite(t)
	s.reset(t)
	file := s.path("file", 0)
	s.set(t, map[string]any{"type": "File", "title": file, "parameters": map[string]any{"audit": []string{"content", "mode"}}})
	apply := func(text string) (got []string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := remote.Apply(t.Context(), s.conn, &s.target, &remote.Job{Catalog: s.catalog, Node: "n1",
			Log: func(l *report.Log) { got = append(got, l.Message) },
			Result: func(r *report.Result) {
				for _, e := range r.Events {
					got = append(got, string(e.Outcome)+" "+e.Property+": "+e.Message)
				}
			}})
		if err != nil || !out.OK() || out.Counts.Unchanged != 1 {
			t.Fatalf("%+v, %v", out, err)
		}
		return got
	}
	if got := apply("one\n"); len(got) != 2 || !strings.Contains(got[0], "newly-recorded value {sha256}2c8b08da") || !strings.Contains(got[1], "newly-recorded value 0600") {
		t.Errorf("first: %q", got)
	}
	if got := apply("one\n"); got != nil {
		t.Errorf("equal: %q", got)
	}
	if got := apply("two\n"); len(got) != 1 || !strings.HasPrefix(got[0], "audit content: audit change: previously recorded value {sha256}2c8b08da") {
		t.Errorf("changed: %q", got)
	}
	if got := apply("two\n"); got != nil {
		t.Errorf("equal again: %q", got)
	}
}
