package fleet

import (
	"context"
	"fmt"
	"time"

	"bolt/apply/frame"
	"bolt/apply/report"
	"bolt/event"
	"bolt/format/ordered"
	"bolt/run"
)

// KindUnknown is the kind of the error of an Inquiry that found no outcome.
const KindUnknown = "bolt/unknown-outcome"

// An Inquiry is the action that queries targets for the outcome of an apply whose results were lost. If the apply has
// ended on a target, it returns the result of the apply, without the messages of resources. Otherwise the error is of
// KindUnknown, with the answer of the target. An Inquiry changes nothing.
type Inquiry struct{ apply *Apply }

// Inquiry returns the action that queries targets for the outcome of a.
func (a *Apply) Inquiry() *Inquiry { return &Inquiry{a} }

// Name implements run.Action.
func (q *Inquiry) Name() string { return event.Apply }

// Object returns the object of an apply.
func (q *Inquiry) Object() string { return "" }

// Do queries one target.
func (q *Inquiry) Do(ctx context.Context, site *run.Site) error {
	fate, err := q.apply.Ask(ctx, site)
	if err != nil {
		return err
	}
	if msg := unfinished(fate); msg != "" {
		site.Result.Err = &event.Error{Kind: KindUnknown, Msg: msg, Class: event.ClassFailed, Details: &ordered.Map{}}
		return nil
	}
	return q.ended(ctx, site, fate)
}

// unfinished describes an apply that has not finished. It returns "" for a finished apply.
func unfinished(f *frame.Fate) string {
	switch f.State {
	case frame.StateRunning:
		return "the apply still runs there"
	case frame.StateBroken:
		if len(f.Progress) > 0 {
			return "the apply was interrupted there at " + f.Progress[0]
		}
		return "the apply was interrupted there"
	case frame.StateEnded:
		switch d := f.Done; {
		case d.Refused != nil:
			return "the apply was refused there"
		case d.Error != "":
			return "the apply failed there: " + d.Error
		case d.Stopped != "" && d.Counts.Skipped > 0:
			return "the apply was stopped there before it reached all resources"
		}
		return ""
	}
	return "the target has no record of this apply"
}

// ended fills in the result of an apply that has ended.
func (q *Inquiry) ended(ctx context.Context, site *run.Site, f *frame.Fate) error {
	a := q.apply
	facts, err := a.Facts(ctx, site)
	if err != nil {
		return err
	}
	c, err := a.compile(ctx, a.Compile, site.Target, facts, false)
	if err != nil {
		return err
	}
	done := &report.Run{Noop: a.Noop, Start: f.Begin, Took: f.End.Sub(f.Begin)}
	fill(c, done, f)
	a.result(site, c, done)
	// The machine does not record the skipped resources.
	n := f.Done.Counts
	site.Result.Applied.Unchanged, site.Result.Applied.Skipped = n.Unchanged, n.Skipped
	site.Result.Value.Set("_output", site.Result.Applied.String())
	return nil
}

// eventsOf returns one event for a resource whose events were lost.
func eventsOf(s report.Status, at time.Time) []report.Event {
	e := report.Event{Time: at, Message: fmt.Sprintf("%s; the messages were lost with the connection", s)}
	switch s {
	case report.Changed:
		e.Outcome = report.Success
	case report.Failed:
		e.Outcome = report.Failure
	case report.Noop:
		e.Outcome = report.NoopOut
	default:
		return nil
	}
	return []report.Event{e}
}
