package ledger

import (
	"errors"
	"testing"
	"time"

	"bolt/rollout"
	"bolt/rollout/strategy"
)

// ran makes a rollout in which runs have outcomes, by node, and ends it. The hooks of nodes without an outcome fail.
func ran(t *testing.T, l *Ledger, c *rollout.Created, outcomes map[string]rollout.Outcome) {
	t.Helper()
	if err := l.Create(t.Context(), c, "ann"); err != nil {
		t.Fatal(err)
	}
	s, err := l.Load(t.Context(), c.Rollout)
	if err != nil {
		t.Fatal(err)
	}
	add := func(e rollout.Event) {
		t.Helper()
		r := rollout.Record{Revision: s.Revision() + 1, Time: time.Now(), Event: e}
		if err := s.Apply(r); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(t.Context(), c.Rollout, r.Revision-1, 0, e); err != nil {
			t.Fatal(err)
		}
	}
	add(&rollout.DriverStarted{Session: "s"})
	for !s.Ended() {
		due, _ := rollout.Step(s, time.Now())
		if paused, _ := s.Paused(); len(due) == 0 && paused {
			due = []rollout.Event{&rollout.AbortRequested{Mode: rollout.Drain, By: "ann"}}
		}
		for _, e := range due {
			add(e)
		}
		for _, e := range due {
			switch e := e.(type) {
			case *rollout.NodeStarted:
				add(&rollout.NodeFinished{Node: e.Node, Run: e.Run, Outcome: outcomes[e.Node]})
			case *rollout.HookStarted:
				add(&rollout.HookFinished{Node: e.Node, Run: e.Run, Hook: e.Hook, OK: outcomes[e.Node] != ""})
			}
		}
	}
}

// TestLeft follows the releases that rollouts leave on nodes: the next rollout expects a release only where it is certain.
func TestLeft(t *testing.T) {
	l := ledgerOf(t)
	all := []string{"cancelled", "done", "drifted", "failed", "unreachable"}
	plan := func(id, release string, st strategy.Strategy) *rollout.Created {
		t.Helper()
		spec := rollout.Spec{Rollout: id, Release: release, Strategy: st}
		for _, n := range all {
			spec.Nodes = append(spec.Nodes, rollout.Node{Name: n, Release: release})
		}
		c, err := rollout.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	done := make(map[string]rollout.Outcome)
	for _, n := range all {
		done[n] = rollout.OutcomeDone
	}
	expected := func(id string, want map[string]string) {
		t.Helper()
		c := plan(id, "next", strategy.Default())
		if err := l.renew(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		for _, n := range c.Nodes {
			if got := c.Expected(&n); got != want[n.Name] {
				t.Errorf("%s: node %s is expected to have %q, want %q", id, n.Name, got, want[n.Name])
			}
		}
		c.IgnoreDrift = true
		if got := c.Expected(&c.Nodes[0]); got != "" {
			t.Errorf("%q is expected although drift is ignored", got)
		}
	}
	expected("20260101-000000-x", nil)
	ran(t, l, plan("20260101-000000-web", "r1", strategy.Default()), done)
	expected("20260102-000000-x", map[string]string{"cancelled": "r1", "done": "r1", "drifted": "r1", "failed": "r1", "unreachable": "r1"})

	tolerant := strategy.Default()
	tolerant.Rules.Failures.Count = nil
	ran(t, l, plan("20260103-000000-web", "r2", tolerant), map[string]rollout.Outcome{
		"cancelled": rollout.OutcomeCancelled, "done": rollout.OutcomeDone, "drifted": rollout.OutcomeDrifted, "failed": rollout.OutcomeFailed, "unreachable": rollout.OutcomeUnreachable,
	})
	expected("20260104-000000-x", map[string]string{"done": "r2", "drifted": "r1", "unreachable": "r1"})

	// Without windows, a check only runs in noop mode.
	check := strategy.Default()
	check.Kind = strategy.Check
	ran(t, l, plan("20260105-000000-web", "r3", check), done)
	expected("20260106-000000-x", map[string]string{"done": "r2", "drifted": "r1", "unreachable": "r1"})
}

// TestCreateLater: a rollout that was planned before another one has ended has the releases of the other one.
func TestCreateLater(t *testing.T) {
	l := ledgerOf(t)
	late := created(t, "20260101-000000-late", "n", "m")
	ran(t, l, created(t, "20260101-000000-early", "n"), map[string]rollout.Outcome{"n": rollout.OutcomeDone})
	if err := l.Create(t.Context(), late, "ann"); err != nil {
		t.Fatal(err)
	}
	s, err := l.Load(t.Context(), late.Rollout)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := s.Node("n"); n.Previous != "r2" || n.PreviousCatalog != "c2" {
		t.Errorf("%+v", n)
	}
	if m, _ := s.Node("m"); m.Previous != "r1" {
		t.Errorf("%+v", m)
	}
}

// TestCreateMoved: a check that was planned before another rollout has ended does not bring the old release back.
func TestCreateMoved(t *testing.T) {
	l := ledgerOf(t)
	const early, late = "20260101-000000-early", "20260101-000000-late"
	c := created(t, late, "n", "m")
	c.Strategy.Kind = strategy.Check
	for i := range c.Nodes {
		c.Nodes[i].Release = "r1"
	}
	ran(t, l, created(t, early, "n"), map[string]rollout.Outcome{"n": rollout.OutcomeDone})
	if err := l.Create(t.Context(), c, "ann"); !errors.Is(err, ErrMoved) {
		t.Errorf("%v", err)
	}
	c.Nodes[0].Release, c.Nodes[1].Release = "r3", "r3" // a check of a named release
	if err := l.Create(t.Context(), c, "ann"); err != nil {
		t.Error(err)
	}
}
