// Package driver drives a rollout: it records decisions, and then performs them.
//
// [Drive] leases the rollout, folds its log, calls rollout.Step and appends the decisions. It performs
// an event only after the event is on the disk. The results are events of the next append. All
// events that are known at a time are appended together, so a node costs three appends at most: its start, the beginning of its run and the result.
//
// Another process can append commands, such as a pause, at any time. The driver folds them before
// its next decision. If the driver dies, the next one asks the nodes that were in work.
//
// If an event cannot be recorded, Drive begins nothing more, waits for the nodes in work and returns
// the error. The results that it could not record are found by the next driver, which asks.
//
// Drive owns its goroutines, and returns when the last of them has ended.
package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bolt/rollout"
	"bolt/rollout/gate"
	"bolt/rollout/ledger"
	"bolt/rollout/strategy"
	"bolt/store"
)

// A Fleet runs the action of a rollout on nodes. Its methods are called from several goroutines.
type Fleet interface {
	// Apply runs the action on a node. If ctx ends, it ends the run.
	Apply(ctx context.Context, r *Run) Result
	// Ask returns the result of a run that an earlier driver intended. It starts nothing. The outcome is
	// rollout.OutcomeAbsent only if the run was certainly never started on the node. If ctx ends, it ends the run.
	Ask(ctx context.Context, r *Run) Result
}

// A Run is one run of an action on a node.
type Run struct {
	Rollout *rollout.Created
	Node    rollout.Node
	ID      string
	Noop    bool
	// Began records that the node has begun the run: it applies its catalog now. Apply calls it at most once.
	Began func()
}

// A Result is the result of a run, with the fields of rollout.NodeFinished.
type Result struct {
	Outcome rollout.Outcome
	Reason  string
	Changed bool
	Changes int
	Catalog string
}

// Checks runs hooks and measures gates. Its methods are called from several goroutines.
type Checks interface {
	// Hook runs a hook of a node. The error is the reason of its failure.
	Hook(ctx context.Context, h *Hook) error
	// Measure measures a gate once.
	Measure(ctx context.Context, m *Measurement) (gate.Outcome, any, string)
}

// A Hook is one run of a hook.
type Hook struct {
	Rollout *rollout.Created
	Node    rollout.Node
	Spec    strategy.Hook
	Run     string
	Start   time.Time // of the rollout
}

// A Measurement is one measurement of a gate.
type Measurement struct {
	Rollout *rollout.Created
	Gate    *gate.Spec
	Place   gate.Place
	Nodes   []string // the nodes that the gate is about
	Number  int      // from 1
	Start   time.Time
}

// Options are the settings of Drive. Logs, Rollout, Session, Holder, Fleet and Checks are required.
type Options struct {
	Logs    store.Logs
	Rollout string // its ID
	Session string // unique
	Holder  string // for people: the user, machine and process
	User    string // who pauses the rollout if ctx ends
	Fleet   Fleet
	Checks  Checks
	// Once makes Drive return as soon as nothing is in work and nothing is due.
	Once bool
	// Wait keeps Drive from returning while the rollout waits for people or for a window.
	Wait bool
	// Pause makes Drive record a pause if ctx ends. Without it, the next driver goes on by itself.
	Pause bool
	// Events takes events after they are recorded, also those of other processes; nil discards. It is called for a
	// rollout and for its rollback, and these calls can be at the same time.
	Events func(rollout string, records []rollout.Record)
	// Warn takes warnings, as Events does; nil discards.
	Warn func(id, text string)
}

// An End is how far a rollout was when Drive returned.
type End struct {
	Phase   rollout.Phase
	Reason  string
	Next    time.Time // when something can become due; zero if that is not known
	Stopped bool      // ctx had ended
}

const (
	// leaseTime bounds the time after the death of a machine in which no other driver can take over. After the death of a
	// process alone, the store gives the lease away at once.
	leaseTime = time.Minute
	renewals  = 3 // in leaseTime
)

// Drive drives a rollout until it has ended, or waits for something that Options do not wait for. The error is a
// *store.HeldError if another process drives the rollout. If ctx ends, Drive begins nothing more, and returns when
// nothing is in work.
func Drive(ctx context.Context, o Options) (*End, error) {
	if o.Once {
		if end, err := idle(ctx, &o); end != nil || err != nil {
			return end, err
		}
	}
	lease, err := o.Logs.Lease(ctx, ledger.Log(o.Rollout), o.Holder, leaseTime)
	if err != nil {
		return nil, err
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := &driver{
		o: o, ledger: ledger.In(o.Logs), fence: lease.Fence(), work: work,
		results: make(chan result), changed: make(chan uint64, 1), lost: make(chan error, 1), jobs: make(map[string]*job),
		places: &places{logs: o.Logs, holder: o.Holder, leases: make(map[int]*place)},
	}
	d.wg.Go(func() { d.renew(work, lease) })
	end, err := d.run(ctx)
	if err != nil {
		d.drain()
	} else if serr := d.ledger.Summarize(work, d.state); serr != nil {
		d.warn("rollout_summary", "The summary of the rollout %s could not be stored, so other commands read its whole log: %v", o.Rollout, serr)
	}
	cancel()
	d.wg.Wait()
	d.places.shrink(context.WithoutCancel(ctx), 0)
	if rerr := lease.Release(context.WithoutCancel(ctx)); err == nil && rerr != nil {
		err = fmt.Errorf("release the lease of rollout %s: %w", o.Rollout, rerr)
	}
	return end, err
}

// idle returns the end of a driver that would do nothing, nil if something is due. So a timer that looks after a rollout
// that waits does not fill the log.
func idle(ctx context.Context, o *Options) (*End, error) {
	s, err := ledger.In(o.Logs).Load(ctx, o.Rollout)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	if s.Apply(rollout.Record{Revision: s.Revision() + 1, Time: now, Event: &rollout.DriverStarted{Session: o.Session}}) != nil {
		return nil, nil
	}
	due, next := rollout.Step(s, now)
	if _, pending := s.Rollback(); len(due) > 0 || pending || s.Outstanding() > 0 || s.Wants() > 0 {
		return nil, nil
	}
	end := &End{Next: next}
	end.Phase, end.Reason = s.Phase()
	return end, nil
}

// renew keeps the lease until ctx ends. A renewal that fails for another reason than another holder is tried again: the
// fence of the lease protects the log in any case.
func (d *driver) renew(ctx context.Context, lease store.Lease) {
	t := time.NewTicker(leaseTime / renewals)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		d.places.renew(ctx)
		err := lease.Renew(ctx, leaseTime)
		if _, held := errors.AsType[*store.HeldError](err); held {
			d.lost <- err
			return
		}
	}
}

func (d *driver) warn(id, format string, args ...any) {
	if d.o.Warn != nil {
		d.o.Warn(id, fmt.Sprintf(format, args...))
	}
}

func (d *driver) emit(records []rollout.Record) {
	if d.o.Events != nil && len(records) > 0 {
		d.o.Events(d.o.Rollout, records)
	}
}
