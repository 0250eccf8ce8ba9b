package output

import (
	"time"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/inventory"
)

// planEvents shows a plan as lines of JSON, as docs/ndjson.md says.
type planEvents struct {
	lines *eventLines
	begin time.Time // zero before the first line
	steps int
}

// Event prints an event.
func (p *planEvents) Event(e PlanEvent) error {
	if p.begin.IsZero() {
		p.begin = p.lines.now()
		m := p.lines.line("begin")
		m.Set("action", "plan")
		m.Set("object", e.Plan)
		if err := p.lines.print(m); err != nil {
			return err
		}
	}
	if e.Step != nil {
		p.lines.step = e.Step.Number
		defer func() { p.lines.step = 0 }()
	}
	if e.Kind == StepTarget {
		return p.lines.event(e.Target)
	}
	return p.lines.print(p.line(e))
}

// line is the line of an event that is about no target.
func (p *planEvents) line(e PlanEvent) *ordered.Map {
	line := p.lines.line
	switch e.Kind {
	case PlanStarted:
		return with(line("plan_begin"), "plan", e.Plan)
	case PlanFinished:
		return with(line("plan_end"), "plan", e.Plan, "elapsed", e.Took.Seconds())
	case StepStarted, StepRecorded:
		event := "step_recorded"
		if e.Kind == StepStarted {
			p.steps++
			event = "step_begin"
		}
		m := with(line(event), "description", e.Step.Description, "target_count", len(e.Step.Targets), "targets", names(e.Step.Targets))
		if e.Step.File != "" {
			m.Set("file", e.Step.File)
			m.Set("line", e.Step.Line)
		}
		return m
	case StepFinished:
		return with(line("step_end"), "ok", len(e.Step.Targets)-e.Failures-e.NotBegun, "failed", e.Failures+e.NotBegun, "elapsed", e.Took.Seconds())
	case ContainerStarted:
		return with(line("container_begin"), "image", e.Image)
	case ContainerFinished:
		return with(line("container_end"), "image", e.Image, "ok", containerError(e.Value) == nil, "value", e.Value)
	case PlanSaid:
		return with(line("message"), "text", e.Text, "verbose", e.Verbose)
	case PlanAsked:
		return with(line("question"), "text", e.Text)
	}
	m := with(line("log"), "level", e.Level, "text", e.Text)
	if e.ID != "" {
		m.Set("id", e.ID)
	}
	return m
}

// with adds members.
func with(m *ordered.Map, pairs ...any) *ordered.Map {
	for k, v := range ordered.Of(pairs...).All() {
		m.Set(k, v)
	}
	return m
}

// names are those of targets as programs compare them.
func names(targets []*inventory.Target) []string {
	list := make([]string, len(targets))
	for i, t := range targets {
		list[i] = t.Name
	}
	return list
}

// end begins the last line.
func (p *planEvents) end() *ordered.Map {
	return with(p.lines.line("end"), "steps", p.steps, "ok", p.lines.good, "failed", p.lines.bad, "elapsed", p.lines.now().Sub(p.begin).Seconds())
}

// Value prints "end".
func (p *planEvents) Value(v any) error {
	return p.lines.large(p.end(), "value", func() error { return safejson.Write(p.lines.out, v) })
}

// Results prints "end", or "error".
func (p *planEvents) Results(results []*event.Result, failure *ordered.Map) error {
	if failure != nil {
		return p.Failed("", "", failure)
	}
	return p.lines.large(p.end(), "value", func() error { return writeResults(p.lines.out, results) })
}

// Result prints the event "end".
func (p *planEvents) Result(r *event.Result) error {
	return p.lines.large(p.end(), "value", func() error { return r.WriteJSON(p.lines.out) })
}

// Returned prints the event "end".
func (p *planEvents) Returned(_, _ string, data *ordered.Map) error { return p.Value(data) }

// Container prints "end", or "error".
func (p *planEvents) Container(_ string, _, data, failure *ordered.Map) error {
	if failure != nil {
		return p.Failed("", "", failure)
	}
	return p.Value(data)
}

// Stopped prints "error".
func (p *planEvents) Stopped(s *PlanStop) error { return p.Failed("", "", s.Map()) }

// Failed prints "error".
func (p *planEvents) Failed(_, _ string, failure *ordered.Map) error {
	return p.lines.print(with(p.lines.line("error"), "error", failure))
}
