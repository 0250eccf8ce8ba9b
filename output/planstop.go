package output

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/internal/safetext"
	"bolt/inventory"
	"bolt/run"
)

// A PlanCourse is how far a plan has come, for the case that it is stopped. It
// has the results of steps that have not ended, or were cut off, and of those
// that have ended the last ones' counts.
type PlanCourse struct {
	open     []*begunStep // in the order of beginning
	cut      []*begunStep
	finished int
	last     []endedStep
}

// begunStep is a step with the results that there are.
type begunStep struct {
	step    *PlanStep
	results map[*inventory.Target]*event.Result
}

// endedStep is a step that came to its end.
type endedStep struct {
	step     *PlanStep
	failures int
}

// maxEnded is how many ended steps a PlanCourse has: the plan has shown all of them
// when they ended.
const maxEnded = 20

// Event takes what happens. stopped says whether the plan is being stopped.
func (c *PlanCourse) Event(e PlanEvent, stopped bool) {
	at := slices.IndexFunc(c.open, func(o *begunStep) bool { return o.step == e.Step })
	switch {
	case e.Kind == StepStarted || e.Kind == StepRecorded:
		c.open = append(c.open, &begunStep{e.Step, make(map[*inventory.Target]*event.Result)})
	case at < 0:
	case e.Kind == StepTarget && e.Target.Kind == run.Finished:
		c.open[at].results[e.Target.Target] = e.Target.Result
	case e.Kind == StepFinished:
		if stopped && c.open[at].wasCut() {
			c.cut = append(c.cut, c.open[at])
		} else {
			c.end(endedStep{e.Step, e.Failures})
		}
		c.open = slices.Delete(c.open, at, at+1)
	}
}

func (c *PlanCourse) end(s endedStep) {
	c.finished++
	if len(c.last) == maxEnded {
		c.last = slices.Delete(c.last, 0, 1)
	}
	c.last = append(c.last, s)
}

// wasCut reports whether the step would have gone on.
func (b *begunStep) wasCut() bool {
	for _, t := range b.step.Targets {
		if how := stoppedEnding(b.results[t]); how == cutOff || how == skipped {
			return true
		}
	}
	return false
}

// cutOff is the ending of a target on which the work was ended by force.
const cutOff ending = skipped + 1

func stoppedEnding(r *event.Result) ending {
	if r == nil {
		return skipped
	}
	if r.Err != nil && r.Err.Class == event.ClassCancelled {
		return cutOff
	}
	return endingOf(r)
}

// A PlanStop is how far a plan had come when it was stopped.
type PlanStop struct {
	course  *PlanCourse
	msg     string
	place   string
	failure *ordered.Map
}

// Stop returns it. msg, place and failure are as for PlanView.Failed.
func (c *PlanCourse) Stop(msg, place string, failure *ordered.Map) *PlanStop {
	slices.SortFunc(c.cut, func(a, b *begunStep) int { return a.step.Number - b.step.Number })
	return &PlanStop{c, msg, place, failure}
}

// Results are those of the steps that were cut off, step by step, in the order of
// their targets.
func (s *PlanStop) Results() (list []*event.Result) {
	for _, c := range s.course.cut {
		list = append(list, c.list()...)
	}
	return list
}

func (b *begunStep) list() (list []*event.Result) {
	for _, t := range b.step.Targets {
		if result := b.results[t]; result != nil {
			list = append(list, result)
		}
	}
	return list
}

// Map is the failure as data. Its details have the results of what was cut off as
// "result_set", as those of a failed action have them, and "steps": how many had
// ended before, and how the others stand.
func (s *PlanStop) Map() *ordered.Map {
	results, steps := []any{}, []any{}
	for _, r := range s.Results() {
		results = append(results, resultData(r))
	}
	for _, c := range s.course.cut {
		m := ordered.Of("step", c.step.Number, "description", c.step.Description)
		for _, e := range endings() {
			m.Set(e.key, names(c.ended(e.how)))
		}
		if c.step.File != "" {
			m.Set("file", c.step.File)
			m.Set("line", c.step.Line)
		}
		steps = append(steps, m)
	}
	details := ordered.Of("result_set", results, "steps", ordered.Of("finished", s.course.finished, "stopped", steps))
	if given, ok := s.failure.Value("details").(*ordered.Map); ok {
		details = details.Merge(given)
	}
	m := s.failure.Clone()
	m.Set("details", details)
	return m
}

// resultData is a result as data.
func resultData(r *event.Result) any {
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		return ordered.Of("target", r.Target.Name, "action", r.Action, "status", "failure", "value", ordered.Of("_error", ordered.Of("msg", err.Error())))
	}
	v, err := ordered.ParseJSON(b.Bytes())
	if err != nil {
		return nil // what WriteJSON has written is JSON
	}
	return v
}

// endings are how targets of a step that was cut off may stand.
func endings() []struct {
	how         ending
	key, people string
} {
	return []struct {
		how         ending
		key, people string
	}{{succeeded, "ok", "Successful on "}, {failed, "failed", "Failed on "}, {cutOff, "ended", "Ended on "}, {skipped, "not_begun", "Not run on "}}
}

// ended are the targets that ended in one way.
func (b *begunStep) ended(how ending) []*inventory.Target {
	return slices.DeleteFunc(slices.Clone(b.step.Targets), func(t *inventory.Target) bool { return stoppedEnding(b.results[t]) != how })
}

// Stopped shows the results of what was cut off, where that was, and what had
// ended before.
func (p *PlanRun) Stopped(s *PlanStop) error {
	if p.json {
		return p.data(s.Map())
	}
	for _, r := range s.Results() {
		if endingOf(r) == skipped {
			continue // the lines below name them together
		}
		if err := p.result(r); err != nil {
			return err
		}
	}
	for _, c := range s.course.cut {
		p.cut(c)
	}
	p.before(s.course)
	text := s.msg
	if s.place != "" && len(s.course.cut) == 0 {
		text += "\n  " + s.place
	}
	p.h.println(paint(red, p.h.o.Color, safetext.TerminalString(text)))
	return p.h.out.Flush()
}

// cut tells how the targets of a step stand that was cut off.
func (p *PlanRun) cut(c *begunStep) {
	p.h.println(paint(yellow, p.h.o.Color, safetext.TerminalString("Stopped: "+c.step.on())))
	if place := c.step.place(); place != "" {
		p.h.println("  " + safetext.TerminalString(place))
	}
	for _, e := range endings() {
		if targets := c.ended(e.how); len(targets) > 0 {
			p.h.println("  " + e.people + plural(len(targets), "target") + ": " + p.h.join(safeNames(targets)))
		}
	}
}

// before tells which steps had ended.
func (p *PlanRun) before(c *PlanCourse) {
	if c.finished == 0 {
		p.h.println("No step had ended before.")
		return
	}
	p.h.println(plural(c.finished, "step") + " had ended before:")
	if more := c.finished - len(c.last); more > 0 {
		p.h.println(fmt.Sprintf("  (%s)", plural(more, "earlier one")))
	}
	for _, e := range c.last {
		line := "  " + strings.ReplaceAll(e.step.on(), "\n", "\n  ") + " with " + plural(e.failures, "failure")
		p.h.println(safetext.TerminalString(line))
	}
}
