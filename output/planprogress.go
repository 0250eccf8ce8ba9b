package output

import (
	"io"
	"slices"
	"strings"
	"time"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/internal/safetext"
)

// PlanProgress is a PlanView that keeps a line on a terminal while another one
// prints: about the step that began last, and how many others there are.
//
//	12/200 done, 3 failed, 100 running 4.2s: task site::deploy
//	0/3 done, 0 failed, 3 running 0.5s (and 2 more steps): command 'uptime'
//
// Between steps it names the plan or container that began last. The line goes to standard
// error, as a StatusLine from the first event on.
type PlanProgress struct {
	*StatusLine
	v       PlanView
	started bool

	// These are guarded by the line's mu.
	plans []opened // and containers, which have not ended, in the order of beginning
	steps []opened
}

// opened is a plan or a step that has begun.
type opened struct {
	name  string
	step  *PlanStep // nil for a plan
	begin time.Time
	count counts
}

// NewPlanProgress returns a PlanProgress around v. line is the terminal; width
// tells its number of columns, asked again for each drawing, 0 if unknown.
func NewPlanProgress(v PlanView, line io.Writer, width func() int) *PlanProgress {
	return &PlanProgress{StatusLine: newStatusLine(line, width), v: v}
}

// Event notes what happens, and has it printed.
func (p *PlanProgress) Event(e PlanEvent) error {
	p.note(e)
	if !p.started {
		p.started = true
		p.start(p.text)
	}
	return p.beside(func() error { return p.v.Event(e) })
}

// note keeps plans and steps up to date.
func (p *PlanProgress) note(e PlanEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case PlanStarted, ContainerStarted:
		p.plans = append(p.plans, opened{name: e.about(), begin: time.Now()})
	case PlanFinished, ContainerFinished:
		p.plans = without(p.plans, func(o opened) bool { return o.name == e.about() })
	case StepStarted:
		p.steps = append(p.steps, opened{name: e.Step.Description, step: e.Step, begin: time.Now(), count: counts{total: len(e.Step.Targets)}})
	case StepTarget:
		if i := slices.IndexFunc(p.steps, func(o opened) bool { return o.step == e.Step }); i >= 0 {
			p.steps[i].count.add(e.Target)
		}
	case StepFinished:
		p.steps = without(p.steps, func(o opened) bool { return o.step == e.Step })
	}
}

// about is what begins or ends, if it is no step.
func (e PlanEvent) about() string {
	if e.Image != "" {
		return "container " + e.Image
	}
	return "plan " + e.Plan
}

// without takes the last one out that is meant.
func without(list []opened, meant func(opened) bool) []opened {
	for i, o := range slices.Backward(list) {
		if meant(o) {
			return slices.Delete(list, i, i+1)
		}
	}
	return list
}

// text is the line; the line's mu is held.
func (p *PlanProgress) text() string {
	switch {
	case len(p.steps) > 0:
		last := &p.steps[len(p.steps)-1]
		others := ""
		if n := len(p.steps) - 1; n > 0 {
			others = " (and " + plural(n, "more step") + ")"
		}
		return last.count.since(last.begin) + others + ": " + oneRow(last.name)
	case len(p.plans) > 0:
		last := &p.plans[len(p.plans)-1]
		return oneRow(last.name) + " " + secondsSince(last.begin)
	}
	return ""
}

// oneRow is a text of a plan on one row of a terminal.
func oneRow(s string) string {
	return strings.Join(strings.Fields(safetext.TerminalString(s)), " ")
}

// The last of a view stop drawing first.

// Value has it shown.
func (p *PlanProgress) Value(v any) error {
	p.stop()
	return p.v.Value(v)
}

// Results has them shown.
func (p *PlanProgress) Results(results []*event.Result, failure *ordered.Map) error {
	p.stop()
	return p.v.Results(results, failure)
}

// Result removes the progress line and passes the result on.
func (p *PlanProgress) Result(r *event.Result) error {
	p.stop()
	return p.v.Result(r)
}

// Returned removes the progress line and passes the error on.
func (p *PlanProgress) Returned(msg, place string, data *ordered.Map) error {
	p.stop()
	return p.v.Returned(msg, place, data)
}

// Container has it shown.
func (p *PlanProgress) Container(image string, value, data, failure *ordered.Map) error {
	p.stop()
	return p.v.Container(image, value, data, failure)
}

// Stopped has it shown.
func (p *PlanProgress) Stopped(s *PlanStop) error {
	p.stop()
	return p.v.Stopped(s)
}

// Failed has it shown.
func (p *PlanProgress) Failed(msg, place string, failure *ordered.Map) error {
	p.stop()
	return p.v.Failed(msg, place, failure)
}

// Close stops drawing where none of the above has.
func (p *PlanProgress) Close() { p.stop() }
