package value

import (
	"bolt/puppet/timeformat"
	"math"
	"math/big"
	"time"
)

// A Timestamp is a point in time, in UTC.
type Timestamp struct {
	time.Time
}

func (Timestamp) value() {}

// NewTimestamp returns t as a Timestamp.
func NewTimestamp(t time.Time) Timestamp { return Timestamp{t.UTC().Round(0)} }

// timestampOfSeconds converts seconds since the beginning of 1970 to a
// timestamp.
func timestampOfSeconds(v Value) (Timestamp, error) {
	switch v := v.(type) {
	case Int:
		return timestampAt(int64(v), 0)
	case Float:
		// The product is rounded to a float, as in Puppet, so that the last
		// digits are the same.
		ns := math.Trunc(float64(v) * float64(nsPerSec))
		if math.IsNaN(ns) || math.Abs(ns) > timeformat.MaxUnix*float64(nsPerSec) {
			return Timestamp{}, errTimestampRange()
		}
		n, _ := big.NewFloat(ns).Int(nil)
		sec, rest := new(big.Int).DivMod(n, big.NewInt(nsPerSec), new(big.Int))
		return timestampAt(sec.Int64(), rest.Int64())
	}
	return Timestamp{}, convErr(KindArguments, "%s is not a number of seconds", article(v))
}

// Add returns the timestamp d after t. The error is a *[ConversionError].
func (t Timestamp) Add(d Timespan) (Timestamp, error) {
	r := t.Time.Add(time.Duration(d))
	return timestampAt(r.Unix(), int64(r.Nanosecond()))
}

// Sub returns the duration from o to t.
func (t Timestamp) Sub(o Timestamp) (Timespan, error) {
	sec, ok := mulInt(t.Unix()-o.Unix(), nsPerSec)
	ns, ok2 := addInt(sec, int64(t.Nanosecond()-o.Nanosecond()))
	if !ok || !ok2 && t.Nanosecond() != o.Nanosecond() {
		return 0, errTimespanRange()
	}
	return Timespan(ns), nil
}

// Seconds returns the seconds since the beginning of 1970.
func (t Timestamp) Seconds() float64 {
	// A single division of nanoseconds rounds only once.
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

// Format writes the timestamp as Ruby's strftime does. If zone is not empty,
// the time is in that zone. The error is a *[ConversionError].
func (t Timestamp) Format(format, zone string) (string, error) {
	text, err := timeformat.Format(t.Time, format, zone)
	return text, timeError(err)
}

// ParseTimestamp parses a timestamp with the first format that fits. Formats
// are as for Ruby's strptime. Without formats, it uses timeformat.Formats. The
// time zone is UTC, unless zone is set or the format parses a zone. These
// cannot be combined. The error is a *[ConversionError].
func ParseTimestamp(s string, formats []string, zone string) (Timestamp, error) {
	return parseTimestamp(s, formats, zone, false)
}

// parseTimestamp is ParseTimestamp. If one is set, the format was not in a
// list, which changes the kind of the error.
func parseTimestamp(s string, formats []string, zone string, one bool) (Timestamp, error) {
	t, err := timeformat.Parse(s, formats, zone, one)
	return Timestamp{t}, timeError(err)
}

// timestampAt returns the timestamp of seconds and nanoseconds since the
// beginning of 1970.
func timestampAt(sec, ns int64) (Timestamp, error) {
	t, err := timeformat.At(sec, ns)
	return Timestamp{t}, timeError(err)
}

func errTimestampRange() error {
	_, err := timestampAt(math.MaxInt64, 0)
	return err
}
