package ledger

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bolt/rollout"
	"bolt/rollout/strategy"
	"bolt/store"
	"bolt/store/files"
)

func ledgerOf(t *testing.T) *Ledger {
	t.Helper()
	s, err := files.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return In(s)
}

func created(t *testing.T, id string, names ...string) *rollout.Created {
	t.Helper()
	spec := rollout.Spec{Rollout: id, Release: "r2", Strategy: strategy.Default()}
	for _, n := range names {
		spec.Nodes = append(spec.Nodes, rollout.Node{Name: n, Release: "r2", Catalog: "c2", Previous: "r1", PreviousCatalog: "c1"})
	}
	c, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// opened returns the rollouts that have not ended.
func opened(t *testing.T, l *Ledger) []string {
	t.Helper()
	ids, err := l.IDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var open []string
	for e, err := range l.Entries(t.Context(), ids) {
		if err != nil {
			t.Fatal(err)
		}
		if !e.Ended() {
			open = append(open, e.ID)
		}
	}
	return open
}

func TestCreate(t *testing.T) {
	l := ledgerOf(t)
	if _, err := l.Find(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "No rollouts found") {
		t.Error(err)
	}
	for _, id := range []string{"20260101-000000-web", "20260102-000000-db"} {
		if err := l.Create(t.Context(), created(t, id, id+"-node"), "ann"); err != nil {
			t.Fatal(err)
		}
	}
	err := l.Create(t.Context(), created(t, "20260103-000000-web", "other", "20260101-000000-web-node"), "ann")
	if busy, is := errors.AsType[*BusyError](err); !is || len(busy.Others) != 1 || busy.Others[0].Rollout != "20260101-000000-web" {
		t.Errorf("%v", err)
	}
	if _, err := l.Append(t.Context(), "20260102-000000-db-rollback", 0, 0, created(t, "20260102-000000-db-rollback", "x")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"": "20260102-000000-db", "web": "20260101-000000-web", "20260101": "20260101-000000-web", "20260102-000000-db-rollback": "20260102-000000-db-rollback", "none": "",
	} {
		if id, err := l.Find(t.Context(), name); id != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", name, id, err)
		}
	}
	again := created(t, "20260101-000000-web", "new")
	if err := l.Create(t.Context(), again, "ann"); err != nil || again.Rollout != "20260102-000001-web" {
		t.Errorf("%s, %v", again.Rollout, err)
	}
	if open := opened(t, l); len(open) != 4 {
		t.Errorf("%d rollouts", len(open))
	}
}

// TestTorn: the log of a rollout whose first event is not whole hinders no other rollout.
func TestTorn(t *testing.T) {
	dir := t.TempDir()
	s, err := files.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	l := In(s)
	if err := l.Create(t.Context(), created(t, "20260101-000000-web", "n"), "ann"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "logs", "rollouts", "20260102-000000-web.jsonl"), []byte(`{"sum":"12`), 0o600); err != nil {
		t.Fatal(err)
	}
	if open := opened(t, l); len(open) != 1 {
		t.Errorf("%d rollouts", len(open))
	}
	if last, err := l.Last(t.Context(), []string{"n", "m"}); err != nil || len(last) != 0 {
		t.Errorf("%v, %v", last, err)
	}
	next := created(t, "20260102-000000-web", "m")
	if err := l.Create(t.Context(), next, "ann"); err != nil || next.Rollout != "20260102-000001-web" {
		t.Errorf("%s, %v", next.Rollout, err)
	}
}

func TestCommand(t *testing.T) {
	l := ledgerOf(t)
	const id = "20260101-000000-web"
	if err := l.Create(t.Context(), created(t, id, "n"), "ann"); err != nil {
		t.Fatal(err)
	}
	pause := func(*rollout.State) (rollout.Event, error) { return &rollout.Paused{By: "bob"}, nil }
	if s, err := l.Command(t.Context(), id, pause); err != nil || s.Revision() != 2 {
		t.Error(err)
	}
	_, err := l.Command(t.Context(), id, func(*rollout.State) (rollout.Event, error) { return &rollout.Skipped{Node: "none", By: "bob"}, nil })
	if err == nil || err.Error() != `Node "none" is not part of this rollout` {
		t.Error(err)
	}
	if s, err := l.Load(t.Context(), id); err != nil || s.Revision() != 2 {
		t.Errorf("the refused command is recorded: %v", err)
	}
	if _, err := l.Command(t.Context(), "../x", pause); err == nil {
		t.Error("an ID that is not a name")
	}
}

// TestConcurrentCommands lets two commands meet: the second is decided again.
func TestConcurrentCommands(t *testing.T) {
	l := ledgerOf(t)
	const id = "20260101-000000-web"
	if err := l.Create(t.Context(), created(t, id, "n"), "ann"); err != nil {
		t.Fatal(err)
	}
	calls := 0
	s, err := l.Command(t.Context(), id, func(s *rollout.State) (rollout.Event, error) {
		if calls++; calls == 1 {
			if _, err := l.Append(t.Context(), id, s.Revision(), 0, &rollout.Paused{By: "ann"}); err != nil {
				t.Error(err)
			}
		}
		return &rollout.Paused{By: "bob"}, nil
	})
	if err != nil || calls != 2 || s.Revision() != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestLast(t *testing.T) {
	l := ledgerOf(t)
	const id = "20260101-000000-web"
	if err := l.Create(t.Context(), created(t, id, "n", "m"), "ann"); err != nil {
		t.Fatal(err)
	}
	s, err := l.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	// A driver without a fleet: the node m fails.
	add := func(e rollout.Event) {
		t.Helper()
		r := rollout.Record{Revision: s.Revision() + 1, Time: time.Now(), Event: e}
		if err := s.Apply(r); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(t.Context(), id, r.Revision-1, 0, e); err != nil {
			t.Fatal(err)
		}
	}
	add(&rollout.DriverStarted{Session: "s"})
	for range 10 {
		due, _ := rollout.Step(s, time.Now())
		for _, e := range due {
			add(e)
		}
		for _, e := range due {
			if started, is := e.(*rollout.NodeStarted); is {
				outcome := rollout.OutcomeDone
				if started.Node == "m" {
					outcome = rollout.OutcomeFailed
				}
				add(&rollout.NodeFinished{Node: started.Node, Run: started.Run, Outcome: outcome})
			}
		}
	}
	last, err := l.Last(t.Context(), []string{"n", "m", "other"})
	if id, _, err := l.Since(t.Context(), s); id != "" || err != nil {
		t.Errorf("%s, %v", id, err)
	}
	early := new(rollout.State)
	if err := early.Apply(rollout.Record{Revision: 1, Time: time.Now(), Event: created(t, "20251231-000000-web", "x", "m")}); err != nil {
		t.Fatal(err)
	}
	if id, node, err := l.Since(t.Context(), early); id != "20260101-000000-web" || node != "m" || err != nil {
		t.Errorf("%s, %s, %v", id, node, err)
	}
	if err != nil || len(last) != 2 || last["n"] != (Last{"r2", "c2", true}) || last["m"] != (Last{"r1", "c1", false}) {
		t.Errorf("%v, %v", last, err)
	}
}

// slowStore takes minutes to read a log.
type slowStore struct{ store.Store }

const slowness = 5 * time.Minute

func (s slowStore) Events(ctx context.Context, log string, after store.Revision) iter.Seq2[store.Event, error] {
	time.Sleep(slowness)
	return s.Store.Events(ctx, log, after)
}

// TestSlowCreate checks that Create has its lease as long as it reads the other rollouts, so that no other process makes a
// rollout of the same node.
func TestSlowCreate(t *testing.T) {
	s, err := files.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := In(s).Create(t.Context(), created(t, "20260101-000000-web", "n"), "ann"); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		done := make(chan error)
		go func() { done <- In(slowStore{s}).Create(t.Context(), created(t, "20260101-000000-db", "m"), "ann") }()
		time.Sleep(slowness - time.Second)
		_, err := s.Lease(t.Context(), creating, "ben", time.Minute)
		if held, is := errors.AsType[*store.HeldError](err); !is || held.Holder != "ann" {
			t.Errorf("%v", err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestSinceOpen checks that a rollout is not rolled back while a later one waits for one of its nodes, also if the later one
// is in noop mode.
func TestSinceOpen(t *testing.T) {
	l := ledgerOf(t)
	first := new(rollout.State)
	if err := first.Apply(rollout.Record{Revision: 1, Time: time.Now(), Event: created(t, "20260101-000000-web", "n", "m")}); err != nil {
		t.Fatal(err)
	}
	later := created(t, "20260102-000000-db", "m")
	later.Noop = true
	if err := l.Create(t.Context(), later, "ann"); err != nil {
		t.Fatal(err)
	}
	if id, node, err := l.Since(t.Context(), first); id != later.Rollout || node != "m" || err != nil {
		t.Errorf("%s, %s, %v", id, node, err)
	}
	if _, err := l.Append(t.Context(), later.Rollout, 1, 0, &rollout.Ended{State: rollout.Aborted}); err != nil {
		t.Fatal(err)
	}
	if id, _, err := l.Since(t.Context(), first); id != "" || err != nil {
		t.Errorf("%s, %v", id, err)
	}
}

func TestIDs(t *testing.T) {
	if id := NewID("Web 1", time.Date(2026, 9, 1, 2, 3, 4, 0, time.UTC)); id != "20260901-020304-web-1" {
		t.Error(id)
	}
	// A strategy can have the name of a rollback. "bolt rollout status" must find its rollouts.
	for _, name := range []string{"rollback", "prod-rollback", "prod-rollback-2", strings.Repeat("x", 51) + "-rollback-of-web"} {
		id := NewID(name, time.Now())
		if IsRollback(id) || !IsRollback(id+rollbackMark) || !IsRollback(id+rollbackMark+"-2") {
			t.Error(id)
		}
	}
	for id, want := range map[string]bool{"a-rollback": true, "a-rollback-2": true, "a-rollbacks": false, "a": false} {
		if IsRollback(id) != want {
			t.Error(id)
		}
	}
}
