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

// The tries of a step are the data that its attempts leave for the next attempt.
type tries struct {
	n         int            // failed attempts
	last      *attempt       // the last of them; nil if there is none
	began     time.Time      // the first of them
	made      []report.Event // the changes of the attempts before the last; at most keptEvents
	reported  bool           // an attempt before the last was refreshed
	at        time.Time      // of the next attempt, while the step is delayed
	refreshed bool
	owed      bool
}

// keptEvents bounds the changes of failed attempts that a result has. The number of attempts has no limit if retry is -1.
const keptEvents = 1000

// fail adds a failed attempt. It keeps only the changes of the attempt before it.
func (t *tries) fail(a *attempt) {
	t.fold()
	if t.n++; t.n == 1 {
		t.began = a.result.Start
	}
	t.last = a
}

// fold keeps the changes of the last failed attempt, and forgets the attempt.
func (t *tries) fold() {
	if t.last == nil {
		return
	}
	for _, e := range t.last.result.Events {
		if e.Outcome == report.Success && len(t.made) < keptEvents {
			t.made = append(t.made, e)
		}
	}
	t.reported = t.reported || t.last.result.Refreshed
	t.last = nil
}

// again plans the next attempt of a step that has failed. It reports whether there is one.
func (s *scheduler) again(ctx context.Context, a *attempt) bool {
	st := a.s
	if !a.failed() || st.meta.Retry == 0 || st.typ == nil {
		return false
	}
	st.tries.fail(a)
	n := st.tries.n
	if s.stopped || s.superseded || ctx.Err() != nil || st.meta.Retry > 0 && n > st.meta.Retry {
		return false
	}
	// An item is new for each attempt, so an attempt cannot use the state that another attempt has read.
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
	a := s.tries.last
	a.fail("", fmt.Errorf("there is no further attempt: %s", reason))
	return a
}

// resume gives an attempt the refreshes of the earlier attempts.
func (a *attempt) resume() {
	t := &a.s.tries
	a.owed = t.owed
	if t.refreshed {
		a.refresh, a.refreshed = false, true
	}
}

// whole adds the changes of the earlier attempts to the result of an attempt, because they were made. The failures of these attempts
// are in the log.
func (a *attempt) whole() {
	t := &a.s.tries
	earlier := t.n
	if t.last == a {
		earlier--
	} else {
		t.fold()
	}
	if earlier == 0 {
		return
	}
	r := &a.result
	r.Refreshed = r.Refreshed || t.reported
	if len(t.made) > 0 && r.Status == report.Unchanged {
		r.Status = report.Changed
	}
	r.Events = append(t.made, r.Events...)
	r.Attempts = earlier + 1
	r.Start = t.began
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
