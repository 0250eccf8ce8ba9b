package ledger

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"bolt/rollout"
)

func TestCollect(t *testing.T) {
	p := placeIn(t, t.TempDir())
	collect := func(keep int, noop bool, removed, inUse []string) {
		t.Helper()
		c, err := p.Collect(t.Context(), CollectOptions{Holder: "ann", Keep: keep, Noop: noop})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(c.Removed, removed) || !slices.Equal(c.InUse, inUse) {
			t.Errorf("%v removed, %v in use", c.Removed, c.InUse)
		}
	}
	id := func(day int) string { return NewID("web", time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)) }
	p.end(t, id(1), "a", "b")
	p.end(t, id(2), "a", "bad1")
	p.end(t, id(3), "a", "bad1") // the release of bad1 is that before, as this rollout knows it
	noop := created(t, id(4), "b")
	noop.Noop = true
	if err := p.Create(t.Context(), noop, "ann"); err != nil { // it has not ended
		t.Fatal(err)
	}
	p.end(t, id(5), "a")
	// The rollback of rollout 2 was made later.
	if _, err := p.Append(t.Context(), id(2)+"-rollback", 0, 0, created(t, id(2)+"-rollback", "z")); err != nil {
		t.Fatal(err)
	}

	nodes := []string{"a", "b", "bad1", "z", "other"}
	before, err := p.Last(t.Context(), nodes)
	if err != nil {
		t.Fatal(err)
	}
	collect(5, false, nil, nil)
	collect(1, false, nil, []string{id(1), id(3)}) // 1 has the release of b, and the rollback of 2 has not ended
	if _, err := p.Append(t.Context(), id(2)+"-rollback", 1, 0, &rollout.Ended{State: rollout.Aborted}); err != nil {
		t.Fatal(err)
	}
	gone := []string{id(2), id(2) + "-rollback"}
	collect(1, true, gone, []string{id(1), id(3)})
	if s, err := p.Load(t.Context(), id(2)); err != nil || !s.Ended() {
		t.Errorf("%v", err)
	}

	// A process drives one of them.
	lease, err := p.store.Lease(t.Context(), Log(id(2)), "ben", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	collect(1, false, gone[1:], []string{id(1), id(2), id(3)})
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	collect(1, false, gone[:1], []string{id(1), id(3)})
	for _, id := range gone {
		for _, path := range []string{p.log(id), p.summary(id), filepath.Join(p.dir, "leases", "rollouts", id)} {
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is there: %v", path, err)
			}
		}
	}
	if after, err := p.Last(t.Context(), nodes); err != nil || !maps.Equal(before, after) {
		t.Errorf("%v, %v, %v", before, after, err)
	}

	// A damaged log stays while its end is not known.
	p.end(t, id(6), "a")
	change(t, p.log(id(5)), "driver_started", "driver_stopped")
	if err := os.Remove(p.summary(id(5))); err != nil {
		t.Fatal(err)
	}
	p.warned = nil
	collect(1, false, nil, []string{id(1), id(3)})
	if len(p.warned) != 1 {
		t.Errorf("%q", p.warned)
	}
}
