package rollout

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"bolt/rollout/gate"
	"bolt/rollout/strategy"
)

// A fleet is a set of fake nodes. What happens on a node depends only on the seed, the node and
// the number of runs that the node had, so a simulation that is interrupted sees the same nodes.
type fleet struct {
	seed   uint64
	rates  rates
	runs   map[string]*fakeRun
	begun  map[string]int // runs that were started, by node
	done   map[string]int // runs that changed the node, by node
	active map[string]*fakeRun
}

// rates are probabilities of what happens to a run; the rest succeeds.
type rates struct{ failed, unreachable, lost, timeout, drifted, slow, gateFailed, gateError, hookFailed float64 }

type fakeRun struct {
	node    string
	outcome Outcome
	end     time.Time
}

func newFleet(seed uint64, r rates) *fleet {
	return &fleet{seed: seed, rates: r, runs: make(map[string]*fakeRun), begun: make(map[string]int), done: make(map[string]int), active: make(map[string]*fakeRun)}
}

// chance is a number from 0 to 1 that depends on its arguments.
func (f *fleet) chance(words ...any) float64 {
	h := fnv.New64a()
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], f.seed)
	h.Write(b[:])
	fmt.Fprint(h, words...)
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

// start begins a run on a node.
func (f *fleet) start(node, run string, now time.Time, timeout time.Duration) (*fakeRun, error) {
	if f.runs[run] != nil {
		return nil, fmt.Errorf("run %s of %s was started twice", run, node)
	}
	if f.active[node] != nil {
		return nil, fmt.Errorf("node %s has two runs at once", node)
	}
	k := f.begun[node]
	f.begun[node]++
	r := &fakeRun{node: node, outcome: OutcomeDone}
	x := f.chance("run", node, k)
	length := time.Duration(1+f.chance("length", node, k)*30) * time.Second
	for _, c := range []struct {
		rate    float64
		outcome Outcome
	}{
		{f.rates.failed, OutcomeFailed}, {f.rates.unreachable, OutcomeUnreachable}, {f.rates.lost, OutcomeLost}, {f.rates.timeout, OutcomeTimeout}, {f.rates.drifted, OutcomeDrifted},
	} {
		if x < c.rate {
			r.outcome = c.outcome
			break
		}
		x -= c.rate
	}
	if f.chance("slow", node, k) < f.rates.slow {
		length *= 20
	}
	if r.outcome == OutcomeTimeout && timeout > 0 {
		length = timeout
	}
	r.end = now.Add(length)
	f.runs[run], f.active[node] = r, r
	return r, nil
}

// finish ends a run.
func (f *fleet) finish(r *fakeRun) {
	if f.active[r.node] == r {
		delete(f.active, r.node)
		if r.outcome == OutcomeDone {
			f.done[r.node]++
		}
	}
}

// An arrival is a result that reaches the driver at a time.
type arrival struct {
	at    time.Time
	event Event
	run   *fakeRun
	n     int // order of equal times
}

// A sim drives one rollout over a fleet with a clock of its own.
type sim struct {
	t        testing.TB
	fleet    *fleet
	state    *State
	log      [][]byte
	times    []time.Time
	now      time.Time
	arrivals []arrival
	n        int
	sessions int
	model    *model
	rng      *rand.Rand

	crashAt int // number of the append that is the last of its driver; 0 for none
	early   bool
	appends int
	crashed int
	often   float64 // probability of a crash at each append
	jumps   float64 // probability of a jump of the clock whenever time passes
	meddle  float64 // probability of a command whenever time passes
	encoded bool    // events are encoded and decoded

	resumes int // pauses that the person ends
	events  int
	child   *Created
}

func newSim(t testing.TB, c *Created, f *fleet, encoded bool) *sim {
	s := &sim{t: t, fleet: f, state: &State{}, now: time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC), rng: rand.New(rand.NewPCG(f.seed, 7)), resumes: 1000, encoded: encoded}
	s.model = newModel(c)
	s.append(c)
	return s
}

// fold applies an event to the state and the model.
func (s *sim) fold(e Event) {
	s.t.Helper()
	if err := s.state.Apply(Record{Revision: s.state.Revision() + 1, Time: s.now, Event: e}); err != nil {
		s.t.Fatalf("seed %d: %v", s.fleet.seed, err)
	}
	s.record(e)
}

func (s *sim) record(e Event) {
	s.t.Helper()
	s.events++
	if err := s.model.see(e, s.now); err != nil {
		s.t.Fatalf("seed %d, event %d (%s): %v\n%+v", s.fleet.seed, s.events, e.Type(), err, e)
	}
	if s.encoded {
		data, err := Encode(e)
		if err != nil {
			s.t.Fatal(err)
		}
		s.log, s.times = append(s.log, data), append(s.times, s.now)
	}
}

// append records events of the outside and folds them. It reports whether the driver survives.
func (s *sim) append(events ...Event) bool {
	s.t.Helper()
	s.appends++
	if s.crashes(true) {
		s.crash()
		return false
	}
	for _, e := range events {
		s.fold(e)
	}
	if s.crashes(false) {
		s.crash()
		return false
	}
	return true
}

// crashes reports whether the driver dies before or after this append.
func (s *sim) crashes(early bool) bool {
	if s.often > 0 && s.appends > 1 {
		return s.rng.Float64() < s.often
	}
	return s.appends == s.crashAt && s.early == early
}

// crash forgets all that the driver knows, and starts another driver.
func (s *sim) crash() {
	s.t.Helper()
	s.crashed++
	s.arrivals = nil
	s.now = s.now.Add(5 * time.Second)
	s.reload()
	s.fold(&DriverStarted{Session: s.session()})
	if name, pending := s.state.Rollback(); pending {
		s.perform(&RollbackStarted{Rollout: name})
	}
}

// reload folds the log again.
func (s *sim) reload() {
	s.t.Helper()
	state := &State{}
	for i, data := range s.log {
		e, err := Decode(data)
		if err != nil {
			s.t.Fatalf("%v\n%s", err, data)
		}
		if err := state.Apply(Record{Revision: uint64(i + 1), Time: s.times[i], Event: e}); err != nil {
			s.t.Fatal(err)
		}
	}
	s.state = state
}

func (s *sim) session() string {
	s.sessions++
	return fmt.Sprintf("session %d", s.sessions)
}

func (s *sim) later(d time.Duration, e Event, r *fakeRun) {
	s.n++
	a := arrival{s.now.Add(d), e, r, s.n}
	i, _ := slices.BinarySearchFunc(s.arrivals, a, func(x, y arrival) int {
		return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.n, y.n))
	})
	s.arrivals = slices.Insert(s.arrivals, i, a)
}

// drive runs the rollout to its end.
func (s *sim) drive() {
	s.t.Helper()
	if s.state.Session() == "" {
		s.append(&DriverStarted{Session: s.session()})
	}
	for range 10_000_000 {
		if s.state.Ended() {
			return
		}
		events, next, err := Decide(s.state, s.now)
		if err != nil {
			s.t.Fatalf("seed %d: %v", s.fleet.seed, err)
		}
		if len(events) > 0 {
			if !s.decided(events) {
				continue
			}
			for _, e := range events {
				s.perform(e)
			}
			continue
		}
		if s.person() || s.govern() {
			continue
		}
		if s.state.Wants() > s.state.Places() {
			next = earlier(next, s.now.Add(2*time.Second))
		}
		s.await(next)
	}
	s.t.Fatalf("seed %d: no end", s.fleet.seed)
}

// decided records what Decide has folded already.
func (s *sim) decided(events []Event) bool {
	s.t.Helper()
	s.appends++
	if s.crashes(true) {
		s.crash()
		return false
	}
	for _, e := range events {
		s.record(e)
	}
	if s.crashes(false) {
		s.crash()
		return false
	}
	return true
}

// jump sets the clock of the driver. What happens on the nodes goes on evenly. A driver sees a jump forward
// itself; Step finds a jump back.
func (s *sim) jump() {
	s.t.Helper()
	by := time.Duration(s.rng.IntN(7200)-3600) * time.Second
	for i := range s.arrivals {
		s.arrivals[i].at = s.arrivals[i].at.Add(by)
	}
	for _, r := range s.fleet.active {
		r.end = r.end.Add(by)
	}
	s.now = s.now.Add(by)
	if by > 0 {
		s.append(&ClockMoved{By: int64(by), Reason: "the clock was set forward"})
	}
}

// command gives a random command. The rollout can refuse it.
func (s *sim) command() {
	s.t.Helper()
	var e Event
	name := s.state.created.Nodes[s.rng.IntN(len(s.state.created.Nodes))].Name
	switch x := s.rng.IntN(100); {
	case x < 40:
		e = &Skipped{Node: name, By: "ops"}
		if s.state.nodes[s.state.index[name]].state != NodePending {
			return // the model does not know how failures are taken back
		}
	case x < 60:
		e = &Paused{By: "ops"}
	case x < 70:
		e = &Promoted{By: "ops"}
	case x < 85:
		if s.state.Outstanding() > 0 {
			return // a driver waits for what it has begun
		}
		s.append(&DriverStopped{Session: s.state.Session()}, &DriverStarted{Session: s.session()})
		return
	case x < 88:
		e = &Superseded{Rollout: "r2", By: "ops"}
	case x < 92:
		e = &AbortRequested{By: "ops", Mode: Drain}
	case x < 96:
		e = &AbortRequested{By: "ops", Mode: Cancel}
	default:
		e = &RollbackRequested{By: "ops"}
	}
	if err := s.state.Apply(Record{Revision: s.state.Revision() + 1, Time: s.now, Event: e}); err == nil {
		s.record(e)
	}
}

// govern gives places of a governor, sometimes fewer than the rollout wants, and takes back those that it does not need.
func (s *sim) govern() bool {
	s.t.Helper()
	want, have := s.state.Wants(), s.state.Places()
	if want > have {
		want = have + s.rng.IntN(want-have+1)
	}
	return want != have && s.append(&Governed{Session: s.state.Session(), Places: want})
}

// await lets time pass up to the next arrival or deadline.
func (s *sim) await(next time.Time) {
	s.t.Helper()
	if s.meddle > 0 && s.rng.Float64() < s.meddle {
		s.command()
		return
	}
	if s.jumps > 0 && s.rng.Float64() < s.jumps {
		s.jump()
		return
	}
	if len(s.arrivals) > 0 && (next.IsZero() || !s.arrivals[0].at.After(next)) {
		s.now = later(s.now, s.arrivals[0].at)
		var batch []Event
		for len(s.arrivals) > 0 && !s.arrivals[0].at.After(s.now) {
			a := s.arrivals[0]
			s.arrivals = s.arrivals[1:]
			if a.run != nil {
				s.fleet.finish(a.run)
			}
			if m, ok := a.event.(*GateMeasured); ok && s.state.gates[m.ID] == nil {
				continue // the gate is not measured any more
			}
			batch = append(batch, a.event)
		}
		if len(batch) > 0 {
			s.append(batch...)
		}
		return
	}
	if next.IsZero() || !next.After(s.now) {
		phase, reason := s.state.Phase()
		s.t.Fatalf("seed %d: nothing is due and nothing will come: %s, %s, next %s", s.fleet.seed, phase, reason, next)
	}
	s.now = next
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// person gives the commands that the rollout waits for.
func (s *sim) person() bool {
	s.t.Helper()
	phase, _ := s.state.Phase()
	switch {
	case phase == AwaitingApproval:
		c := s.state.Created()
		need := s.state.need(s.state.Wave() + 1)
		for i := range need.Need {
			user := fmt.Sprintf("user%d", i)
			if len(need.Users) > 0 {
				user = need.Users[i]
			}
			s.append(&Approved{By: user, Wave: s.state.Wave() + 1, Release: c.Release, Strategy: c.StrategyDigest})
		}
		return true
	case phase == PausedPhase && s.state.InWork() == 0 || phase == PausedPhase && len(s.arrivals) == 0:
		s.now = s.now.Add(time.Minute)
		if s.resumes == 0 {
			return s.append(&AbortRequested{By: "ops", Mode: Drain, Reason: "no more patience"}) || true
		}
		s.resumes--
		_, why := s.state.Paused()
		switch {
		case why == PauseBlocked:
			s.append(&AbortRequested{By: "ops", Mode: Drain, Reason: "nothing can start"})
		case why == PauseGate && s.state.sums.epoch%3 == 0:
			s.append(&Promoted{By: "ops"})
		default:
			var failed []string
			for i := range s.state.nodes {
				if n := &s.state.nodes[i]; s.state.sums.epoch%2 == 0 && s.state.repeatable(n) && n.reason != "" && s.fleet.begun[s.state.created.Nodes[i].Name] < 3 {
					failed = append(failed, s.state.created.Nodes[i].Name)
				}
			}
			if len(failed) > 0 {
				s.append(&Retried{Nodes: failed, By: "ops"}, &Resumed{By: "ops"})
			} else {
				s.append(&Resumed{By: "ops"})
			}
		}
		return true
	}
	return false
}

// perform does what an event intends.
func (s *sim) perform(e Event) {
	s.t.Helper()
	switch e := e.(type) {
	case *NodeStarted:
		r, err := s.fleet.start(e.Node, e.Run, s.now, time.Duration(e.Timeout))
		if err != nil {
			s.t.Fatalf("seed %d: %v", s.fleet.seed, err)
		}
		s.later(r.end.Sub(s.now), &NodeFinished{Node: e.Node, Run: e.Run, Outcome: r.outcome, Changed: r.outcome == OutcomeDone, Reason: "as the fleet wants"}, r)
	case *NodeAsked:
		r := s.fleet.runs[e.Run]
		if r == nil {
			s.later(time.Second, &NodeFinished{Node: e.Node, Run: e.Run, Outcome: OutcomeAbsent}, nil)
			return
		}
		s.later(max(r.end.Sub(s.now), time.Second), &NodeFinished{Node: e.Node, Run: e.Run, Outcome: r.outcome, Changed: r.outcome == OutcomeDone, Reason: "as the fleet wants"}, r)
	case *NodeStop:
		for i, a := range s.arrivals {
			if f, ok := a.event.(*NodeFinished); ok && f.Run == e.Run {
				s.arrivals = slices.Delete(s.arrivals, i, i+1)
				if a.run != nil {
					a.run.outcome = OutcomeCancelled
				}
				s.later(time.Second, &NodeFinished{Node: e.Node, Run: e.Run, Outcome: OutcomeCancelled}, a.run)
				break
			}
		}
	case *HookStarted:
		ok := s.fleet.chance("hook", e.Node, e.Hook) >= s.fleet.rates.hookFailed
		s.later(time.Second, &HookFinished{Node: e.Node, Hook: e.Hook, Run: e.Run, OK: ok}, nil)
	case *GateMeasure:
		g := s.state.gates[e.ID]
		if g == nil {
			return
		}
		name := ""
		if g.node >= 0 {
			name = s.state.Created().Nodes[g.node].Name
		}
		outcome := gate.Successful
		switch x := s.fleet.chance("gate", g.spec.Name, g.place, g.wave, name, e.Number, s.fleet.begun[name]); {
		case x < s.fleet.rates.gateFailed:
			outcome = gate.Failed
		case x < s.fleet.rates.gateFailed+s.fleet.rates.gateError:
			outcome = gate.Error
		}
		s.later(time.Second, &GateMeasured{ID: e.ID, Number: e.Number, Outcome: outcome, Reason: "as the fleet wants"}, nil)
	case *PreviewStarted:
		s.later(2*time.Second, &PreviewFinished{Node: e.Node, Run: e.Run, Outcome: OutcomeDone, Changes: 3}, nil)
	case *RollbackStarted:
		child, _, err := NewRollback(s.state, e.Rollout, "")
		if err != nil {
			s.t.Fatalf("seed %d: %v", s.fleet.seed, err)
		}
		s.child = child
		sub := newSim(s.t, child, newFleet(s.fleet.seed+1, rates{}), false)
		sub.now = s.now
		sub.drive()
		var names []string
		for name, n := range sub.state.Status().Nodes {
			if n.State == NodeDone {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		phase, reason := sub.state.Phase()
		s.later(sub.now.Sub(s.now), &RollbackFinished{Rollout: e.Rollout, State: phase, Nodes: names, Reason: reason}, nil)
	}
}

// nodes returns n nodes with facts, groups and releases.
func nodes(n int, rng *rand.Rand) []Node {
	list := make([]Node, n)
	for i := range list {
		name := fmt.Sprintf("node%05d", i)
		list[i] = Node{
			Name: name, Release: "new", Catalog: "new " + name, Previous: "old", PreviousCatalog: "old " + name,
			Facts:     map[strategy.Fact]string{"facts.rack": fmt.Sprintf("rack%d", rng.IntN(n/20+1)), "facts.zone": fmt.Sprintf("zone%d", rng.IntN(3))},
			Unhealthy: rng.IntN(10) == 0,
		}
	}
	return list
}
