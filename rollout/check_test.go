package rollout

import (
	"testing"
	"time"
)

// examined finishes the run on a node that noop mode has not changed.
func (g *stage) examined(node string, o Outcome, changes int) {
	g.t.Helper()
	run := g.runs[node]
	if run == "" || !g.noop[node] {
		g.t.Fatalf("%s is not in work in noop mode", node)
	}
	delete(g.runs, node)
	g.do(&NodeFinished{Node: node, Run: run, Outcome: o, Changes: changes})
}

// TestCheckReport checks that a check examines all nodes, whatever fails, and reports what would change.
func TestCheckReport(t *testing.T) {
	g := play(t, "kind: check\norder: [name]\nstrategy: {node: {healthy_for: 5s}}", 4)
	n2, n3 := g.s.created.Nodes[2].Name, g.s.created.Nodes[3].Name
	g.examined(n0, OutcomeUnreachable, 0)
	g.examined(n1, OutcomeDone, 2)
	g.examined(n2, OutcomeDone, 1)
	g.examined(n3, OutcomeDone, 0)
	g.pass(5 * time.Second)
	g.is(Succeeded, "3 of 4 nodes are done, 1 is not; 2 nodes would change (3 resources)")
	g.node(n1, NodeDone, "healthy for 5s; 2 resources would change")
	g.node(n2, NodeDone, "healthy for 5s; 1 resource would change")
	g.node(n3, NodeDone, "healthy for 5s")
	st := g.s.Status().Nodes
	if st[n1].Changes != 2 || st[n3].Changes != 0 || st[n1].Release != "old" {
		t.Errorf("%+v", st)
	}

	g = play(t, "kind: check", 1)
	g.examined(n0, OutcomeDone, 0)
	g.is(Succeeded, "1 of 1 nodes are done; no node would change")
}

// TestCheckWindow checks that a check changes nodes only while a window is open, also if the window opens and closes during the check.
func TestCheckWindow(t *testing.T) {
	c := create(t, read(t, "kind: check\norder: [name]\nstrategy: {waves: [{count: 1, soak: 1h}, {count: 1, soak: 1h}, {rest: true}]}\nwindows: [{days: mon-thu, from: 11:00, to: 12:00}]"), play(t, "", 3).s.created.Nodes)
	g := &stage{t: t, s: &State{}, now: time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC), runs: map[string]string{}, noop: map[string]bool{}}
	g.do(c, &DriverStarted{Session: "a"})
	g.examined(n0, OutcomeDone, 2)
	g.is(Soaking, "")
	g.pass(time.Hour)
	if g.noop[n1] {
		t.Error("inside of the window, the run is in noop mode")
	}
	g.finish(n1, OutcomeDone)
	g.pass(time.Hour)
	n2 := c.Nodes[2].Name
	g.examined(n2, OutcomeDone, 1)
	g.is(Succeeded, "3 of 3 nodes are done; 1 node was changed; 2 nodes would change (3 resources)")
	for name, release := range map[string]string{n0: "old", n1: "new", n2: "old"} {
		if st := g.s.Status().Nodes[name]; st.Release != release {
			t.Errorf("%s: %+v", name, st)
		}
	}
}
