package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bolt/apply/report"
	"bolt/apply/resource"
)

// The metaparameters retry, delay and timeout. A delay is a state of the scheduler: no worker waits for it.

// The tries of a step are what its attempts leave for the next one.
type tries struct {
	failed    []*attempt // each without a success after it
	at        time.Time  // of the next attempt, while the step is delayed
	refreshed bool
	owed      bool
}

// again plans the next attempt of a step that has failed. It reports whether there is one.
func (s *scheduler) again(ctx context.Context, a *attempt) bool {
	st := a.s
	if !a.failed() || st.meta.Retry == 0 || st.typ == nil {
		return false
	}
	st.tries.failed = append(st.tries.failed, a)
	n := len(st.tries.failed)
	if s.stopped || ctx.Err() != nil || st.meta.Retry > 0 && n > st.meta.Retry {
		return false
	}
	// An item is new for each attempt, so that no attempt sees what another has read.
	item, err := st.typ.New(st.resource)
	if err != nil {
		return false // it was made before, so this does not happen
	}
	st.adopt(st.typ, item)
	st.tries.refreshed = st.tries.refreshed || a.refreshed
	st.tries.owed = st.tries.owed || a.owed
	next := "at once"
	if st.meta.Delay > 0 {
		next = "after " + st.meta.Delay.String()
	}
	s.host.Logf(st.ref, report.Warning, "attempt %s failed, and the next one begins %s: %s", st.count(n), next, a.result.Failure())
	if st.meta.Delay == 0 {
		s.push(st)
		return true
	}
	st.tries.at = time.Now().Add(st.meta.Delay)
	i, _ := slices.BinarySearchFunc(s.delayed, st.tries.at, func(o *step, t time.Time) int {
		if o.tries.at.After(t) {
			return 1
		}
		return -1
	})
	s.delayed = slices.Insert(s.delayed, i, st)
	return true
}

// count returns the number of an attempt, for people.
func (s *step) count(n int) string {
	if s.meta.Retry < 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d of %d", n, s.meta.Retry+1)
}

// wake gives the steps whose delay is over back to the queue.
func (s *scheduler) wake() {
	now := time.Now()
	for len(s.delayed) > 0 && !s.delayed[0].tries.at.After(now) {
		s.push(s.delayed[0])
		s.delayed = s.delayed[1:]
	}
}

// abandon ends the delays. start then ends the steps with the results of their last attempts.
func (s *scheduler) abandon() {
	for _, st := range s.delayed {
		s.push(st)
	}
	s.delayed = nil
}

// last returns the result of a step whose next attempt does not take place for a reason.
func (s *step) last(reason string) *attempt {
	a := s.tries.failed[len(s.tries.failed)-1]
	a.fail("", fmt.Errorf("there is no further attempt: %s", reason))
	return a
}

// resume gives an attempt what the earlier ones have left.
func (a *attempt) resume() {
	t := &a.s.tries
	a.owed = t.owed
	if t.refreshed {
		a.refresh, a.refreshed = false, true
	}
}

// whole makes the result of an attempt that of all attempts: with the changes of the earlier ones, which were made. Their failures are
// in the log.
func (a *attempt) whole() {
	t := &a.s.tries
	earlier := slices.DeleteFunc(slices.Clone(t.failed), func(o *attempt) bool { return o == a })
	if len(earlier) == 0 {
		return
	}
	r := &a.result
	var events []report.Event
	for _, o := range earlier {
		for _, e := range o.result.Events {
			if e.Outcome == report.Success {
				events = append(events, e)
			}
		}
		r.Refreshed = r.Refreshed || o.result.Refreshed
	}
	if len(events) > 0 && r.Status == report.Unchanged {
		r.Status = report.Changed
	}
	r.Events = append(events, r.Events...)
	r.Attempts = len(earlier) + 1
	r.Start = earlier[0].result.Start
	r.Took = a.run.host.Now().Sub(r.Start)
}

// timeoutError is the end of an attempt.
type timeoutError struct{ after time.Duration }

func (e timeoutError) Error() string {
	return fmt.Sprintf("the attempt took longer than its timeout of %s", e.after)
}

// limited returns the context of a batch, which its timeout ends, and makes the timeout end the programs that ctx alone does not end.
func limited(ctx context.Context, batch []*attempt) (context.Context, context.CancelFunc) {
	timeout := batch[0].s.meta.Timeout
	if timeout == 0 {
		return ctx, func() {}
	}
	host := *batch[0].run.host
	run, until := host.Run, time.Now().Add(timeout)
	host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		left := time.Until(until)
		if left <= 0 {
			return nil, timeoutError{timeout}
		}
		own := *c
		if own.Timeout > 0 && own.Timeout < left {
			return run(ctx, &own)
		}
		own.Timeout = left
		out, err := run(ctx, &own)
		if errors.Is(err, resource.ErrTimeout) {
			err = timeoutError{timeout}
		}
		return out, err
	}
	for _, a := range batch {
		a.host = &host
	}
	return context.WithTimeoutCause(ctx, timeout, timeoutError{timeout})
}

// overran adds the timeout to a failure that it caused, if the failure does not name it.
func (a *attempt) overran(ctx context.Context) {
	late, is := errors.AsType[timeoutError](context.Cause(ctx))
	if !is || !a.failed() {
		return
	}
	if !slices.ContainsFunc(a.result.Events, func(e report.Event) bool { return strings.Contains(e.Message, late.Error()) }) {
		a.fail("", late)
	}
}
