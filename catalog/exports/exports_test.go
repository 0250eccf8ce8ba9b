package exports

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bolt/catalog"
	"bolt/format/ordered"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// Package puppetdb compares an Index with a real PuppetDB.

// answers is a Querier.
type answers struct {
	asked atomic.Int32
	rows  []any
	err   error
}

func (a *answers) Query(_ context.Context, query any, instance string) ([]any, error) {
	a.asked.Add(1)
	if instance != "i" {
		return nil, fmt.Errorf("asked %q", instance)
	}
	return a.rows, a.err
}

// TestPuppetDBOnce checks that nodes share an answer, and do not get their own
// exports.
func TestPuppetDBOnce(t *testing.T) {
	a := &answers{rows: []any{
		ordered.Of("certname", "b", "title", "y", "tags", []any{"t"}, "file", "f", "line", int64(2), "parameters", ordered.Of("p", "v")),
		ordered.Of("certname", "a", "title", "x", "tags", nil, "file", nil, "line", nil, "parameters", &ordered.Map{}),
	}}
	db := NewPuppetDB(a, "i")
	var all sync.WaitGroup
	for _, node := range []string{"a", "b", "c", "c"} {
		all.Go(func() {
			found, err := db.Find(t.Context(), node, "Notify", nil)
			if want := map[string]int{"a": 1, "b": 1, "c": 2}[node]; err != nil || len(found) != want {
				t.Errorf("%s found %v, %v", node, found, err)
			}
		})
	}
	all.Wait()
	if n := a.asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	found, err := db.Find(t.Context(), "c", "Notify", nil)
	if err != nil || found[0].Node != "a" || found[1].Params.Value("p") != "v" || found[1].File != "f" || found[1].Line != 2 || found[1].Tags[0] != "t" {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestPuppetDBErrors checks that there are no queries after an error, and that
// the end of a context is not such an error.
func TestPuppetDBErrors(t *testing.T) {
	a := &answers{err: errors.New("down")}
	db := NewPuppetDB(a, "i")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.Find(ctx, "n", "A", nil); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	for _, typ := range []string{"A", "A", "B"} {
		if _, err := db.Find(t.Context(), "n", typ, nil); err == nil || err.Error() != "down" {
			t.Errorf("got %v", err)
		}
	}
	if n := a.asked.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
	for _, row := range []any{"x", ordered.Of("certname", "a"), ordered.Of("title", "a"), nil} {
		db := NewPuppetDB(&answers{rows: []any{row}}, "i")
		if _, err := db.Find(t.Context(), "n", "A", nil); err == nil || !strings.Contains(err.Error(), "no certname or title") {
			t.Errorf("%v: %v", row, err)
		}
	}
	bad := &eval.QueryCompare{Name: "tag", Value: value.NewArray()}
	if _, err := NewPuppetDB(a, "i").Find(t.Context(), "n", "A", bad); err == nil || a.asked.Load() != 2 {
		t.Errorf("got %v", err)
	}
}

// TestIndex checks that a node is only added once.
func TestIndex(t *testing.T) {
	c := &catalog.Catalog{Name: "n"}
	for _, title := range []string{"b", "a"} {
		if err := c.Add(&catalog.Resource{Ref: catalog.Ref{Type: "T", Title: title}, Exported: true, Virtual: true}); err != nil {
			t.Fatal(err)
		}
	}
	x := &Index{}
	if err := x.Add(c); err != nil || x.Len() != 2 {
		t.Fatal(err, x.Len())
	}
	if err := x.Add(c); err == nil || !strings.Contains(err.Error(), "two catalogs of the node n") {
		t.Errorf("got %v", err)
	}
	if found, err := x.Find(t.Context(), "m", "T", nil); err != nil || len(found) != 2 || found[0].Title != "a" {
		t.Errorf("got %v, %v", found, err)
	}
	if found, err := (&Index{}).Find(t.Context(), "m", "T", nil); err != nil || found != nil {
		t.Errorf("got %v, %v", found, err)
	}
}
