package rollout

import (
	"fmt"
)

// find returns a node that is in one of some steps.
func (s *State) find(name string, steps ...nodeStep) (int, *node, error) {
	i, ok := s.index[name]
	if !ok {
		return 0, nil, fmt.Errorf("node %q is not part of this rollout", name)
	}
	n := &s.nodes[i]
	for _, step := range steps {
		if n.step == step {
			return i, n, nil
		}
	}
	return 0, nil, fmt.Errorf("node %s is %s, so this cannot happen now", name, n.state)
}

// running returns a node with a run in work.
func (s *State) running(name, run string) (int, *node, error) {
	i, n, err := s.find(name, stepRun)
	if err == nil && n.run != run {
		err = fmt.Errorf("run %s is not the run in work on node %s", run, name)
	}
	return i, n, err
}

func (s *State) applyNode(e Event, at int64) error {
	switch e := e.(type) {
	case *NodeStarted:
		return s.nodeStarted(e)
	case *NodeProgress:
		_, n, err := s.running(e.Node, e.Run)
		if err != nil {
			return err
		}
		switch e.State {
		case NodeLocked, NodeSending, NodeApplying:
			n.state = e.State
			return nil
		}
		return fmt.Errorf("%q is not a state of a run", e.State)
	case *NodeAsked:
		_, n, err := s.running(e.Node, e.Run)
		if err != nil {
			return err
		}
		if e.Session != s.session || n.asked {
			return fmt.Errorf("node %s has been asked", e.Node)
		}
		n.asked = true
		s.settle(n)
		if s.stop.mode == Cancel && s.stop.end != "" {
			s.due.add(s.index[e.Node], &n.inDue)
		}
	case *NodeStop:
		_, n, err := s.running(e.Node, e.Run)
		if err != nil {
			return err
		}
		n.stopping = true
		s.settle(n)
	case *NodeFinished:
		return s.nodeFinished(e)
	case *NodeRetry:
		i, n, err := s.find(e.Node, stepResult, stepVerified)
		if err != nil {
			return err
		}
		s.dropGates(n)
		s.wait(i, n, stepRetry, s.clock.adjust(e.Until))
		n.state, n.outcome, n.reason = NodePending, e.Outcome, e.Reason
	case *NodeSoaking:
		i, n, err := s.find(e.Node, stepResult, stepVerified, stepClosing)
		if err != nil {
			return err
		}
		s.dropGates(n)
		s.wait(i, n, stepSoak, s.clock.adjust(e.Until))
		n.state, n.reason = NodeSoakingNow, e.Reason
	case *NodeEnded:
		return s.nodeEnded(e, at)
	case *HookStarted:
		return s.hookStarted(e)
	case *HookFinished:
		return s.hookFinished(e)
	}
	return nil
}

// wait sets the timer of a node.
func (s *State) wait(i int, n *node, step nodeStep, at int64) {
	s.settle(n)
	n.step = step
	n.seq++
	s.timers.push(timer{at: at, node: int32(i), seq: n.seq})
}

// enter puts a node in work.
func (s *State) enter(i int, n *node) error {
	if s.wave == 0 || int(n.wave) > s.wave {
		return fmt.Errorf("the wave of node %s has not started", s.created.Nodes[i].Name)
	}
	if s.step != waveNodes {
		return fmt.Errorf("wave %d starts no more nodes", s.wave)
	}
	s.flight.add(i, &n.inFlight)
	n.hooked = true
	for _, l := range n.limits {
		s.limits[l].load++
	}
	if n.bucket != nil {
		b := n.bucket
		n.bucket = nil
		s.queue.drop(b, func(i int32) bool { return s.nodes[i].bucket == b })
	}
	return nil
}

func (s *State) nodeStarted(e *NodeStarted) error {
	i, n, err := s.find(e.Node, stepIdle, stepStart, stepRetry)
	if err != nil {
		return err
	}
	if n.state != NodePending && n.state != NodeLocked || e.Attempt != int(n.attempts)+1 || e.Run == "" || e.Session != s.session {
		return fmt.Errorf("attempt %d on node %s cannot start now", e.Attempt, e.Node)
	}
	if n.step == stepIdle {
		if err := s.enter(i, n); err != nil {
			return err
		}
	}
	s.settle(n)
	n.seq++
	n.step, n.state = stepRun, NodeSending
	n.attempts++
	n.run, n.asked, n.stopping = e.Run, true, false
	n.outcome, n.reason = "", e.Reason
	n.ran, n.noop = n.ran || !e.Noop, e.Noop
	return nil
}

func (s *State) nodeFinished(e *NodeFinished) error {
	i, n, err := s.running(e.Node, e.Run)
	if err != nil {
		return err
	}
	switch e.Outcome {
	case OutcomeDone, OutcomeFailed, OutcomeUnreachable, OutcomeAuth, OutcomeTimeout, OutcomeLost, OutcomeDrifted, OutcomeRefused, OutcomeCancelled:
	case OutcomeAbsent:
		n.base++
	default:
		return fmt.Errorf("%q is not the outcome of a run", e.Outcome)
	}
	if n.would = 0; !e.Changed {
		n.would = int32(e.Changes)
	}
	n.step = stepResult
	n.outcome, n.reason = e.Outcome, e.Reason
	n.left = n.left.after(n.noop, e.Outcome)
	if n.ran && (e.Changed || e.Outcome == OutcomeLost || e.Outcome == OutcomeTimeout) {
		n.changed = true
	}
	s.due.add(i, &n.inDue)
	return nil
}

func (s *State) nodeEnded(e *NodeEnded, at int64) error {
	i, n, err := s.find(e.Node, stepStart, stepResult, stepRetry, stepGates, stepVerified, stepClosing, stepSoak)
	if err != nil {
		return err
	}
	if !e.State.Ended() {
		return fmt.Errorf("%q is not the end of a node", e.State)
	}
	s.dropGates(n)
	s.settle(n)
	n.seq++
	n.step, n.state = stepIdle, e.State
	n.outcome, n.reason = e.Outcome, e.Reason
	n.counted, n.epoch = e.Counted, s.sums.epoch
	s.flight.remove(&n.inFlight, func(i int32) *int32 { return &s.nodes[i].inFlight })
	for _, l := range s.nodes[i].limits {
		s.limits[l].load--
	}
	s.sums.ended++
	switch {
	case e.State == NodeDone:
		s.sums.done++
		s.sums.inRow = 0
		s.progress.restart(at)
	case e.Counted:
		s.sums.failed++
		s.sums.inWave++
		s.sums.inRow++
		s.sums.unavailable++
	}
	return nil
}

func (s *State) hookStarted(e *HookStarted) error {
	steps := []nodeStep{stepIdle, stepHookBefore}
	if e.Hook == HookAfter {
		steps = []nodeStep{stepStart, stepResult, stepVerified, stepRetry, stepGates, stepHookAfter}
	}
	i, n, err := s.find(e.Node, steps...)
	if err != nil {
		return err
	}
	if e.Run == "" || e.Session != s.session || e.Hook != HookBefore && e.Hook != HookAfter {
		return fmt.Errorf("the hook of node %s cannot start now", e.Node)
	}
	if n.step == stepIdle {
		if n.state != NodePending {
			return fmt.Errorf("node %s is %s", e.Node, n.state)
		}
		if err := s.enter(i, n); err != nil {
			return err
		}
	}
	s.dropGates(n)
	s.settle(n)
	n.seq++
	n.hookRun = e.Run
	if e.Hook == HookBefore {
		n.step, n.state = stepHookBefore, NodeLocked
		return nil
	}
	n.step = stepHookAfter
	n.outcome, n.reason = e.Outcome, e.Reason
	return nil
}

func (s *State) hookFinished(e *HookFinished) error {
	step := stepHookBefore
	if e.Hook == HookAfter {
		step = stepHookAfter
	}
	i, n, err := s.find(e.Node, step)
	if err != nil {
		return err
	}
	if n.hookRun != e.Run {
		return fmt.Errorf("the hook %s is not in work on node %s", e.Run, e.Node)
	}
	n.hookOK = e.OK
	switch {
	case e.Hook == HookBefore && e.OK:
		n.step = stepStart
	case e.Hook == HookBefore:
		n.step = stepResult
		n.outcome, n.reason = OutcomeFailed, "the hook before_node failed: "+e.Reason
	default:
		n.step = stepClosing
		n.hooked = false
		if !e.OK && n.outcome == OutcomeDone {
			n.outcome, n.reason = OutcomeFailed, "the hook after_node failed: "+e.Reason
		}
	}
	s.due.add(i, &n.inDue)
	return nil
}
