package value

import (
	"bolt/puppet/timeformat"
	"errors"
	"math"
	"math/bits"
	"time"
)

// A Timespan is a duration. Differs from Puppet: it is limited to 292 years.
type Timespan time.Duration

func (Timespan) value() {}

// The units of a timespan.
const (
	nsPerMilli = int64(time.Millisecond)
	nsPerSec   = int64(time.Second)
	nsPerMin   = int64(time.Minute)
	nsPerHour  = int64(time.Hour)
	nsPerDay   = 24 * nsPerHour
)

// String returns the timespan as days-hours:minutes:seconds.fraction.
func (t Timespan) String() string {
	s, _ := t.Format("%D-%H:%M:%S.%-N")
	return s
}

// Seconds returns the duration in seconds.
func (t Timespan) Seconds() float64 { return float64(t) / float64(nsPerSec) }

// timespanFields are the parts of a timespan. Each can have any size.
type timespanFields struct {
	Negative                                             bool
	Days, Hours, Minutes, Seconds, Millis, Micros, Nanos int64
}

// NewTimespan returns the timespan with these parts. The error is a
// *[ConversionError].
func NewTimespan(f timespanFields) (Timespan, error) {
	var sum int64
	ok := true
	for _, p := range [...]struct{ n, unit int64 }{
		{f.Days, nsPerDay}, {f.Hours, nsPerHour}, {f.Minutes, nsPerMin}, {f.Seconds, nsPerSec},
		{f.Millis, nsPerMilli}, {f.Micros, 1000}, {f.Nanos, 1},
	} {
		ns, fits := mulInt(p.n, p.unit)
		if sum, ok = addInt(sum, ns); !ok || !fits {
			return 0, errTimespanRange()
		}
	}
	if f.Negative {
		sum = -sum
	}
	return Timespan(sum), nil
}

func errTimespanRange() error {
	return convErr(KindRange, "a timespan cannot be longer than 292 years")
}

// timespanOfSeconds converts a number of seconds to a timespan.
func timespanOfSeconds(v Value) (Timespan, error) {
	switch v := v.(type) {
	case Int:
		ns, ok := mulInt(int64(v), nsPerSec)
		if !ok {
			return 0, errTimespanRange()
		}
		return Timespan(ns), nil
	case Float:
		ns := math.Trunc(float64(v) * float64(nsPerSec))
		if !(ns >= -1<<63 && ns < 1<<63) {
			return 0, errTimespanRange()
		}
		return Timespan(ns), nil
	}
	return 0, convErr(KindArguments, "%s is not a number of seconds", article(v))
}

// mulInt multiplies. If the product does not fit, ok is false.
func mulInt(a, b int64) (p int64, ok bool) {
	hi, lo := bits.Mul64(absInt(a), absInt(b))
	if hi != 0 {
		return 0, false
	}
	if (a < 0) != (b < 0) {
		return -int64(lo), lo <= 1<<63
	}
	return int64(lo), lo < 1<<63
}

func absInt(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// addInt adds. If the sum does not fit, ok is false.
func addInt(a, b int64) (sum int64, ok bool) {
	sum = a + b
	return sum, (sum > a) == (b > 0)
}

// Format writes the timespan in a format. %D %H %M %S %L %N are its parts. A -
// or _ and a width can follow the %. The error is a *[ConversionError].
func (t Timespan) Format(format string) (string, error) {
	s, err := timeformat.FormatSpan(time.Duration(t), format)
	return s, timeError(err)
}

// parseTimespan parses a timespan with the first format that fits. The error is
// a *[ConversionError].
func parseTimespan(s string, formats ...string) (Timespan, error) {
	d, err := timeformat.ParseSpan(s, formats...)
	return Timespan(d), timeError(err)
}

// timeError converts an error of package timeformat to an error of this
// package.
func timeError(err error) error {
	e, ok := errors.AsType[*timeformat.Error](err)
	if !ok {
		return err
	}
	kind := [...]Kind{timeformat.Malformed: KindValue, timeformat.BadFormat: KindFormat, timeformat.TooLong: KindLimit, timeformat.OutOfRange: KindRange}[e.Reason]
	return &ConversionError{kind, e.Msg}
}
