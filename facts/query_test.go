package facts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/run"
	"bolt/transport/all"
)

// TestQuery: targets that are begun at once are asked for together, their
// facts are not kept, and a failure ends the asking.
func TestQuery(t *testing.T) {
	var list []any
	const batches = 7
	for i := range batches*atOnce - 1 {
		list = append(list, fmt.Sprintf("web%d", i))
	}
	inv, err := inventory.New(t.Context(), ordered.Of("targets", list), inventory.Options{Transports: all.Tables(all.List())})
	if err != nil {
		t.Fatal(err)
	}
	targets := inv.AllTargets()
	var mu sync.Mutex
	asked, kept := 0, 0
	broken := errors.New("broken")
	var from int // which query fails
	ask := func(_ context.Context, names []string) (*ordered.Map, error) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		if asked == from {
			return nil, broken
		}
		if len(names) > atOnce {
			t.Errorf("%d names at once", len(names))
		}
		facts := &ordered.Map{}
		for _, n := range names {
			if n != "web3" {
				facts.Set(n, ordered.Of("name", n))
			}
		}
		return facts, nil
	}
	for _, from = range []int{0, 1, 3} {
		asked = 0
		q, err := NewQuery(t.Context(), targets, ask)
		if from == 1 {
			if err != broken {
				t.Error(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		ok, failed, none := 0, 0, 0
		sink := event.Func(func(_ context.Context, e event.Event) error {
			end, is := e.(event.TargetEnd)
			switch {
			case !is:
			case end.Result.OK() && end.Result.Value.Value("name") == end.Result.Target.Name:
				ok++
			case end.Result.Target.Name == "web3":
				none++
			default:
				failed++
			}
			return nil
		})
		if err := run.New(nil, run.Options{}).Run(t.Context(), q, targets, sink); err != nil {
			t.Fatal(err)
		}
		kept = 0
		for _, b := range q.batches {
			kept += len(b.facts)
		}
		switch {
		case none != 1 || kept != 0 || ok+failed+none != len(targets):
			t.Errorf("of %d targets %d ok, %d failed, %d without, %d kept", len(targets), ok, failed, none, kept)
		case from == 0 && (failed != 0 || asked != batches):
			t.Errorf("%d failed, asked %d times", failed, asked)
		case from == 3 && (failed == 0 || asked > batches-1):
			t.Errorf("%d failed, asked %d times", failed, asked)
		}
	}
}
