package webhook

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"bolt/rollout/ledger"
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
