package driver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bolt/rollout"
	"bolt/rollout/ledger"
	"bolt/store"
)

// driver is one call of Drive. Its fields belong to the goroutine of the loop.
type driver struct {
	o       Options
	ledger  *ledger.Ledger
	fence   store.Fence
	state   *rollout.State
	pending []rollout.Event // that have happened and are not recorded
	stopped bool            // ctx has ended
	rest    *End            // of a rollback that waits
	clock   time.Time       // at the last look, with the monotonic clock

	work    context.Context // of jobs
	wg      sync.WaitGroup
	places  *places
	jobs    map[string]*job // in work
	results chan result
	changed chan uint64 // a revision of the log that the watch has seen
	lost    chan error  // of the lease
}

// run is the loop.
func (d *driver) run(ctx context.Context) (*End, error) {
	forever := context.WithoutCancel(ctx) // what has happened is recorded in any case
	if err := d.load(forever); err != nil {
		return nil, err
	}
	from := d.state.Revision()
	d.wg.Go(func() { d.watch(d.work, from) })
	d.pending = append(d.pending, &rollout.DriverStarted{Session: d.o.Session, Holder: d.o.Holder})
	timer := time.NewTimer(0)
	defer timer.Stop()
	done := ctx.Done()
	for {
		next, err := d.turn(forever)
		if err != nil {
			return nil, err
		}
		if end := d.end(next); end != nil {
			return end, d.leave(forever, end)
		}
		if retry := time.Now().Add(governorRetry); d.lacks() && (next.IsZero() || next.After(retry)) {
			next = retry
		}
		timer.Stop()
		var due <-chan time.Time
		if !next.IsZero() && !d.stopped {
			timer.Reset(time.Until(next))
			due = timer.C
		}
		select {
		case r := <-d.results:
			d.take(r)
		case <-due:
		case revision := <-d.changed:
			if revision <= d.state.Revision() {
				continue // it is the driver's own
			}
			records, err := d.ledger.Catch(forever, d.o.Rollout, d.state)
			if err != nil {
				return nil, err
			}
			d.emit(records)
		case <-done:
			done = nil
			d.stopped = true
			if d.stopRollback() {
				continue
			}
			if d.o.Pause && !d.state.Ended() {
				d.pending = append(d.pending, &rollout.Paused{By: d.o.User, Reason: "the driver was stopped"})
			}
		case err := <-d.lost:
			return nil, err
		}
		d.gather()
		d.look()
	}
}

// gather takes the results that are there already, so that they are recorded together.
func (d *driver) gather() {
	for {
		select {
		case r := <-d.results:
			d.take(r)
		default:
			return
		}
	}
}

func (d *driver) take(r result) {
	delete(d.jobs, r.key)
	if r.rest != nil {
		d.rest = r.rest
	}
	if r.event != nil {
		d.pending = append(d.pending, r.event)
	}
	if r.err != nil {
		d.warn("rollout_rollback", "%v", r.err)
	}
}

// forward is the least jump of the clock that moves deadlines. Smaller ones are corrections.
const forward = 10 * time.Second

// look compares the clock with the monotonic clock. If the clock was set forward, or the machine was suspended, deadlines
// are moved. Step does this if the clock was set back.
func (d *driver) look() {
	now := time.Now()
	if !d.clock.IsZero() {
		if jump := now.Round(0).Sub(d.clock.Round(0)) - now.Sub(d.clock); jump > forward {
			d.pending = append(d.pending, &rollout.ClockMoved{By: int64(jump), Reason: fmt.Sprintf("the clock was set forward by %v", jump.Round(time.Second))})
		}
	}
	d.clock = now
}

// load folds the log from its beginning.
func (d *driver) load(ctx context.Context) error {
	s, err := d.ledger.Load(ctx, d.o.Rollout)
	if err == nil {
		d.state = s
	}
	return err
}

// turn records the pending events and the decisions that follow, and performs them. It returns the time at which
// something can become due.
func (d *driver) turn(ctx context.Context) (next time.Time, err error) {
	for {
		d.lostPlaces(ctx)
		after := d.state.Revision()
		var records []rollout.Record
		if records, next, err = d.decide(); err != nil {
			return next, err
		}
		if len(records) == 0 {
			changed, err := d.govern(ctx)
			if changed {
				continue
			}
			if err == nil {
				err = d.rollBack()
			}
			return next, err
		}
		events := make([]rollout.Event, len(records))
		for i, r := range records {
			events[i] = r.Event
		}
		_, err := d.ledger.Append(ctx, d.o.Rollout, after, d.fence, events...)
		if _, is := errors.AsType[*store.ConflictError](err); is {
			// Another process has appended a command. The state has events that are not in the log, so it is made
			// anew. d.pending keeps the results.
			if err := d.load(ctx); err != nil {
				return next, err
			}
			d.emit(d.since(ctx, after))
			continue
		}
		if err != nil {
			return next, fmt.Errorf("record the rollout %s: %w", d.o.Rollout, err)
		}
		d.pending = nil
		d.emit(records)
		for _, e := range events {
			d.act(e)
		}
	}
}

// since returns the events after a revision, for Options.Events only.
func (d *driver) since(ctx context.Context, after uint64) []rollout.Record {
	if d.o.Events == nil {
		return nil
	}
	var records []rollout.Record
	for e, err := range d.o.Logs.Events(ctx, ledger.Log(d.o.Rollout), store.Revision(after)) {
		if err != nil {
			return nil // the next append returns the error
		}
		if r, err := ledger.Decode(e); err == nil && r.Revision <= d.state.Revision() {
			records = append(records, r)
		}
	}
	return records
}

// decide folds the pending events, and the decisions that follow.
func (d *driver) decide() (records []rollout.Record, next time.Time, err error) {
	now := time.Now().UTC()
	add := func(e rollout.Event) error {
		r := rollout.Record{Revision: d.state.Revision() + 1, Time: now, Event: e}
		if err := d.state.Apply(r); err != nil {
			return err
		}
		records = append(records, r)
		return nil
	}
	happened := d.pending
	d.pending = nil
	for _, e := range happened {
		switch err := add(e); {
		case err == nil:
			d.pending = append(d.pending, e)
		case e.Type() == (*rollout.DriverStarted)(nil).Type():
			return nil, next, fmt.Errorf("rollout %s: %w", d.o.Rollout, err)
		case d.state.Ended(): // a preview or a measurement was stopped
		default: // a result can come too late: a gate was promoted while it was measured
			d.warn("rollout_event", "An event of rollout %s is dropped: %v", d.o.Rollout, err)
		}
	}
	if d.stopped && !d.o.Pause {
		return records, next, nil
	}
	for {
		var due []rollout.Event
		if due, next = rollout.Step(d.state, now); len(due) == 0 {
			return records, next, nil
		}
		for _, e := range due {
			if err := add(e); err != nil {
				return nil, next, fmt.Errorf("rollout %s: a decision is not possible: %w", d.o.Rollout, err)
			}
		}
	}
}

// end reports whether the driver is at its end: nil if it is not.
func (d *driver) end(next time.Time) *End {
	if len(d.jobs) > 0 || len(d.pending) > 0 {
		return nil
	}
	e := &End{Next: next, Stopped: d.stopped}
	e.Phase, e.Reason = d.state.Phase()
	switch {
	case e.Phase.Ended(), d.stopped:
		return e
	case d.rest != nil:
		return d.rest
	case d.o.Once && (next.IsZero() || next.After(time.Now())):
		return e
	case d.o.Wait:
		return nil
	case e.Phase == rollout.PausedPhase, e.Phase == rollout.AwaitingApproval, e.Phase == rollout.AwaitingWindow:
		return e
	}
	return nil
}

// leave records that the driver has stopped.
func (d *driver) leave(ctx context.Context, end *End) error {
	for {
		after := d.state.Revision()
		e := &rollout.DriverStopped{Session: d.o.Session, Reason: end.Reason}
		now := time.Now().UTC()
		record := rollout.Record{Revision: after + 1, Time: now, Event: e}
		if err := d.state.Apply(record); err != nil {
			return nil //nolint:nilerr // another driver has taken over
		}
		_, err := d.ledger.Append(ctx, d.o.Rollout, after, d.fence, e)
		if _, is := errors.AsType[*store.ConflictError](err); is {
			if err := d.load(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("record the rollout %s: %w", d.o.Rollout, err)
		}
		d.emit([]rollout.Record{record})
		return nil
	}
}

// drain waits for the jobs in work, and drops their results.
func (d *driver) drain() {
	d.stopRollback()
	for len(d.jobs) > 0 {
		r := <-d.results
		delete(d.jobs, r.key)
	}
}

// watch sends the revision of the log whenever it has new events, until ctx ends.
func (d *driver) watch(ctx context.Context, after uint64) {
	for e, err := range d.o.Logs.Watch(ctx, ledger.Log(d.o.Rollout), store.Revision(after)) {
		if err != nil {
			return // the next append returns it
		}
		select {
		case <-d.changed: // an older one
		default:
		}
		d.changed <- uint64(e.Revision)
	}
}
