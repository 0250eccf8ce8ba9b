package timeformat

import (
	"strings"
	"time"
)

// MaxUnix is the largest number of seconds between a timestamp and 1970. Years
// further away do not fit in the calendar of package time.
const MaxUnix = 1 << 55

// Format writes a time as Ruby's strftime does. If zone is not empty, the time
// is in that zone. The error is an *[Error].
func Format(t time.Time, format, zone string) (string, error) {
	at := t.UTC()
	utc := zone == ""
	if !utc {
		offset, err := zoneOffset(zone)
		if err != nil {
			return "", err
		}
		// Offsets are rounded to minutes, unless they are in the form +HH:MM.
		if !isPlainOffset(zone) {
			offset = floorDiv(offset, 60) * 60
		}
		if offset <= -24*3600 || offset >= 24*3600 {
			return "", fail(Malformed, "%q is not a time zone: it is a day or more away from UTC", clip(zone))
		}
		at = at.In(time.FixedZone("", offset))
	}
	return strftime(at, utc, format)
}

// isPlainOffset reports whether zone has the form +HH:MM.
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

// zoneOffset returns the offset of a time zone from UTC in seconds. Differs
// from Puppet: the zone "current" is UTC, because values must not depend on the
// machine.
func zoneOffset(zone string) (int, error) {
	if strings.EqualFold(zone, "current") {
		return 0, nil
	}
	if n := scanZone(zone); n > 0 {
		if offset, ok := lookupZone(zone[:n]); ok {
			return offset, nil
		}
	}
	return 0, fail(Malformed, "%q is not a time zone, such as UTC, CET or +01:00", clip(zone))
}

// At returns the time of seconds and nanoseconds since the beginning of 1970,
// in UTC. The error is an *[Error].
func At(sec, ns int64) (time.Time, error) {
	if sec > MaxUnix || sec < -MaxUnix {
		return time.Time{}, errTimestampRange()
	}
	return time.Unix(sec, ns).UTC(), nil
}

func errTimestampRange() error {
	return fail(OutOfRange, "a timestamp cannot be more than a billion years away")
}

// timestampFormats returns the default formats. If a zone is given separately,
// it returns only formats without a zone.
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

// Parse parses a time with the first of formats that fits. Formats have the
// directives of Ruby's strptime. Without formats, Parse uses default ones. The
// time zone is UTC, unless zone is set or the format parses a zone. Both
// together are an error. one is set if the caller was given a single format
// instead of a list; it changes the error. The error is an *[Error].
func Parse(s string, formats []string, zone string, one bool) (time.Time, error) {
	if len(s) > maxTimeText {
		return time.Time{}, fail(TooLong, "a text of %d bytes is too long for a timestamp", len(s))
	}
	if len(formats) == 0 {
		formats = timestampFormats(zone != "")
	}
	for _, f := range formats {
		if len(f) > maxTimeText {
			return time.Time{}, fail(TooLong, "a format of %d bytes is too long", len(f))
		}
		p, ok := strptime(s, f)
		if !ok || p.leftover {
			continue
		}
		if zone != "" && p.hasZone {
			if one {
				return time.Time{}, fail(BadFormat, "a time zone is given, but the format %q has another one", clip(f))
			}
			continue
		}
		if zone == "" && p.hasZone {
			zone = p.zone
		}
		return p.timestamp(zone)
	}
	if len(formats) == 1 {
		return time.Time{}, fail(Malformed, "%q is not a timestamp of the format %q", clip(s), clip(formats[0]))
	}
	return time.Time{}, fail(Malformed, "%q is not a timestamp of the formats %s", clip(s), clip(strings.Join(formats, ", ")))
}

// timestamp returns the time of the parts.
func (p *timeParts) timestamp(zone string) (time.Time, error) {
	switch {
	case !p.hasYear:
		return time.Time{}, fail(Malformed, "a timestamp needs a year")
	case p.hour == 24 && (p.min != 0 || p.sec != 0):
		return time.Time{}, fail(Malformed, "the hour 24 cannot have minutes or seconds")
	case p.negativeFraction:
		return time.Time{}, fail(Malformed, "the fraction of a second is negative")
	}
	month, day := max(p.month, 1), max(p.day, 1)
	at := time.Date(p.year, time.Month(month), day, p.hour, p.min, p.sec, p.nanos, time.UTC)
	offset := 0
	if zone != "" {
		var err error
		if offset, err = zoneOffset(zone); err != nil {
			return time.Time{}, err
		}
	}
	return At(at.Unix()-int64(offset), int64(at.Nanosecond()))
}
