package rollout

import (
	"fmt"
	"strings"
	"time"

	"bolt/rollout/gate"
	"bolt/rollout/strategy"
)

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

// A WaveStatus is a wave of a Status. Its state is pending, running, gating, soaking or done; or stopped if the
// rollout has ended in this wave.
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
	Changes  int       `json:"changes,omitempty"` // resources that the last run has left, because of noop mode
}

// Phase returns the state of the rollout, and the reason for it. A command counts at once, also if no driver has followed it yet.
func (s *State) Phase() (Phase, string) {
	if s.created == nil || s.phase.Ended() {
		return s.phase, s.reason
	}
	d := &decision{State: s, now: s.clock.last, at: s.clock.adjust(s.clock.last)}
	if s.stop.end != "" || s.paused {
		return d.phaseNow()
	}
	if wave, need, by := s.Approval(d.now); s.phase == AwaitingApproval && wave > 0 {
		if len(by) < need.Need {
			return d.waits()
		}
		return s.phase, fmt.Sprintf("wave %d (%s) is approved by %s, and starts with the next driver", wave, s.created.Waves[s.wave].Name, strings.Join(by, ", "))
	}
	return s.phase, s.reason
}

// Status returns the present state for people and programs.
func (s *State) Status() Status {
	if s.created == nil {
		return Status{}
	}
	st := Status{
		Rollout: s.created.Rollout, Release: s.created.Release, Wave: s.wave,
		Waves: make([]WaveStatus, 0, len(s.created.Waves)), Nodes: make(map[string]NodeStatus, len(s.nodes)),
	}
	st.State, st.Reason = s.Phase()
	for w := range s.created.Waves {
		wave := WaveStatus{Name: s.created.Waves[w].Name, State: s.waveState(w + 1), Nodes: make([]string, 0, len(s.created.Waves[w].Nodes))}
		for _, i := range s.created.Waves[w].Nodes {
			wave.Nodes = append(wave.Nodes, s.created.Nodes[i].Name)
		}
		st.Waves = append(st.Waves, wave)
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		st.Nodes[s.created.Nodes[i].Name] = NodeStatus{State: n.state, Release: s.releaseOf(i), Attempts: int(n.attempts), Reason: n.reason, Changes: int(n.would)}
	}
	return st
}

func (s *State) waveState(w int) string {
	switch {
	case w > s.wave:
		return "pending"
	case w < s.wave || s.step == waveOver:
		return "done"
	case s.phase.Ended():
		return "stopped"
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

// Ran reports whether a run that is not in noop mode was started on a node.
func (s *State) Ran(name string) bool {
	i, has := s.index[name]
	return has && s.nodes[i].ran
}

// A GateStatus is a gate that has been started.
type GateStatus struct {
	ID      string
	Name    string
	Place   gate.Place
	Wave    int    // from 1; of the place wave
	Node    string // of the place node
	Outcome gate.Outcome
	Reason  string
	Tally   gate.Tally
	Waiting bool // for the result of a measurement
}

// Gates returns the gates of the whole rollout, of the present wave and of nodes in work.
func (s *State) Gates() []GateStatus {
	var list []GateStatus
	add := func(g *gateRun) {
		st := GateStatus{ID: g.id, Name: g.spec.Name, Place: g.place, Wave: g.wave, Outcome: g.outcome, Reason: g.reason, Tally: g.tally, Waiting: g.session != ""}
		if g.node >= 0 {
			st.Node = s.created.Nodes[g.node].Name
		}
		list = append(list, st)
	}
	for _, g := range s.scoped {
		add(g)
	}
	for _, i := range s.flight {
		for _, g := range s.nodes[i].gates {
			add(g)
		}
	}
	return list
}

// SoakUntil is the end of the present soak; the zero time if there is none.
func (s *State) SoakUntil() time.Time {
	if s.step != waveSoak {
		return time.Time{}
	}
	return s.clock.wall(s.soakUntil)
}

// Failures is the number of failures since they were last accepted: in the rollout, in the present
// wave, and in a row.
func (s *State) Failures() (rollout, wave, inRow int) {
	return s.sums.failed, s.sums.inWave, s.sums.inRow
}

// Approval returns the approval that the next wave needs, and the users that have given a valid one.
// The wave is 0 if no wave waits for an approval.
func (s *State) Approval(now time.Time) (wave int, need strategy.Approval, by []string) {
	if s.created == nil || s.phase.Ended() || s.stop.end != "" || s.wave > 0 && s.step != waveOver {
		return 0, strategy.Approval{}, nil
	}
	if need = s.need(s.wave + 1); need.Need == 0 {
		return 0, need, nil
	}
	for _, a := range s.approvals[s.wave+1] {
		if s.stands(a, need, s.clock.adjust(now)) {
			by = append(by, a.By)
		}
	}
	return s.wave + 1, need, by
}
