package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bolt/internal/safetext"
	"bolt/rollout"
	"bolt/rollout/gate"
	"bolt/rollout/ledger"
	"bolt/store"
)

// A job is something that is in work.
type job struct{ cancel context.CancelCauseFunc }

// A result is the end of a job, or an event in the middle of it.
type result struct {
	key   string        // of a job that has ended
	event rollout.Event // nil if there is nothing to record
	rest  *End          // of a rollback that waits
	err   error         // of a rollback
}

// The causes of the end of a run.
var (
	errLate = errors.New("the run took longer than the strategy allows")
	errStop = errors.New("the run is stopped")
)

// start begins a job. Two jobs with the same key are one.
func (d *driver) start(key string, limit time.Duration, do func(ctx context.Context) result) {
	if d.jobs[key] != nil {
		return
	}
	ctx, cancel := context.WithCancelCause(d.work)
	d.jobs[key] = &job{cancel}
	d.wg.Go(func() {
		defer cancel(nil)
		if limit > 0 {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeoutCause(ctx, limit, errLate)
			defer stop()
		}
		r := do(ctx)
		r.key = key
		d.results <- r
	})
}

// act performs an event that is recorded.
func (d *driver) act(e rollout.Event) {
	switch e := e.(type) {
	case *rollout.NodeStarted:
		r := d.node(e.Node, e.Run, e.Noop)
		r.Began = func() {
			d.results <- result{event: &rollout.NodeProgress{Node: e.Node, Run: e.Run, State: rollout.NodeApplying}}
		}
		d.start(e.Run, time.Duration(e.Timeout), func(ctx context.Context) result { return result{event: finished(r, d.apply(ctx, r))} })
	case *rollout.NodeAsked:
		r := d.node(e.Node, e.Run, d.state.Created().Noop)
		limit := time.Duration(r.Rollout.Strategy.Rules.Node.Timeout)
		d.start(e.Run, limit, func(ctx context.Context) result { return result{event: finished(r, d.ask(ctx, r))} })
	case *rollout.NodeStop:
		if j := d.jobs[e.Run]; j != nil {
			j.cancel(errStop)
		}
	case *rollout.PreviewStarted:
		r := d.node(e.Node, e.Run, true)
		d.start(e.Run, time.Duration(e.Timeout), func(ctx context.Context) result {
			out := d.apply(ctx, r)
			return result{event: &rollout.PreviewFinished{Node: r.Node.Name, Run: r.ID, Outcome: out.Outcome, Changes: out.Changes, Reason: safetext.Message(safetext.OneLine(out.Reason))}}
		})
	case *rollout.Governed:
		d.places.shrink(d.work, e.Places)
	case *rollout.HookStarted:
		d.hook(e)
	case *rollout.GateMeasure:
		d.measure(e)
	case *rollout.Ended: // no node is in work, so these are previews and measurements, which nothing needs any more
		for _, j := range d.jobs {
			j.cancel(errStop)
		}
	}
}

// node returns the run of a node. The first event is copied, because the loop can fold an edit of it.
func (d *driver) node(name, run string, noop bool) *Run {
	created := *d.state.Created()
	n, _ := d.state.Node(name)
	return &Run{Rollout: &created, Node: n, ID: run, Noop: noop, Began: func() {}}
}

// finished returns the result of a run. Its reason can be a text of the node, so it is cut: each node adds it to the log.
func finished(r *Run, out Result) rollout.Event {
	return &rollout.NodeFinished{Node: r.Node.Name, Run: r.ID, Outcome: out.Outcome, Reason: safetext.Message(safetext.OneLine(out.Reason)), Changed: out.Changed, Changes: out.Changes, Catalog: out.Catalog}
}

// apply runs the action. A panic of one node is the failure of this node: its result is unknown.
func (d *driver) apply(ctx context.Context, r *Run) (out Result) {
	defer lost(&out)
	return late(ctx, d.o.Fleet.Apply(ctx, r))
}

func (d *driver) ask(ctx context.Context, r *Run) (out Result) {
	defer lost(&out)
	return late(ctx, d.o.Fleet.Ask(ctx, r))
}

// late is the result of a run that may have exceeded its time.
func late(ctx context.Context, out Result) Result {
	if errors.Is(context.Cause(ctx), errLate) && (out.Outcome == rollout.OutcomeCancelled || out.Outcome == rollout.OutcomeLost) {
		out.Outcome = rollout.OutcomeTimeout
		out.Reason = fmt.Sprintf("not finished in the time that the strategy allows: %s", out.Reason)
	}
	return out
}

func lost(out *Result) {
	if p := recover(); p != nil {
		*out = Result{Outcome: rollout.OutcomeLost, Reason: internalError(p)}
	}
}

func internalError(p any) string { return fmt.Sprintf("internal error: %v", p) }

// runHook runs a hook. A panic is the failure of the hook.
func (d *driver) runHook(ctx context.Context, h *Hook) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New(internalError(p))
		}
	}()
	return d.o.Checks.Hook(ctx, h)
}

// measured measures a gate once. After a panic, there is no measurement.
func (d *driver) measured(ctx context.Context, m *Measurement) (outcome gate.Outcome, value any, reason string) {
	defer func() {
		if p := recover(); p != nil {
			outcome, value, reason = gate.Error, nil, internalError(p)
		}
	}()
	return d.o.Checks.Measure(ctx, m)
}

func (d *driver) hook(e *rollout.HookStarted) {
	created := *d.state.Created()
	h := &Hook{Rollout: &created, Run: e.Run, Spec: created.Strategy.Hooks.Before, Start: d.state.Start()}
	if e.Hook == rollout.HookAfter {
		h.Spec = created.Strategy.Hooks.After
	}
	h.Node, _ = d.state.Node(e.Node)
	d.start("hook "+e.Run, time.Duration(h.Spec.Timeout), func(ctx context.Context) result {
		done := &rollout.HookFinished{Node: e.Node, Hook: e.Hook, Run: e.Run, OK: true}
		if err := d.runHook(ctx, h); err != nil {
			done.OK, done.Reason = false, safetext.Message(safetext.OneLine(err.Error()))
		}
		return result{event: done}
	})
}

func (d *driver) measure(e *rollout.GateMeasure) {
	spec, place, nodes, ok := d.state.Gate(e.ID)
	if !ok {
		return // it was dropped by a later event of the same decision
	}
	created, own := *d.state.Created(), *spec
	m := &Measurement{Rollout: &created, Gate: &own, Place: place, Nodes: nodes, Number: e.Number, Start: d.state.Start()}
	d.start(fmt.Sprintf("gate %s %d", e.ID, e.Number), time.Duration(spec.Timeout), func(ctx context.Context) result {
		done := &rollout.GateMeasured{ID: e.ID, Number: e.Number}
		done.Outcome, done.Value, done.Reason = d.measured(ctx, m)
		done.Reason = safetext.Message(safetext.OneLine(done.Reason))
		return result{event: done}
	})
}

// rollBack drives the rollback of the rollout, if there is one and it is not in work. A rollback whose driver
// died goes on in this way, too.
func (d *driver) rollBack() error {
	id, pending := d.state.Rollback()
	if !pending || d.rest != nil || d.stopped || d.jobs[id] != nil {
		return nil
	}
	if err := d.makeRollback(id); err != nil {
		return err
	}
	o := d.o
	o.Rollout = id
	ctx, cancel := context.WithCancelCause(d.work)
	d.jobs[id] = &job{cancel}
	d.wg.Go(func() {
		defer cancel(nil)
		r := result{key: id}
		r.rest, r.err = Drive(ctx, o)
		if r.err == nil && r.rest.Phase.Ended() {
			r.event, r.err = d.rolledBack(id)
			r.rest = nil
		}
		if r.err != nil {
			r.rest = &End{Phase: rollout.PausedPhase, Reason: fmt.Sprintf("the rollback %s: %v", id, r.err)}
		} else if r.rest != nil {
			r.rest.Reason = fmt.Sprintf("the rollback %s is %s: %s", id, r.rest.Phase, r.rest.Reason)
		}
		d.results <- r
	})
	return nil
}

// stopRollback stops the rollback that is in work, and reports whether there is one.
func (d *driver) stopRollback() bool {
	if d.state == nil {
		return false
	}
	id, _ := d.state.Rollback()
	j := d.jobs[id]
	if j != nil {
		j.cancel(errStop)
	}
	return j != nil
}

// makeRollback begins the log of the rollback, unless an earlier driver has done so.
func (d *driver) makeRollback(id string) error {
	ctx := d.work
	have, err := store.Load(ctx, d.o.Logs, ledger.Log(id), 0)
	if err != nil || len(have) > 0 {
		return err
	}
	created, _, err := rollout.NewRollback(d.state, id, d.o.User)
	if err != nil {
		return fmt.Errorf("rollback of rollout %s: %w", d.o.Rollout, err)
	}
	_, err = d.ledger.Append(ctx, id, 0, 0, created)
	if _, is := errors.AsType[*store.ConflictError](err); is {
		return nil // another driver has made the same one
	}
	return err
}

// rolledBack returns the end of a rollback as an event of its parent.
func (d *driver) rolledBack(id string) (rollout.Event, error) {
	s, err := d.ledger.Load(d.work, id)
	if err != nil {
		return nil, err
	}
	done := &rollout.RollbackFinished{Rollout: id}
	done.State, done.Reason = s.Phase()
	status := s.Status()
	for _, n := range s.Created().Nodes {
		if status.Nodes[n.Name].State == rollout.NodeDone {
			done.Nodes = append(done.Nodes, n.Name)
		}
	}
	return done, nil
}
