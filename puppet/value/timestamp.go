package value

import (
	"math"
	"math/big"
	"strings"
	"time"
)

// A Timestamp is a moment, in UTC.
type Timestamp struct {
	time.Time
}

func (Timestamp) value() {}

// maxUnix is how many seconds before and after 1970 a timestamp can be: further
// away years do not fit the calendar of package time.
const maxUnix = 1 << 55

// NewTimestamp returns the moment t.
func NewTimestamp(t time.Time) Timestamp { return Timestamp{t.UTC().Round(0)} }

// timestampOfSeconds returns the moment a number of seconds after 1970 began.
func timestampOfSeconds(v Value) (Timestamp, error) {
	switch v := v.(type) {
	case Int:
		return timestampAt(int64(v), 0)
	case Float:
		// The product is rounded to a float, as in the original, so that the last
		// digits come out the same.
		ns := math.Trunc(float64(v) * float64(nsPerSec))
		if math.IsNaN(ns) || math.Abs(ns) > maxUnix*float64(nsPerSec) {
			return Timestamp{}, errTimestampRange()
		}
		n, _ := big.NewFloat(ns).Int(nil)
		sec, rest := new(big.Int).DivMod(n, big.NewInt(nsPerSec), new(big.Int))
		return timestampAt(sec.Int64(), rest.Int64())
	}
	return Timestamp{}, convErr(KindArguments, "%s is no number of seconds", article(v))
}

func timestampAt(sec, ns int64) (Timestamp, error) {
	if sec > maxUnix || sec < -maxUnix {
		return Timestamp{}, errTimestampRange()
	}
	return Timestamp{time.Unix(sec, ns).UTC()}, nil
}

func errTimestampRange() error {
	return convErr(KindRange, "a timestamp cannot be more than a billion years away")
}

// Add returns the moment d after t. The error is a *[ConversionError].
func (t Timestamp) Add(d Timespan) (Timestamp, error) {
	r := t.Time.Add(time.Duration(d))
	return timestampAt(r.Unix(), int64(r.Nanosecond()))
}

// Sub returns the time from o to t.
func (t Timestamp) Sub(o Timestamp) (Timespan, error) {
	sec, ok := mulInt(t.Unix()-o.Unix(), nsPerSec)
	ns, ok2 := addInt(sec, int64(t.Nanosecond()-o.Nanosecond()))
	if !ok || !ok2 && t.Nanosecond() != o.Nanosecond() {
		return 0, errTimespanRange()
	}
	return Timespan(ns), nil
}

// Seconds returns the seconds since 1970 began.
func (t Timestamp) Seconds() float64 {
	// One division of whole nanoseconds rounds once.
	if s := t.Unix(); s > -9e9 && s < 9e9 {
		return float64(t.UnixNano()) / float64(nsPerSec)
	}
	f, _ := new(big.Rat).Add(
		new(big.Rat).SetInt64(t.Unix()),
		big.NewRat(int64(t.Nanosecond()), nsPerSec)).Float64()
	return f
}

// String returns the timestamp as 2006-01-02T15:04:05.000000000 UTC.
func (t Timestamp) String() string {
	s, _ := t.Format("%FT%T.%N %Z", "")
	return s
}

// Format writes the timestamp as Ruby's strftime does, in a time zone unless
// zone is empty. The error is a *[ConversionError].
func (t Timestamp) Format(format, zone string) (string, error) {
	at := t.Time.UTC()
	utc := zone == ""
	if !utc {
		offset, err := zoneOffset(zone)
		if err != nil {
			return "", err
		}
		// Offsets count whole minutes unless they are written so.
		if !isPlainOffset(zone) {
			offset = floorDiv(offset, 60) * 60
		}
		if offset <= -24*3600 || offset >= 24*3600 {
			return "", convErr(KindValue, "%q is no time zone: it is a day or more away from UTC", clip(zone))
		}
		at = at.In(time.FixedZone("", offset))
	}
	return strftime(at, utc, format)
}

// isPlainOffset reports whether zone is written +HH:MM.
func isPlainOffset(zone string) bool {
	return len(zone) == 6 && (zone[0] == '+' || zone[0] == '-') && zone[3] == ':' &&
		allDigits(zone[1:3]) && allDigits(zone[4:])
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// zoneOffset returns the seconds that a time zone is ahead of UTC. Differs from
// Puppet: the zone "current" is UTC, for no value depends on the machine.
func zoneOffset(zone string) (int, error) {
	if strings.EqualFold(zone, "current") {
		return 0, nil
	}
	if n := scanZone(zone); n > 0 {
		if offset, ok := lookupZone(zone[:n]); ok {
			return offset, nil
		}
	}
	return 0, convErr(KindValue, "%q is no time zone, such as UTC, CET or +01:00", clip(zone))
}

// timestampFormats returns the formats that are tried when none is given; with a
// zone given separately those that have none.
func timestampFormats(zone bool) []string {
	all := []string{
		"%FT%T.%N %Z", "%FT%T %Z", "%F %T.%N %Z", "%F %T %Z", "%F %Z",
		"%FT%T.%N", "%FT%T", "%F %T.%N", "%F %T", "%F",
	}
	if zone {
		return all[5:]
	}
	return all
}

// ParseTimestamp reads a timestamp in the first format that fits, which are as
// for Ruby's strptime; without formats, in one of timestampFormats. The time
// zone is UTC unless zone says otherwise or the format reads one; it cannot be
// both. one says that formats has just one because the user gave one. The error
// is a *[ConversionError].
func ParseTimestamp(s string, formats []string, zone string) (Timestamp, error) {
	return parseTimestamp(s, formats, zone, false)
}

// parseTimestamp is ParseTimestamp; one says that a format was given by itself
// and not in a list, which makes a difference to what the error is.
func parseTimestamp(s string, formats []string, zone string, one bool) (Timestamp, error) {
	if len(s) > maxTimeText {
		return Timestamp{}, convErr(KindLimit, "a text of %d bytes is too long for a timestamp", len(s))
	}
	if len(formats) == 0 {
		formats = timestampFormats(zone != "")
	}
	for _, f := range formats {
		if len(f) > maxTimeText {
			return Timestamp{}, convErr(KindLimit, "a format of %d bytes is too long", len(f))
		}
		p, ok := strptime(s, f)
		if !ok || p.leftover {
			continue
		}
		if zone != "" && p.hasZone {
			if one {
				return Timestamp{}, convErr(KindFormat, "a time zone is given, and the format %q has another", clip(f))
			}
			continue
		}
		if zone == "" && p.hasZone {
			zone = p.zone
		}
		return p.timestamp(zone)
	}
	if len(formats) == 1 {
		return Timestamp{}, convErr(KindValue, "%q is not a timestamp of the format %q", clip(s), clip(formats[0]))
	}
	return Timestamp{}, convErr(KindValue, "%q is not a timestamp of the formats %s", clip(s), clip(strings.Join(formats, ", ")))
}

// timestamp is the moment that the parts stand for.
func (p *timeParts) timestamp(zone string) (Timestamp, error) {
	switch {
	case !p.hasYear:
		return Timestamp{}, convErr(KindValue, "a timestamp needs a year")
	case p.hour == 24 && (p.min != 0 || p.sec != 0):
		return Timestamp{}, convErr(KindValue, "the hour 24 ends when it begins")
	case p.negativeFraction:
		return Timestamp{}, convErr(KindValue, "the fraction of a second is negative")
	}
	month, day := max(p.month, 1), max(p.day, 1)
	at := time.Date(p.year, time.Month(month), day, p.hour, p.min, p.sec, p.nanos, time.UTC)
	offset := 0
	if zone != "" {
		var err error
		if offset, err = zoneOffset(zone); err != nil {
			return Timestamp{}, err
		}
	}
	return timestampAt(at.Unix()-int64(offset), int64(at.Nanosecond()))
}
