package watch

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"bolt/output/layout"
	"bolt/rollout"
	"bolt/rollout/gate"
	"bolt/rollout/strategy"
)

// A stage plays a rollout on a clock of its own. The test gives the results of runs and measurements.
type stage struct {
	t       testing.TB
	now     time.Time
	view    *View
	runs    map[string]string // the present runs, by node
	measure map[string]*rollout.GateMeasure
}

const id = "20261127-141811-web"

func play(t testing.TB, text string, nodes ...string) *stage {
	t.Helper()
	st, err := strategy.Read([]byte(text), "strategy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list := make([]rollout.Node, len(nodes))
	for i, n := range nodes {
		list[i] = rollout.Node{Name: n, Release: "new", Catalog: "c2", Previous: "old", PreviousCatalog: "c1"}
	}
	c, err := rollout.New(rollout.Spec{Rollout: id, Release: "new", Strategy: *st, Nodes: list, Author: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	g := &stage{
		t: t, now: time.Date(2026, 11, 27, 14, 18, 11, 0, time.UTC), view: New(id, teller()),
		runs: make(map[string]string), measure: make(map[string]*rollout.GateMeasure),
	}
	g.do(c, &rollout.DriverStarted{Session: "a", Holder: "ann@desk (process 8489)"})
	return g
}

// teller returns a function that describes events.
func teller() Tell {
	gates := make(map[string]string)
	return func(s *rollout.State, e rollout.Event) (text, style string) {
		if e, is := e.(*rollout.GateStarted); is {
			gates[e.ID] = e.Gate
		}
		return tell(s, e, gates)
	}
}

func tell(s *rollout.State, e rollout.Event, gates map[string]string) (text, style string) {
	prefix := ""
	if s.Created().Parent != "" {
		prefix = "rollback: "
	}
	switch e := e.(type) {
	case *rollout.DriverStarted:
		return prefix + "driven by " + e.Holder, ""
	case *rollout.WaveStarted:
		w := s.Created().Waves
		return prefix + fmt.Sprintf("wave %d of %d (%s) starts", e.Wave, len(w), w[e.Wave-1].Name), layout.Cyan
	case *rollout.SoakStarted:
		return fmt.Sprintf("wave %d soaks until %s", e.Wave, e.Until.Format("15:04:05")), ""
	case *rollout.NodeEnded:
		if e.State == rollout.NodeDone {
			return prefix + e.Node + ": ended as done", layout.Green
		}
		return prefix + e.Node + ": ended as " + string(e.State) + ": " + e.Reason, layout.Red
	case *rollout.GateEnded:
		return fmt.Sprintf("gate %s: %s", gates[e.ID], e.Outcome), layout.Green
	case *rollout.Paused:
		return "paused: " + e.Reason, layout.Yellow
	case *rollout.RollbackStarted:
		return "rollback as rollout " + e.Rollout + ": " + e.Reason, layout.Yellow
	}
	return "", ""
}

// do folds events of the rollout, and then what is due.
func (g *stage) do(events ...rollout.Event) { g.t.Helper(); g.doIn(id, events...) }

func (g *stage) doIn(rollout string, events ...rollout.Event) {
	g.t.Helper()
	for _, e := range events {
		g.apply(rollout, e)
	}
	g.step()
}

func (g *stage) apply(id string, e rollout.Event) {
	g.t.Helper()
	rev := g.view.main.state.Revision()
	if id != g.view.main.id {
		rev = 0
		if g.view.back != nil {
			rev = g.view.back.state.Revision()
		}
	}
	if err := g.view.Apply(id, rollout.Record{Revision: rev + 1, Time: g.now, Event: e}); err != nil {
		g.t.Fatalf("%s: %v", e.Type(), err)
	}
	switch e := e.(type) {
	case *rollout.NodeStarted:
		g.runs[e.Node] = e.Run
	case *rollout.GateMeasure:
		g.measure[e.ID] = e
	case *rollout.RollbackStarted:
		c, _, err := rollout.NewRollback(g.view.State(), e.Rollout, "")
		if err != nil {
			g.t.Fatal(err)
		}
		g.apply(e.Rollout, c)
		g.apply(e.Rollout, &rollout.DriverStarted{Session: "b", Holder: "ann@desk (process 8489)"})
	}
}

// step decides until nothing is due.
func (g *stage) step() {
	g.t.Helper()
	for again := true; again; {
		again = false
		for _, p := range g.view.parts() {
			events, _ := rollout.Step(p.state, g.now)
			for _, e := range events {
				g.apply(p.id, e)
				again = true
			}
		}
	}
}

// pass lets time pass.
func (g *stage) pass(d time.Duration) {
	g.t.Helper()
	g.now = g.now.Add(d)
	g.step()
}

// end ends the runs of nodes.
func (g *stage) end(o rollout.Outcome, reason string, nodes ...string) {
	g.t.Helper()
	for _, n := range nodes {
		p := g.view.parts()
		g.doIn(p[len(p)-1].id, &rollout.NodeFinished{Node: n, Run: g.runs[n], Outcome: o, Reason: reason, Changed: o == rollout.OutcomeDone})
	}
}

// measured ends all measurements.
func (g *stage) measured(o gate.Outcome, reason string) {
	g.t.Helper()
	list := g.measure
	g.measure = make(map[string]*rollout.GateMeasure)
	for _, id := range slices.Sorted(maps.Keys(list)) {
		e := list[id]
		g.do(&rollout.GateMeasured{ID: e.ID, Number: e.Number, Outcome: o, Reason: reason})
	}
}

// frame returns the text of a picture.
func (g *stage) frame(l Look) (text string) {
	g.t.Helper()
	if l.What == "" {
		l.What = "release 61975abe42e8"
	}
	l.Next = "bolt rollout resume " + id
	for _, line := range g.view.Frame(g.now, l).Lines {
		text += line.String() + "\n"
	}
	return text
}
