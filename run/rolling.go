package run

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bolt/event"
	"bolt/inventory"
)

// Rolling divides the targets of an action into batches. The zero value makes one
// batch of all targets.
//
// Differs from Puppet: Bolt acts on all targets at once. The names of the
// options are Ansible's (playbook keywords serial, max_fail_percentage).
type Rolling struct {
	Serial      []Amount      // sizes of the batches; the last one applies to all further batches. nil: one batch
	MaxFailures *Amount       // number of failed targets that does not end the run; nil: 0
	Pause       time.Duration // between two batches
}

// An Amount is a number of targets, or a percentage of all targets.
type Amount struct {
	N       int
	Percent bool
}

// ParseAmount reads 5 or 10%. The number must be least or more.
func ParseAmount(text string, least int) (Amount, error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 32)
	switch {
	case err != nil:
		return Amount{}, fmt.Errorf("%q: must be a number of targets or a percentage, such as 5 or 10%%", text)
	case int(n) < least:
		return Amount{}, fmt.Errorf("%q: must be %d or more", text, least)
	case percent && n > 100:
		return Amount{}, fmt.Errorf("%q: must be 100%% or less", text)
	}
	return Amount{int(n), percent}, nil
}

// Of returns the number of targets for the amount, rounded down, and at least least.
func (a Amount) Of(all, least int) int {
	n := a.N
	if a.Percent {
		n = all * a.N / 100
	}
	return max(n, least)
}

// Batches returns the sizes of the batches of n targets.
func (r *Rolling) Batches(n int) []int {
	if r.Serial == nil {
		return []int{n}
	}
	var sizes []int
	for i, left := 0, n; left > 0; i++ {
		size := min(r.Serial[min(i, len(r.Serial)-1)].Of(n, 1), left)
		sizes = append(sizes, size)
		left -= size
	}
	return sizes
}

// tooMany reports whether so many failures on n targets end the run.
func (r *Rolling) tooMany(failures, n int) bool {
	switch {
	case r.Serial == nil:
		return false
	case r.MaxFailures == nil:
		return failures > 0
	}
	return failures > r.MaxFailures.Of(n, 0)
}

// A Batch is the outcome of one batch.
type Batch struct {
	Failures int  // targets on which the action failed
	Worked   bool // the action was begun on a target, so a pause follows
}

// Roll calls do with one batch after the other, until too many targets have failed, do
// returns an error or ctx ends. It then calls skip for each remaining target, with the
// error of its result.
func (r *Rolling) Roll(ctx context.Context, targets []*inventory.Target, do func(batch []*inventory.Target) (Batch, error), skip func(*inventory.Target, *event.Error)) error {
	left, failures := targets, 0
	var last Batch
	for n, size := range r.Batches(len(targets)) {
		if n > 0 && r.tooMany(failures, len(targets)) || n > 0 && last.Worked && !pause(ctx, r.Pause) {
			break
		}
		batch := left[:size]
		left = left[size:]
		var err error
		if last, err = do(batch); err != nil {
			return err
		}
		failures += last.Failures
	}
	for _, t := range left {
		e := event.Skipped()
		if ctx.Err() == nil {
			e.Msg = stoppedAfter(failures, len(targets)-len(left))
		}
		skip(t, e)
	}
	return nil
}

// stoppedAfter returns the reason why the action was not begun on targets.
func stoppedAfter(failures, begun int) string {
	if begun == 1 {
		return "Not started, because the previous target failed"
	}
	return fmt.Sprintf("Not started, because %d of the %d previous targets failed", failures, begun)
}

// pause waits for d and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// RunBatches is like Run, but runs one batch of targets after the other. The targets
// of batches that were not begun end with a Result of class skipped.
func (r *Runner) RunBatches(ctx context.Context, rolling *Rolling, action Action, targets []*inventory.Target, sink event.Sink) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var first error
	tell := func(ctx context.Context, e event.Event) error {
		err := sink.Event(ctx, e)
		if err != nil && !event.Begins(e) {
			stop(ErrStopped)
		}
		return err
	}
	do := func(batch []*inventory.Target) (b Batch, _ error) {
		err := r.Run(ctx, action, batch, event.Func(func(ctx context.Context, e event.Event) error {
			if end, ok := e.(event.TargetEnd); ok && !end.Result.NotBegun() {
				b.Worked = true
				if !end.Result.OK() {
					b.Failures++
				}
			}
			return tell(ctx, e)
		}))
		first = cmp.Or(first, err)
		return b, nil
	}
	// do returns no errors.
	_ = rolling.Roll(ctx, targets, do, func(t *inventory.Target, e *event.Error) {
		err := tell(ctx, event.TargetEnd{Result: &event.Result{Target: t, Action: action.Name(), Err: e}})
		first = cmp.Or(first, err)
	})
	return first
}
