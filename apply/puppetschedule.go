package apply

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bolt/apply/resource"
	"bolt/catalog/types"
)

// A schedule limits the times at which a resource can be applied (Puppet's type schedule).
type schedule struct {
	period   string // hourly, daily, weekly, monthly, never; "" for always
	byNumber bool   // periodmatch: another hour, day ..., instead of the distance in time
	repeat   int64
	ranges   [][2]time.Duration // since midnight
	weekdays []time.Weekday
}

// periods are the lengths that Puppet counts with.
var periods = map[string]time.Duration{
	"hourly": time.Hour, "daily": 24 * time.Hour, "weekly": 7 * 24 * time.Hour, "monthly": 30 * 24 * time.Hour,
}

// common returns the schedules that every catalog has.
func common() map[string]*schedule {
	all := map[string]*schedule{"puppet": {period: "hourly", repeat: 2}}
	for _, period := range []string{"hourly", "daily", "weekly", "monthly", "never"} {
		all[period] = &schedule{period: period, repeat: 1}
	}
	return all
}

// makeSchedules reads the schedules of the catalog, and checks that those of the resources exist.
func (p *preparation) makeSchedules() {
	p.run.schedules = common()
	for _, r := range p.catalog.Resources() {
		if r.Type != "Schedule" || r.Virtual {
			continue
		}
		for _, e := range types.Check(r) {
			p.fail(r, e)
		}
		s, err := newSchedule(p.plain(r))
		if err != nil {
			p.fail(r, err)
			continue
		}
		p.run.schedules[r.Title] = s
	}
	for _, s := range p.run.steps {
		if name := s.meta.schedule; name != "" && p.run.schedules[name] == nil {
			r := p.catalog.Find(s.ref)
			p.fail(r, fmt.Errorf("the catalog has no schedule %q", name))
		}
	}
}

func newSchedule(r *resource.Resource) (*schedule, error) {
	s := &schedule{}
	var err error
	if s.period, _, err = r.Text("period"); err != nil {
		return nil, err
	}
	match, _, err := r.Text("periodmatch")
	if err != nil {
		return nil, err
	}
	s.byNumber = match == "number"
	if s.repeat, err = r.Int("repeat", 1); err != nil {
		return nil, err
	}
	if s.repeat < 1 {
		return nil, &resource.ParamError{Param: "repeat", Problem: "must be 1 or larger"}
	}
	texts, _, err := r.Texts("range")
	if err != nil {
		return nil, err
	}
	for _, text := range texts {
		from, to, _ := strings.Cut(text, "-")
		a, err1 := clock(from)
		b, err2 := clock(to)
		if err1 != nil || err2 != nil {
			return nil, &resource.ParamError{Param: "range", Problem: fmt.Sprintf("must be two times such as \"2:00 - 4:30\", and is %q", text)}
		}
		s.ranges = append(s.ranges, [2]time.Duration{a, b})
	}
	if texts, _, err = r.Texts("weekday"); err != nil {
		return nil, err
	}
	for _, text := range texts {
		day, err := weekday(text)
		if err != nil {
			return nil, err
		}
		s.weekdays = append(s.weekdays, day)
	}
	return s, nil
}

// clock reads a time of the day: 2, 2:30 or 2:30:15.
func clock(text string) (time.Duration, error) {
	parts := strings.Split(strings.TrimSpace(text), ":")
	if len(parts) > 3 {
		return 0, strconv.ErrSyntax
	}
	var t time.Duration
	for i, unit := range []time.Duration{time.Hour, time.Minute, time.Second}[:len(parts)] {
		n, err := strconv.Atoi(parts[i])
		if err != nil || n < 0 || i == 0 && n > 23 || i > 0 && n > 59 {
			return 0, strconv.ErrSyntax
		}
		t += time.Duration(n) * unit
	}
	return t, nil
}

func weekday(text string) (time.Weekday, error) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		name := strings.ToLower(day.String())
		if l := strings.ToLower(text); l == name || l == name[:3] || l == strconv.Itoa(int(day)) {
			return day, nil
		}
	}
	return 0, &resource.ParamError{Param: "weekday", Problem: fmt.Sprintf("must be the name of a day or a number from 0 (Sunday) to 6, and is %q", text)}
}

// due reports whether a resource that was last applied at a time may be applied now.
func (s *schedule) due(now, last time.Time) bool {
	return s.elapsed(now, last) && s.inRange(now)
}

func (s *schedule) elapsed(now, last time.Time) bool {
	switch {
	case s.period == "never":
		return false
	case s.period == "" || last.IsZero():
		return true
	case last.After(now):
		// Differs from Puppet: the clock was wrong, and the resource would not be applied until that time has come.
		return true
	case !s.byNumber:
		return now.Sub(last) >= periods[s.period]/time.Duration(s.repeat)
	}
	switch s.period {
	case "hourly":
		return now.Hour() != last.Hour()
	case "daily":
		return now.Day() != last.Day()
	case "weekly":
		return last.Weekday() > now.Weekday() || now.Sub(last) > periods["weekly"]
	}
	return now.Month() != last.Month()
}

// inRange reports whether a time is in a range, on one of the days. A range over midnight belongs to the day
// on which it begins.
func (s *schedule) inRange(now time.Time) bool {
	on := func(d time.Weekday) bool { return len(s.weekdays) == 0 || slices.Contains(s.weekdays, d) }
	if len(s.ranges) == 0 {
		return on(now.Weekday())
	}
	y, m, d := now.Date()
	since := now.Sub(time.Date(y, m, d, 0, 0, 0, 0, now.Location()))
	yesterday := now.AddDate(0, 0, -1).Weekday()
	return slices.ContainsFunc(s.ranges, func(r [2]time.Duration) bool {
		switch {
		case r[0] <= r[1]:
			return on(now.Weekday()) && since >= r[0] && since <= r[1]
		case since >= r[0]:
			return on(now.Weekday())
		}
		return since <= r[1] && on(yesterday)
	})
}
