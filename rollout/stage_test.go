package rollout

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// A stage plays a rollout by hand.
type stage struct {
	t     *testing.T
	s     *State
	now   time.Time
	next  time.Time
	runs  map[string]string // by node
	noop  map[string]bool
	gates map[string]*GateMeasure // by gate and node
	hooks map[string]*HookStarted // by node
	stops []string
	asked []string
}

func play(t *testing.T, text string, n int) *stage {
	t.Helper()
	return perform(t, create(t, read(t, text), nodes(n, rand.New(rand.NewPCG(1, 1)))))
}

func perform(t *testing.T, c *Created) *stage {
	t.Helper()
	g := &stage{t: t, s: &State{}, now: time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC), runs: make(map[string]string), noop: make(map[string]bool), gates: make(map[string]*GateMeasure), hooks: make(map[string]*HookStarted)}
	g.do(c, &DriverStarted{Session: "a"})
	return g
}

// do folds events, and then what is due.
func (g *stage) do(events ...Event) {
	g.t.Helper()
	for _, e := range events {
		if err := g.s.Apply(Record{Revision: g.s.Revision() + 1, Time: g.now, Event: e}); err != nil {
			g.t.Fatal(err)
		}
	}
	g.step()
}

func (g *stage) step() {
	g.t.Helper()
	events, next, err := Decide(g.s, g.now)
	if err != nil {
		g.t.Fatal(err)
	}
	g.next = next
	for _, e := range events {
		switch e := e.(type) {
		case *NodeStarted:
			g.runs[e.Node], g.noop[e.Node] = e.Run, e.Noop
		case *NodeAsked:
			g.asked = append(g.asked, e.Node)
		case *NodeStop:
			g.stops = append(g.stops, e.Node)
		case *GateMeasure:
			r := g.s.gates[e.ID]
			name := r.spec.Name
			if r.node >= 0 {
				name += " " + g.s.created.Nodes[r.node].Name
			}
			g.gates[name] = e
		case *HookStarted:
			g.hooks[e.Node] = e
		}
	}
}

func (g *stage) refuse(e Event, want string) {
	g.t.Helper()
	before := g.s.Status()
	err := g.s.Apply(Record{Revision: g.s.Revision() + 1, Time: g.now, Event: e})
	if err == nil || !strings.Contains(err.Error(), want) {
		g.t.Errorf("%s: got %v, want %s", e.Type(), err, want)
	}
	if after := g.s.Status(); after.State != before.State || after.Reason != before.Reason {
		g.t.Errorf("%s changes the state although it is refused", e.Type())
	}
}

func (g *stage) pass(d time.Duration) {
	g.t.Helper()
	g.now = g.now.Add(d)
	g.step()
}

func (g *stage) finish(node string, o Outcome) {
	g.t.Helper()
	run := g.runs[node]
	if run == "" {
		g.t.Fatalf("%s has no run in work", node)
	}
	delete(g.runs, node)
	g.do(&NodeFinished{Node: node, Run: run, Outcome: o, Changed: o == OutcomeDone || o == OutcomeFailed, Reason: "as played"})
}

// all finishes all runs in work.
func (g *stage) all(o Outcome) {
	g.t.Helper()
	for i := range g.s.created.Nodes {
		if name := g.s.created.Nodes[i].Name; g.runs[name] != "" {
			g.finish(name, o)
		}
	}
}

func (g *stage) measured(name string, outcome string) {
	g.t.Helper()
	m := g.gates[name]
	if m == nil {
		g.t.Fatalf("gate %s is not measured", name)
	}
	delete(g.gates, name)
	g.do(&GateMeasured{ID: m.ID, Number: m.Number, Outcome: outcomeOf(outcome), Reason: "as played"})
}

func (g *stage) hooked(node string, ok bool) {
	g.t.Helper()
	h := g.hooks[node]
	if h == nil {
		g.t.Fatalf("%s has no hook in work", node)
	}
	delete(g.hooks, node)
	g.do(&HookFinished{Node: node, Hook: h.Hook, Run: h.Run, OK: ok, Reason: "as played"})
}

func (g *stage) is(p Phase, reason string) {
	g.t.Helper()
	if got, why := g.s.Phase(); got != p || !strings.Contains(why, reason) {
		g.t.Errorf("the rollout is %s (%s), want %s (%s)", got, why, p, reason)
	}
}

func (g *stage) node(name string, want NodeState, reason string) {
	g.t.Helper()
	if n := g.s.Status().Nodes[name]; n.State != want || !strings.Contains(n.Reason, reason) {
		g.t.Errorf("%s is %s (%s), want %s (%s)", name, n.State, n.Reason, want, reason)
	}
}
