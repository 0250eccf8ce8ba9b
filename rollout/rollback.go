package rollout

import (
	"fmt"

	"bolt/rollout/strategy"
)

// NewRollback returns the first event of the rollout that takes a rollout back, and the nodes on
// which the rollout has run and which stay as they are, with the reasons. RollbackStarted has the name
// of the new rollout. It is an error if no node is left, or if the rollout is a rollback itself.
//
// Each node gets the release that it had before. A fast rollback is one wave without soaks and
// gates. No rollback waits for approvals, windows, freezes or a preview, and none is rolled back
// by itself.
func NewRollback(s *State, name, author string) (*Created, map[string]string, error) {
	if s.created == nil {
		return nil, nil, fmt.Errorf("the rollout does not exist")
	}
	c := s.created
	if c.Parent != "" {
		return nil, nil, s.canRollBack()
	}
	left := make(map[string]string)
	var nodes []Node
	for i := range s.nodes {
		n, fixed := &s.nodes[i], c.Nodes[i]
		if why := s.refusal(i); why != "" {
			if n.ran {
				left[fixed.Name] = why
			}
			continue
		}
		back := Node{
			Name: fixed.Name, Release: fixed.Previous, Catalog: fixed.PreviousCatalog, Previous: fixed.Release,
			Facts: fixed.Facts, Steps: fixed.Steps, Unhealthy: n.state != NodeDone,
		}
		if n.state == NodeDone {
			back.PreviousCatalog = fixed.Catalog
		} else {
			back.Uncertain = fixed.Uncertain || c.IgnoreDrift // the run may not have begun
		}
		nodes = append(nodes, back)
	}
	if len(nodes) == 0 {
		return nil, left, fmt.Errorf("rollout %s: no node has to be rolled back", c.Rollout)
	}
	release := nodes[0].Release
	for _, n := range nodes {
		if n.Release != release { // the nodes had several
			release = ""
		}
	}
	created, err := New(Spec{
		Rollout: name, Release: release, Sequence: c.Sequence, Strategy: rollbackStrategy(c.Strategy), Nodes: nodes,
		Author: author, Emergency: true, Reason: "rollback of " + c.Rollout + ": " + s.stop.reason,
	})
	if err != nil {
		return nil, left, err
	}
	created.Parent = c.Rollout
	return created, left, nil
}

// Stays returns why the first node stays in a rollback; "" if a rollback would bring nodes back, or is not possible.
func (s *State) Stays() string {
	if s.canRollBack() != nil || s.returning() > 0 || len(s.nodes) == 0 {
		return ""
	}
	return s.created.Nodes[0].Name + ": " + s.refusal(0)
}

func (s *State) returning() (n int) {
	for i := range s.nodes {
		if s.refusal(i) == "" {
			n++
		}
	}
	return n
}

// rollbackStrategy returns the strategy of a rollback.
func rollbackStrategy(st strategy.Strategy) strategy.Strategy {
	st.Windows, st.Freeze, st.Approvals, st.Targets = nil, nil, strategy.Approvals{}, strategy.Targets{}
	st.Release = ""
	st.Rules.Preview = strategy.Preview{}
	if st.Rules.OnFailure == strategy.RollbackAction {
		st.Rules.OnFailure = strategy.Pause
	}
	if st.Rules.Rollback.Fast {
		st.Rules.Waves = []strategy.Wave{{Rest: true}}
		st.Gates = nil
		return st
	}
	waves := make([]strategy.Wave, len(st.Rules.Waves))
	for i, w := range st.Rules.Waves {
		w.Approve = nil
		waves[i] = w
	}
	st.Rules.Waves = waves
	return st
}

// refusal returns why a node is not rolled back, "" if it is.
func (s *State) refusal(i int) string {
	n, fixed := &s.nodes[i], s.created.Nodes[i]
	rules := s.created.Strategy.Rules.Rollback
	switch {
	case !n.ran:
		return "no run was started on it"
	case n.state == NodeDrifted && n.left == LeftNothing:
		return "it has drifted, and no run has begun on it"
	case n.state == NodeRolledBack:
		return "it is rolled back already"
	case rules.Scope == strategy.Changed && !n.changed:
		return "the rollout has not changed it"
	case fixed.Previous == "":
		return "its release before the rollout is unknown"
	case rules.OnlyIfDiffers && fixed.PreviousCatalog != "" && fixed.PreviousCatalog == fixed.Catalog:
		return "its catalog is the same in both releases"
	}
	return ""
}
