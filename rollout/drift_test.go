package rollout

import (
	"math/rand/v2"
	"testing"
)

// TestExpected: a rollback expects the release of the rollout, and none where the release of the node is not known.
func TestExpected(t *testing.T) {
	list := nodes(4, rand.New(rand.NewPCG(1, 1)))
	list[1].Uncertain = true
	list[2].Uncertain = true
	c := create(t, read(t, "order: [name]\nstrategy: {failures: {count: 9}, counts_as_failure: [], rollback: {scope: all}, concurrency: {max: 1}}"), list)
	for i, want := range []string{"old", "", "", "old"} {
		if got := c.Expected(&c.Nodes[i]); got != want {
			t.Errorf("node %d is expected to have %q, want %q", i, got, want)
		}
	}
	g := perform(t, c)
	g.finish(n0, OutcomeDone)
	g.finish(n1, OutcomeDone)
	g.finish(n2, OutcomeLost)
	g.finish(n3, OutcomeDrifted)
	g.node(n3, NodeDrifted, "")
	g.do(&RollbackRequested{By: "ann"})
	back, left, err := NewRollback(g.s, "r1-rollback", "ann")
	if err != nil {
		t.Fatal(err)
	}
	if len(back.Nodes) != 3 || left[n3] != "it has drifted, and no run has begun on it" {
		t.Errorf("the nodes of the rollback are %+v, left out are %v", back.Nodes, left)
	}
	for i, want := range []string{"new", "new", ""} {
		if got := back.Expected(&back.Nodes[i]); got != want {
			t.Errorf("node %d is expected to have %q in the rollback, want %q", i, got, want)
		}
	}
	for name, want := range map[string]Left{n0: LeftRelease, n1: LeftRelease, n2: LeftPart, n3: LeftNothing, "none": LeftNothing} {
		if got := g.s.Left(name); got != want {
			t.Errorf("%d is left on %s, want %d", got, name, want)
		}
	}
}
