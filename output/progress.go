package output

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"bolt/event"
	"bolt/internal/safetext"
	"bolt/output/layout"
)

// Progress is a sink that keeps a line on a terminal while another sink prints. For an
// action it has counts of targets; for a plan, counts of the step that began last, and how
// many other steps there are:
//
//	12/200 done, 3 failed, 100 running 4.2s
//	0/3 done, 0 failed, 3 running 0.5s (and 2 more steps): command 'uptime'
//
// Between steps it names the plan or container that began last.
//
// The line goes to standard error, as a StatusLine from the first event on, which must
// not return an error. Close must follow.
type Progress struct {
	*StatusLine
	next    event.Sink
	started bool

	// mu of the line guards these fields.
	plans []opened // and containers, which have not ended, in the order of beginning
	steps []opened // and the action
}

// opened is a plan, a step or an action that has begun.
type opened struct {
	name  string
	step  *event.Step // nil for a plan and an action
	begin time.Time
	count counts
}

// counts are the numbers of targets by state.
type counts struct{ total, started, ended, failed int }

// since returns the counts and the time since their begin, in words.
func (c *counts) since(begin time.Time) string {
	return fmt.Sprintf("%d/%d done, %d failed, %d running %s", c.ended, c.total, c.failed, max(0, c.started-c.ended), secondsSince(begin))
}

func secondsSince(begin time.Time) string { return fmt.Sprintf("%.1fs", time.Since(begin).Seconds()) }

// NewProgress returns a Progress around next. line is the terminal. width returns its
// number of columns, 0 if unknown; it is called for each drawing.
func NewProgress(next event.Sink, line io.Writer, width func() int) *Progress {
	return &Progress{StatusLine: newStatusLine(line, width), next: next}
}

// Event counts the event and passes it to next.
func (p *Progress) Event(ctx context.Context, e event.Event) error {
	switch e.(type) {
	case event.ActionEnd, event.Returned, event.Failed, event.Stopped:
		p.stop()
		return p.next.Event(ctx, e)
	}
	p.note(e)
	if p.started {
		return p.beside(func() error { return p.next.Event(ctx, e) })
	}
	if err := p.next.Event(ctx, e); err != nil {
		return err
	}
	p.started = true
	p.start(p.text)
	return nil
}

// note updates plans and steps.
func (p *Progress) note(e event.Event) {
	if hidden(e) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := e.(type) {
	case event.ActionBegin:
		if e.Action != event.Plan {
			p.steps = append(p.steps, opened{begin: time.Now(), count: counts{total: len(e.Targets)}})
		}
	case event.PlanBegin:
		p.open("plan " + e.Plan)
	case event.PlanEnd:
		p.shut("plan " + e.Plan)
	case event.ContainerBegin:
		p.open("container " + e.Container.Image)
	case event.ContainerEnd:
		p.shut("container " + e.Container.Image)
	case event.StepBegin:
		if !e.Step.Recorded {
			p.steps = append(p.steps, opened{name: e.Step.Description, step: e.Step, begin: time.Now(), count: counts{total: len(e.Step.Targets)}})
		}
	case event.TargetBegin:
		if c := p.counts(e.Step); c != nil {
			c.started++
		}
	case event.TargetEnd:
		if c := p.counts(e.Step); c != nil {
			c.end(e.Result)
		}
	case event.StepEnd:
		p.steps = without(p.steps, func(o opened) bool { return o.step == e.Step })
	}
}

func (p *Progress) open(name string) {
	p.plans = append(p.plans, opened{name: name, begin: time.Now()})
}

func (p *Progress) shut(name string) {
	p.plans = without(p.plans, func(o opened) bool { return o.name == name })
}

// counts returns the counts of a step, or of the action; nil if it is not shown.
func (p *Progress) counts(s *event.Step) *counts {
	if i := slices.IndexFunc(p.steps, func(o opened) bool { return o.step == s }); i >= 0 {
		return &p.steps[i].count
	}
	return nil
}

func (c *counts) end(r *event.Result) {
	c.ended++
	if !r.OK() {
		c.failed++
	}
	if r.NotBegun() {
		c.started++
	}
}

// without removes the last element for which meant is true.
func without(list []opened, meant func(opened) bool) []opened {
	for i, o := range slices.Backward(list) {
		if meant(o) {
			return slices.Delete(list, i, i+1)
		}
	}
	return list
}

// text returns the line; the line's mu is held.
func (p *Progress) text() string {
	switch {
	case len(p.steps) > 0:
		last := &p.steps[len(p.steps)-1]
		text := last.count.since(last.begin)
		if n := len(p.steps) - 1; n > 0 {
			text += " (and " + layout.Plural(n, "more step") + ")"
		}
		if last.step != nil {
			text += ": " + oneRow(last.name)
		}
		return text
	case len(p.plans) > 0:
		last := &p.plans[len(p.plans)-1]
		return oneRow(last.name) + " " + secondsSince(last.begin)
	}
	return ""
}

// oneRow returns a text of a plan on one row of a terminal.
func oneRow(s string) string {
	return strings.Join(strings.Fields(safetext.TerminalString(s)), " ")
}

// Close stops drawing if no event has ended the action.
func (p *Progress) Close() { p.stop() }
