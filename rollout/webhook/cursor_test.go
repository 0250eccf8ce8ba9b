package webhook

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"bolt/rollout"
	"bolt/rollout/ledger"
	"bolt/store"
)

// TestCollect removes the positions in rollouts that are gone.
func TestCollect(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	begun(t, s, "rollout: web", 1)
	h := hook(t, "http://localhost:1/")
	const gone = "20260801-100000-web"
	for _, id := range []string{id, id + "-rollback", gone, gone + "-rollback"} {
		if err := begin(t.Context(), s, h, id); err != nil {
			t.Fatal(err)
		}
	}
	collect := func(want ...string) {
		t.Helper()
		if err := Collect(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		for i, id := range want {
			want[i] = cursorLog(h, id)
		}
		if names, err := s.Names(t.Context(), prefix); err != nil || !slices.Equal(names, want) {
			t.Errorf("%q, %v", names, err)
		}
	}
	l, err := s.Lease(t.Context(), leaseOf(gone), "ann", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	collect(gone, id, id+"-rollback") // a process sends the events of the first one
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	collect(id, id+"-rollback")
	if _, err := os.Lstat(filepath.Join(dir, "leases", leaseOf(gone))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lease is there: %v", err)
	}
	if err := s.Drop(t.Context(), ledger.Log(id), 1); err != nil {
		t.Fatal(err)
	}
	collect()
}

// unread fails the test if the log of the rollout is read.
type unread struct {
	store.Store
	t *testing.T
}

func (u unread) Events(ctx context.Context, log string, after store.Revision) iter.Seq2[store.Event, error] {
	if log == ledger.Log(id) {
		u.t.Errorf("the log is read")
	}
	return u.Store.Events(ctx, log, after)
}

// TestNothingLeft: an advance that is called each minute does not read the logs of all rollouts that have ended lately.
func TestNothingLeft(t *testing.T) {
	s := open(t, t.TempDir())
	begun(t, s, "rollout: web", 1)
	r := receive(t, nil)
	h := hook(t, r.URL)
	d := New(t.Context(), Options{Logs: s, Holder: "ann", Hooks: []*Hook{h}})
	end, err := drive(t.Context(), s, d, works{}, "s")
	if err != nil || end.Phase != rollout.Succeeded {
		t.Fatalf("%+v, %v", end, err)
	}
	d.Close()
	d = New(t.Context(), Options{Logs: unread{s, t}, Holder: "ann", Hooks: []*Hook{h}})
	if hooks, pending, err := d.pending(t.Context(), id); len(hooks) != 1 || pending || err != nil {
		t.Errorf("%v, %v, %v", hooks, pending, err)
	}
	d.Close()
}

// TestRecords: the log of a cursor stays short.
func TestRecords(t *testing.T) {
	s := open(t, t.TempDir())
	begun(t, s, "rollout: web", 5)
	r := receive(t, nil)
	h := hook(t, r.URL, "ended")
	d := New(t.Context(), Options{Logs: s, Holder: "ann", Hooks: []*Hook{h}})
	if end, err := drive(t.Context(), s, d, works{}, "s"); err != nil || end.Phase != rollout.Succeeded {
		t.Fatalf("%+v, %v", end, err)
	}
	d.Close()
	c, err := loadCursor(t.Context(), s, h, id)
	if err != nil || int(c.at) != len(lines(t, s, id)) || c.revision > 3 {
		t.Errorf("%d records up to event %d, %v", c.revision, c.at, err)
	}
	for records, want := range map[store.Revision]time.Duration{1: time.Second, 60: 2 * time.Second, 600: 11 * time.Second, 1_000_000: time.Minute} {
		c.revision = records
		if got := c.pause(); got != want {
			t.Errorf("after %d records: %v, want %v", records, got, want)
		}
	}
}
