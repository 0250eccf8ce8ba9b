package event

import (
	"slices"

	"bolt/inventory"
)

// An Ending is how an action ended on a target.
type Ending uint8

// These are the endings.
const (
	EndOK       Ending = iota + 1
	EndFailed          // it began, and failed
	EndNotBegun        // it did not begin
	EndCut             // it was ended by force because the run was stopped
)

// A Course records the progress of a plan, for the report about a stopped plan.
// It holds the results of steps that have not ended or were cut off, and the
// counts of the last steps that ended. The zero value is ready to use.
type Course struct {
	open  []*begun // in the order in which they began
	cut   []*begun
	ended int
	last  []EndedStep
}

// begun is a step with its results so far.
type begun struct {
	step    *Step
	results map[*inventory.Target]*Result
}

// maxEnded is the maximum number of ended steps in a Course. Older steps need
// not be stored, because each step is shown when it ends.
const maxEnded = 20

// Add records an event. stopped is set while the plan is being stopped.
func (c *Course) Add(e Event, stopped bool) {
	step := StepOf(e)
	at := slices.IndexFunc(c.open, func(b *begun) bool { return b.step == step })
	switch e := e.(type) {
	case StepBegin:
		c.open = append(c.open, &begun{step, make(map[*inventory.Target]*Result)})
	case TargetEnd:
		if at >= 0 {
			c.open[at].results[e.Result.Target] = e.Result
		}
	case StepEnd:
		if at < 0 {
			return
		}
		if stopped && c.open[at].wasCut() {
			c.cut = append(c.cut, c.open[at])
		} else {
			c.end(EndedStep{step, e.Failures})
		}
		c.open = slices.Delete(c.open, at, at+1)
	}
}

func (c *Course) end(s EndedStep) {
	c.ended++
	if len(c.last) == maxEnded {
		c.last = slices.Delete(c.last, 0, 1)
	}
	c.last = append(c.last, s)
}

// wasCut reports whether the step had not ended on all targets.
func (b *begun) wasCut() bool {
	for _, t := range b.step.Targets {
		if how := b.results[t].Ending(); how == EndCut || how == EndNotBegun {
			return true
		}
	}
	return false
}

// Stop returns the event for a plan that was stopped; f is the failure that
// stopped it.
func (c *Course) Stop(f Failed) Stopped {
	slices.SortFunc(c.cut, func(a, b *begun) int { return a.step.Number - b.step.Number })
	s := Stopped{Failed: f, Ended: c.ended, Last: slices.Clone(c.last)}
	for _, b := range c.cut {
		one := CutStep{Step: b.step}
		for _, t := range b.step.Targets {
			if r := b.results[t]; r != nil {
				one.Results = append(one.Results, r)
			}
		}
		s.Cut = append(s.Cut, one)
	}
	return s
}
