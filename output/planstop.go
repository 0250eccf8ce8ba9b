package output

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/internal/safetext"
	"bolt/inventory"
	"bolt/output/layout"
)

// stopData returns the failure as data. Its details have the results of the stopped
// steps as "result_set", as the details of a failed action have them, and "steps": the
// number of steps that had ended before, and the state of the stopped steps.
func stopData(s *event.Stopped) *ordered.Map {
	results, steps := []any{}, []any{}
	for _, r := range s.CutResults() {
		results = append(results, resultData(r))
	}
	for _, c := range s.Cut {
		m := ordered.Of("step", c.Step.Number, "description", c.Step.Description)
		for _, e := range endings() {
			m.Set(e.key, names(ended(c, e.how)))
		}
		if c.Step.File != "" {
			m.Set("file", c.Step.File)
			m.Set("line", c.Step.Line)
		}
		steps = append(steps, m)
	}
	details := ordered.Of("result_set", results, "steps", ordered.Of("finished", s.Ended, "stopped", steps))
	if given, ok := s.Data.Value("details").(*ordered.Map); ok {
		details = details.Merge(given)
	}
	m := s.Data.Clone()
	m.Set("details", details)
	return m
}

// resultData returns a result as data.
func resultData(r *event.Result) any {
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		return ordered.Of("target", r.Target.Name, "action", r.Action, "status", "failure", "value", ordered.Of("_error", ordered.Of("msg", err.Error())))
	}
	v, err := ordered.ParseJSON(b.Bytes())
	if err != nil {
		return nil // WriteJSON has written valid JSON
	}
	return v
}

// endings returns the possible states of targets of a stopped step.
func endings() []struct {
	how         event.Ending
	key, people string
} {
	return []struct {
		how         event.Ending
		key, people string
	}{{event.EndOK, "ok", "Successful on "}, {event.EndFailed, "failed", "Failed on "}, {event.EndCut, "ended", "Ended on "}, {event.EndNotBegun, "not_begun", "Not run on "}}
}

// ended returns the targets of a step that ended in one way.
func ended(c event.CutStep, how event.Ending) []*inventory.Target {
	results := make(map[*inventory.Target]*event.Result, len(c.Results))
	for _, r := range c.Results {
		results[r.Target] = r
	}
	return slices.DeleteFunc(slices.Clone(c.Step.Targets), func(t *inventory.Target) bool { return results[t].Ending() != how })
}

// stopped shows the results of the stopped steps, their positions, and the steps that
// had ended before.
func (p *humanPlan) stopped(s *event.Stopped) error {
	for _, r := range s.CutResults() {
		if r.NotBegun() {
			continue // the lines below name them together
		}
		if err := p.result(r); err != nil {
			return err
		}
	}
	for _, c := range s.Cut {
		p.cut(c)
	}
	p.before(s)
	text := s.Msg
	if s.Place != "" && len(s.Cut) == 0 {
		text += "\n  " + s.Place
	}
	p.h.println(layout.Paint(layout.Red, p.h.o.Color, safetext.TerminalString(text)))
	return nil
}

// cut describes the state of the targets of a stopped step.
func (p *humanPlan) cut(c event.CutStep) {
	p.h.println(layout.Paint(layout.Yellow, p.h.o.Color, safetext.TerminalString("Stopped: "+onTargets(c.Step))))
	if place := placeOf(c.Step); place != "" {
		p.h.println("  " + safetext.TerminalString(place))
	}
	for _, e := range endings() {
		if targets := ended(c, e.how); len(targets) > 0 {
			p.h.println("  " + e.people + layout.Plural(len(targets), "target") + ": " + p.h.join(safeNames(targets)))
		}
	}
}

// placeOf returns "(file: F, line: N)" with the known parts of a step's position, or
// "" if it is unknown.
func placeOf(s *event.Step) string {
	switch {
	case s.File == "":
		return ""
	case s.Line == 0:
		return "(file: " + s.File + ")"
	}
	return "(file: " + s.File + ", line: " + strconv.Itoa(s.Line) + ")"
}

// before prints the steps that had ended.
func (p *humanPlan) before(s *event.Stopped) {
	if s.Ended == 0 {
		p.h.println("No step had ended before.")
		return
	}
	p.h.println(layout.Plural(s.Ended, "step") + " had ended before:")
	if more := s.Ended - len(s.Last); more > 0 {
		p.h.println(fmt.Sprintf("  (%s)", layout.Plural(more, "earlier one")))
	}
	for _, e := range s.Last {
		line := "  " + strings.ReplaceAll(onTargets(e.Step), "\n", "\n  ") + " with " + layout.Plural(e.Failures, "failure")
		p.h.println(safetext.TerminalString(line))
	}
}
