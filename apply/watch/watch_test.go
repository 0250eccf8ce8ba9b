package watch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bolt/catalog"
)

func ref(title string) catalog.Ref { return catalog.Ref{Type: "File", Title: title} }

// A log is the checks of a loop, with their times since the start.
type log struct {
	ctx   context.Context
	start time.Time
	lines []string
	times []time.Duration
}

func (l *log) add(refs map[catalog.Ref]bool) {
	var names []string
	for r := range refs {
		names = append(names, r.Title)
	}
	slices.Sort(names)
	at := time.Since(l.start)
	l.lines = append(l.lines, fmt.Sprintf("%v %s", at, strings.Join(names, " ")))
	l.times = append(l.times, at)
}

// looping runs a loop in a bubble until f returns.
func looping(t *testing.T, l *Loop, f func(*log)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		seen := &log{ctx: t.Context(), start: time.Now()}
		check := l.Check
		l.Check = func(ctx context.Context, refs map[catalog.Ref]bool) Outcome {
			seen.add(refs)
			if check == nil {
				return Outcome{}
			}
			return check(ctx, refs)
		}
		if l.Poll == nil {
			l.Poll = func(time.Time) ([]catalog.Ref, time.Duration) { return nil, time.Hour }
		}
		// The channel must belong to the bubble.
		l.wake, l.calls = make(chan struct{}, 1), make(chan func(context.Context))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.Run(ctx)
		}()
		synctest.Wait()
		f(seen)
		cancel()
		<-done
	})
}

func want(t *testing.T, l *log, lines ...string) {
	t.Helper()
	synctest.Wait()
	if !slices.Equal(l.lines, lines) {
		t.Errorf("checks:\n%s\nwant:\n%s", strings.Join(l.lines, "\n"), strings.Join(lines, "\n"))
	}
}

// TestSettle touches resources at once and one after the other.
func TestSettle(t *testing.T) {
	l := New()
	looping(t, l, func(seen *log) {
		l.Touch(ref("a"), ref("b"))
		time.Sleep(2 * time.Millisecond)
		l.Touch(ref("a"), ref("c"))
		time.Sleep(time.Second)
		want(t, seen, "6ms a b c")
	})
}

// TestSettleEnds touches a resource all the time: the check does not wait for the end.
func TestSettleEnds(t *testing.T) {
	l := New()
	looping(t, l, func(seen *log) {
		for range 30 {
			l.Touch(ref("a"))
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if len(seen.times) == 0 || seen.times[0] > mostSettle+2*time.Millisecond {
			t.Errorf("checks: %v", seen.lines)
		}
	})
}

// TestDuring touches a resource while it is checked: it is checked once more.
func TestDuring(t *testing.T) {
	l := New()
	n := 0
	l.Check = func(context.Context, map[catalog.Ref]bool) Outcome {
		if n++; n == 1 {
			l.Touch(ref("a"))
			time.Sleep(time.Second)
		}
		return Outcome{}
	}
	looping(t, l, func(seen *log) {
		l.Touch(ref("a"))
		time.Sleep(time.Minute)
		want(t, seen, "4ms a", "1.008s a")
	})
}

// TestAll touches all resources.
func TestAll(t *testing.T) {
	l := New()
	l.Every = func() []catalog.Ref { return []catalog.Ref{ref("x"), ref("y")} }
	looping(t, l, func(seen *log) {
		l.Touch(ref("a"))
		l.TouchAll()
		time.Sleep(time.Second)
		want(t, seen, "4ms a x y")
	})
}

// TestFight has another program that changes a resource back at once. It is put right a few times, then rarely, and the other
// resource does not wait for it.
func TestFight(t *testing.T) {
	l := New()
	var slowed []string
	l.Slowed = func(r catalog.Ref) { slowed = append(slowed, r.Title) }
	l.Check = func(_ context.Context, refs map[catalog.Ref]bool) (o Outcome) {
		if refs[ref("a")] {
			o.Changed = append(o.Changed, ref("a"))
			l.Touch(ref("a")) // the other program
		}
		return o
	}
	looping(t, l, func(seen *log) {
		l.Touch(ref("a"))
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		n := len(seen.lines)
		if most := Changes.Burst + int(10*time.Minute/Changes.Every) + 1; n > most || n < most-2 {
			t.Errorf("%d checks in ten minutes", n)
		}
		l.Touch(ref("b"))
		before := time.Since(seen.start)
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		if last := seen.lines[len(seen.lines)-1]; last != fmt.Sprintf("%v b", before+settle) {
			t.Errorf("the other resource: %s", last)
		}
		if !slices.Equal(slowed, []string{"a"}) {
			t.Errorf("reported: %v", slowed)
		}
	})
}

// TestManyChanges has a check that reports more changes of a resource than its budget has: the next check is not later for that.
func TestManyChanges(t *testing.T) {
	l := New()
	l.Check = func(context.Context, map[catalog.Ref]bool) Outcome {
		return Outcome{Changed: slices.Repeat([]catalog.Ref{ref("a")}, 1000)}
	}
	looping(t, l, func(seen *log) {
		l.Touch(ref("a"))
		time.Sleep(time.Second)
		l.Touch(ref("a"))
		time.Sleep(2 * Changes.Every)
		synctest.Wait()
		if len(seen.times) != 2 || seen.times[1] > Changes.Every+time.Second {
			t.Errorf("checks: %v", seen.lines)
		}
	})
}

// TestNoise touches a resource a thousand times a second, without a change that matters. The last touch is checked, too.
func TestNoise(t *testing.T) {
	l := New()
	looping(t, l, func(seen *log) {
		for range 60000 {
			l.Touch(ref("a"))
			time.Sleep(time.Millisecond)
		}
		end := time.Since(seen.start)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := len(seen.lines); n > Checks.Burst+62 || n < 60 {
			t.Errorf("%d checks in a minute", n)
		}
		if last := seen.times[len(seen.times)-1]; last < end-2*time.Millisecond {
			t.Errorf("the last check was at %v, and the last touch at %v", last, end)
		}
	})
}

// TestOwnBudget has mgmt's example limit1: 0.2 events in a second, of which 5 can come at once.
func TestOwnBudget(t *testing.T) {
	l := New()
	l.Budget = func(r catalog.Ref) Budget {
		if r == ref("a") {
			return Budget{5, 5 * time.Second}
		}
		return Checks
	}
	looping(t, l, func(seen *log) {
		for range 59000 {
			l.Touch(ref("a"))
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if n := len(seen.lines); n < 5+10 || n > 5+12 {
			t.Errorf("%d checks in a minute, want 5 at once and then one in 5 s", n)
		}
	})
}

// TestRepoll changes the time of the next poll.
func TestRepoll(t *testing.T) {
	l := New()
	var polled []catalog.Ref
	l.Poll = func(time.Time) ([]catalog.Ref, time.Duration) { return polled, time.Hour }
	looping(t, l, func(seen *log) {
		time.Sleep(time.Second)
		polled = []catalog.Ref{ref("p")}
		l.Repoll()
		time.Sleep(time.Second)
		synctest.Wait()
		if len(seen.lines) != 1 {
			t.Errorf("%v", seen.lines)
		}
	})
}

// TestPoll checks resources at their times.
func TestPoll(t *testing.T) {
	l := New()
	l.Poll = func(time.Time) ([]catalog.Ref, time.Duration) { return []catalog.Ref{ref("p")}, time.Minute }
	looping(t, l, func(seen *log) {
		time.Sleep(2*time.Minute + time.Second)
		synctest.Wait()
		if len(seen.lines) != 3 {
			t.Errorf("%v", seen.lines)
		}
	})
}

// TestAgain has a check that cannot be made yet.
func TestAgain(t *testing.T) {
	l := New()
	n := 0
	l.Check = func(_ context.Context, refs map[catalog.Ref]bool) Outcome {
		if n++; n < 3 {
			return Outcome{Again: refs, After: time.Second}
		}
		return Outcome{}
	}
	looping(t, l, func(seen *log) {
		l.Touch(ref("a"))
		time.Sleep(time.Minute)
		want(t, seen, "4ms a", "1.008s a", "2.012s a")
	})
}

// TestCall calls a function, which is not called during a check.
func TestCall(t *testing.T) {
	l := New()
	checking := false
	l.Check = func(context.Context, map[catalog.Ref]bool) Outcome {
		checking = true
		time.Sleep(time.Second)
		checking = false
		return Outcome{}
	}
	looping(t, l, func(seen *log) {
		l.Touch(ref("a"))
		time.Sleep(500 * time.Millisecond)
		called := false
		l.Call(seen.ctx, func(context.Context) {
			called = true
			if checking {
				t.Error("it was called during a check")
			}
		})
		if !called {
			t.Error("it was not called")
		}
	})
}
