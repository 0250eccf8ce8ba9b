package rollout

// A Status is the output of "rollout status".
type Status struct {
	Rollout string                `json:"rollout"`
	Release string                `json:"release"`
	State   Phase                 `json:"state"`
	Reason  string                `json:"reason"`
	Wave    int                   `json:"wave"` // from 1; 0 before the first
	Waves   []WaveStatus          `json:"waves"`
	Nodes   map[string]NodeStatus `json:"nodes"`
}

// A WaveStatus is a wave of a Status. Its state is pending, running, gating, soaking or done.
type WaveStatus struct {
	Name  string   `json:"name"`
	State string   `json:"state"`
	Nodes []string `json:"nodes"`
}

// A NodeStatus is a node of a Status.
type NodeStatus struct {
	State    NodeState `json:"state"`
	Release  string    `json:"release"` // that the node has, as far as the rollout knows
	Attempts int       `json:"attempts"`
	Reason   string    `json:"reason"`
}

// Status returns the present state for people and programs.
func (s *State) Status() Status {
	if s.created == nil {
		return Status{}
	}
	st := Status{
		Rollout: s.created.Rollout, Release: s.created.Release, State: s.phase, Reason: s.reason, Wave: s.wave,
		Waves: make([]WaveStatus, 0, len(s.created.Waves)), Nodes: make(map[string]NodeStatus, len(s.nodes)),
	}
	for w := range s.created.Waves {
		wave := WaveStatus{Name: s.created.Waves[w].Name, State: s.waveState(w + 1), Nodes: make([]string, 0, len(s.created.Waves[w].Nodes))}
		for _, i := range s.created.Waves[w].Nodes {
			wave.Nodes = append(wave.Nodes, s.created.Nodes[i].Name)
		}
		st.Waves = append(st.Waves, wave)
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		st.Nodes[s.created.Nodes[i].Name] = NodeStatus{State: n.state, Release: s.releaseOf(i), Attempts: int(n.attempts), Reason: n.reason}
	}
	return st
}

func (s *State) waveState(w int) string {
	switch {
	case w > s.wave:
		return "pending"
	case w < s.wave || s.step == waveOver:
		return "done"
	case s.step == waveGates:
		return "gating"
	case s.step == waveSoak:
		return "soaking"
	}
	return "running"
}

// releaseOf is the release of a node: the one before the rollout until a run has started
// or after a rollback, and then the one of the rollout.
func (s *State) releaseOf(i int) string {
	n := &s.nodes[i]
	if n.state == NodeRolledBack || !n.ran || n.state != NodeDone && !n.changed && n.state.Ended() {
		return s.created.Nodes[i].Previous
	}
	return s.created.Nodes[i].Release
}
