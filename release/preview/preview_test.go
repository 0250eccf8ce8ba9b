package preview

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bolt/apply/report"
	"bolt/catalog"
)

// TestOf checks that only changes are listed, that the order of arrival has no effect, and that texts are redacted.
func TestOf(t *testing.T) {
	file := func(title, old, now string) *report.Result {
		return &report.Result{Ref: catalog.Ref{Type: "File", Title: title}, Status: report.Noop, Events: []report.Event{
			{Property: "owner", Outcome: report.Audit, Message: "audit"},
			{Property: "content", Outcome: report.NoopOut, Is: old, Should: now, Message: "content " + old},
		}}
	}
	r := &report.Run{Results: []*report.Result{
		file("/b", "1", "hush"), file("/a", "[redacted]", "[redacted]"),
		{Ref: catalog.Ref{Type: "File", Title: "/c"}, Status: report.Unchanged},
		{Ref: catalog.Ref{Type: "File", Title: "/d"}, Status: report.Skipped},
	}}
	want := []Resource{
		{"File[/a]", []Property{{"content", "[redacted]", "[redacted]", "content [redacted]", ""}}},
		{"File[/b]", []Property{{"content", "1", "***", "content 1", ""}}},
	}
	got := Of(r, func(s string) string { return strings.ReplaceAll(s, "hush", "***") })
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// changes are the changes of files to a value.
func changes(value string, files ...string) (list []Resource) {
	for _, f := range files {
		list = append(list, Resource{"File[" + f + "]", []Property{{Name: "content", Old: "a", New: value}}})
	}
	return list
}

func TestFold(t *testing.T) {
	var p Preview
	p.Add("c", changes("x", "/a", "/b", "/c"))
	p.Add("e", changes("y", "/a"))
	p.Add("a", changes("x", "/a", "/b", "/c"))
	p.Add("d", nil)
	p.Add("b", nil)
	p.Add("f", changes("x", "/a"))
	p.Fail(Failure{"h", "failed", "no"})
	p.Fail(Failure{"g", "unreachable", "no"})
	p.Sort()
	var got []string
	for _, g := range p.Groups() {
		got = append(got, fmt.Sprint(g.Nodes, len(g.Resources)))
	}
	if d := cmp.Diff([]string{"[a c] 3", "[e] 1", "[f] 1"}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"b", "d"}, p.Unchanged); d != "" {
		t.Error(d)
	}
	if p.Failures[0].Node != "g" || p.Changed() != 4 {
		t.Errorf("%v, %d", p.Failures, p.Changed())
	}
	for most, want := range [][]string{{"a", "c", "e", "f"}, {"a", "c"}, {"a", "c"}, nil} {
		if d := cmp.Diff(want, p.Beyond(most)); d != "" {
			t.Errorf("%d: %s", most, d)
		}
	}
	var none Preview
	none.Sort()
	if len(none.Groups()) != 0 || none.Changed() != 0 || none.Beyond(0) != nil {
		t.Error("a preview without nodes has some")
	}
}

// TestMemory checks that a change is held once, also if the nodes have other changes beside it.
func TestMemory(t *testing.T) {
	const nodes, shared = 2000, 20
	var p Preview
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	files := make([]string, shared)
	for i := range files {
		files[i] = fmt.Sprintf("/etc/%d", i)
	}
	for i := range nodes {
		list := changes(strings.Repeat("x", 4000), files...)
		list = append(list, Resource{Ref: fmt.Sprintf("Host[%d]", i)})
		p.Add(fmt.Sprint("node", i), list)
	}
	if used := heap() - before; used > 4<<20 { // with the changes of each node, it is 8 MB
		t.Errorf("%d MB are in use", used>>20)
	}
	if n := len(p.Groups()); n != nodes {
		t.Errorf("%d groups", n)
	}
}
