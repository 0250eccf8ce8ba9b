package rollout

import (
	"iter"
	"time"
)

// A NodeLook is a node as a view shows it.
type NodeLook struct {
	Index    int // in the nodes of Created
	Name     string
	Wave     int // from 1
	State    NodeState
	Attempts int
	Reason   string
	InWork   bool // it occupies a place of the concurrency limit
}

// Each yields all nodes in the order of Created. Unlike Status, it allocates nothing.
func (s *State) Each() iter.Seq[NodeLook] {
	return func(yield func(NodeLook) bool) {
		for i := range s.nodes {
			if !yield(s.Look(i)) {
				return
			}
		}
	}
}

// Look returns the node with an index of Created.
func (s *State) Look(i int) NodeLook {
	n := &s.nodes[i]
	return NodeLook{
		Index: i, Name: s.created.Nodes[i].Name, Wave: int(n.wave), State: n.state, Attempts: int(n.attempts), Reason: n.reason, InWork: n.inFlight != 0,
	}
}

// Index returns the index of a node in Created.
func (s *State) Index(name string) (i int, ok bool) {
	i, ok = s.index[name]
	return i, ok
}

// WaveState is the state of a wave, from 1, as in a WaveStatus.
func (s *State) WaveState(wave int) string { return s.waveState(wave) }

// Previewed returns the number of nodes that have been examined before the first wave. If on is not set, there is no
// preview now.
func (s *State) Previewed() (nodes int, on bool) {
	return s.preview.finished, s.phase == NoopPreview
}

// ProgressUntil is the time at which the rollout stops unless a node is finished. It is the zero time if no such deadline
// runs.
func (s *State) ProgressUntil() time.Time {
	if s.created == nil || s.phase.Ended() || s.stop.end != "" {
		return time.Time{}
	}
	at := s.progressEnd()
	if at == 0 {
		return time.Time{}
	}
	return s.clock.wall(at)
}

// progressEnd is the adjusted time of the progress deadline, 0 if it does not run.
func (s *State) progressEnd() int64 {
	deadline := time.Duration(s.created.Strategy.Rules.Progress)
	if deadline == 0 || s.progress.since == 0 || s.step != waveNodes || s.wave == 0 || s.quiet() || s.paused || s.waitsForPlace() {
		return 0
	}
	return s.progress.since + int64(deadline-s.progress.used)
}
