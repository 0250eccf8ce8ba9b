package rollout

import (
	"fmt"
	"slices"
	"time"

	"bolt/rollout/gate"
	"bolt/rollout/strategy"
)

// Apply folds one event. If the event is not possible in the present state, Apply returns an error
// and the state stays as it was. The error wraps the reason, which a command can print alone.
func (s *State) Apply(r Record) error {
	err := s.apply(r.Event, r.Time)
	if err != nil {
		return fmt.Errorf("event %d (%s): %w", r.Revision, r.Event.Type(), err)
	}
	s.revision = r.Revision
	if s.clock.last.Before(r.Time) || r.Event.Type() == (*ClockMoved)(nil).Type() {
		s.clock.last = r.Time
	}
	s.tidy()
	return nil
}

func (s *State) apply(e Event, t time.Time) error {
	if e, ok := e.(*Created); ok {
		return s.create(e, t)
	}
	if s.created == nil {
		return fmt.Errorf("the log does not begin with the event created")
	}
	at := s.clock.adjust(t)
	switch e := e.(type) {
	case *DriverStarted:
		return s.driverStarted(e, at)
	case *DriverStopped:
		if e.Session != s.session {
			return fmt.Errorf("another driver has taken over")
		}
		s.session, s.places = "", 0
		s.progress.stand(at)
		s.progress.stopped = true
		return nil
	case *Governed:
		return s.governed(e, at)
	case *NodeStarted, *NodeProgress, *NodeAsked, *NodeStop, *NodeFinished, *NodeRetry, *NodeSoaking, *NodeEnded, *HookStarted, *HookFinished:
		return s.applyNode(e, at)
	case *GateStarted:
		return s.gateStarted(e)
	case *GateMeasure:
		return s.gateMeasure(e)
	case *GateMeasured:
		return s.gateMeasured(e, at)
	case *GateEnded:
		return s.gateEnded(e)
	case *PreviewStarted, *PreviewFinished, *PreviewEnded:
		return s.applyPreview(e)
	case *WaveStarted, *SoakStarted, *WaveEnded:
		return s.applyWave(e, at)
	case *RollbackRequested, *RollbackStarted, *RollbackFinished:
		return s.applyRollback(e)
	case *ClockMoved:
		s.clock.skew += time.Duration(e.By)
		return nil
	case *PhaseChanged:
		return s.phaseChanged(e, at)
	case *Ended:
		return s.end(e, at)
	}
	return s.applyCommand(e, at)
}

func (s *State) create(e *Created, t time.Time) error {
	if s.created != nil {
		return fmt.Errorf("the rollout exists already")
	}
	if err := e.check(); err != nil {
		return err
	}
	calendar, err := e.Strategy.Calendar(e.Emergency)
	if err != nil {
		return err
	}
	own := *e
	s.first, s.phase, s.reason = t, Draft, "no driver has started"
	s.gates = make(map[string]*gateRun)
	s.approvals = make(map[int][]approval)
	s.preview.flight = make(map[int32]string)
	s.adopt(&own, calendar)
	return nil
}

// adopt takes over the nodes and the waves of a rollout of which no node has started.
func (s *State) adopt(c *Created, calendar *strategy.Calendar) {
	s.created, s.calendar = c, calendar
	s.index = make(map[string]int, len(c.Nodes))
	s.nodes = make([]node, len(c.Nodes))
	for i := range c.Nodes {
		s.index[c.Nodes[i].Name] = i
		s.nodes[i].state = NodePending
	}
	for w := range c.Waves {
		for _, i := range c.Waves[w].Nodes {
			s.nodes[i].wave = int32(w + 1)
		}
	}
	s.limits = nil
	facts := make([]strategy.Fact, 0, len(c.Strategy.Rules.Parallel.Per))
	for f := range c.Strategy.Rules.Parallel.Per {
		facts = append(facts, f)
	}
	slices.Sort(facts)
	for _, f := range facts {
		ids := make(map[string]int32)
		for i := range c.Nodes {
			value := c.Nodes[i].Facts[f]
			id, ok := ids[value]
			if !ok {
				id = int32(len(s.limits))
				ids[value] = id
				s.limits = append(s.limits, limit{max: c.Strategy.Rules.Parallel.Per[f]})
			}
			s.nodes[i].limits = append(s.nodes[i].limits, id)
		}
	}
}

func (s *State) driverStarted(e *DriverStarted, at int64) error {
	if e.Session == "" || e.Session == s.session {
		return fmt.Errorf("the session %q is not new", e.Session)
	}
	s.session, s.places = e.Session, 0
	if s.progress.since != 0 { // the driver before may have died right after its last event
		s.progress.stand(s.clock.adjust(s.clock.last))
		s.progress.stopped = true
	}
	if s.progress.stopped {
		s.progress.since, s.progress.stopped = at, false
	}
	for _, i := range s.flight {
		n := &s.nodes[i]
		n.asked, n.stopping = false, false
		switch n.step {
		case stepRun, stepHookBefore, stepHookAfter:
			s.due.add(int(i), &n.inDue)
		}
	}
	for _, g := range s.gates {
		if g.session != "" {
			s.wake(g)
		}
	}
	slices.SortFunc(s.dueGate, func(a, b *gateRun) int { return slices.Compare([]byte(a.id), []byte(b.id)) })
	for i := range s.preview.flight {
		s.preview.again = append(s.preview.again, i)
	}
	slices.Sort(s.preview.again)
	clear(s.preview.flight)
	return nil
}

func (s *State) phaseChanged(e *PhaseChanged, at int64) error {
	if s.phase.Ended() {
		return fmt.Errorf("the rollout has ended")
	}
	switch {
	case e.State == Running && s.phase != Running:
		s.progress.since = at
	case e.State != Running && s.phase == Running:
		s.progress.stand(at)
	}
	s.phase, s.reason = e.State, e.Reason
	return nil
}

func (s *State) end(e *Ended, at int64) error {
	if !e.State.Ended() || s.phase.Ended() || len(s.flight) > 0 {
		return fmt.Errorf("the rollout cannot end as %s now", e.State)
	}
	s.progress.stand(at)
	s.phase, s.reason = e.State, e.Reason
	s.paused = false
	s.stuck = 0
	for i := range s.nodes {
		if n := &s.nodes[i]; n.state == NodePending {
			n.state, n.reason = NodeCancelled, "the rollout ended before the node was started"
		}
	}
	s.gates, s.scoped, s.dueGate = make(map[string]*gateRun), nil, nil
	s.queue = queue{}
	clear(s.preview.flight)
	return nil
}

// applyWave folds the events of waves.
func (s *State) applyWave(e Event, at int64) error {
	switch e := e.(type) {
	case *WaveStarted:
		if e.Wave != s.wave+1 || e.Wave > len(s.created.Waves) || s.wave > 0 && s.step != waveOver || s.stop.end != "" {
			return fmt.Errorf("wave %d cannot start now", e.Wave)
		}
		s.wave, s.step = e.Wave, waveNodes
		s.sums.inWave = 0
		s.soakUntil, s.soaked = 0, false
		s.dropScoped(func(g *gateRun) bool { return g.place == gate.Wave || g.place == gate.Before })
		s.progress.restart(at)
		s.queue = queue{}
		for _, i := range s.created.Waves[e.Wave-1].Nodes {
			if n := &s.nodes[i]; n.state == NodePending {
				n.bucket = s.queue.push(i, n.limits, s.stratum(i))
			}
		}
	case *SoakStarted:
		if e.Wave != s.wave || s.step != waveNodes && s.step != waveGates || !s.quiet() {
			return fmt.Errorf("wave %d cannot soak now", e.Wave)
		}
		s.step, s.soakUntil = waveSoak, s.clock.adjust(e.Until)
	case *WaveEnded:
		if e.Wave != s.wave || s.step == waveOver || s.wave == 0 || !s.quiet() {
			return fmt.Errorf("wave %d cannot end now", e.Wave)
		}
		s.step, s.soakUntil = waveOver, 0
	}
	return nil
}

// stratum is the value of the fact strata of a node; "" if the strategy has no strata.
func (s *State) stratum(i int) string {
	if s.created.Strategy.Strata == "" {
		return ""
	}
	return s.created.Nodes[i].Facts[s.created.Strategy.Strata]
}

// quiet reports whether no node of the present wave is in work or waits.
func (s *State) quiet() bool { return len(s.flight) == 0 && s.queue.waiting == 0 }

func (s *State) applyPreview(e Event) error {
	p := &s.preview
	switch e := e.(type) {
	case *PreviewStarted:
		i, ok := s.index[e.Node]
		if !ok || p.over || s.wave > 0 || i != p.next && !slices.Contains(p.again, int32(i)) || e.Session != s.session {
			return fmt.Errorf("the preview of node %s cannot start now", e.Node)
		}
		if at := slices.Index(p.again, int32(i)); at >= 0 {
			p.again = slices.Delete(p.again, at, at+1)
		} else {
			p.next++
		}
		p.flight[int32(i)] = e.Run
	case *PreviewFinished:
		i, ok := s.index[e.Node]
		if !ok || p.flight[int32(i)] != e.Run || e.Run == "" {
			return fmt.Errorf("node %s has no preview in work", e.Node)
		}
		delete(p.flight, int32(i))
		p.finished++
		most := s.created.Strategy.Rules.Preview.MaxChanges
		if e.Outcome != OutcomeDone || most > 0 && e.Changes > most {
			if p.odd == 0 {
				p.oddNode = e.Node
			}
			p.odd++
		}
	case *PreviewEnded:
		if p.over || len(p.flight) > 0 {
			return fmt.Errorf("the preview is not at its end")
		}
		p.over = true
	}
	return nil
}

func (s *State) applyRollback(e Event) error {
	switch e := e.(type) {
	case *RollbackRequested:
		if err := s.canRollBack(); err != nil {
			return err
		}
		if s.phase.Ended() { // the nodes are as they were when it ended
			s.phase = RollingBack
			s.reason = e.Reason
		}
		s.stop = stop{end: RolledBack, mode: Drain, reason: said("rollback", e.By, e.Reason)}
		s.rollback, s.rolledBack = "", nil
		s.disturb()
	case *RollbackStarted:
		if s.stop.end != RolledBack || s.rollback != "" || len(s.flight) > 0 || e.Rollout == "" {
			return fmt.Errorf("no rollback can start now")
		}
		s.rollback = e.Rollout
		s.rollbacks++
	case *RollbackFinished:
		if s.rollback == "" || e.Rollout != s.rollback || s.rolledBack != nil || !e.State.Ended() {
			return fmt.Errorf("no rollback by %s is in work", e.Rollout)
		}
		for _, name := range e.Nodes {
			if _, ok := s.index[name]; !ok {
				return fmt.Errorf("node %s is not part of this rollout", name)
			}
		}
		s.rolledBack = e
		for _, name := range e.Nodes {
			n := &s.nodes[s.index[name]]
			n.state, n.changed = NodeRolledBack, false
			n.reason = "rolled back by " + e.Rollout
		}
	}
	return nil
}

// canRollBack returns why a rollout cannot be taken back, nil if it can.
func (s *State) canRollBack() error {
	switch {
	case s.created.Parent != "":
		return fmt.Errorf("rollout %s is a rollback of %s itself. Start a new rollout with the release that the nodes shall have", s.created.Rollout, s.created.Parent)
	case !s.created.Strategy.Action.IsZero():
		return fmt.Errorf("a plan or task cannot be rolled back")
	case s.created.Noop || s.created.Strategy.Kind == strategy.Check:
		return fmt.Errorf("the rollout does not change nodes")
	case s.phase == RolledBack || s.phase == SupersededPhase:
		return fmt.Errorf("the rollout is %s already", s.phase)
	case s.stop.end == RolledBack && !s.phase.Ended():
		return fmt.Errorf("the rollout is being rolled back already")
	}
	return nil
}

// disturb lets Step look at all nodes in work, because the rollout ends early.
func (s *State) disturb() {
	for _, i := range s.flight {
		n := &s.nodes[i]
		var moves bool
		switch n.step {
		case stepRetry:
			moves = true
		case stepRun:
			moves = s.stop.mode == Cancel && !n.stopping
		case stepGates:
			moves = s.stop.mode == Cancel || n.stuck()
		case stepSoak:
			moves = s.stop.mode == Cancel
		}
		if moves {
			s.due.add(int(i), &n.inDue)
		}
	}
}

func (n *node) stuck() bool { return slices.ContainsFunc(n.gates, (*gateRun).stuck) }

// tidy removes void timers from the top of the heap.
func (s *State) tidy() {
	for len(s.timers) > 0 && !s.valid(s.timers[0]) {
		s.timers.pop()
	}
}

func (s *State) valid(t timer) bool {
	if t.gate != nil {
		return t.seq == t.gate.seq
	}
	return t.seq == s.nodes[t.node].seq
}

// settle takes a node off the list of those that need a decision.
func (s *State) settle(n *node) {
	s.due.remove(&n.inDue, func(i int32) *int32 { return &s.nodes[i].inDue })
}
