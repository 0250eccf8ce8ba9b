package apply

import (
	"testing"
	"time"

	"bolt/apply/resource"
	"bolt/format/ordered"
)

func TestSchedule(t *testing.T) {
	at := func(text string) time.Time {
		when, err := time.Parse("2006-01-02 15:04", text)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	now := at("2026-11-27 10:30") // a Friday
	for _, c := range []struct {
		name   string
		params *ordered.Map
		last   time.Time
		due    bool
	}{
		{"nothing", ordered.Of(), now, true},
		{"never", ordered.Of("period", "never"), time.Time{}, false},
		{"hourly, first time", ordered.Of("period", "hourly"), time.Time{}, true},
		{"hourly, 59 minutes", ordered.Of("period", "hourly"), now.Add(-59 * time.Minute), false},
		{"hourly, 60 minutes", ordered.Of("period", "hourly"), now.Add(-time.Hour), true},
		{"hourly, twice", ordered.Of("period", "hourly", "repeat", int64(2)), now.Add(-30 * time.Minute), true},
		{"hourly by number", ordered.Of("period", "hourly", "periodmatch", "number"), at("2026-11-27 09:59"), true},
		{"daily by number", ordered.Of("period", "daily", "periodmatch", "number"), at("2026-11-27 00:01"), false},
		{"weekly by number, a later day of the week before", ordered.Of("period", "weekly", "periodmatch", "number"), at("2026-11-21 10:00"), true},
		{"weekly by number, same week", ordered.Of("period", "weekly", "periodmatch", "number"), at("2026-11-24 10:00"), false},
		{"monthly by number", ordered.Of("period", "monthly", "periodmatch", "number"), at("2026-10-31 10:00"), true},
		{"daily, last applied while the clock was wrong", ordered.Of("period", "daily"), now.AddDate(12, 0, 0), true},
		{"daily by number, last applied while the clock was wrong", ordered.Of("period", "daily", "periodmatch", "number"), now.AddDate(12, 0, 0), true},
		{"in the range", ordered.Of("range", "10 - 11"), now, true},
		{"not in the range", ordered.Of("range", []any{"8:00 - 10:29:59", "11 - 12"}), now, false},
		{"a range over midnight, after it", ordered.Of("range", "22:00 - 10:45"), now, true},
		{"a range over midnight that began on another day", ordered.Of("range", "22:00 - 10:45", "weekday", "Thursday"), now, true},
		{"a range over midnight that begins today", ordered.Of("range", "22:00 - 10:45", "weekday", "Friday"), now, false},
		{"the day", ordered.Of("weekday", []any{"mon", "5"}), now, true},
		{"another day", ordered.Of("weekday", []any{"Saturday"}), now, false},
	} {
		s, err := newSchedule(&resource.Resource{Params: c.params})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := s.due(now, c.last); got != c.due {
			t.Errorf("%s: due is %v", c.name, got)
		}
	}
	for _, params := range []*ordered.Map{ordered.Of("range", "25 - 26"), ordered.Of("range", "8"), ordered.Of("weekday", "Someday"), ordered.Of("repeat", "x"), ordered.Of("repeat", int64(0))} {
		if _, err := newSchedule(&resource.Resource{Params: params}); err == nil {
			t.Errorf("no error for %v", params)
		}
	}
}
