package rollout

import (
	"fmt"
	"slices"
	"time"

	"bolt/rollout/gate"
)

func (s *State) gateStarted(e *GateStarted) error {
	spec := s.created.Strategy.Gate(e.Gate)
	if spec == nil || e.ID == "" || s.gates[e.ID] != nil || !slices.Contains(spec.At, e.Place) {
		return fmt.Errorf("the gate %q cannot start", e.Gate)
	}
	g := &gateRun{id: e.ID, spec: spec, place: e.Place, wave: e.Wave, node: -1, outcome: gate.Pending}
	switch e.Place {
	case gate.Node:
		i, ok := s.index[e.Node]
		if !ok || s.nodes[i].step != stepResult && s.nodes[i].step != stepGates {
			return fmt.Errorf("the gate %s of node %s cannot start now", e.Gate, e.Node)
		}
		n := &s.nodes[i]
		g.node = i
		n.step, n.state = stepGates, NodeVerifying
		n.gates = append(n.gates, g)
		n.gatesLeft++
		s.settle(n)
	case gate.Wave:
		if e.Wave != s.wave || s.step != waveNodes && s.step != waveGates || !s.quiet() {
			return fmt.Errorf("the gate %s of wave %d cannot start now", e.Gate, e.Wave)
		}
		s.step = waveGates
		s.scoped = append(s.scoped, g)
	case gate.Before:
		if s.wave > 0 {
			return fmt.Errorf("the gate %s must come before the first wave", e.Gate)
		}
		s.scoped = append(s.scoped, g)
	default:
		s.scoped = append(s.scoped, g)
	}
	s.gateSeq++
	s.gates[e.ID] = g
	s.schedule(g, s.clock.adjust(e.Until))
	return nil
}

// schedule sets the time of the next measurement.
func (s *State) schedule(g *gateRun, at int64) {
	g.seq++
	s.timers.push(timer{at: at, node: -1, gate: g, seq: g.seq})
}

// wake lets Step look at a gate.
func (s *State) wake(g *gateRun) {
	if !g.due {
		g.due = true
		s.dueGate = append(s.dueGate, g)
	}
}

func (s *State) gateMeasure(e *GateMeasure) error {
	g := s.gates[e.ID]
	if g == nil || g.outcome.Ended() || e.Session != s.session || g.session == s.session || e.Number != g.tally.Total()+1 {
		return fmt.Errorf("measurement %d of gate %s cannot start now", e.Number, e.ID)
	}
	g.session = e.Session
	g.seq++
	s.drop(g)
	return nil
}

// drop takes a gate off the list of those that need a decision.
func (s *State) drop(g *gateRun) {
	if g.due {
		g.due = false
		s.dueGate = slices.DeleteFunc(s.dueGate, func(o *gateRun) bool { return o == g })
	}
}

func (s *State) gateMeasured(e *GateMeasured, at int64) error {
	g := s.gates[e.ID]
	if g == nil || g.session == "" || e.Number != g.tally.Total()+1 {
		return fmt.Errorf("measurement %d of gate %s is not in work", e.Number, e.ID)
	}
	if !e.Outcome.Ended() {
		return fmt.Errorf("%q is not the outcome of a measurement", e.Outcome)
	}
	g.session = ""
	g.tally = g.tally.Add(e.Outcome, e.Reason)
	g.outcome, g.reason = gate.Running, ""
	s.drop(g)
	if o, _ := gate.Judge(g.spec.Limits(g.place), g.tally); o.Ended() {
		s.wake(g)
		return nil
	}
	s.schedule(g, at+int64(time.Duration(g.spec.Interval)))
	return nil
}

func (s *State) gateEnded(e *GateEnded) error {
	g := s.gates[e.ID]
	if g == nil || g.outcome.Ended() || !e.Outcome.Ended() {
		return fmt.Errorf("the gate %s cannot end now", e.ID)
	}
	g.outcome, g.reason, g.session = e.Outcome, e.Reason, ""
	g.seq++
	s.drop(g)
	if g.stuck() {
		s.stuck++
	}
	if g.place == gate.Node {
		n := &s.nodes[g.node]
		n.gatesLeft--
		if g.outcome == gate.Failed || n.gatesLeft == 0 && !n.stuck() || n.stuck() && s.stop.end != "" {
			s.verified(g.node)
		}
		return nil
	}
	if g.outcome == gate.Failed {
		if s.created.Strategy.CountsAs("gate") {
			s.gateFailed = s.title(g) + " failed: " + g.reason
		} else {
			g.accepted = true
		}
	}
	return nil
}

// verified ends the gates of a node, so that Step looks at the node.
func (s *State) verified(i int) {
	n := &s.nodes[i]
	n.step = stepVerified
	s.due.add(i, &n.inDue)
}

// dropGates forgets the gates of a node.
func (s *State) dropGates(n *node) {
	for _, g := range n.gates {
		if g.stuck() {
			s.stuck--
		}
		g.seq++
		s.drop(g)
		delete(s.gates, g.id)
	}
	n.gates, n.gatesLeft = nil, 0
}

// dropScoped forgets gates that do not belong to a node.
func (s *State) dropScoped(which func(*gateRun) bool) {
	s.scoped = slices.DeleteFunc(s.scoped, func(g *gateRun) bool {
		if !which(g) {
			return false
		}
		if g.stuck() {
			s.stuck--
		}
		g.seq++
		s.drop(g)
		delete(s.gates, g.id)
		return true
	})
}

// remeasure lets all gates that ended without a success be measured again.
func (s *State) remeasure() {
	for _, i := range slices.Clone(s.flight) {
		if n := &s.nodes[i]; n.step == stepGates && n.stuck() {
			s.dropGates(n)
			n.step = stepResult
			s.due.add(int(i), &n.inDue)
		}
	}
	s.dropScoped(func(g *gateRun) bool { return g.outcome.Ended() && !g.passed() })
}

// accept lets all gates that ended without a success count as passed.
func (s *State) accept() {
	for _, g := range s.scoped {
		s.acceptGate(g)
	}
	for _, i := range slices.Clone(s.flight) {
		n := &s.nodes[i]
		if n.step != stepGates || !n.stuck() {
			continue
		}
		for _, g := range n.gates {
			s.acceptGate(g)
		}
		if n.gatesLeft == 0 {
			s.verified(int(i))
		}
	}
}

func (s *State) acceptGate(g *gateRun) {
	if !g.outcome.Ended() || g.passed() {
		return
	}
	if g.stuck() {
		s.stuck--
	}
	g.accepted = true
}
