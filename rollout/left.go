package rollout

// A Left describes how much of a release the runs of a rollout have left on a node.
type Left uint8

// The values of Left.
const (
	LeftNothing Left = iota // no run has begun there, or only in noop mode
	LeftPart                // a run has begun, or may have begun, and the node does not have the release as a whole
	LeftRelease
)

// after returns the Left after one more run.
func (l Left) after(noop bool, o Outcome) Left {
	if noop {
		return l
	}
	switch o {
	case OutcomeUnreachable, OutcomeAuth, OutcomeAbsent, OutcomeRefused, OutcomeDrifted:
		return l
	case OutcomeDone:
		return LeftRelease
	}
	return LeftPart
}

// Left returns how much of its release a node has from this rollout. A node that has ended other than done, for example because of a gate, does
// not have the release as a whole.
func (s *State) Left(name string) Left {
	i, ok := s.index[name]
	if !ok {
		return LeftNothing
	}
	n := &s.nodes[i]
	if n.left == LeftRelease && n.state != NodeDone {
		return LeftPart
	}
	return n.left
}
