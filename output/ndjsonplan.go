package output

import (
	"bolt/event"
	"bolt/format/ordered"
	"bolt/inventory"
)

// ofPlan returns the line of an event of a plan that is not about a target; nil for other
// events.
func (l *eventLines) ofPlan(e event.Event) *ordered.Map {
	line := l.line
	switch e := e.(type) {
	case event.PlanBegin:
		return with(line("plan_begin"), "plan", e.Plan)
	case event.PlanEnd:
		return with(line("plan_end"), "plan", e.Plan, "elapsed", e.Elapsed.Seconds())
	case event.StepBegin:
		name := "step_recorded"
		if !e.Step.Recorded {
			l.steps++
			name = "step_begin"
		}
		m := with(line(name), "description", e.Step.Description, "target_count", len(e.Step.Targets), "targets", names(e.Step.Targets))
		if e.Step.File != "" {
			m.Set("file", e.Step.File)
			m.Set("line", e.Step.Line)
		}
		return m
	case event.StepEnd:
		return with(line("step_end"), "ok", len(e.Step.Targets)-e.Failures-e.NotBegun, "failed", e.Failures+e.NotBegun, "elapsed", e.Elapsed.Seconds())
	case event.ContainerBegin:
		return with(line("container_begin"), "image", e.Container.Image)
	case event.ContainerEnd:
		return with(line("container_end"), "image", e.Result.Image, "ok", e.Result.Err() == nil, "value", e.Result.Value)
	case event.Message:
		return with(line("message"), "text", e.Text, "verbose", e.Verbose)
	case event.Question:
		return with(line("question"), "text", e.Text)
	case event.Log:
		m := with(line("log"), "level", e.Level, "text", e.Text)
		if e.ID != "" {
			m.Set("id", e.ID)
		}
		return m
	}
	return nil
}

// with adds members.
func with(m *ordered.Map, pairs ...any) *ordered.Map {
	for k, v := range ordered.Of(pairs...).All() {
		m.Set(k, v)
	}
	return m
}

// names returns the names of targets in the form that programs compare.
func names(targets []*inventory.Target) []string {
	list := make([]string, len(targets))
	for i, t := range targets {
		list[i] = t.Name
	}
	return list
}

// returned prints the "end" of a plan.
func (l *eventLines) returned(e event.Returned) error {
	m := with(l.line("end"), "steps", l.steps, "ok", l.good, "failed", l.bad, "elapsed", l.now().Sub(l.begin).Seconds())
	return l.large(m, "value", func() error { return writeReturned(l.out, e) })
}
