package ledger

import (
	"maps"
	"slices"
	"testing"

	"bolt/rollout"
	"bolt/rollout/strategy"
)

// TestMix ends rollouts of all kinds on the same nodes, and compares the answers from their logs with those from their summaries.
func TestMix(t *testing.T) {
	p := placeIn(t, t.TempDir())
	hooked, check, task := strategy.Default(), strategy.Default(), strategy.Default()
	hooked.Hooks.Before = strategy.Hook{Task: "drain"}
	hooked.Rules.Failures.Count = nil
	check.Kind = strategy.Check
	task.Action.Task = "reboot"
	all := []string{"done", "failed", "hook", "unreachable"}
	end := func(id, release string, st strategy.Strategy, noop bool, outcomes map[string]rollout.Outcome, nodes ...string) *rollout.State {
		t.Helper()
		spec := rollout.Spec{Rollout: id, Release: release, Strategy: st, Noop: noop}
		for _, n := range nodes {
			spec.Nodes = append(spec.Nodes, rollout.Node{Name: n, Release: release, Catalog: release + n})
		}
		c, err := rollout.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		ran(t, p.Ledger, c, outcomes)
		s, err := p.Load(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	done := make(map[string]rollout.Outcome)
	for _, n := range all {
		done[n] = rollout.OutcomeDone
	}
	first := end("20260101-000000-web", "r1", strategy.Default(), false, done, all...)
	second := end("20260102-000000-web", "r2", hooked, false, map[string]rollout.Outcome{
		"done": rollout.OutcomeDone, "failed": rollout.OutcomeFailed, "unreachable": rollout.OutcomeUnreachable, // the hook of the other one fails
	}, all...)
	states := []*rollout.State{
		first, second,
		end("20260103-000000-web", "r3", strategy.Default(), true, done, all...),
		end("20260104-000000-web", "r3", check, false, done, all...),
		end("20260105-000000-web", "", task, false, done, all...),
		end("20260106-000000-web", "r3", hooked, false, nil, "hook"),
	}
	type answers struct {
		last      map[string]Last
		since     []string
		collected []string
	}
	ask := func() (a answers) {
		t.Helper()
		var err error
		if a.last, err = p.Last(t.Context(), append(all, "other")); err != nil {
			t.Fatal(err)
		}
		for _, s := range states {
			id, node, err := p.Since(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			a.since = append(a.since, id+" "+node)
		}
		c, err := p.Collect(t.Context(), CollectOptions{Holder: "ann", Keep: 1, Noop: true})
		if err != nil {
			t.Fatal(err)
		}
		a.collected = append(c.Removed, c.InUse...)
		return a
	}
	same := func(which string, a answers) {
		t.Helper()
		// No run has begun on the node hook after the first rollout, so it still has the release of that one.
		want := map[string]Last{
			"done": {"r2", "r2done", true}, "failed": {"r1", "r1failed", false}, "hook": {"r1", "r1hook", true}, "unreachable": {"r1", "r1unreachable", true},
		}
		if !maps.Equal(a.last, want) {
			t.Errorf("%s: %v", which, a.last)
		}
		if since := []string{"20260102-000000-web done", " ", " ", " ", " ", " "}; !slices.Equal(a.since, since) {
			t.Errorf("%s: %q", which, a.since)
		}
		gone := []string{"20260103-000000-web", "20260104-000000-web", "20260105-000000-web", "20260101-000000-web", "20260102-000000-web"}
		if !slices.Equal(a.collected, gone) {
			t.Errorf("%s: %q", which, a.collected)
		}
	}
	same("logs", ask())
	for _, s := range states {
		if err := p.Summarize(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	p.store.loads = nil
	same("summaries", ask())
	if len(p.store.loads) > 0 {
		t.Errorf("the logs of %v were read", p.store.loads)
	}
}
