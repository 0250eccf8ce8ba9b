package output

import (
	"context"
	"strings"

	"bolt/event"
	"bolt/format/safejson"
	"bolt/internal/safetext"
	"bolt/inventory"
	"bolt/output/layout"
)

// humanPlan prints a plan as text: each step, and the outcome of the plan.
type humanPlan struct {
	h     *human
	lines stepLines
}

func newHumanPlan(h *human) *humanPlan {
	p := &humanPlan{h: h}
	if h.o.Stream {
		p.lines = newStepLines(func() *lineStream { return newLineStream(h.out, h.o.Terminal, h.o.Color) })
	}
	return p
}

// Event prints plans, steps and messages and, with --verbose, events on
// targets.
func (p *humanPlan) Event(_ context.Context, e event.Event) error {
	if hidden(e) {
		return nil
	}
	p.lines.event(e)
	var err error
	switch e := e.(type) {
	case event.Message:
		if !e.Verbose || p.h.o.Verbose {
			p.h.println(p.h.plain(strings.TrimSuffix(e.Text, "\n"))) // println ends the line
		}
	case event.TargetBegin:
		if p.h.o.Verbose && !e.Step.Brief {
			p.h.println(p.h.good("Started on " + e.Target.SafeName() + "..."))
		}
	case event.TargetEnd:
		if p.h.o.Verbose && !e.Step.Brief {
			_ = p.result(e.Result)
		}
	case event.ContainerEnd:
		p.containerEnded(e.Result)
	case event.Returned:
		err = p.returned(e)
	case event.Failed:
		err = p.failed(e)
	case event.Stopped:
		err = p.stopped(&e)
	default:
		if line := Headline(e); line != "" {
			p.h.println(p.h.good(safetext.TerminalString(line)))
		}
	}
	if err != nil {
		return err
	}
	return p.h.out.Flush()
}

// Headline returns the line for the start or the end of a plan, a step or a container; ""
// for other events.
func Headline(e event.Event) string {
	switch e := e.(type) {
	case event.PlanBegin:
		return "Starting: plan " + e.Plan
	case event.PlanEnd:
		return "Finished: plan " + e.Plan + " in " + layout.Duration(e.Elapsed)
	case event.StepBegin:
		if e.Step.Recorded {
			return "Done before: " + onTargets(e.Step)
		}
		return "Starting: " + onTargets(e.Step)
	case event.ContainerBegin:
		return "Starting: run container '" + e.Container.Image + "'"
	case event.StepEnd:
		return "Finished: " + e.Step.Description + " with " + layout.Plural(e.Failures, "failure") + " in " + layout.Duration(e.Elapsed)
	}
	return ""
}

// maxNamed is the number of targets up to which a step lists their names.
const maxNamed = 5

// onTargets returns the description of a step with its targets.
func onTargets(s *event.Step) string {
	if len(s.Targets) <= maxNamed {
		return s.Description + " on " + strings.Join(safeNames(s.Targets), ", ")
	}
	return s.Description + " on " + layout.Plural(len(s.Targets), "target")
}

// result prints a block about a result. A target that was not begun has not failed.
func (p *humanPlan) result(r *event.Result) error {
	if r.Applied != nil {
		p.h.applied(r, r.Target.SafeName())
		return nil
	}
	if !r.NotBegun() {
		return p.h.block(r, r.Target.SafeName(), same)
	}
	p.h.println(layout.Paint(layout.Yellow, p.h.o.Color, "Not run on "+r.Target.SafeName()+":"))
	p.h.indent(p.h.out, safetext.TerminalString(r.Err.Msg))
	return nil
}

func same(s string) string { return s }

// returned shows the return value of the plan.
func (p *humanPlan) returned(e event.Returned) error {
	switch {
	case e.Results != nil:
		return p.results(e.Results)
	case e.Result != nil: // without a summary
		return p.result(e.Result)
	case e.Container != nil:
		p.container(e.Container)
		return nil
	case e.Error != nil: // like an error that ended the plan
		return p.failed(*e.Error)
	case e.Value == nil:
		p.h.println("Plan completed successfully with no result")
		return nil
	}
	var b strings.Builder
	if err := safejson.WriteIndented(&b, e.Value); err != nil {
		return err
	}
	p.h.println(strings.TrimSuffix(p.h.plain(b.String()), "\n"))
	return nil
}

// results prints results that the plan returned, or that ended it.
func (p *humanPlan) results(results []*event.Result) error {
	p.h.targets, p.h.ended = nil, make(map[*inventory.Target]event.Ending)
	for _, r := range results {
		p.h.targets = append(p.h.targets, r.Target)
		p.h.ended[r.Target] = endingOf(r)
		if err := p.result(r); err != nil {
			return err
		}
	}
	p.h.lookup = true // no time in the summary
	return p.h.end(event.ActionEnd{})
}

// failed prints the error that ended the plan.
func (p *humanPlan) failed(e event.Failed) error {
	switch {
	case e.Results != nil:
		if err := p.results(e.Results); err != nil {
			return err
		}
	case e.Container != nil:
		p.container(e.Container)
	default:
		p.h.failed(e)
		return nil
	}
	p.h.explain(e)
	return nil
}
