package serve

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"bolt/apply/report"
	"bolt/catalog"
)

// TestPeriods checks when resources are checked again: each minute, at their own times as in mgmt's example poll1, or not again.
func TestPeriods(t *testing.T) {
	ref := func(title string) catalog.Ref { return catalog.Ref{Type: "File", Title: title} }
	start := time.Unix(1000, 0)
	a := &attached{
		polled: map[catalog.Ref]bool{ref("polled"): true}, once: map[catalog.Ref]bool{ref("once"): true},
		wrong: map[catalog.Ref]report.Status{ref("wrong"): report.Failed, ref("once"): report.Failed},
		own:   map[catalog.Ref]*period{ref("f1"): {5 * time.Second, start.Add(5 * time.Second)}, ref("f3"): {25 * time.Second, start.Add(25 * time.Second)}},
	}
	seen := make(map[string][]int)
	for now := start; now.Sub(start) <= time.Minute; {
		refs, next := a.overdue(now)
		for _, r := range refs {
			seen[r.Title] = append(seen[r.Title], int(now.Sub(start)/time.Second))
		}
		if next <= 0 {
			t.Fatalf("the next poll is after %v", next)
		}
		now = now.Add(next)
	}
	for title, want := range map[string][]int{"polled": {60}, "wrong": {60}, "once": nil, "f1": {5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60}, "f3": {25, 50}} {
		if !slices.Equal(seen[title], want) {
			t.Errorf("%s is checked at %v, want %v", title, seen[title], want)
		}
	}
	if len(seen) != 4 {
		t.Errorf("checked are %s", strings.Join(slices.Sorted(maps.Keys(seen)), " "))
	}
}
