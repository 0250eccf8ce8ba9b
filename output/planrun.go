package output

import (
	"bufio"
	"strings"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/internal/safetext"
	"bolt/run"
)

// A PlanRun shows a plan to people, each step; or it prints, as JSON, what the plan
// came to, and no more.
type PlanRun struct {
	h    *human
	json bool
	// streams has the lines of each step's targets that are not whole yet; nil
	// without Stream.
	streams map[*PlanStep]*lineStream
	// beside is where a plan speaks, and lines are streamed, when standard output
	// is for programs.
	beside *bufio.Writer
}

func newPlanRun(o Options, out *bufio.Writer) *PlanRun {
	p := &PlanRun{h: newHuman(o, out), json: o.Format.IsJSON(), beside: bufio.NewWriter(discardNil(o.Err))}
	if o.Stream {
		p.streams = make(map[*PlanStep]*lineStream)
	}
	return p
}

// Event shows plans, steps and messages; what happens on targets to those who want
// to know.
func (p *PlanRun) Event(e PlanEvent) error {
	if p.streams != nil {
		p.stream(e)
	}
	switch {
	case e.Kind == PlanSaid && (!e.Verbose || p.h.o.Verbose):
		p.message(e.Text)
	case p.json:
	case e.Kind == StepTarget:
		p.target(e.Target)
	case e.Kind == ContainerFinished:
		p.containerFinished(e.Image, e.Value)
	default:
		p.headline(e)
	}
	return p.flush()
}

// flush returns the first error of standard output alone: without the other the
// plan goes on.
func (p *PlanRun) flush() error {
	_ = p.beside.Flush()
	return p.h.out.Flush()
}

// headline says that something begins or ends.
func (p *PlanRun) headline(e PlanEvent) {
	if line := e.Headline(); line != "" {
		p.h.println(p.h.good(safetext.TerminalString(line)))
	}
}

// Headline returns the line for the start or the end of a step; "" for other events.
func (e PlanEvent) Headline() string {
	switch e.Kind {
	case PlanStarted:
		return "Starting: plan " + e.Plan
	case PlanFinished:
		return "Finished: plan " + e.Plan + " in " + durationText(e.Took)
	case StepStarted:
		return "Starting: " + e.Step.on()
	case ContainerStarted:
		return "Starting: run container '" + e.Image + "'"
	case StepRecorded:
		return "Done before: " + e.Step.on()
	case StepFinished:
		return "Finished: " + e.Step.Description + " with " + plural(e.Failures, "failure") + " in " + durationText(e.Took)
	}
	return ""
}

// stream prints what targets print as it arrives. Steps that run at once may have
// targets in common, so each has lines of its own.
func (p *PlanRun) stream(e PlanEvent) {
	switch e.Kind {
	case StepStarted:
		if p.json { // what reads the lines is unknown
			p.streams[e.Step] = newLineStream(p.beside, true, false)
			return
		}
		p.streams[e.Step] = newLineStream(p.h.out, p.h.o.Terminal, p.h.o.Color)
	case StepTarget:
		switch lines := p.streams[e.Step]; e.Target.Kind {
		case run.Output:
			lines.write(e.Target)
		case run.Finished:
			lines.end(e.Target.Target)
		}
	case StepFinished:
		delete(p.streams, e.Step)
	}
}

// target prints what happens on a target.
func (p *PlanRun) target(e run.Event) {
	if !p.h.o.Verbose {
		return
	}
	switch e.Kind {
	case run.Started:
		p.h.println(p.h.good("Started on " + e.Target.SafeName() + "..."))
	case run.Finished:
		_ = p.result(e.Result)
	}
}

// result prints a block about a result. A target that was not begun has not failed.
func (p *PlanRun) result(r *event.Result) error {
	if endingOf(r) != skipped {
		return p.h.block(r, r.Target.SafeName(), same)
	}
	p.h.println(paint(yellow, p.h.o.Color, "Not run on "+r.Target.SafeName()+":"))
	p.h.indent(p.h.out, safetext.TerminalString(r.Err.Msg))
	return nil
}

func same(s string) string { return s }

// message shows what the plan says.
func (p *PlanRun) message(text string) {
	text = strings.TrimSuffix(text, "\n") // which ends the line
	if p.json {
		_, _ = p.beside.WriteString(safetext.TerminalString(text) + "\n")
		return
	}
	p.h.println(p.h.plain(text))
}

// Value shows what the plan has returned.
func (p *PlanRun) Value(v any) error {
	switch {
	case p.json:
		return p.data(v)
	case v == nil:
		p.h.println("Plan completed successfully with no result")
	default:
		var b strings.Builder
		if err := safejson.WriteIndented(&b, v); err != nil {
			return err
		}
		p.h.println(strings.TrimSuffix(p.h.plain(b.String()), "\n"))
	}
	return p.h.out.Flush()
}

func (p *PlanRun) data(v any) error {
	if err := writeLine(p.h.out, v); err != nil {
		return err
	}
	return p.h.out.Flush()
}

// Results shows results that the plan has returned, or that ended it.
func (p *PlanRun) Results(results []*event.Result, failure *ordered.Map) error {
	switch {
	case p.json && failure != nil:
		return p.data(failure)
	case p.json:
		if err := writeResults(p.h.out, results); err != nil {
			return err
		}
		_ = p.h.out.WriteByte('\n')
		return p.h.out.Flush()
	}
	for _, r := range results {
		p.h.targets = append(p.h.targets, r.Target)
		p.h.ended[r.Target] = endingOf(r)
		if err := p.result(r); err != nil {
			return err
		}
	}
	p.h.lookup = true // no time in the summary
	return p.h.End(0)
}

// Result shows the one result that the plan has returned, without a summary.
func (p *PlanRun) Result(r *event.Result) error {
	if p.json {
		if err := r.WriteJSON(p.h.out); err != nil {
			return err
		}
		_ = p.h.out.WriteByte('\n')
		return p.h.out.Flush()
	}
	if err := p.result(r); err != nil {
		return err
	}
	return p.h.out.Flush()
}

// Returned shows an error that the plan has returned as one that ended it.
func (p *PlanRun) Returned(msg, place string, data *ordered.Map) error {
	return p.Failed(msg, place, data)
}

// writeResults writes results as a list in JSON.
func writeResults(w *bufio.Writer, results []*event.Result) error {
	_ = w.WriteByte('[')
	for i, r := range results {
		if i > 0 {
			_ = w.WriteByte(',')
		}
		if err := r.WriteJSON(w); err != nil {
			return err
		}
	}
	return w.WriteByte(']')
}

// Failed shows what ended the plan. place is where, "" if nobody knows.
func (p *PlanRun) Failed(msg, place string, failure *ordered.Map) error {
	if p.json {
		return p.data(failure)
	}
	text := safetext.TerminalString(msg)
	if place != "" {
		text += "\n  " + safetext.TerminalString(place)
	}
	p.h.println(paint(red, p.h.o.Color, text))
	return p.h.out.Flush()
}
