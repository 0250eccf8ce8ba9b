package serve

import (
	"fmt"
	"io"
	"testing"
	"time"

	"bolt/apply"
	"bolt/apply/inotify"
	"bolt/apply/provider/timer"
	"bolt/apply/provider/value"
	"bolt/apply/resource"
	"bolt/apply/watch"
	"bolt/catalog"
	"bolt/format/ordered"
)

// TestTicks checks that the resources directly after a timer are checked at its interval, and no others.
func TestTicks(t *testing.T) {
	c := &catalog.Catalog{}
	for _, r := range []struct {
		typ, title string
		params     *ordered.Map
	}{
		{"Timer", "a", ordered.Of("interval", int64(10), "before", []any{"Value[v]", "Class[C]"})},
		{"Timer", "b", ordered.Of("interval", int64(25), "notify", "Value[w]")},
		{"Value", "v", ordered.Of("any", "x")}, {"Value", "w", ordered.Of("any", "x", "require", "Value[v]")}, {"Value", "in", ordered.Of("any", "x")},
		{"Class", "C", nil},
	} {
		kind := catalog.KindType
		if r.typ == "Class" {
			kind = catalog.KindClass
		}
		if err := c.Add(&catalog.Resource{Ref: catalog.Ref{Type: r.typ, Title: r.title}, Kind: kind, Params: r.params}); err != nil {
			t.Fatal(err)
		}
	}
	c.Edges = []catalog.Edge{{Source: catalog.Ref{Type: "Class", Title: "C"}, Target: catalog.Ref{Type: "Value", Title: "in"}}}
	applied, err := apply.Prepare(c, resource.NewHost(), apply.Options{Types: map[string]resource.Type{"Timer": timer.Type(), "Value": value.Type()}})
	if err != nil {
		t.Fatal(err)
	}
	files, err := inotify.New()
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	a := &attached{files: files, loop: watch.New()}
	a.s = (&Machine{}).answer(io.Discard, "r", "n")
	defer a.s.close()
	a.aim(t.Context(), applied)
	start := time.Now()
	for _, k := range a.tickers {
		k.next = start.Add(k.every)
	}
	for _, step := range []struct {
		after int
		want  string
	}{
		{5, "[] 5s"}, {10, "[Value[v] Value[in]] 10s"}, {20, "[Value[v] Value[in]] 5s"}, {25, "[Value[w]] 5s"}, {29, "[] 1s"}, {90, "[Value[v] Value[in] Value[w]] 10s"},
	} {
		refs, next := a.ticks(start.Add(time.Duration(step.after) * time.Second))
		if got := fmt.Sprint(refs, " ", next); got != step.want {
			t.Errorf("after %d s: got %s, want %s", step.after, got, step.want)
		}
	}
}
