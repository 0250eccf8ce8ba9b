package output

import (
	"bufio"
	"io"
	"strings"
	"time"

	"bolt/internal/ordered"
	"bolt/internal/safetext"
	"bolt/inventory"
	"bolt/run"
)

// A PlanRun shows a plan as it runs, and what it came to: for people each step,
// for programs the end alone. Its methods are called from one goroutine at a time.
// Errors of writing are told by the last.
type PlanRun struct {
	h     *human
	json  bool
	lines *lineStream // with Stream
	// messages is where a plan speaks when standard output is for programs.
	messages io.Writer
}

// NewPlanRun returns one. o.Err takes what the plan says in JSON.
func NewPlanRun(o Options) *PlanRun {
	messages := o.Err
	if messages == nil {
		messages = io.Discard
	}
	p := &PlanRun{h: newHuman(o, bufio.NewWriter(o.Out)), json: o.Format.IsJSON(), messages: messages}
	if p.lines = p.h.lines; p.json && o.Stream {
		p.lines = newLineStream(bufio.NewWriter(messages), true, false)
	}
	return p
}

// say prints a line for people.
func (p *PlanRun) say(line string) {
	if p.json {
		return
	}
	p.h.println(p.h.good(p.h.plain(line)))
	_ = p.h.out.Flush() // the error stays for the last
}

// PlanStarted and PlanFinished are around a plan.
func (p *PlanRun) PlanStarted(name string) { p.say("Starting: plan " + name) }

// PlanFinished says how long it took.
func (p *PlanRun) PlanFinished(name string, took time.Duration) {
	p.say("Finished: plan " + name + " in " + durationText(took))
}

// maxNamed is how many targets of a step are named.
const maxNamed = 5

// StepStarted says what is done, and where.
func (p *PlanRun) StepStarted(description string, targets []*inventory.Target) {
	p.say("Starting: " + description + " on " + where(targets))
}

// StepRecorded says what was done when the run was begun, and where.
func (p *PlanRun) StepRecorded(description string, targets []*inventory.Target) {
	p.say("Done before: " + description + " on " + where(targets))
}

func where(targets []*inventory.Target) string {
	if len(targets) > maxNamed {
		return plural(len(targets), "target")
	}
	return strings.Join(safeNames(targets), ", ")
}

// StepFinished says how it went.
func (p *PlanRun) StepFinished(description string, failures int, took time.Duration) {
	p.say("Finished: " + description + " with " + plural(failures, "failure") + " in " + durationText(took))
}

// Event shows what happens on a target, to people who want to know. Outputs stay
// open.
func (p *PlanRun) Event(e run.Event) {
	if p.lines != nil {
		switch e.Kind {
		case run.Output:
			p.lines.write(e)
		case run.Finished:
			p.lines.end(e.Target)
		}
		_ = p.lines.w.Flush()
	}
	if p.json || !p.h.o.Verbose {
		return
	}
	switch e.Kind {
	case run.Started:
		p.h.println(p.h.good("Started on " + e.Target.SafeName() + "..."))
	case run.Finished:
		_ = p.h.block(e.Result, e.Result.Target.SafeName(), same)
	}
	_ = p.h.out.Flush()
}

func same(s string) string { return s }

// Message shows what the plan says.
func (p *PlanRun) Message(text string) {
	if p.json {
		_, _ = io.WriteString(p.messages, safetext.String(text)+"\n")
		return
	}
	p.h.println(p.h.plain(text))
	_ = p.h.out.Flush()
}

// Value shows what the plan has returned; nil is nothing.
func (p *PlanRun) Value(v any) error {
	switch {
	case p.json:
		return p.data(v)
	case v == nil:
		p.h.println("Plan completed successfully with no result")
	default:
		var b strings.Builder
		if err := safetext.WriteIndentedJSON(&b, v); err != nil {
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

// Results shows results that the plan has returned, or that ended it: failure is
// then what it is for programs.
func (p *PlanRun) Results(results []*run.Result, failure *ordered.Map) error {
	switch {
	case p.json && failure != nil:
		return p.data(failure)
	case p.json:
		_ = p.h.out.WriteByte('[')
		for i, r := range results {
			if i > 0 {
				_ = p.h.out.WriteByte(',')
			}
			if err := r.WriteJSON(p.h.out); err != nil {
				return err
			}
		}
		_, _ = p.h.out.WriteString("]\n")
		return p.h.out.Flush()
	}
	for _, r := range results {
		p.h.targets = append(p.h.targets, r.Target)
		p.h.ended[r.Target] = succeeded
		if !r.OK() {
			p.h.ended[r.Target] = failed
		}
		if err := p.h.block(r, r.Target.SafeName(), same); err != nil {
			return err
		}
	}
	p.h.lookup = true // no time in the summary
	return p.h.End(0)
}

// Failed shows what ended the plan. place is where, "" if nobody knows.
func (p *PlanRun) Failed(msg, place string, failure *ordered.Map) error {
	if p.json {
		return p.data(failure)
	}
	text := p.h.plain(msg)
	if place != "" {
		text += "\n  " + p.h.plain(place)
	}
	p.h.println(paint(red, p.h.o.Color, text))
	return p.h.out.Flush()
}
