// Package recorder records bolt's actions in the audit log: a [Recorder] is the
// sink of events that writes the records of package audit. This package defines
// the contents of records of actions; docs/audit.md describes them.
//
// A Recorder writes digests of the real values. So it receives the events
// before event.Redact, and redacts texts itself.
package recorder

import (
	"context"
	"errors"
	"time"

	"bolt/audit"
	"bolt/event"
	"bolt/format/fault"
	"bolt/inventory"
)

// Warnings receives warnings, the ID first.
type Warnings interface {
	Warn(id, text string)
	WarnOnce(id, text string) // each text once
}

// warning is the ID of warnings about records that could not be written.
const warning = "audit"

// Options of a Recorder. All but RunAs and Required must be set.
type Options struct {
	Log     *audit.Log
	Request string // the ID of the invocation
	Actor   audit.Actor
	Project string // the project directory
	RunAs   string // from the command line; "" if it has none
	// Required prevents actions that cannot be recorded.
	Required bool
	Redact   func(text string) string
	Warnings Warnings
}

// The exit codes of bolt in an Outcome.
const (
	exitOK     = 0
	exitFailed = 1
)

// A Recorder is the sink of one invocation. A nil Recorder records nothing.
type Recorder struct {
	o          Options
	action     *action // of the invocation; nil while none is recorded
	steps      map[*event.Step]*action
	containers map[*event.Container]*action
	begun      int // steps and containers, of a plan
	plan       bool
	lost       bool
}

// New returns a Recorder.
func New(o Options) *Recorder {
	return &Recorder{o: o, steps: make(map[*event.Step]*action), containers: make(map[*event.Container]*action)}
}

// Lost reports whether the end of an action could not be recorded.
func (r *Recorder) Lost() bool { return r != nil && r.lost }

// Event records the begins and ends of actions. It returns an error if an
// action must not be begun.
func (r *Recorder) Event(ctx context.Context, e event.Event) (err error) {
	if r == nil {
		return nil
	}
	switch e := e.(type) {
	case event.ActionBegin:
		r.plan = e.Action == event.Plan
		if e.Do != nil && (r.plan || len(e.Targets) > 0) {
			r.action, err = r.begin(ctx, 0, r.describe(e.Do, nil), e.Targets)
		}
	case event.ActionEnd:
		r.end(ctx, r.action, e.Failed)
	case event.Failed:
		if !r.plan {
			r.end(ctx, r.action, true)
		}
	case event.TargetEnd:
		if of := r.of(e); of != nil {
			of.came(ctx, r, e.Result)
		}
	case event.BatchBegin:
		return r.batch(ctx, e)
	case event.StepEnd:
		r.end(ctx, r.steps[e.Step], false)
		delete(r.steps, e.Step)
	case event.ContainerBegin:
		r.begun++
		r.containers[e.Container], err = r.begin(ctx, r.begun, r.container(e.Container), nil)
	case event.ContainerEnd:
		r.containerEnd(ctx, e)
	}
	return err
}

// of returns the action of a result, or nil if the action is not recorded.
func (r *Recorder) of(e event.TargetEnd) *action {
	if e.Step == nil {
		return r.action
	}
	if a := r.steps[e.Step]; a != nil && a.targets[e.Result.Target] {
		return a
	}
	return nil
}

// batch begins a step with its first batch.
func (r *Recorder) batch(ctx context.Context, e event.BatchBegin) error {
	a, known := r.steps[e.Step]
	if !known {
		r.begun++
		var err error
		if a, err = r.begin(ctx, r.begun, r.step(e.Step), e.Step.Targets); err != nil {
			return err
		}
		r.steps[e.Step] = a
	}
	if a == nil {
		return nil
	}
	if a.targets == nil {
		a.targets = make(map[*inventory.Target]bool)
	}
	for _, t := range e.Targets {
		a.targets[t] = true
	}
	return nil
}

func (r *Recorder) containerEnd(ctx context.Context, e event.ContainerEnd) {
	a := r.containers[e.Container]
	delete(r.containers, e.Container)
	if a == nil {
		return
	}
	if a.out.Succeeded = 1; e.Result.Err() != nil {
		a.out.Succeeded, a.out.Failed = 0, 1
	}
	r.end(ctx, a, false)
}

// An action is a running action whose begin was recorded.
type action struct {
	record  audit.Record
	began   time.Time
	targets map[*inventory.Target]bool // of a step, in batches that have begun
	failed  []string
	out     audit.Outcome
}

// begin records that an action is about to begin. step is its number in a plan.
// begin returns nil if it records nothing for the action. If it returns an
// error, the action must not begin.
func (r *Recorder) begin(ctx context.Context, step int, what audit.Action, targets []*inventory.Target) (*action, error) {
	a := &action{began: time.Now()}
	what.RunAs = r.o.Redact(what.RunAs)
	a.record = audit.Record{Event: audit.Begin, Request: r.o.Request, Step: step, Actor: r.o.Actor, Project: r.o.Project, Action: what}
	if targets != nil {
		names := make([]string, len(targets))
		for i, t := range targets {
			names[i] = t.SafeName()
		}
		a.record.Targets = audit.NewNames(names)
	}
	if err := r.o.Log.Add(ctx, &a.record); err != nil {
		if r.o.Required {
			return nil, refused(err)
		}
		r.o.Warnings.WarnOnce(warning, err.Error())
		return nil, nil
	}
	return a, nil
}

// refused returns the error of an action that did not begin because it could
// not be recorded.
func refused(err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	told := *e
	told.Msg += ". It is required, so nothing was begun."
	return &told
}

// came records the outcome of the action on a target.
func (a *action) came(ctx context.Context, r *Recorder, res *event.Result) {
	switch {
	case res.OK():
		a.out.Succeeded++
	case res.NotBegun():
		a.out.NotBegun++
		return
	default:
		a.out.Failed++
		a.failed = append(a.failed, res.Target.SafeName())
	}
	if a.record.RunAs != "" {
		return
	}
	// The settings are available, because bolt reached the target with them.
	if s, err := res.Target.Settings(ctx); err == nil && s.RunAs.User != "" {
		if a.out.RunAs == nil {
			a.out.RunAs = make(map[string]int)
		}
		a.out.RunAs[r.o.Redact(s.RunAs.User)]++
	}
}

// end records the outcome of an action. failed is set if the action failed as a
// whole; failures on targets and in containers are counted separately.
func (r *Recorder) end(ctx context.Context, a *action, failed bool) {
	if a == nil {
		return
	}
	own := a.record.Step == 0
	if !own {
		failed = a.out.Failed+a.out.NotBegun > 0
	}
	out := &a.out
	out.Status, out.Elapsed = audit.Success, time.Since(a.began).Seconds()
	exit := exitOK
	if failed {
		out.Status, exit = audit.Failure, exitFailed
	}
	if ctx.Err() != nil {
		out.Status = audit.Stopped
	}
	if own {
		out.Exit = &exit
		r.action = nil
	}
	if len(a.failed) > 0 {
		out.FailedOn = audit.NewNames(a.failed)
	}
	end := a.record
	end.Event, end.Targets, end.Outcome = audit.End, nil, out
	err := r.o.Log.Add(context.WithoutCancel(ctx), &end)
	if err == nil {
		return
	}
	r.lost = true
	if own {
		r.o.Warnings.Warn(warning, err.Error())
	} else {
		r.o.Warnings.WarnOnce(warning, err.Error())
	}
}
