package rollout

import (
	"fmt"
	"slices"
)

// said returns the text of a command: the act, the user and the reason that the user gave.
func said(act, by, reason string) string {
	text := act
	if by != "" {
		text += " by " + by
	}
	switch {
	case reason == "":
		return text
	case by == "":
		return reason
	}
	return text + ": " + reason
}

// applyCommand folds commands of persons, and decisions of Step about the whole rollout.
func (s *State) applyCommand(e Event, at int64) error {
	if s.phase.Ended() {
		return fmt.Errorf("the rollout has ended: %s", s.phase)
	}
	switch e := e.(type) {
	case *Paused:
		if s.stop.end != "" {
			return fmt.Errorf("the rollout is ending: %s", s.stop.reason)
		}
		if !s.paused {
			s.pausedAt = at
		}
		s.paused, s.pauseWhy, s.pauseReason = true, e.Why, said("paused", e.By, e.Reason)
	case *Resumed:
		if !s.paused {
			return fmt.Errorf("the rollout is not paused")
		}
		s.resume(at)
		s.remeasure()
	case *Promoted:
		return s.promoted(at)
	case *Approved:
		return s.approved(e, at)
	case *Rejected:
		if e.Wave != s.wave+1 || e.Wave > len(s.created.Waves) || s.need(e.Wave).Need == 0 || s.wave > 0 && s.step != waveOver {
			return fmt.Errorf("wave %d does not wait for an approval", e.Wave)
		}
		return s.halt(stop{end: Aborted, mode: Drain, reason: said(fmt.Sprintf("wave %d was rejected", e.Wave), e.By, e.Reason)})
	case *Skipped:
		return s.skipped(e)
	case *Retried:
		return s.retried(e)
	case *AbortRequested:
		if e.Mode != Drain && e.Mode != Cancel {
			return fmt.Errorf("%q is not a way to abort", e.Mode)
		}
		end := Failed
		if e.By != "" {
			end = Aborted
		}
		return s.halt(stop{end: end, mode: e.Mode, reason: said("aborted", e.By, e.Reason)})
	case *Superseded:
		return s.halt(stop{end: SupersededPhase, mode: Drain, reason: said("superseded by rollout "+e.Rollout, e.By, e.Reason)})
	case *Edited:
		return s.edited(e)
	default:
		return fmt.Errorf("unknown event")
	}
	return nil
}

// halt ends the rollout early. A second abort can only turn a drain into a cancel.
func (s *State) halt(why stop) error {
	if s.stop.end != "" {
		if s.stop.mode == Cancel || why.mode != Cancel {
			return fmt.Errorf("the rollout is ending already: %s", s.stop.reason)
		}
		s.stop.mode = Cancel
	} else {
		s.stop = why
	}
	s.disturb()
	return nil
}

// resume ends a pause and accepts the failures so far.
func (s *State) resume(at int64) {
	if s.soakUntil != 0 {
		s.soakUntil += max(at-s.pausedAt, 0)
	}
	if s.preview.over {
		s.preview.accepted = true
	}
	s.paused, s.pauseWhy, s.pauseReason = false, "", ""
	s.gateFailed = ""
	s.sums.failed, s.sums.inWave, s.sums.inRow = 0, 0, 0
	s.sums.epoch++
	s.progress.restart(at)
}

func (s *State) promoted(at int64) error {
	switch {
	case s.stop.end != "":
		return fmt.Errorf("the rollout is ending: %s", s.stop.reason)
	case s.step == waveSoak:
		s.soaked = true
	case s.stuck > 0 || s.gateFailed != "":
		s.accept()
	default:
		return fmt.Errorf("there is neither a soak nor a gate to accept")
	}
	if s.paused && (s.pauseWhy == PauseGate || s.pauseWhy == PauseFailures && s.gateFailed != "") {
		s.resume(at)
	}
	s.gateFailed = ""
	return nil
}

func (s *State) approved(e *Approved, at int64) error {
	need := s.need(e.Wave)
	switch {
	case need.Need == 0:
		return fmt.Errorf("wave %d needs no approval", e.Wave)
	case e.Wave <= s.wave:
		return fmt.Errorf("wave %d has started already", e.Wave)
	case e.By == "":
		return fmt.Errorf("an approval needs the name of a user")
	case len(need.Users) > 0 && !slices.Contains(need.Users, e.By):
		return fmt.Errorf("%s cannot approve wave %d", e.By, e.Wave)
	case need.NotAuthor && e.By == s.created.Author:
		return fmt.Errorf("%s is the author of the rollout, and the author cannot approve it", e.By)
	case e.Release != s.created.Release || e.Strategy != s.created.StrategyDigest:
		return fmt.Errorf("the approval is for another release or strategy")
	}
	list := slices.DeleteFunc(s.approvals[e.Wave], func(a approval) bool { return a.By == e.By })
	s.approvals[e.Wave] = append(list, approval{*e, at})
	return nil
}

// uncount takes back the failure of a node.
func (s *State) uncount(n *node) {
	s.sums.ended--
	if !n.counted {
		return
	}
	n.counted = false
	s.sums.unavailable--
	if n.epoch == s.sums.epoch {
		s.sums.failed--
		s.sums.inRow = max(s.sums.inRow-1, 0)
		if int(n.wave) == s.wave {
			s.sums.inWave = max(s.sums.inWave-1, 0)
		}
	}
}

func (s *State) skipped(e *Skipped) error {
	_, n, err := s.find(e.Node, stepIdle)
	if err != nil {
		return err
	}
	switch n.state {
	case NodePending:
		s.sums.ended++
		n.state = NodeSkipped
		if b := n.bucket; b != nil {
			n.bucket = nil
			s.queue.drop(b, func(i int32) bool { return s.nodes[i].bucket == b })
		}
	case NodeDone, NodeSkipped, NodeRolledBack:
		return fmt.Errorf("node %s is %s already", e.Node, n.state)
	default:
		s.uncount(n)
		s.sums.ended++
		n.state = NodeSkipped
	}
	n.reason = said("skipped", e.By, e.Reason)
	return nil
}

func (s *State) retried(e *Retried) error {
	if s.stop.end != "" {
		return fmt.Errorf("the rollout is ending: %s", s.stop.reason)
	}
	var again []int
	if len(e.Nodes) == 0 && s.wave > 0 {
		for _, w := range s.created.Waves[:s.wave] {
			for _, i := range w.Nodes {
				if s.repeatable(&s.nodes[i]) {
					again = append(again, i)
				}
			}
		}
	}
	for _, name := range e.Nodes {
		i, n, err := s.find(name, stepIdle)
		if err != nil {
			return err
		}
		if !s.repeatable(n) || slices.Contains(again, i) {
			return fmt.Errorf("node %s is %s, so there is nothing to repeat", name, n.state)
		}
		again = append(again, i)
	}
	if len(again) == 0 {
		return fmt.Errorf("no node has failed")
	}
	for _, i := range again {
		n := &s.nodes[i]
		s.uncount(n)
		n.state, n.outcome, n.reason = NodePending, "", said("repeated", e.By, e.Reason)
		n.base = n.attempts
		n.bucket = s.queue.push(i, n.limits, s.stratum(i))
	}
	// The wave goes on, and its gates are measured once more after it.
	s.step, s.soakUntil, s.soaked = waveNodes, 0, false
	s.dropScoped(func(g *gateRun) bool { return g.place == "wave" })
	return nil
}

// repeatable reports whether a node has ended without success.
func (s *State) repeatable(n *node) bool {
	switch n.state {
	case NodeFailed, NodeUnreachable, NodeTimeout, NodeLost, NodeDrifted, NodeCancelled:
		return n.step == stepIdle
	}
	return false
}

func (s *State) edited(e *Edited) error {
	if s.wave > 0 || s.stop.end != "" {
		return fmt.Errorf("the strategy cannot be changed after the start of the first wave")
	}
	own := *s.created
	own.Strategy, own.StrategyDigest, own.Nodes, own.Waves = e.Strategy, e.StrategyDigest, e.Nodes, e.Waves
	if len(e.Nodes) != len(s.created.Nodes) {
		return fmt.Errorf("the nodes of a rollout cannot be changed")
	}
	for i := range e.Nodes {
		if e.Nodes[i].Name != s.created.Nodes[i].Name {
			return fmt.Errorf("the nodes of a rollout cannot be changed")
		}
	}
	if err := own.check(); err != nil {
		return err
	}
	calendar, err := own.Strategy.Calendar(own.Emergency)
	if err != nil {
		return err
	}
	var skipped []int
	for i := range s.nodes {
		if s.nodes[i].state == NodeSkipped {
			skipped = append(skipped, i)
		}
	}
	s.dropScoped(func(*gateRun) bool { return true })
	s.gateFailed = ""
	if len(s.preview.flight) == 0 && !s.preview.over {
		s.preview = preview{flight: s.preview.flight}
	}
	s.adopt(&own, calendar)
	for _, i := range skipped {
		s.nodes[i].state = NodeSkipped
	}
	return nil
}
