package value

import (
	"bolt/puppet/semver"
	"bolt/puppet/timeformat"
)

// timeFormats parses a format or a list of formats. Each must have at least two
// characters. If v is a single format, one is true.
func timeFormats(v Value) (formats []string, one, ok bool) {
	switch v := v.(type) {
	case nil:
		return nil, false, true
	case String:
		return []string{string(v)}, true, len([]rune(clip(string(v)))) > 1
	case *Array:
		for _, e := range v.All() {
			f, one, ok := timeFormats(e)
			if !ok || !one {
				return nil, false, false
			}
			formats = append(formats, f...)
		}
		return formats, false, len(formats) > 0
	}
	return nil, false, false
}

const timespanArgs = "seconds, a String with formats, days with hours, minutes, seconds and fractions, or a Hash"

func newTimespan(args []Value) (Value, error) {
	if err := count("Timespan", args, 1, 7); err != nil {
		return nil, err
	}
	switch a := args[0].(type) {
	case Int, Float:
		if len(args) == 1 {
			return toValue(timespanOfSeconds(a))
		}
		return timespanOfFields(args)
	case String:
		if len(args) <= 2 {
			return timespanOfText(args, a, argument(args, 1))
		}
	case *Hash:
		if h, ok := hashOnly(args, "string", "format"); ok && h.Len() > 0 {
			s, _ := entry(h, "string").(String)
			return timespanOfText(args, s, entry(h, "format"))
		}
		return timespanOfHash(args)
	}
	return nil, misfit("Timespan", args, timespanArgs)
}

func timespanOfText(args []Value, s String, format Value) (Value, error) {
	formats, _, ok := timeFormats(format)
	if !ok || s == "" {
		return nil, misfit("Timespan", args, timespanArgs)
	}
	if formats == nil {
		formats = timeformat.SpanFormats()
	}
	return toValue(parseTimespan(string(s), formats...))
}

func timespanOfFields(args []Value) (Value, error) {
	var f timespanFields
	into := [...]*int64{&f.Days, &f.Hours, &f.Minutes, &f.Seconds, &f.Millis, &f.Micros, &f.Nanos}
	for i, a := range args {
		n, ok := a.(Int)
		if !ok || len(args) < 4 {
			return nil, misfit("Timespan", args, timespanArgs)
		}
		*into[i] = int64(n)
	}
	return toValue(NewTimespan(f))
}

func timespanOfHash(args []Value) (Value, error) {
	h, ok := hashOnly(args, "negative", "days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds")
	if !ok {
		return nil, misfit("Timespan", args, timespanArgs)
	}
	var f timespanFields
	for k, v := range h.All() {
		key := k.(String)
		if b, ok := v.(Bool); ok && key == "negative" {
			f.Negative = bool(b)
			continue
		}
		n, ok := v.(Int)
		if !ok || key == "negative" {
			return nil, convErr(KindArguments, "%s of a Timespan cannot be %s", string(key), article(v))
		}
		switch key {
		case "days":
			f.Days = int64(n)
		case "hours":
			f.Hours = int64(n)
		case "minutes":
			f.Minutes = int64(n)
		case "seconds":
			f.Seconds = int64(n)
		case "milliseconds":
			f.Millis = int64(n)
		case "microseconds":
			f.Micros = int64(n)
		case "nanoseconds":
			f.Nanos = int64(n)
		}
	}
	return toValue(NewTimespan(f))
}

const timestampArgs = "seconds, or a String with formats and a time zone, one by one or in a Hash"

func newTimestamp(args []Value) (Value, error) {
	if err := count("Timestamp", args, 1, 3); err != nil {
		return nil, err
	}
	switch a := args[0].(type) {
	case Int, Float:
		if len(args) == 1 {
			return toValue(timestampOfSeconds(a))
		}
	case String:
		return timestampOfText(args, a, argument(args, 1), argument(args, 2))
	case *Hash:
		if h, ok := hashOnly(args, "string", "format", "timezone"); ok {
			s, _ := entry(h, "string").(String)
			return timestampOfText(args, s, entry(h, "format"), entry(h, "timezone"))
		}
	}
	return nil, misfit("Timestamp", args, timestampArgs)
}

func timestampOfText(args []Value, s String, format, zone Value) (Value, error) {
	formats, one, ok := timeFormats(format)
	z, isText := zone.(String)
	if !ok || s == "" || zone != nil && (!isText || z == "") {
		return nil, misfit("Timestamp", args, timestampArgs)
	}
	return toValue(parseTimestamp(string(s), formats, string(z), one))
}

// isQualifier reports whether s can follow - or + in a version.
func isQualifier(v Value) bool {
	s, ok := v.(String)
	return ok && semver.IsQualifier(string(s))
}

const semVerArgs = "a String, or major, minor and patch numbers with prerelease and build, one by one or in a Hash"

func newSemVer(args []Value) (Value, error) {
	if err := count("SemVer", args, 1, 5); err != nil {
		return nil, err
	}
	if s, ok := args[0].(String); ok && len(args) == 1 {
		return semVerOf(string(s))
	}
	bad := misfit("SemVer", args, semVerArgs)
	if h, ok := hashOnly(args, "major", "minor", "patch", "prerelease", "build"); ok {
		args = []Value{entry(h, "major"), entry(h, "minor"), entry(h, "patch"), entry(h, "prerelease"), entry(h, "build")}
	}
	if len(args) < 3 {
		return nil, bad
	}
	var nums [3]int64
	for i := range nums {
		n, ok := args[i].(Int)
		if !ok || n < 0 || n == semver.Infinite {
			return nil, bad
		}
		nums[i] = int64(n)
	}
	var text [2]string
	for i := range text {
		a := argument(args, 3+i)
		if a == nil {
			continue
		}
		if !isQualifier(a) {
			return nil, bad
		}
		text[i] = string(a.(String))
	}
	return NewSemVer(nums[0], nums[1], nums[2], text[0], text[1]), nil
}

func semVerOf(s string) (Value, error) {
	v, err := ParseSemVer(s)
	if err != nil {
		return nil, err
	}
	return v, nil
}

const rangeArgs = "a String, or the lowest and highest version and whether to leave out the last, one by one or in a Hash"

func newSemVerRange(args []Value) (Value, error) {
	if err := count("SemVerRange", args, 1, 3); err != nil {
		return nil, err
	}
	bad := misfit("SemVerRange", args, rangeArgs)
	if s, ok := args[0].(String); ok && len(args) == 1 && s != "" {
		r, err := parseSemVerRange(string(s))
		if err != nil {
			return nil, err
		}
		return r, nil
	}
	if h, ok := hashOnly(args, "min", "max", "exclude_max"); ok {
		args = []Value{entry(h, "min"), Default{}, Bool(false)}
		if v := entry(h, "max"); v != nil {
			args[1] = v
		}
		if v := entry(h, "exclude_max"); v != nil {
			args[2] = v
		}
	}
	if len(args) < 2 {
		return nil, bad
	}
	var ends [2]*SemVer
	for i := range ends {
		switch v := args[i].(type) {
		case Default:
		case *SemVer:
			ends[i] = v
		default:
			return nil, bad
		}
	}
	exclude := Bool(false)
	if v := argument(args, 2); v != nil {
		b, ok := v.(Bool)
		if !ok {
			return nil, bad
		}
		exclude = b
	}
	return makeSemVerRange(ends[0], ends[1], bool(exclude)), nil
}
