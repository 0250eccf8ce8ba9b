package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"bolt/rollout/gate"
	"bolt/rollout/strategy"
)

// A State is the fold of a log. The zero State is that of an empty log. It is not safe for
// concurrent use.
type State struct {
	revision uint64
	created  *Created
	calendar *strategy.Calendar
	index    map[string]int // of nodes, by name
	nodes    []node
	first    time.Time // of the first event

	session string // of the driver; "" if there is none
	phase   Phase
	reason  string

	clock    clock
	progress progress
	sums     sums
	preview  preview

	// The present wave, from 1; 0 before the first. All waves before it are over.
	wave      int
	step      waveStep
	soakUntil int64 // adjusted; 0 if there is no soak
	soaked    bool
	approvals map[int][]approval // by wave

	queue   queue
	limits  []limit // of concurrency.per
	flight  set     // nodes in work
	places  int     // of the governor, that the driver has
	due     set     // nodes that need a decision
	timers  timers
	gates   map[string]*gateRun
	gateSeq int
	dueGate []*gateRun // that need a decision; some may be settled
	// scoped has the gates that do not belong to a node, in the order of their start.
	scoped []*gateRun

	paused      bool
	pauseWhy    PauseWhy
	pauseReason string
	pausedAt    int64
	stuck       int    // gates that ended without a result and are not accepted
	gateFailed  string // why a gate that counts has failed
	stop        stop
	rollback    string // the rollout that takes this one back
	rollbacks   int
	rolledBack  *RollbackFinished
}

// clock relates the times of events to the adjusted clock, which goes on evenly when the clock is
// set.
type clock struct {
	last time.Time     // of the last event
	skew time.Duration // of the clock against the adjusted clock
}

func (c clock) adjust(t time.Time) int64 { return t.Add(-c.skew).UnixNano() }

func (c clock) wall(at int64) time.Time { return time.Unix(0, at).Add(c.skew).UTC() }

// progress measures the time without a finished node. It stands still unless the rollout is
// in the phase running and is driven.
type progress struct {
	used    time.Duration // up to since
	since   int64         // 0 if it stands still
	stopped bool          // it stands still because there is no driver
}

func (p *progress) stand(at int64) {
	if p.since != 0 {
		p.used += time.Duration(max(at-p.since, 0))
		p.since = 0
	}
}

func (p *progress) restart(at int64) {
	p.used = 0
	if p.since != 0 {
		p.since = at
	}
}

// sums are the counters that limits are compared with.
type sums struct {
	done        int
	ended       int
	unavailable int // ended and counted as failures
	// failed counts failures since they were last accepted, inWave those of the present wave,
	// and inRow those since the last node that is done.
	failed, inWave, inRow int
	epoch                 int32 // rises when failures are accepted
}

type preview struct {
	next     int // the first node without a preview
	again    []int32
	flight   map[int32]string // runs
	finished int
	odd      int // nodes that show too much, or could not be examined
	oddNode  string
	over     bool
	accepted bool
}

type approval struct {
	Approved
	at int64
}

type limit struct{ max, load int }

// A waveStep is how far the present wave is.
type waveStep uint8

const (
	waveNodes waveStep = iota
	waveGates
	waveSoak
	waveOver
)

// stop is why a rollout ends early.
type stop struct {
	end    Phase // "" if it does not
	mode   AbortMode
	reason string
}

// A node is the fold of all events about a node.
type node struct {
	state    NodeState
	step     nodeStep
	wave     int32 // from 1
	attempts int32
	run      string // the present or last run
	asked    bool   // the present driver has asked for its result
	stopping bool   // NodeStop was appended for the run
	outcome  Outcome
	reason   string
	changed  bool // a run has changed it, or may have changed it
	ran      bool // a run not in noop mode was started
	noop     bool // the present or last run is in noop mode
	left     Left // by the runs that are over
	counted  bool
	would    int32 // resources that its last run has left, because of noop mode
	epoch    int32 // of sums, if counted

	base      int32 // attempts before a person repeated the work
	hooked    bool  // its work has begun, and the second hook is still to run
	hookRun   string
	hookOK    bool
	gatesLeft int32
	gates     []*gateRun
	seq       uint32 // voids timers
	limits    []int32
	bucket    *bucket
	inFlight  int32 // place in State.flight
	inDue     int32 // place in State.due
}

// A nodeStep is the next thing that moves a node: the event, or a decision of Step, for which it waits.
type nodeStep uint8

const (
	stepIdle       nodeStep = iota // its start, or nothing after its end
	stepHookBefore                 // the result of the first hook
	stepStart                      // Step: a run
	stepRun                        // the result of a run
	stepResult                     // Step: the reaction to the result
	stepRetry                      // the time of the next run
	stepGates                      // its gates
	stepVerified                   // Step: the reaction to the gates
	stepHookAfter                  // the result of the second hook
	stepClosing                    // Step: the end, or the healthy time
	stepSoak                       // the end of its healthy time
)

// A gateRun is a gate that is measured, or was.
type gateRun struct {
	id       string
	spec     *gate.Spec
	place    gate.Place
	wave     int
	node     int // -1 for the other places
	tally    gate.Tally
	outcome  gate.Outcome
	reason   string
	session  string // of the measurement in work; "" if there is none
	due      bool   // the time of the next measurement has been set
	seq      uint32
	accepted bool // its outcome does not matter any more
}

// passed reports whether the rollout can go on.
func (g *gateRun) passed() bool { return g.outcome == gate.Successful || g.accepted }

func (g *gateRun) stuck() bool {
	return !g.accepted && (g.outcome == gate.Error || g.outcome == gate.Inconclusive)
}

// title names the gate in messages.
func (s *State) title(g *gateRun) string {
	switch g.place {
	case gate.Node:
		return fmt.Sprintf("gate %s of node %s", g.spec.Name, s.created.Nodes[g.node].Name)
	case gate.Wave:
		return fmt.Sprintf("gate %s of wave %d", g.spec.Name, g.wave)
	case gate.Before:
		return fmt.Sprintf("gate %s before the rollout", g.spec.Name)
	}
	return fmt.Sprintf("background gate %s", g.spec.Name)
}

// Revision is the number of the last event.
func (s *State) Revision() uint64 { return s.revision }

// Last is the time of the last event.
func (s *State) Last() time.Time { return s.clock.last }

// Created returns the first event, nil for an empty log. Edited changes its copy of the strategy. The
// caller must not change it.
func (s *State) Created() *Created { return s.created }

// Ended reports whether the rollout is at its end.
func (s *State) Ended() bool { return s.phase.Ended() }

// Session is the session of the driver; "" if there is none.
func (s *State) Session() string { return s.session }

// Wave is the number of the present wave, from 1; 0 before the first wave.
func (s *State) Wave() int { return s.wave }

// Paused reports whether the rollout is paused, and the kind of the pause.
func (s *State) Paused() (bool, PauseWhy) { return s.paused, s.pauseWhy }

// InWork is the number of nodes in work. Some of them can wait for a repeated run, a gate or their
// healthy time.
func (s *State) InWork() int { return len(s.flight) }

// Rollback is the name of the rollout that takes this one back; "" if there is none. If pending is set,
// RollbackStarted has no RollbackFinished yet, and a driver that starts must go on with the rollback.
func (s *State) Rollback() (name string, pending bool) {
	return s.rollback, s.rollback != "" && s.rolledBack == nil
}

// Node returns the release, the catalog and the facts of a node.
func (s *State) Node(name string) (Node, bool) {
	i, ok := s.index[name]
	if !ok {
		return Node{}, false
	}
	return s.created.Nodes[i], true
}

// Outstanding is the number of runs, hooks, previews and measurements that were intended and have no
// result. A driver that stops waits until it is 0.
func (s *State) Outstanding() int {
	n := len(s.preview.flight)
	for _, i := range s.flight {
		switch nd := &s.nodes[i]; nd.step {
		case stepRun, stepHookBefore, stepHookAfter:
			n++
		case stepGates:
			for _, g := range nd.gates {
				if g.session != "" {
					n++
				}
			}
		}
	}
	for _, g := range s.scoped {
		if g.session != "" {
			n++
		}
	}
	return n
}

// Gate returns a gate by the ID of its events: its description, its place, and its nodes. A gate of
// the place node has one node. A gate of a wave has the nodes of the wave that are done, and
// the other gates have all nodes that are done, or before the first wave all nodes; if the gate has a sample, this many of them.
func (s *State) Gate(id string) (spec *gate.Spec, place gate.Place, nodes []string, ok bool) {
	g := s.gates[id]
	if g == nil {
		return nil, "", nil, false
	}
	var among []int
	switch g.place {
	case gate.Node:
		return g.spec, g.place, []string{s.created.Nodes[g.node].Name}, true
	case gate.Wave:
		among = s.created.Waves[g.wave-1].Nodes
	default:
		for _, w := range s.created.Waves {
			among = append(among, w.Nodes...)
		}
	}
	for _, i := range among {
		if g.place == gate.Before || s.nodes[i].state == NodeDone {
			nodes = append(nodes, s.created.Nodes[i].Name)
		}
	}
	if !g.spec.Sample.IsZero() {
		nodes = nodes[:min(len(nodes), max(g.spec.Sample.Up(len(nodes)), 1))]
	}
	return g.spec, g.place, nodes, true
}

// Start is the time of the first event.
func (s *State) Start() time.Time { return s.first }

// runID names a run of a node. It is the same whenever the same decision is made again.
func (s *State) runID(kind string, i, number int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", s.created.Rollout, kind, s.created.Nodes[i].Name, number))
	return hex.EncodeToString(sum[:16])
}
