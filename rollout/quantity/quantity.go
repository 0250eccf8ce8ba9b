// Package quantity holds lengths of time, percentages and amounts as strategy files and events
// of rollouts write them.
//
// Each type has a String method and a parser that undo each other, and the JSON form of
// each type is the form in a file.
package quantity

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time that is not negative. A file writes it as "90s", "1h30m" or
// "2d".
type Duration time.Duration

const day = 24 * time.Hour

// maxDays bounds lengths of time, so that sums of them and of times cannot overflow.
const maxDays = 36500

// ParseDuration reads a length of time.
func ParseDuration(text string) (Duration, error) {
	d, ok := parseDuration(text)
	if !ok {
		return 0, fmt.Errorf("%q is not a length of time such as 90s, 30m, 8h or 2d", text)
	}
	return d, nil
}

func parseDuration(text string) (Duration, bool) {
	days := time.Duration(0)
	rest := text
	if i := strings.IndexByte(text, 'd'); i > 0 {
		n, err := strconv.ParseUint(text[:i], 10, 32)
		if err != nil || n > maxDays {
			return 0, false
		}
		days, rest = time.Duration(n)*day, text[i+1:]
		if rest == "" {
			return Duration(days), true
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || d > maxDays*day || strings.HasPrefix(rest, "+") || strings.HasPrefix(rest, "-") {
		return 0, false
	}
	return Duration(days + d), true
}

// String is the form in a file: "1h30m".
func (d Duration) String() string {
	t := time.Duration(d)
	if t == 0 {
		return "0s"
	}
	text := ""
	if n := t / day; n > 0 {
		text = strconv.FormatInt(int64(n), 10) + "d"
		t %= day
	}
	if t == 0 {
		return text
	}
	clock := t.String()
	if strings.HasSuffix(clock, "m0s") {
		clock = strings.TrimSuffix(clock, "0s")
	}
	if strings.HasSuffix(clock, "h0m") {
		clock = strings.TrimSuffix(clock, "0m")
	}
	return text + clock
}

// MarshalText writes String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText is the counterpart of ParseDuration.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDuration(string(text))
	return err
}

// Percent is a part of a whole in thousandths of a percent, so that roundings are exact.
type Percent int64

// perWhole is 100 %.
const perWhole = 100_000

// ParsePercent reads a percentage with at most three decimals, with or without its sign:
// "10%", "0.5". It must be above 0 and at most 100.
func ParsePercent(text string) (Percent, error) {
	bad := fmt.Errorf("%q is not a percentage above 0 and at most 100", text)
	whole, decimals, dotted := strings.Cut(strings.TrimSpace(strings.TrimSuffix(text, "%")), ".")
	if dotted && decimals == "" || len(decimals) > 3 || whole == "" || len(whole) > 3 {
		return 0, bad
	}
	n, err := strconv.ParseUint(whole+decimals+"000"[len(decimals):], 10, 32)
	if err != nil || n == 0 || n > perWhole {
		return 0, bad
	}
	return Percent(n), nil
}

// String is the number without its sign: "10", "0.5".
func (p Percent) String() string {
	text := strconv.FormatInt(int64(p/1000), 10)
	if d := p % 1000; d != 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%03d", d), "0")
	}
	return text
}

// Up is the percentage of a whole, rounded up.
func (p Percent) Up(whole int) int { return int((int64(p)*int64(whole) + perWhole - 1) / perWhole) }

// Down is the percentage of a whole, rounded down.
func (p Percent) Down(whole int) int { return int(int64(p) * int64(whole) / perWhole) }

// MarshalJSON writes a number.
func (p Percent) MarshalJSON() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalJSON reads a number.
func (p *Percent) UnmarshalJSON(data []byte) error {
	if string(data) == "0" || string(data) == "null" {
		*p = 0
		return nil
	}
	v, err := ParsePercent(string(data))
	*p = v
	return err
}

// Amount is a number of nodes, or a percentage of a whole. The zero Amount is none.
type Amount struct {
	Count   int
	Percent Percent // if it is not 0, Count is
}

// ParseAmount reads "3" or "10%".
func ParseAmount(text string) (Amount, error) {
	if strings.HasSuffix(text, "%") {
		p, err := ParsePercent(text)
		return Amount{Percent: p}, err
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return Amount{}, fmt.Errorf("%q is neither a number of nodes nor a percentage such as 10%%", text)
	}
	return Amount{Count: int(n)}, nil
}

// String is the form in a file.
func (a Amount) String() string {
	if a.Percent != 0 {
		return a.Percent.String() + "%"
	}
	return strconv.Itoa(a.Count)
}

// IsZero reports whether the amount is none.
func (a Amount) IsZero() bool { return a == Amount{} }

// Up is the amount of a whole, a percentage rounded up.
func (a Amount) Up(whole int) int {
	if a.Percent != 0 {
		return a.Percent.Up(whole)
	}
	return a.Count
}

// Down is the amount of a whole, a percentage rounded down.
func (a Amount) Down(whole int) int {
	if a.Percent != 0 {
		return a.Percent.Down(whole)
	}
	return a.Count
}

// MarshalJSON writes a number, or a string with a percent sign.
func (a Amount) MarshalJSON() ([]byte, error) {
	if a.Percent != 0 {
		return json.Marshal(a.String())
	}
	return []byte(a.String()), nil
}

// UnmarshalJSON is the counterpart of MarshalJSON.
func (a *Amount) UnmarshalJSON(data []byte) error {
	text := string(data)
	if len(data) > 0 && data[0] == '"' {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	v, err := ParseAmount(text)
	*a = v
	return err
}
