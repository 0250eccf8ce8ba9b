package output

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"bolt/event"
)

// Options select a format and its details. Out is required.
type Options struct {
	Format Format // the zero value is Human
	Out    io.Writer
	// Err receives the lines of Stream if Out carries a JSON document, and what Apart keeps out
	// of Out; nil drops them.
	Err io.Writer
	// Apart sends hints, excerpts of files, and the calls that led to an error to Err. JSON
	// implies it. Otherwise they are below the error in Out.
	Apart    bool
	Color    bool // colours are wanted and Out can show them
	Width    int  // the columns of Out, 0 if unknown
	Terminal bool // Out is a terminal: control sequences in output are taken out
	Verbose  bool // print all results, not only failures and the summary (human formats)
	Stream   bool // print output line by line as it arrives
	Fold     bool // print equal results once, at the end (human formats)
	Diff     bool // as Fold, but print the differences from the most frequent result
	// Now is the clock of NDJSON; nil is time.Now.
	Now func() time.Time
}

// New returns the sink that prints events according to o: an action on targets, or a plan
// and its outcome.
//
// Each call of Event prints the event, and flushes. It returns the first write error (a
// closed pipe, a full disk). After an error, all later calls return it again and write
// nothing, so a caller may stop its work as soon as it gets an error.
func New(o Options) (event.Sink, error) {
	if o.Out == nil {
		return nil, errors.New("output: no writer")
	}
	o.Fold = o.Fold || o.Diff
	if o.Format == (Format{}) {
		o.Format = Human
	}
	k := find(o.Format.Name)
	if k.sink == nil {
		return nil, unknown(o.Format)
	}
	if o.Fold && k.uses&Folds == 0 {
		return nil, fmt.Errorf("format %s: equal results can only be folded in the formats %s", o.Format, strings.Join(Names(Folds), " and "))
	}
	sink := k.sink(o, bufio.NewWriter(o.Out))
	if o.apart() {
		sink = newHints(sink, o)
	}
	return sink, nil
}

// apart reports whether hints and the like go to Err.
func (o *Options) apart() bool { return o.Apart || o.Format.Data }

func humanSink(o Options, out *bufio.Writer) event.Sink {
	h := newHuman(o, out)
	return &layouts{action: h, plan: newHumanPlan(h)}
}

func jsonSink(o Options, out *bufio.Writer) event.Sink {
	return &layouts{action: newJSON(o, out), plan: newPlanJSON(o, out)}
}

func ndjsonSink(o Options, out *bufio.Writer) event.Sink { return newNDJSON(o, out) }

// layouts are the sinks of a format that has different layouts for plans and for actions.
type layouts struct {
	action, plan event.Sink
	inPlan       bool
}

func (l *layouts) Event(ctx context.Context, e event.Event) error {
	if begin, ok := e.(event.ActionBegin); ok {
		l.inPlan = begin.Action == event.Plan
	}
	if l.inPlan {
		return l.plan.Event(ctx, e)
	}
	return l.action.Event(ctx, e)
}

// hidden reports whether an event of a plan is not shown: it is quiet, or it belongs to a
// step that is not repeated.
func hidden(e event.Event) bool {
	switch e := e.(type) {
	case event.PlanBegin:
		return e.Quiet
	case event.PlanEnd:
		return e.Quiet
	case event.ContainerBegin:
		return e.Container.Quiet
	case event.ContainerEnd:
		return e.Container.Quiet
	case event.BatchBegin: // the targets follow
		return true
	case event.StepBegin:
		return e.Step.Quiet
	}
	s := event.StepOf(e)
	return s != nil && (s.Quiet || s.Recorded)
}
