package rollouts

import (
	"context"
	"fmt"
	"time"

	"bolt/rollout"
	"bolt/rollout/ledger"
)

// driver names the process that drives a rollout; "" if none does. The log alone does not show this: a driver that was killed
// has recorded its start, but not its end.
func (b *book) driver(ctx context.Context, id string) (string, error) {
	held, err := b.store.Held(ctx, ledger.Log(id))
	if err != nil || held == nil {
		return "", failed(err)
	}
	return held.Holder, nil
}

// goesOn returns the command with which a rollout that no process drives goes on.
func goesOn(s *rollout.State) string {
	c := s.Created()
	id := c.Rollout
	if c.Parent != "" { // the driver of a rollout drives its rollback, too
		id = c.Parent
	}
	resume := "bolt rollout resume " + id
	if missing(s) {
		return "bolt rollout approve " + c.Rollout + ", then " + resume
	}
	return resume
}

// missing reports whether the next wave needs more approvals.
func missing(s *rollout.State) bool {
	wave, need, by := s.Approval(time.Now())
	return wave > 0 && len(by) < need.Need
}

// drivenText tells people whether a process drives a rollout, and how it goes on.
func drivenText(s *rollout.State, driver string) string {
	switch {
	case s.Ended():
		return ""
	case driver != "":
		return fmt.Sprintf("Driven by %s.", driver)
	case s.Session() != "":
		return "The process that drove it has died. It goes on with: " + goesOn(s)
	}
	return "No process drives it now. It goes on with: " + goesOn(s)
}

// lookout is the time between two looks at the process that drives a watched rollout.
const lookout = time.Second

// lookAfter prints a line each time the process that drives a rollout dies, until ctx ends. was is the process that drives it
// now.
func (v *Invocation) lookAfter(ctx context.Context, b *book, id, was string) {
	tick := time.NewTicker(lookout)
	defer tick.Stop()
	for {
		is, err := b.driver(ctx, id)
		if err != nil {
			return // it is that of the events, too
		}
		if was != "" && is == "" {
			if s, err := b.ledger.Load(ctx, id); err == nil && s.Session() != "" && !s.Ended() {
				fmt.Fprintf(v.Console, "%s\n", drivenText(s, ""))
			}
		}
		was = is
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
