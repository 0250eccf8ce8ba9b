package rollout

import (
	"fmt"
	"time"

	"bolt/rollout/strategy"
)

// A model checks the rules that each rollout obeys, from its events alone. It is written without the
// code that it checks.
type model struct {
	c        *Created
	calendar *strategy.Calendar
	waveOf   map[string]int
	byName   map[string]Node
	wave     int
	step     string
	inWork   map[string]bool
	inRun    map[string]string
	ended    map[string]NodeState
	counted  map[string]bool
	hooked   map[string]bool // the first hook ran, and the second has not
	ready    map[string]bool // the first hook has succeeded, and no run has started
	failed   int             // since the last acceptance
	inWave   int
	inRow    int
	paused   bool
	stopping bool
	over     Phase
	peak     int
	places   int            // of the governor
	applied  map[string]int // runs that were done
}

func newModel(c *Created) *model {
	m := &model{c: c, waveOf: make(map[string]int), byName: make(map[string]Node), inWork: make(map[string]bool), inRun: make(map[string]string), ended: make(map[string]NodeState), counted: make(map[string]bool), hooked: make(map[string]bool), ready: make(map[string]bool), applied: make(map[string]int)}
	for w, wave := range c.Waves {
		for _, i := range wave.Nodes {
			m.waveOf[c.Nodes[i].Name] = w + 1
		}
	}
	for _, n := range c.Nodes {
		m.byName[n.Name] = n
	}
	m.calendar, _ = c.Strategy.Calendar(c.Emergency)
	return m
}

// enter checks that a node can begin.
func (m *model) enter(name string, now time.Time) error {
	r := m.c.Strategy.Rules
	w := m.waveOf[name]
	switch {
	case m.inWork[name]:
		return fmt.Errorf("%s is in work already", name)
	case m.paused || m.stopping || m.over != "":
		return fmt.Errorf("%s starts although the rollout is paused, ending or over", name)
	case w == 0 || w > m.wave || m.step != "nodes":
		return fmt.Errorf("%s of wave %d starts in wave %d (%s)", name, w, m.wave, m.step)
	case m.ended[name] != "":
		return fmt.Errorf("%s starts after it has ended as %s", name, m.ended[name])
	}
	if st := m.calendar.At(now); !st.Open && !st.FinishWave && m.c.Strategy.Kind != strategy.Check {
		return fmt.Errorf("%s starts outside of the windows", name)
	}
	m.inWork[name] = true
	m.peak = max(m.peak, len(m.inWork))
	if len(m.inWork) > r.Parallel.Max {
		return fmt.Errorf("%d nodes are in work", len(m.inWork))
	}
	if r.Parallel.Governor.Name != "" && len(m.inWork) > m.places {
		return fmt.Errorf("%d nodes are in work with %d places of the governor", len(m.inWork), m.places)
	}
	for f, most := range r.Parallel.Per {
		n := 0
		for other := range m.inWork {
			if m.byName[other].Facts[f] == m.byName[name].Facts[f] {
				n++
			}
		}
		if n > most {
			return fmt.Errorf("%d nodes in work have %s %s", n, f, m.byName[name].Facts[f])
		}
	}
	if f := m.c.Strategy.Strata; f != "" {
		for other := range m.inWork {
			if m.byName[other].Facts[f] != m.byName[name].Facts[f] {
				return fmt.Errorf("%s and %s are of two strata", other, name)
			}
		}
	}
	if a := r.MaxUnavailable; !a.IsZero() {
		if n := len(m.inWork) + len(m.counted); n > max(a.Down(len(m.c.Nodes)), 1) {
			return fmt.Errorf("%d nodes are unavailable", n)
		}
	}
	if over := m.overshoot(0); over != "" {
		return fmt.Errorf("%s starts although a limit is exceeded: %s", name, over)
	}
	if over := m.overshoot(len(m.inWork) - 1); r.Failures.Strict && over != "" {
		return fmt.Errorf("%s starts although the nodes in work can exceed the limits: %s", name, over)
	}
	return nil
}

// overshoot returns which limit is exceeded by more than one failure if some more nodes fail.
func (m *model) overshoot(more int) string {
	f := m.c.Strategy.Rules.Failures
	check := func(name string, failed, whole int) string {
		switch {
		case f.Count != nil && failed+more > *f.Count:
			return fmt.Sprintf("%s: %d failures and %d more, count %d", name, failed, more, *f.Count)
		case f.Percent != nil && (failed+more)*100_000 > int(*f.Percent)*whole:
			return fmt.Sprintf("%s: %d failures and %d more, percent %s", name, failed, more, f.Percent)
		}
		return ""
	}
	if f.Scope != strategy.PerRollout && m.wave > 0 {
		if text := check("wave", m.inWave, len(m.c.Waves[m.wave-1].Nodes)); text != "" {
			return text
		}
	}
	if f.Scope != strategy.PerWave {
		if text := check("rollout", m.failed, len(m.c.Nodes)); text != "" {
			return text
		}
	}
	if f.Consecutive != nil && m.inRow+more > *f.Consecutive {
		return fmt.Sprintf("%d failures in a row and %d more", m.inRow, more)
	}
	return ""
}

func (m *model) see(e Event, now time.Time) error {
	switch e := e.(type) {
	case *DriverStarted:
		m.places = 0
	case *Governed:
		m.places = e.Places
	case *HookStarted:
		if e.Hook == HookBefore {
			if m.inWork[e.Node] {
				return nil // it is repeated after a crash
			}
			m.hooked[e.Node] = true
			return m.enter(e.Node, now)
		}
		if m.inRun[e.Node] != "" {
			return fmt.Errorf("the second hook of %s starts during a run", e.Node)
		}
		delete(m.hooked, e.Node)
	case *NodeStarted:
		if m.inRun[e.Node] != "" {
			return fmt.Errorf("%s has two runs", e.Node)
		}
		if !m.inWork[e.Node] {
			if err := m.enter(e.Node, now); err != nil {
				return err
			}
		}
		if m.paused && !m.ready[e.Node] || m.over != "" { // after its first hook, a node is in work
			return fmt.Errorf("a run starts on %s although the rollout is paused or over", e.Node)
		}
		delete(m.ready, e.Node)
		m.inRun[e.Node] = e.Run
	case *HookFinished:
		if e.Hook == HookBefore && e.OK {
			m.ready[e.Node] = true
		}
	case *NodeFinished:
		if m.inRun[e.Node] != e.Run {
			return fmt.Errorf("run %s is not in work on %s", e.Run, e.Node)
		}
		delete(m.inRun, e.Node)
		if e.Outcome == OutcomeDone {
			m.applied[e.Node]++
		}
	case *NodeEnded:
		if !m.inWork[e.Node] || m.inRun[e.Node] != "" {
			return fmt.Errorf("%s ends although it is not in work, or in a run", e.Node)
		}
		if m.hooked[e.Node] && !m.c.Strategy.Hooks.After.IsZero() && m.c.Strategy.Hooks.Always {
			return fmt.Errorf("%s ends without its second hook", e.Node)
		}
		delete(m.inWork, e.Node)
		m.ended[e.Node] = e.State
		switch {
		case e.State == NodeDone:
			m.inRow = 0
		case e.Reason == "":
			return fmt.Errorf("%s is %s without a reason", e.Node, e.State)
		case e.Counted:
			m.failed++
			m.inWave++
			m.inRow++
			m.counted[e.Node] = true
		}
		if over := m.overshoot(-1); m.c.Strategy.Rules.Failures.Strict && over != "" {
			return fmt.Errorf("a limit is exceeded by more than one: %s", over)
		}
	case *WaveStarted:
		if e.Wave != m.wave+1 || len(m.inWork) > 0 {
			return fmt.Errorf("wave %d starts after wave %d, with %d nodes in work", e.Wave, m.wave, len(m.inWork))
		}
		m.wave, m.step, m.inWave = e.Wave, "nodes", 0
	case *SoakStarted:
		m.step = "soak"
	case *WaveEnded:
		m.step = "over"
		for name, w := range m.waveOf {
			if w == e.Wave && m.ended[name] == "" {
				return fmt.Errorf("wave %d ends before %s", w, name)
			}
		}
	case *Paused:
		if e.Reason == "" && e.By == "" {
			return fmt.Errorf("a pause without a reason")
		}
		m.paused = true
	case *Resumed:
		m.paused = false
		m.failed, m.inWave, m.inRow = 0, 0, 0
	case *Promoted:
		if m.paused {
			m.paused = false
			m.failed, m.inWave, m.inRow = 0, 0, 0
		}
	case *AbortRequested, *RollbackRequested, *Superseded, *Rejected:
		m.stopping = true
	case *Skipped:
		m.ended[e.Node] = NodeSkipped
	case *Retried:
		for _, name := range e.Nodes {
			if s := m.ended[name]; s == "" || s == NodeDone {
				return fmt.Errorf("%s is %s, and is repeated", name, s)
			}
			delete(m.ended, name)
			delete(m.counted, name)
		}
		m.step = "nodes"
	case *Ended:
		if e.Reason == "" {
			return fmt.Errorf("an end without a reason")
		}
		if len(m.inWork) > 0 {
			return fmt.Errorf("the rollout ends with %d nodes in work", len(m.inWork))
		}
		if e.State == Succeeded && len(m.ended) != len(m.c.Nodes) {
			return fmt.Errorf("the rollout succeeds with %d of %d nodes", len(m.ended), len(m.c.Nodes))
		}
		m.over = e.State
	}
	return nil
}

// last checks the end of a rollout against its status.
func (m *model) last(s *State) error {
	st := s.Status()
	if !st.State.Ended() || st.Reason == "" {
		return fmt.Errorf("the rollout is %s: %s", st.State, st.Reason)
	}
	for name, n := range st.Nodes {
		if !n.State.Ended() || n.State != NodeDone && n.Reason == "" {
			return fmt.Errorf("%s is %s: %q", name, n.State, n.Reason)
		}
	}
	if len(s.flight) > 0 || len(s.due) > 0 || s.stuck != 0 || len(s.gates) > 0 {
		return fmt.Errorf("something is left: %d nodes in work, %d due, %d gates without a result, %d gates", len(s.flight), len(s.due), s.stuck, len(s.gates))
	}
	for i, l := range s.limits {
		if l.load != 0 {
			return fmt.Errorf("limit %d has a load of %d", i, l.load)
		}
	}
	return nil
}
