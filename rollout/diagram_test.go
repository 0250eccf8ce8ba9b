package rollout

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// moves lists the states that can follow each state, as the diagram of docs/rollout-reference.md shows them. A pause
// and a rollback return to any state.
func moves() map[Phase][]Phase {
	begin := []Phase{Validating, NoopPreview, AwaitingApproval, AwaitingWindow, Running, PausedPhase}
	wave := []Phase{AwaitingApproval, AwaitingWindow, Running, Succeeded}
	early := []Phase{PausedPhase, Aborting, RollingBack, Failed, Aborted, SupersededPhase} // from any state that is not an end
	m := map[Phase][]Phase{
		"":               {Draft},
		Draft:            begin,
		Validating:       {NoopPreview, AwaitingApproval, AwaitingWindow, Running},
		NoopPreview:      {AwaitingApproval, AwaitingWindow, Running},
		AwaitingApproval: {AwaitingWindow, Running},
		AwaitingWindow:   {AwaitingApproval, Running},
		Running:          append([]Phase{Gating, Soaking}, wave...),
		Gating:           append([]Phase{Soaking}, wave...),
		Soaking:          wave,
		PausedPhase:      append([]Phase{Gating, Soaking, Succeeded}, begin...),
		Aborting:         {Aborted, Failed, SupersededPhase},
		RollingBack:      {RolledBack, Failed},
		Succeeded:        {RollingBack},
		Failed:           {RollingBack},
		Aborted:          {RollingBack},
		SupersededPhase:  nil,
		RolledBack:       nil,
	}
	for p := range m {
		if p != "" && !p.Ended() && p != Aborting && p != RollingBack {
			m[p] = append(slices.Clone(m[p]), early...)
		}
	}
	return m
}

// nodeMoves is moves for nodes.
func nodeMoves() map[NodeState][]NodeState {
	ends := []NodeState{NodeFailed, NodeUnreachable, NodeTimeout, NodeLost, NodeDrifted, NodeCancelled}
	m := map[NodeState][]NodeState{
		"":              {NodePending},
		NodePending:     append([]NodeState{NodeLocked, NodeSending, NodeSkipped}, ends...),
		NodeLocked:      append([]NodeState{NodeSending}, ends...),
		NodeSending:     append([]NodeState{NodeApplying, NodeVerifying, NodeSoakingNow, NodeDone, NodePending}, ends...),
		NodeApplying:    append([]NodeState{NodeVerifying, NodeSoakingNow, NodeDone, NodePending}, ends...),
		NodeVerifying:   append([]NodeState{NodeSoakingNow, NodeDone, NodePending}, ends...),
		NodeSoakingNow:  append([]NodeState{NodeDone}, ends...),
		NodeDone:        {NodeRolledBack},
		NodeSkipped:     nil,
		NodeCancelled:   {NodeRolledBack},
		NodeRolledBack:  nil,
		NodeUnreachable: {NodePending, NodeSkipped, NodeRolledBack},
	}
	for _, s := range []NodeState{NodeFailed, NodeTimeout, NodeLost, NodeDrifted} {
		m[s] = m[NodeUnreachable]
	}
	return m
}

// TestMoves checks that rollouts and nodes change their states only as the diagrams show.
func TestMoves(t *testing.T) {
	phases, states := moves(), nodeMoves()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		st := read(t, random(rng, 30))
		list := nodes(30, rng)
		membership(rng, &st, list)
		f := newFleet(seed, rates{failed: 0.02, unreachable: 0.02, lost: 0.01, timeout: 0.01, drifted: 0.01, slow: 0.05, gateFailed: 0.01, gateError: 0.01, hookFailed: 0.01})
		s := newSim(t, create(t, st, list), f, true)
		s.often, s.meddle, s.resumes = 0.004, 0.02, rng.IntN(30)
		s.drive()
		var phase Phase
		was := make(map[string]NodeState)
		state := new(State)
		for i, data := range s.log {
			e, err := Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			if err := state.Apply(Record{Revision: uint64(i + 1), Time: s.times[i], Event: e}); err != nil {
				t.Fatal(err)
			}
			if is, _ := state.Phase(); is != phase {
				if !slices.Contains(phases[phase], is) {
					t.Errorf("seed %d: the rollout went from %s to %s", seed, phase, is)
				}
				phase = is
			}
			for n := range state.Each() {
				if n.State != was[n.Name] && !slices.Contains(states[was[n.Name]], n.State) {
					t.Errorf("seed %d: %s went from %s to %s", seed, n.Name, was[n.Name], n.State)
				}
				was[n.Name] = n.State
			}
		}
	}
}

// TestDiagrams checks that the diagrams of docs/rollout-reference.md have all states.
func TestDiagrams(t *testing.T) {
	text, err := os.ReadFile("../docs/rollout-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	diagram := func(heading string) []string {
		_, rest, _ := strings.Cut(string(text), "## "+heading+"\n")
		_, rest, _ = strings.Cut(rest, "```\n")
		body, _, _ := strings.Cut(rest, "```\n")
		return strings.FieldsFunc(body, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
	}
	words := diagram("States of a rollout")
	for p := range moves() {
		if p != "" && !slices.Contains(words, string(p)) {
			t.Errorf("the diagram does not have the state %s of rollouts", p)
		}
	}
	words = diagram("States of a node")
	for s := range nodeMoves() {
		if s != "" && !slices.Contains(words, string(s)) {
			t.Errorf("the diagram does not have the state %s of nodes", s)
		}
	}
}
