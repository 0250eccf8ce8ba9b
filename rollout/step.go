package rollout

import (
	"fmt"
	"strings"
	"time"

	"bolt/rollout/gate"
	"bolt/rollout/strategy"
)

// slack is how far the clock can be behind the last event before deadlines are moved. Clocks of
// several machines differ a little.
const slack = time.Second

// Step returns the events that are due at a time, and the next time at which events can become due
// although nothing is appended; the zero time if there is none. It does not change the state. The
// caller appends and folds the events, and calls Step again until it returns none. [Decide] does that.
func Step(s *State, now time.Time) (due []Event, next time.Time) {
	if s.created == nil || s.session == "" || s.phase.Ended() {
		return nil, time.Time{}
	}
	if behind := s.clock.last.Sub(now); behind > slack {
		return []Event{&ClockMoved{By: -int64(behind), Reason: "the clock was set back by " + behind.Round(time.Second).String()}}, time.Time{}
	}
	d := &decision{State: s, now: now, at: s.clock.adjust(now)}
	if d.calendar = s.calendar.At(now); s.created.Strategy.Kind != strategy.Check {
		d.next = d.calendar.Next
	}
	for _, rule := range []func(){d.work, d.ending, d.failures, d.advance, d.standing} {
		if rule(); len(d.events) > 0 {
			return d.events, d.next
		}
	}
	return nil, d.next
}

// Decide repeats Step until nothing is due at a time, and folds the events. The caller must append
// the events that it returns, in one call, before it performs the actions that they intend. If they
// cannot be appended, the state is not that of the log any more, and the caller must fold the log again.
func Decide(s *State, now time.Time) (events []Event, next time.Time, err error) {
	for {
		var due []Event
		if due, next = Step(s, now); len(due) == 0 {
			return events, next, nil
		}
		for _, e := range due {
			if err := s.Apply(Record{Revision: s.revision + 1, Time: now, Event: e}); err != nil {
				return events, next, err
			}
		}
		events = append(events, due...)
	}
}

// A decision is one call of Step.
type decision struct {
	*State
	now      time.Time
	at       int64 // adjusted
	calendar strategy.Standing
	events   []Event
	next     time.Time
	starting int // gates
}

func (d *decision) emit(e Event) { d.events = append(d.events, e) }

// wake notes a time at which Step must be called again.
func (d *decision) wakeAt(at int64) { d.next = earlier(d.next, d.clock.wall(at)) }

func (d *decision) rules() *strategy.Rules { return &d.created.Strategy.Rules }

func (d *decision) name(i int) string { return d.created.Nodes[i].Name }

// open reports whether nodes can start now.
func (d *decision) open() bool {
	if d.paused || d.stop.end != "" || d.wave == 0 {
		return false
	}
	return d.calendar.Open || d.created.Strategy.Kind == strategy.Check || d.calendar.FinishWave && d.step == waveNodes
}

// work decides for single nodes and gates: results, timers and the leftovers of an earlier driver.
func (d *decision) work() {
	for _, i := range d.due {
		d.node(int(i))
	}
	for _, g := range d.dueGate {
		d.gate(g)
	}
	next := d.timers.due(d.at, d.valid, func(t timer) {
		if t.gate != nil {
			if t.gate.place == gate.Node || !d.paused && d.stop.end == "" {
				d.measure(t.gate)
			}
			return
		}
		switch i := int(t.node); d.nodes[i].step {
		case stepRetry:
			if d.open() {
				d.run(i, "repeated")
			}
		case stepSoak:
			d.close(i, OutcomeDone, "healthy for "+d.rules().Node.HealthyFor.String())
		}
	})
	if next != 0 {
		d.wakeAt(next)
	}
}

func (d *decision) measure(g *gateRun) {
	d.emit(&GateMeasure{ID: g.id, Number: g.tally.Total() + 1, Session: d.session})
}

func (d *decision) gate(g *gateRun) {
	if g.session != "" { // its measurement was lost with a driver
		d.measure(g)
		return
	}
	outcome, reason := gate.Judge(g.spec.Limits(g.place), g.tally)
	d.emit(&GateEnded{ID: g.id, Outcome: outcome, Reason: reason})
}

// node decides the next event of one node in work.
func (d *decision) node(i int) {
	n := &d.nodes[i]
	switch n.step {
	case stepRun:
		if !n.asked {
			d.emit(&NodeAsked{Node: d.name(i), Run: n.run, Session: d.session, Reason: "the driver of this run has ended without a result"})
			return
		}
		d.emit(&NodeStop{Node: d.name(i), Run: n.run, Reason: d.stop.reason})
	case stepHookBefore:
		d.hook(i, HookBefore, n.hookRun, "", "the driver has ended during the hook")
	case stepHookAfter:
		d.hook(i, HookAfter, n.hookRun, n.outcome, n.reason)
	case stepStart:
		if d.stop.end != "" {
			d.finish(i, OutcomeCancelled, d.stop.reason)
			return
		}
		d.run(i, "the hook before_node has succeeded")
	case stepResult:
		d.result(i, n.outcome, n.reason)
	case stepRetry:
		if n.outcome == OutcomeAbsent {
			d.finish(i, OutcomeCancelled, d.stop.reason)
			return
		}
		d.finish(i, n.outcome, n.reason)
	case stepGates:
		d.finish(i, OutcomeCancelled, "the rollout ends before the gates of the node have a result")
	case stepVerified:
		d.verified(i)
	case stepClosing:
		d.close(i, n.outcome, n.reason)
	case stepSoak:
		d.close(i, OutcomeDone, "the rollout ends before the healthy time of the node")
	}
}

// result decides the reaction to a run.
func (d *decision) result(i int, o Outcome, reason string) {
	switch {
	case o == OutcomeAbsent && d.stop.end == "":
		d.emit(&NodeRetry{Node: d.name(i), Until: d.clock.wall(d.at), Outcome: o, Reason: "the node knows nothing of the run, so it was never started"})
		return
	case o == OutcomeAbsent:
		d.finish(i, OutcomeCancelled, d.stop.reason)
		return
	case o != OutcomeDone:
		d.fail(i, o, reason)
		return
	}
	gates := d.created.Strategy.GatesAt(gate.Node)
	if len(gates) == 0 {
		d.finish(i, o, reason)
	}
	for _, g := range gates {
		d.startGate(&GateStarted{Gate: g.Name, Place: gate.Node, Node: d.name(i)}, g)
	}
}

func (d *decision) verified(i int) {
	n := &d.nodes[i]
	for _, g := range n.gates {
		if g.outcome == gate.Failed && !g.accepted {
			if d.created.Strategy.CountsAs(strategy.GateFailed) {
				d.fail(i, OutcomeGate, fmt.Sprintf("gate %s failed: %s", g.spec.Name, g.reason))
				return
			}
		}
	}
	if n.stuck() {
		d.finish(i, OutcomeCancelled, "the rollout ends before the gates of the node have a result")
		return
	}
	d.finish(i, OutcomeDone, n.reason)
}

// fail decides whether a run is repeated.
func (d *decision) fail(i int, o Outcome, reason string) {
	n := &d.nodes[i]
	limits := d.rules().Node
	if int(n.attempts-n.base) > limits.Retries || n.attempts == n.base || d.stop.end != "" || !d.created.Strategy.RepeatsOn(strategy.Cause(o)) {
		d.finish(i, o, reason)
		return
	}
	until := d.at + int64(time.Duration(limits.RetryAfter))
	d.emit(&NodeRetry{Node: d.name(i), Until: d.clock.wall(until), Outcome: o, Reason: fmt.Sprintf("attempt %d: %s; retry %d of %d", n.attempts-n.base, because(o, reason), n.attempts-n.base, limits.Retries)})
}

func because(o Outcome, reason string) string {
	if reason == "" {
		return string(o)
	}
	return reason
}

// finish decides whether the second hook of a node runs.
func (d *decision) finish(i int, o Outcome, reason string) {
	n, hooks := &d.nodes[i], d.created.Strategy.Hooks
	if !hooks.After.IsZero() && n.hooked && (o == OutcomeDone || hooks.Always) {
		d.hook(i, HookAfter, d.runID("after", i, int(n.attempts)), o, reason)
		return
	}
	if healthy := d.rules().Node.HealthyFor; o == OutcomeDone && healthy > 0 && d.stop.mode != Cancel {
		until := d.at + int64(time.Duration(healthy))
		d.emit(&NodeSoaking{Node: d.name(i), Until: d.clock.wall(until), Reason: "observed for " + healthy.String()})
		return
	}
	d.end(i, o, reason)
}

// close decides the end of a node whose second hook or healthy time is over.
func (d *decision) close(i int, o Outcome, reason string) {
	if healthy := d.rules().Node.HealthyFor; d.nodes[i].step == stepClosing && o == OutcomeDone && healthy > 0 && d.stop.mode != Cancel {
		until := d.at + int64(time.Duration(healthy))
		d.emit(&NodeSoaking{Node: d.name(i), Until: d.clock.wall(until), Reason: "observed for " + healthy.String()})
		return
	}
	d.end(i, o, reason)
}

func (d *decision) end(i int, o Outcome, reason string) {
	e := &NodeEnded{Node: d.name(i), State: stateOf(o), Outcome: o, Reason: reason}
	switch o {
	case OutcomeDone:
		if n := int(d.nodes[i].would); n > 0 {
			e.Reason = strings.TrimPrefix(e.Reason+"; "+would(n), "; ")
		}
	case OutcomeCancelled:
		if e.Reason == "" {
			e.Reason = because(o, d.stop.reason)
		}
	default:
		e.Counted = d.created.Strategy.CountsAs(strategy.Cause(o))
		e.Reason = because(o, reason)
	}
	d.emit(e)
}

// would words the resources that a run in noop mode has left.
func would(n int) string {
	if n == 1 {
		return "1 resource would change"
	}
	return fmt.Sprintf("%d resources would change", n)
}

// stateOf is the state in which an outcome leaves a node.
func stateOf(o Outcome) NodeState {
	switch o {
	case OutcomeDone:
		return NodeDone
	case OutcomeUnreachable, OutcomeAuth:
		return NodeUnreachable
	case OutcomeTimeout:
		return NodeTimeout
	case OutcomeLost:
		return NodeLost
	case OutcomeDrifted:
		return NodeDrifted
	case OutcomeCancelled:
		return NodeCancelled
	}
	return NodeFailed
}

func (d *decision) hook(i int, h HookName, run string, o Outcome, reason string) {
	d.emit(&HookStarted{Node: d.name(i), Hook: h, Run: run, Session: d.session, Outcome: o, Reason: reason})
}

// start begins the work on a node.
func (d *decision) start(i int) {
	if !d.created.Strategy.Hooks.Before.IsZero() {
		d.hook(i, HookBefore, d.runID("before", i, int(d.nodes[i].attempts)), "", "")
		return
	}
	d.run(i, fmt.Sprintf("wave %d", d.wave))
}

func (d *decision) run(i int, reason string) {
	attempt := int(d.nodes[i].attempts) + 1
	d.emit(&NodeStarted{
		Node: d.name(i), Attempt: attempt, Run: d.runID("run", i, attempt), Session: d.session,
		Timeout: d.rules().Node.Timeout, Noop: d.noop(), Reason: reason,
	})
}

// noop reports whether a run that starts now is in noop mode. A check can change nodes only while
// one of its windows is open.
func (d *decision) noop() bool {
	st := &d.created.Strategy
	return d.created.Noop || st.Kind == strategy.Check && (len(st.Windows) == 0 || !d.calendar.Open)
}

func (d *decision) startGate(e *GateStarted, g *gate.Spec) {
	d.starting++
	e.ID = fmt.Sprintf("g%d", d.gateSeq+d.starting)
	e.Until = d.clock.wall(d.at + int64(time.Duration(g.InitialDelay)))
	d.emit(e)
}

// ending decides the end of a rollout that ends early.
func (d *decision) ending() {
	switch end := d.stop.end; {
	case end == "" || len(d.flight) > 0:
		return
	case end != RolledBack:
		d.emit(&Ended{State: end, Reason: d.stop.reason})
	case d.rolledBack != nil && d.rolledBack.State == Succeeded:
		d.emit(&Ended{State: RolledBack, Reason: d.stop.reason})
	case d.rolledBack != nil:
		d.emit(&Ended{State: Failed, Reason: strings.TrimRight(fmt.Sprintf("%s; the rollback %s is %s: %s", d.stop.reason, d.rollback, d.rolledBack.State, d.rolledBack.Reason), ": ")})
	case d.rollback == "":
		n := d.returning()
		if n == 0 {
			d.emit(&Ended{State: Failed, Reason: d.stop.reason + "; no node has to be rolled back"})
			return
		}
		name := d.created.Rollout + "-rollback"
		if d.rollbacks > 0 {
			name += fmt.Sprintf("-%d", d.rollbacks+1)
		}
		d.emit(&RollbackStarted{Rollout: name, Nodes: n, Reason: d.stop.reason})
	}
}

// failures decides the reaction to too many failures, and to gates without a result.
func (d *decision) failures() {
	if d.stop.end != "" {
		return
	}
	if reason := d.exceeded(); reason != "" && !(d.paused && d.pauseWhy == PauseFailures) {
		switch d.rules().OnFailure {
		case strategy.Abort:
			d.emit(&AbortRequested{Mode: Drain, Reason: reason})
		case strategy.RollbackAction:
			if d.canRollBack() == nil {
				d.emit(&RollbackRequested{Reason: reason})
				break
			}
			fallthrough
		default:
			d.emit(&Paused{Reason: reason, Why: PauseFailures})
		}
		return
	}
	if d.stuck > 0 && !d.paused {
		d.emit(&Paused{Reason: d.stuckGate(), Why: PauseGate})
	}
}

func (d *decision) stuckGate() string {
	find := func(list []*gateRun) *gateRun {
		for _, g := range list {
			if g.stuck() {
				return g
			}
		}
		return nil
	}
	g := find(d.scoped)
	for k := 0; g == nil && k < len(d.flight); k++ {
		g = find(d.nodes[d.flight[k]].gates)
	}
	if g == nil {
		return "a gate has no result"
	}
	return fmt.Sprintf("%s has no result (%s): %s", d.title(g), g.outcome, g.reason)
}

// standing decides the phase.
func (d *decision) standing() {
	if p, reason := d.phaseNow(); p != d.phase || reason != d.State.reason {
		d.emit(&PhaseChanged{State: p, Reason: reason})
	}
}
