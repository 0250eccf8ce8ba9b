package strategy

import (
	"fmt"
	"time"
)

// A Calendar answers when a rollout can act.
type Calendar struct {
	windows   []window
	freezes   []freeze
	emergency bool
}

type window struct {
	Window
	loc *time.Location
}

type freeze struct {
	from, to time.Time
	unless   Unless
}

// Calendar returns the calendar of the strategy. emergency is set if the rollout was started as
// an emergency. The error is about the time zone database of this machine.
func (s *Strategy) Calendar(emergency bool) (*Calendar, error) {
	c := &Calendar{emergency: emergency}
	for _, w := range s.Windows {
		loc, err := w.TZ.Location()
		if err != nil {
			return nil, fmt.Errorf("window: %w", err)
		}
		c.windows = append(c.windows, window{w, loc})
	}
	for _, f := range s.Freeze {
		loc, err := f.TZ.Location()
		if err != nil {
			return nil, fmt.Errorf("freeze: %w", err)
		}
		c.freezes = append(c.freezes, freeze{f.From.Start(loc), f.To.End(loc), f.Unless})
	}
	return c, nil
}

// A Standing is the answer of a calendar for a moment.
type Standing struct {
	// Open is set if the rollout can act. If it cannot, Reason has the reason.
	Open   bool
	Reason string
	// FinishWave is set if the rollout cannot act, but a wave that has started can go on.
	FinishWave bool
	// Next is when the answer can change; zero if it never does.
	Next time.Time
}

// At returns the answer for a moment.
func (c *Calendar) At(now time.Time) Standing {
	var next time.Time
	earlier := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	st := Standing{Open: len(c.windows) == 0}
	finish := true
	for _, w := range c.windows {
		open, change := w.at(now)
		st.Open = st.Open || open
		finish = finish && w.AtClose == FinishWave
		earlier(change)
	}
	if !st.Open {
		st.Reason = "no window is open"
		st.FinishWave = finish
	}
	for _, f := range c.freezes {
		if f.unless == Emergency && c.emergency {
			continue
		}
		earlier(f.from)
		earlier(f.to)
		if !now.Before(f.from) && now.Before(f.to) {
			st.Open, st.FinishWave = false, false
			st.Reason = "there is a freeze until " + f.to.Format("2006-01-02 15:04 MST")
		}
	}
	if !st.Open && st.Reason == "no window is open" && !next.IsZero() {
		st.Reason = "no window is open until " + next.In(c.windows[0].loc).Format("2006-01-02 15:04 MST")
	}
	st.Next = next
	return st
}

// at reports whether the window is open, and when that changes. It looks at the openings of the
// day before up to those of the next week.
func (w window) at(now time.Time) (open bool, change time.Time) {
	local := now.In(w.loc)
	for day := -1; day <= 8; day++ {
		from, to := w.on(local.Year(), local.Month(), local.Day()+day)
		if !w.Days.Has(from.Weekday()) || !to.After(now) || !to.After(from) {
			continue
		}
		if from.After(now) {
			return false, from
		}
		return true, to
	}
	return false, time.Time{}
}

// on returns the opening and the close of the window that opens on a day. On a day on which the
// clock is set, a time of day that does not exist is moved by time.Date.
func (w window) on(year int, month time.Month, day int) (from, to time.Time) {
	from = time.Date(year, month, day, int(w.From/60), int(w.From%60), 0, 0, w.loc)
	if w.To <= w.From {
		day++
	}
	return from, time.Date(year, month, day, int(w.To/60), int(w.To%60), 0, 0, w.loc)
}
