// Package reach performs the actions of rollouts on the targets of an inventory.
//
// A [Fleet] applies the catalogs of releases with the helper (package apply/fleet). The run on a machine has the
// ID of the event that intends it, and goes on if the connection is lost, so its result can be asked for
// later. Plans and tasks run without the helper, so the result of a lost run stays unknown.
package reach

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"bolt/apply/fleet"
	"bolt/apply/frame"
	"bolt/apply/remote"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/event"
	"bolt/event/capture"
	"bolt/inventory"
	"bolt/rollout"
	"bolt/rollout/driver"
	"bolt/rollout/measure"
	"bolt/run"
	"bolt/transport"
)

// Options are the settings of a Fleet. Log and Sink are optional.
type Options struct {
	Runner *run.Runner
	// Target returns the target of a node; "" is this machine.
	Target func(ctx context.Context, node string) (*inventory.Target, error)
	// Catalog returns the catalog of a node in a release.
	Catalog func(ctx context.Context, release, node string) (*catalog.Catalog, error)
	// Puppet returns the work of the Puppet that is installed on a node of a release; nil if bolt applies the catalog. If Puppet is
	// nil, bolt applies all catalogs.
	Puppet func(ctx context.Context, release, node string) (*fleet.Puppet, error)
	// Task returns the action of a task, Script that of a script of the project.
	Task   func(ctx context.Context, name string, params map[string]any, noop bool) (run.Action, error)
	Script func(ctx context.Context, path string) (run.Action, error)
	// Plan runs a plan and returns its value.
	Plan     func(ctx context.Context, name string, params map[string]any) (any, error)
	Delivery fleet.Delivery // Helpers, Dir, Setting and By
	Version  string         // of bolt
	// Sink takes the events of targets, one at a time; nil discards.
	Sink event.Sink
	// Keep keeps the reports of catalogs; nil keeps none.
	Keep *fleet.Keeper
}

// A Fleet is a driver.Fleet. It is safe for concurrent use.
type Fleet struct {
	o  Options
	mu sync.Mutex // around calls of Sink
}

// New returns a Fleet.
func New(o Options) *Fleet { return &Fleet{o: o} }

const (
	// patience is how long a machine that does not answer is asked for the result of a run.
	patience = time.Minute
	// pause is between two questions.
	pause = 2 * time.Second
	// farewell is how long a run has to end that is stopped. It finishes the resource in work.
	farewell = 30 * time.Second
	// linger is how long a run that is stopped can send its results over the connection that it has.
	linger = 10 * time.Second
	// stopPause is between two requests to stop a run.
	stopPause = time.Second
)

// Apply implements driver.Fleet.
func (f *Fleet) Apply(ctx context.Context, r *driver.Run) driver.Result {
	t, err := f.o.Target(ctx, r.Node.Name)
	if err != nil {
		return failed(err)
	}
	action := r.Rollout.Strategy.Action
	switch {
	case action.Plan != "":
		params := map[string]any{"targets": r.Node.Name}
		for name, v := range action.Params {
			params[name] = v
		}
		r.Began()
		if _, err := f.o.Plan(ctx, action.Plan, params); err != nil {
			if ctx.Err() != nil {
				return driver.Result{Outcome: rollout.OutcomeCancelled, Reason: err.Error(), Changed: !r.Noop}
			}
			out := failed(err)
			out.Changed = !r.Noop
			return out
		}
		return driver.Result{Outcome: rollout.OutcomeDone, Changed: !r.Noop}
	case action.Task != "":
		task, err := f.o.Task(ctx, action.Task, action.Params, r.Noop)
		if err != nil {
			return failed(err)
		}
		r.Began()
		res := f.run(ctx, task, t, nil)
		out := outcome(res)
		out.Changed = !r.Noop && out.Outcome != rollout.OutcomeUnreachable && out.Outcome != rollout.OutcomeAuth
		return out
	}
	return f.catalog(ctx, r, t)
}

func failed(err error) driver.Result {
	return driver.Result{Outcome: rollout.OutcomeFailed, Reason: err.Error()}
}

// catalog applies the catalog of a node.
func (f *Fleet) catalog(ctx context.Context, r *driver.Run, t *inventory.Target) driver.Result {
	c, err := f.o.Catalog(ctx, r.Node.Release, r.Node.Name)
	if err != nil {
		return failed(err)
	}
	d := f.delivery(r)
	var refused *remote.RefusedError
	drift := ""
	var stopped *frame.Done // the result of a run that ended early because bolt requested it
	d.Ended = func(o *remote.Outcome) {
		drift = o.Drift
		if o.Stopped == frame.StopAsked {
			stopped = &frame.Done{Counts: o.Counts, Stopped: o.Stopped, Error: o.Error, Drift: o.Drift}
		}
	}
	a := fleet.Fixed(c, d, f.o.Version)
	a.Deliver = func(ctx context.Context, site *run.Site, c *catalog.Catalog, each func(*report.Result)) (*report.Run, error) {
		r.Began()
		ctx, end := outlast(ctx, func(ctx context.Context) error {
			_, err := remote.Stop(ctx, site.Conn, d.Target(site), r.ID)
			return err
		})
		defer end()
		done, err := d.Deliver(ctx, site, c, each)
		refused, _ = errors.AsType[*remote.RefusedError](err)
		return done, err
	}
	keep := func() {} // keeps the report of a run whose end is not known
	if f.o.Keep != nil {
		whole := f.o.Keep.Keep(origin(r))
		a.Report = append(a.Report, func(ctx context.Context, t *inventory.Target, c *catalog.Catalog, done *report.Run) error {
			if done.Why == "" {
				return whole(ctx, t, c, done)
			}
			keep = func() { f.o.Keep.KeepPart(t, c, done, origin(r)) }
			return nil
		})
	}
	res := f.run(ctx, a, t, nil)
	if refused != nil {
		if refused.Kind == frame.KindTwice { // another driver has started this very run
			return f.Ask(ctx, r)
		}
		return declined(r, refused)
	}
	defer func() { keep() }() // after the machine was asked
	if stopped != nil {
		return f.known(r, told(&frame.Fate{State: frame.StateEnded, Done: stopped}))
	}
	out := outcome(res)
	if out.Outcome == rollout.OutcomeLost || out.Outcome == rollout.OutcomeCancelled || out.Outcome == rollout.OutcomeTimeout {
		return f.fate(ctx, r, out)
	}
	return f.known(r, noted(out, drift))
}

// outlast returns a context for a run that gets linger more time after the end of ctx. It requests the end of the run then, and the run
// sends the results of the resources in work. The returned function ends the context.
func outlast(ctx context.Context, stop func(context.Context) error) (context.Context, func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() {
		defer cancel()
		limited, end := context.WithTimeout(longer, linger)
		defer end()
		if stop(limited) == nil {
			<-limited.Done()
		}
	})
	return longer, func() {
		release()
		cancel()
	}
}

// noted adds to the result of a run in noop mode how the node differs from the expected release.
func noted(out driver.Result, drift string) driver.Result {
	switch {
	case drift == "":
	case out.Reason == "":
		out.Reason = drift
	default:
		out.Reason += ". " + drift
	}
	return out
}

// declined returns the result of a run that the node refused.
func declined(r *driver.Run, e *remote.RefusedError) driver.Result {
	if e.Kind == frame.KindDrifted {
		next := "If this can be replaced, start a rollout with the option --ignore-drift"
		if c := r.Rollout; c.Parent != "" {
			next = fmt.Sprintf("'bolt rollout skip %s %s' leaves the node as it is", r.Node.Name, c.Rollout)
		}
		return driver.Result{Outcome: rollout.OutcomeDrifted, Reason: strings.Join(e.Messages, "\n") + ". Nothing was changed. " + next}
	}
	return driver.Result{Outcome: rollout.OutcomeRefused, Reason: e.Error()}
}

// origin returns the origin of the report of a run.
func origin(r *driver.Run) fleet.Origin {
	return fleet.Origin{Release: r.Node.Release, Rollout: r.Rollout.Rollout}
}

// known fills in the catalog that a finished run leaves on the node.
func (f *Fleet) known(r *driver.Run, out driver.Result) driver.Result {
	if r.Noop {
		out.Changed = false
	} else if out.Outcome == rollout.OutcomeDone {
		out.Catalog = r.Node.Catalog
	}
	return out
}

func (f *Fleet) delivery(r *driver.Run) *fleet.Delivery {
	d := f.o.Delivery
	d.Noop, d.Continue, d.Seq = r.Noop, true, int64(r.Rollout.Sequence)
	d.Release, d.Expected = r.Node.Release, r.Rollout.Expected(&r.Node)
	d.Run = func(*inventory.Target) string { return r.ID }
	if f.o.Puppet != nil {
		d.Puppet = func(ctx context.Context, _ *inventory.Target) (*fleet.Puppet, error) {
			return f.o.Puppet(ctx, r.Node.Release, r.Node.Name)
		}
	}
	return &d
}

// fate finds the result of a run whose connection was lost, or that was given up.
func (f *Fleet) fate(ctx context.Context, r *driver.Run, out driver.Result) driver.Result {
	asked := f.Ask(ctx, r)
	switch asked.Outcome {
	case rollout.OutcomeAbsent:
		out.Changed = false
		return out
	case rollout.OutcomeLost:
		if asked.Reason != "" {
			out.Reason += ". " + asked.Reason
		}
		return out
	}
	return asked
}

// Ask implements driver.Fleet.
func (f *Fleet) Ask(ctx context.Context, r *driver.Run) driver.Result {
	lost := driver.Result{Outcome: rollout.OutcomeLost, Changed: !r.Noop}
	if !r.Rollout.Strategy.Action.IsZero() {
		lost.Reason = "the result of a plan or task cannot be asked for"
		return lost
	}
	t, err := f.o.Target(ctx, r.Node.Name)
	if err != nil {
		lost.Reason = err.Error()
		return lost
	}
	until := time.Now().Add(patience)
	for ctx.Err() == nil {
		out, answer := f.ask(ctx, r, t, remote.Asked)
		switch {
		case answer == ended:
			return out
		case answer == running: // the timeout of the node bounds the wait
			until = time.Now().Add(patience)
		case ctx.Err() == nil && time.Now().After(until):
			return out
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return f.stop(context.WithoutCancel(ctx), r, t)
}

// stop ends a run on its machine, and returns its result. If a resource takes longer than farewell, the run ends later by itself.
func (f *Fleet) stop(ctx context.Context, r *driver.Run, t *inventory.Target) (out driver.Result) {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	for {
		now, answer := f.ask(ctx, r, t, remote.Stop)
		if answer != silent || out.Outcome == "" { // an earlier answer is worth more than none
			out = now
		}
		if answer == ended {
			return out
		}
		select {
		case <-time.After(stopPause):
		case <-ctx.Done():
			if out.Reason == stillRuns {
				out.Reason += ", and ends after the resource in work"
			}
			return out
		}
	}
}

const stillRuns = "The run still goes on there"

// An answer is how much is known of a run.
type answer uint8

const (
	silent  answer = iota // the machine does not answer
	running               // the run still goes on there
	ended                 // its result is known, or can never be known
)

// ask asks once, with remote.Asked or remote.Stop. The outcome is lost if the result is not known.
func (f *Fleet) ask(ctx context.Context, r *driver.Run, t *inventory.Target, by inquirer) (driver.Result, answer) {
	q := &question{delivery: f.delivery(r), run: r.ID, by: by}
	res := f.run(ctx, q, t, nil)
	lost := driver.Result{Outcome: rollout.OutcomeLost, Changed: !r.Noop}
	switch {
	case q.fate != nil && q.fate.State == frame.StateRunning:
		lost.Reason = stillRuns
		return lost, running
	case q.fate != nil:
		f.o.Keep.KeepFate(t, r.ID, r.Noop, q.fate, origin(r), func() (*catalog.Catalog, error) { return f.o.Catalog(ctx, r.Node.Release, r.Node.Name) })
		return f.known(r, told(q.fate)), ended
	case res.Err != nil:
		lost.Reason = res.Err.Msg
	}
	return lost, silent
}

type inquirer func(ctx context.Context, conn transport.Conn, t *remote.Target, run string) (*frame.Fate, error)

// A question asks a machine for the fate of a run.
type question struct {
	delivery *fleet.Delivery
	run      string
	by       inquirer
	fate     *frame.Fate // nil without an answer
}

// Name and Object make it an Action.
func (q *question) Name() string { return event.Apply }

// Object is that of an apply.
func (q *question) Object() string { return "" }

// Do asks.
func (q *question) Do(ctx context.Context, site *run.Site) (err error) {
	q.fate, err = q.by(ctx, site.Conn, q.delivery.Target(site), q.run)
	return err
}

// told returns the result of a run that has ended. If the machine does not know the run, it was not started there.
func told(fate *frame.Fate) driver.Result {
	switch fate.State {
	case frame.StateUnknown:
		return driver.Result{Outcome: rollout.OutcomeAbsent}
	case frame.StateBroken:
		reason := "the run was interrupted there"
		if len(fate.Progress) > 0 {
			reason += " at " + fate.Progress[0]
		}
		if fate.Rebooted {
			reason += ", and the machine was started again"
		}
		return driver.Result{Outcome: rollout.OutcomeLost, Reason: reason, Changed: true}
	}
	d := fate.Done
	n := d.Counts
	out := driver.Result{Outcome: rollout.OutcomeDone, Changed: n.Changed+n.Failed > 0, Changes: n.Changed + n.Noop}
	switch {
	case d.Refused != nil:
		return driver.Result{Outcome: rollout.OutcomeRefused, Reason: strings.Join(d.Refused.Messages, "\n")}
	case d.Error != "":
		out.Outcome, out.Reason = rollout.OutcomeFailed, d.Error
	case d.Stopped == frame.StopAsked && n.Skipped > 0:
		out.Outcome = rollout.OutcomeCancelled
		out.Reason = fmt.Sprintf("the run was stopped there: %d changed, %d unchanged, %d failed, %d skipped", n.Changed, n.Unchanged, n.Failed, n.Skipped)
	case d.Stopped != "" && n.Skipped > 0:
		out.Outcome, out.Reason = rollout.OutcomeLost, "the run was stopped there before all resources had their turn"
	case n.Failed > 0:
		out.Outcome, out.Reason = rollout.OutcomeFailed, fmt.Sprintf("%d resources failed", n.Failed)
	}
	return noted(out, d.Drift)
}

// run runs an action on one target, and returns the result. take gets it before its output is closed.
func (f *Fleet) run(ctx context.Context, a run.Action, t *inventory.Target, take func(*event.Result)) *event.Result {
	var res *event.Result
	_ = f.o.Runner.Run(ctx, a, []*inventory.Target{t}, event.Func(func(ctx context.Context, e event.Event) error {
		if end, is := e.(event.TargetEnd); is {
			res = end.Result
			if take != nil {
				take(res)
			}
		}
		if f.o.Sink == nil {
			return nil
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.o.Sink.Event(ctx, e)
	}))
	return res
}

// outcome classifies the result of an action.
func outcome(res *event.Result) driver.Result {
	out := driver.Result{Outcome: rollout.OutcomeDone}
	if a := res.Applied; a != nil {
		out.Changed, out.Changes = a.Changed+a.Failed > 0, a.Changed+a.Noop
	}
	if res.OK() {
		return out
	}
	out.Reason, out.Outcome = res.Err.Msg, OutcomeOf(res)
	out.Changed = out.Changed || out.Outcome == rollout.OutcomeLost || res.Err.Class == transport.ClassCancelled
	return out
}

// OutcomeOf classifies the result of an apply or a task.
func OutcomeOf(res *event.Result) rollout.Outcome {
	if res.OK() {
		return rollout.OutcomeDone
	}
	switch res.Err.Class {
	case transport.ClassResolve, transport.ClassConnect, transport.ClassThrottled:
		return rollout.OutcomeUnreachable
	case transport.ClassAuth, transport.ClassHostKeyUnknown, transport.ClassHostKeyChanged, transport.ClassRunAs:
		return rollout.OutcomeAuth
	case transport.ClassTimeout:
		if res.Err.Code == "CONNECT_ERROR" {
			return rollout.OutcomeUnreachable
		}
		return rollout.OutcomeTimeout
	case transport.ClassLost:
		return rollout.OutcomeLost
	case transport.ClassCancelled, event.ClassSkipped:
		return rollout.OutcomeCancelled
	}
	return rollout.OutcomeFailed
}

// maxSaid bounds the output of a measurement.
const maxSaid = 64 << 10

// Run is for measure.Means.
func (f *Fleet) Run(ctx context.Context, a *measure.Action, nodes []string) ([]measure.Output, error) {
	action, err := f.action(ctx, a)
	if err != nil {
		return nil, err
	}
	if nodes == nil {
		nodes = []string{""}
	}
	outputs := make([]measure.Output, len(nodes))
	var wg sync.WaitGroup
	slots := make(chan struct{}, run.DefaultConcurrency)
	for i, node := range nodes {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			outputs[i] = f.measured(ctx, action, node)
		})
	}
	wg.Wait()
	return outputs, nil
}

func (f *Fleet) measured(ctx context.Context, a run.Action, node string) measure.Output {
	t, err := f.o.Target(ctx, node)
	if err != nil {
		return measure.Output{Machine: node, Reason: err.Error()}
	}
	out := measure.Output{Machine: t.SafeName()}
	f.run(ctx, a, t, func(res *event.Result) {
		out.OK = res.OK()
		switch {
		case res.Output != nil:
			out.Value = said(res.Output, capture.Stdout)
		case res.Value != nil:
			out.Value = res.Value
		}
		if out.OK {
			out.Ran = true
			return
		}
		out.Ran = res.Err.Class == event.ClassFailed
		out.Reason = res.Err.Msg
		if res.Output != nil {
			if last := lastLine(said(res.Output, capture.Stderr)); last != "" {
				out.Reason += ": " + last
			}
		}
	})
	return out
}

func (f *Fleet) action(ctx context.Context, a *measure.Action) (run.Action, error) {
	switch {
	case a.Task != "":
		return f.o.Task(ctx, a.Task, a.Params, false)
	case a.Script != "":
		return f.o.Script(ctx, a.Script)
	}
	return &run.Command{Line: a.Command}, nil
}

// said returns the output of a stream, without spaces at its ends.
func said(o *capture.Output, s capture.Stream) string {
	if o.Len(s) > maxSaid {
		return fmt.Sprintf("(more than %d KiB of output)", maxSaid>>10)
	}
	var b strings.Builder
	if err := o.WriteStream(&b, s); err != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }
