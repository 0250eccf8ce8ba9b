package strategy

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"bolt/internal/spelling"
)

// A Fact is the path of a fact: "facts.zone", "facts.os.family".
type Fact string

// ParseFact reads a path.
func ParseFact(text string) (Fact, error) {
	rest, ok := strings.CutPrefix(text, "facts.")
	if !ok || rest == "" || strings.Contains(rest, "..") || strings.HasPrefix(rest, ".") || strings.HasSuffix(rest, ".") || strings.ContainsAny(rest, " \t\r\n") {
		return "", fmt.Errorf("%q is not the path of a fact such as facts.zone", text)
	}
	return Fact(text), nil
}

// UnmarshalText is the counterpart of ParseFact.
func (f *Fact) UnmarshalText(text []byte) (err error) {
	*f, err = ParseFact(string(text))
	return err
}

// An Order is one rule of the order of nodes. A file writes it as "name", "unhealthy_first",
// "stable_hash", "random(7)" or "fact(zone)".
type Order struct {
	By   OrderBy
	Seed int64 // of random
	Fact Fact  // of fact
}

// An OrderBy is the property that orders nodes.
type OrderBy string

// The rules of order.
const (
	UnhealthyFirst OrderBy = "unhealthy_first" // nodes that were not healthy before the rollout
	StableHash     OrderBy = "stable_hash"     // by a hash of the name: the same in each rollout
	Random         OrderBy = "random"          // by a hash of the name and the seed
	ByName         OrderBy = "name"
	ByFact         OrderBy = "fact"
)

// ParseOrder reads a rule.
func ParseOrder(text string) (Order, error) {
	name, arg, called := strings.Cut(text, "(")
	if called {
		var closed bool
		if arg, closed = strings.CutSuffix(arg, ")"); !closed {
			return Order{}, fmt.Errorf("%q has no closing parenthesis", text)
		}
	}
	switch by := OrderBy(name); by {
	case UnhealthyFirst, StableHash, ByName:
		if called {
			return Order{}, fmt.Errorf("%s has no argument", name)
		}
		return Order{By: by}, nil
	case Random:
		seed, err := strconv.ParseInt(arg, 10, 64)
		if err != nil {
			return Order{}, fmt.Errorf("%q has no seed: write random(7)", text)
		}
		return Order{By: by, Seed: seed}, nil
	case ByFact:
		f, err := ParseFact("facts." + strings.TrimPrefix(arg, "facts."))
		if err != nil {
			return Order{}, fmt.Errorf("%q has no fact: write fact(zone)", text)
		}
		return Order{By: by, Fact: f}, nil
	}
	names := []string{string(UnhealthyFirst), string(StableHash), string(ByName), string(Random), string(ByFact)}
	return Order{}, unknown(name, names)
}

// String is the form in a file.
func (o Order) String() string {
	switch o.By {
	case Random:
		return fmt.Sprintf("random(%d)", o.Seed)
	case ByFact:
		return fmt.Sprintf("fact(%s)", strings.TrimPrefix(string(o.Fact), "facts."))
	}
	return string(o.By)
}

// MarshalText writes String.
func (o Order) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText is the counterpart of ParseOrder.
func (o *Order) UnmarshalText(text []byte) (err error) {
	*o, err = ParseOrder(string(text))
	return err
}

// Days is a set of days of the week: bit 0 is Sunday. The zero set is every day.
type Days uint8

var dayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

const everyDay Days = 1<<7 - 1

// Has reports whether a day is in the set.
func (d Days) Has(day time.Weekday) bool { return d == 0 || d&(1<<day) != 0 }

// ParseDays reads a set: "mon-thu", "sat,sun", "mon-wed,fri".
func ParseDays(text string) (Days, error) {
	var set Days
	for part := range strings.SplitSeq(text, ",") {
		first, last, ranged := strings.Cut(strings.TrimSpace(part), "-")
		a, err := parseDay(first)
		if err != nil {
			return 0, err
		}
		b := a
		if ranged {
			if b, err = parseDay(last); err != nil {
				return 0, err
			}
		}
		for d := a; ; d = (d + 1) % 7 {
			set |= 1 << d
			if d == b {
				break
			}
		}
	}
	return set, nil
}

func parseDay(text string) (int, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	for i, name := range dayNames {
		if text == name || text == strings.ToLower(time.Weekday(i).String()) {
			return i, nil
		}
	}
	return 0, unknown(text, dayNames)
}

// String is the form in a file.
func (d Days) String() string {
	if d == 0 || d == everyDay {
		return "mon-sun"
	}
	var parts []string
	for i := range 7 { // from Monday
		if day := (i + 1) % 7; d&(1<<day) != 0 {
			parts = append(parts, dayNames[day])
		}
	}
	return strings.Join(parts, ",")
}

// MarshalText writes String.
func (d Days) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText is the counterpart of ParseDays.
func (d *Days) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDays(string(text))
	return err
}

// Clock is a time of day in minutes from midnight. A file writes it as "09:00".
type Clock int16

// ParseClock reads a time of day from 00:00 to 24:00.
func ParseClock(text string) (Clock, error) {
	hours, minutes, ok := strings.Cut(text, ":")
	h, err1 := strconv.ParseUint(hours, 10, 8)
	m, err2 := strconv.ParseUint(minutes, 10, 8)
	if !ok || err1 != nil || err2 != nil || len(minutes) != 2 || len(hours) > 2 || m > 59 || h*60+m > 24*60 {
		return 0, fmt.Errorf("%q is not a time of day such as 09:00", text)
	}
	return Clock(h*60 + m), nil
}

// String is the form in a file.
func (c Clock) String() string { return fmt.Sprintf("%02d:%02d", c/60, c%60) }

// MarshalText writes String.
func (c Clock) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is the counterpart of ParseClock.
func (c *Clock) UnmarshalText(text []byte) (err error) {
	*c, err = ParseClock(string(text))
	return err
}

// Zone is the name of a time zone: "Europe/Berlin", "UTC". The zone of the machine has no name,
// because rollouts can be driven from several machines.
type Zone string

// Location returns the zone.
func (z Zone) Location() (*time.Location, error) {
	if z == "Local" {
		return nil, fmt.Errorf("the time zone %q is another one on each machine", string(z))
	}
	loc, err := time.LoadLocation(string(z))
	if err != nil {
		return nil, fmt.Errorf("%q is not a time zone such as Europe/Berlin", string(z))
	}
	return loc, nil
}

// UnmarshalText checks that the zone exists.
func (z *Zone) UnmarshalText(text []byte) error {
	*z = Zone(text)
	_, err := z.Location()
	return err
}

// Moment is a day, or a day and a time of day: "2026-12-20", "2026-12-20 18:00".
type Moment string

const (
	dayLayout    = "2006-01-02"
	minuteLayout = "2006-01-02 15:04"
)

// ParseMoment reads a moment.
func ParseMoment(text string) (Moment, error) {
	for _, layout := range []string{dayLayout, minuteLayout} {
		if _, err := time.Parse(layout, text); err == nil {
			return Moment(text), nil
		}
	}
	return "", fmt.Errorf("%q is neither a day such as 2026-12-20 nor a day with a time such as 2026-12-20 18:00", text)
}

// Start returns the moment in a zone, for a day its first instant.
func (m Moment) Start(loc *time.Location) time.Time {
	if t, err := time.ParseInLocation(dayLayout, string(m), loc); err == nil {
		return t
	}
	t, _ := time.ParseInLocation(minuteLayout, string(m), loc)
	return t
}

// End returns the moment in a zone, for a day the first instant after it.
func (m Moment) End(loc *time.Location) time.Time {
	if t, err := time.ParseInLocation(dayLayout, string(m), loc); err == nil {
		return t.AddDate(0, 0, 1)
	}
	return m.Start(loc)
}

// UnmarshalText is the counterpart of ParseMoment.
func (m *Moment) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMoment(string(text))
	return err
}

// unknown is the error for a word that is none of the names.
func unknown(word string, names []string) error {
	if near := spelling.Near(word, names); near != "" {
		return fmt.Errorf("%q is unknown here. Did you mean %q?", word, near)
	}
	return fmt.Errorf("%q is unknown here. Use %s", word, spelling.Or(names))
}
