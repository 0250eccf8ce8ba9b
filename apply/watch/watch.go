// Package watch decides which resources are checked again, and when.
//
// A Loop collects resources that may have changed. Sources of events call Touch and TouchAll at any time, also while a check runs. The
// Loop waits a few milliseconds for more events of the same change, and then calls the check with all resources that were touched. An event
// that arrives during a check leads to another check, because the check may have read the state before the change. The changes
// that a check itself makes have events, too: the next check finds nothing to do, and the loop rests.
//
// Two programs that change a resource in turn, or a file that is written all the time, must not keep the machine busy. So each
// resource has two budgets, one for checks and one for changes. A resource without budget stays touched, and is checked when it
// has budget again. Nothing is lost, it only takes longer.
//
// The package does not depend on resources or sources of events. Times come from package time, so tests can use synctest.
package watch

import (
	"context"
	"sync"
	"time"

	"bolt/catalog"
)

const (
	// settle is how long the loop waits for more events, and mostSettle is the limit of that wait if they do not end.
	settle     = 4 * time.Millisecond
	mostSettle = 20 * time.Millisecond
	// DefaultPoll is the time between two checks of a resource that has no events.
	DefaultPoll = time.Minute
	// AllPoll is the time between two checks of all resources. It bounds the time until a change without an event has an effect, such as
	// a change on a network file system.
	AllPoll = 30 * time.Minute
)

// A Budget limits how often something can happen: Burst times at once, and then once for each Every.
type Budget struct {
	Burst int
	Every time.Duration
}

// The default budgets. A file that is written all the time is checked once a second. A resource that another program changes
// all the time is put right ten times a minute.
var (
	Checks  = Budget{20, time.Second}
	Changes = Budget{10, 6 * time.Second}
)

// An Outcome is the result of a check.
type Outcome struct {
	// Changed are the resources that were changed.
	Changed []catalog.Ref
	// Again are the resources that are touched again, such as because another run has the lock. After is the time to wait first.
	Again map[catalog.Ref]bool
	After time.Duration
}

// A Loop checks resources. Its fields are set before Run.
type Loop struct {
	// Check checks resources.
	Check func(ctx context.Context, refs map[catalog.Ref]bool) Outcome
	// Poll returns the resources to check when time has passed, and the time until it must be called again.
	Poll func(now time.Time) (refs []catalog.Ref, next time.Duration)
	// Every returns all resources that TouchAll stands for.
	Every func() []catalog.Ref
	// Budget returns the budget for checks of a resource; nil stands for Checks.
	Budget func(ref catalog.Ref) Budget
	// Slowed is called when the budget of a resource for changes is used up; not again before it is full again.
	Slowed func(ref catalog.Ref)

	mu      sync.Mutex
	touched map[catalog.Ref]bool
	all     bool
	repoll  bool
	wake    chan struct{}
	calls   chan func(context.Context)

	checks, changes map[catalog.Ref]*bucket
}

// New returns a Loop without functions.
func New() *Loop {
	return &Loop{touched: make(map[catalog.Ref]bool), wake: make(chan struct{}, 1), calls: make(chan func(context.Context)), checks: make(map[catalog.Ref]*bucket), changes: make(map[catalog.Ref]*bucket)}
}

// Touch marks resources that may have changed. It can be called from any goroutine.
func (l *Loop) Touch(refs ...catalog.Ref) {
	if len(refs) == 0 {
		return
	}
	l.mu.Lock()
	for _, r := range refs {
		l.touched[r] = true
	}
	l.mu.Unlock()
	l.signal()
}

// TouchAll marks all resources, such as after events were lost.
func (l *Loop) TouchAll() {
	l.mu.Lock()
	l.all = true
	l.mu.Unlock()
	l.signal()
}

// Repoll calls Poll soon, because the times of resources have changed.
func (l *Loop) Repoll() {
	l.mu.Lock()
	l.repoll = true
	l.mu.Unlock()
	l.signal()
}

// repolled reports whether Repoll was called, once.
func (l *Loop) repolled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.repoll
	l.repoll = false
	return was
}

// Call runs f between two checks, and returns after it. It does nothing when ctx has ended.
func (l *Loop) Call(ctx context.Context, f func(context.Context)) {
	done := make(chan struct{})
	select {
	case l.calls <- func(ctx context.Context) { defer close(done); f(ctx) }:
		<-done
	case <-ctx.Done():
	}
}

func (l *Loop) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take returns the resources that can be checked now, and the time until another touched resource can be checked.
func (l *Loop) take(now time.Time) (refs map[catalog.Ref]bool, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all {
		for _, r := range l.Every() {
			l.touched[r] = true
		}
		l.all = false
	}
	refs = make(map[catalog.Ref]bool)
	for r := range l.touched {
		with := Checks
		if l.Budget != nil {
			with = l.Budget(r)
		}
		late := max(of(l.checks, r, with, now).wait(), of(l.changes, r, Changes, now).wait())
		if late > 0 {
			if wait == 0 || late < wait {
				wait = late
			}
			continue
		}
		of(l.checks, r, with, now).use()
		delete(l.touched, r)
		refs[r] = true
	}
	return refs, wait
}

// Run checks resources until ctx ends.
func (l *Loop) Run(ctx context.Context) {
	polled, next := l.Poll(time.Now())
	l.Touch(polled...)
	poll := time.NewTimer(next)
	defer poll.Stop()
	var later time.Duration // until resources have budget again
	for {
		var budget <-chan time.Time
		if later > 0 {
			budget = time.After(later)
		}
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
			polled, next := l.Poll(time.Now())
			l.Touch(polled...)
			poll.Reset(next)
		case <-l.wake:
			l.settle(ctx)
		case <-budget:
		case f := <-l.calls:
			f(ctx)
			continue
		}
		if ctx.Err() != nil {
			return
		}
		if l.repolled() {
			polled, next := l.Poll(time.Now())
			l.Touch(polled...)
			poll.Reset(next)
		}
		var refs map[catalog.Ref]bool
		if refs, later = l.take(time.Now()); len(refs) == 0 {
			continue
		}
		out := l.Check(ctx, refs)
		now := time.Now()
		for _, r := range out.Changed {
			if b := of(l.changes, r, Changes, now); b.use() && l.Slowed != nil {
				l.Slowed(r)
			}
		}
		if len(out.Again) > 0 {
			if !rest(ctx, out.After) {
				return
			}
			for r := range out.Again {
				if b := l.checks[r]; b != nil {
					b.left = min(b.left+1, float64(b.Burst)) // the check did not take place
				}
				l.Touch(r)
			}
		}
		l.clean(now)
	}
}

// settle waits for more events of the same change.
func (l *Loop) settle(ctx context.Context) {
	end := time.NewTimer(mostSettle)
	defer end.Stop()
	for {
		quiet := time.NewTimer(settle)
		select {
		case <-l.wake:
			quiet.Stop()
		case <-quiet.C:
			return
		case <-end.C:
			quiet.Stop()
			return
		case <-ctx.Done():
			quiet.Stop()
			return
		}
	}
}

// rest waits. It reports whether ctx has not ended.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// clean forgets buckets that are full, because a new bucket is full, too.
func (l *Loop) clean(now time.Time) {
	for _, set := range []map[catalog.Ref]*bucket{l.checks, l.changes} {
		for r, b := range set {
			if b.fill(now); b.left >= float64(b.Burst) {
				delete(set, r)
			}
		}
	}
}

// A bucket is a budget in use.
type bucket struct {
	Budget
	left float64
	at   time.Time
	told bool
}

// of returns the bucket of a resource, filled up to now.
func of(set map[catalog.Ref]*bucket, r catalog.Ref, with Budget, now time.Time) *bucket {
	b := set[r]
	if b == nil {
		b = &bucket{Budget: with, left: float64(with.Burst), at: now}
		set[r] = b
	}
	b.fill(now)
	return b
}

func (b *bucket) fill(now time.Time) {
	if d := now.Sub(b.at); d > 0 {
		b.left = min(float64(b.Burst), b.left+float64(d)/float64(b.Every))
		b.at = now
	}
}

// wait returns the time until the bucket has something for one use.
func (b *bucket) wait() time.Duration {
	if b.left >= 1 {
		return 0
	}
	return max(time.Duration((1-b.left)*float64(b.Every)), time.Millisecond)
}

// use takes from the bucket. It reports whether the bucket became empty, once.
func (b *bucket) use() (emptied bool) {
	b.left = max(b.left-1, 0)
	emptied = b.left < 1 && !b.told
	b.told = b.told || emptied
	return emptied
}
