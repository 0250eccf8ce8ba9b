package timeformat

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// The units of a timespan.
const (
	nsPerMilli = int64(time.Millisecond)
	nsPerSec   = int64(time.Second)
	nsPerMin   = int64(time.Minute)
	nsPerHour  = int64(time.Hour)
	nsPerDay   = 24 * nsPerHour
)

func errTimespanRange() error {
	return fail(OutOfRange, "a timespan cannot be longer than 292 years")
}

// maxTimeWidth is the largest width in a format of times.
const maxTimeWidth = 1 << 16

// A timespanFormat is a parsed format of timespans.
type timespanFormat []timespanSegment

// A timespanSegment is a literal text, or one part of the timespan.
type timespanSegment struct {
	literal string
	unit    byte // D H M S L N, or 0 for a literal
	pad     byte // '0', ' ', or 0 for none
	width   int  // -1: not set
	total   bool // the part includes the larger units
}

const timespanUnits = "NLSMHD" // from smallest to largest

var timespanUnitSize = [...]int64{1, nsPerMilli, nsPerSec, nsPerMin, nsPerHour, nsPerDay}

// parseTimespanFormat parses a format.
func parseTimespanFormat(s string) (timespanFormat, error) {
	var f timespanFormat
	const (
		literal = iota
		padding
		width
	)
	state, start := literal, 0
	seg := timespanSegment{}
	highest := -1
	bad := func(end int) error {
		return fail(BadFormat, "%q in the format %q is not a part of a timespan", clip(s[start:end]), clip(s))
	}
	text := func(t string) {
		if n := len(f); n > 0 && f[n-1].unit == 0 {
			f[n-1].literal += t
		} else {
			f = append(f, timespanSegment{literal: t})
		}
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if state == literal {
			j := strings.IndexByte(s[i:], '%')
			if j != 0 {
				if j < 0 {
					j = len(s) - i
				}
				text(s[i : i+j])
				i += j - 1
				continue
			}
			state, start, seg = padding, i, timespanSegment{pad: '0', width: -1}
			continue
		}
		switch {
		case c == '%':
			text("%")
			state = literal
		case c == '-' || c == '_':
			if state != padding {
				return nil, bad(i)
			}
			seg.pad = 0
			if c == '_' {
				seg.pad = ' '
			}
			state = width
		case c == '0' && state == padding:
			seg.pad, state = '0', width
		case isDigit(c):
			seg.width = max(seg.width, 0)*10 + int(c-'0')
			if seg.width > maxTimeWidth {
				return nil, fail(TooLong, "a width in the format %q is larger than %d", clip(s), maxTimeWidth)
			}
			state = width
		default:
			unit := strings.IndexByte(timespanUnits, c)
			if unit < 0 {
				return nil, bad(i + 1)
			}
			highest = max(highest, unit)
			seg.unit = c
			f = append(f, seg)
			state = literal
		}
	}
	if state != literal {
		return nil, bad(len(s))
	}
	for i := range f {
		if highest >= 0 && f[i].unit == timespanUnits[highest] {
			f[i].total = true
			break
		}
	}
	return f, nil
}

func (g *timespanSegment) defaultWidth() int {
	switch g.unit {
	case 'D':
		return 1
	case 'L':
		return 3
	case 'N':
		return 9
	}
	return 2
}

func (g *timespanSegment) fraction() bool { return g.unit == 'L' || g.unit == 'N' }

// FormatSpan writes a timespan with a format: %D %H %M %S %L %N for its parts,
// with an optional - or _ and a width after the %. The error is an *[Error].
func FormatSpan(d time.Duration, format string) (string, error) {
	f, err := parseTimespanFormat(format)
	if err != nil {
		return "", err
	}
	var b []byte
	if d < 0 {
		b = append(b, '-')
	}
	for i := range f {
		if b = f[i].append(b, d); len(b) > maxText {
			return "", errTooLong()
		}
	}
	return string(b), nil
}

// abs returns the absolute value of d. It is unsigned, because the lowest
// duration has no opposite.
func abs(d time.Duration) uint64 {
	if d < 0 {
		return -uint64(d)
	}
	return uint64(d)
}

func (g *timespanSegment) append(b []byte, d time.Duration) []byte {
	if g.unit == 0 {
		return append(b, g.literal...)
	}
	width := g.width
	if width < 0 {
		width = g.defaultWidth()
	}
	n := g.of(abs(d), width)
	var buf [24]byte
	digits := strconv.AppendUint(buf[:0], n, 10)
	if g.fraction() {
		if !g.total && g.pad != '0' {
			for len(digits) > 1 && digits[len(digits)-1] == '0' {
				digits = digits[:len(digits)-1]
			}
		}
		b = append(b, digits...)
		if g.pad != 0 {
			b = appendRepeat(b, ' ', width-len(digits))
		}
		return b
	}
	if g.pad != 0 {
		b = appendRepeat(b, g.pad, width-len(digits))
	}
	return append(b, digits...)
}

// of returns the part of ns that the segment shows.
func (g *timespanSegment) of(ns uint64, width int) uint64 {
	switch g.unit {
	case 'N':
		scale := uint64(1)
		for i := width; i < 9; i++ {
			scale *= 10
		}
		ns /= scale
		if !g.total {
			ns %= uint64(nsPerSec) / scale
		}
		return ns
	case 'L':
		ns /= uint64(nsPerMilli)
		if !g.total {
			ns %= 1000
		}
		return ns
	}
	unit := strings.IndexByte(timespanUnits, g.unit)
	n := ns / uint64(timespanUnitSize[unit])
	if !g.total && g.unit != 'D' {
		n %= uint64(timespanUnitSize[min(unit+1, 5)] / timespanUnitSize[unit])
	}
	return n
}

// appendRepeat appends c n times.
func appendRepeat(b []byte, c byte, n int) []byte {
	for ; n > 0; n-- {
		b = append(b, c)
	}
	return b
}

// SpanFormats returns the default formats.
func SpanFormats() []string {
	return []string{
		"%D-%H:%M:%S.%-N", "%H:%M:%S.%-N", "%M:%S.%-N", "%S.%-N",
		"%D-%H:%M:%S", "%H:%M:%S", "%D-%H:%M", "%S",
	}
}

// maxTimeText limits the length of texts that are parsed as times.
const maxTimeText = 4096

// ParseSpan parses a timespan with the first format that fits. The error is a
// *[Error].
func ParseSpan(s string, formats ...string) (time.Duration, error) {
	if len(s) > maxTimeText {
		return 0, fail(TooLong, "a text of %d bytes is too long for a timespan", len(s))
	}
	for _, format := range formats {
		f, err := parseTimespanFormat(format)
		if err != nil {
			return 0, err
		}
		t, ok, err := f.parse(s)
		if ok && err == nil || len(formats) == 1 && err != nil {
			return t, err
		}
	}
	if len(formats) == 1 {
		return 0, fail(Malformed, "%q is not a timespan of the format %q", clip(s), clip(formats[0]))
	}
	return 0, fail(Malformed, "%q is not a timespan of the formats %s", clip(s), clip(strings.Join(formats, ", ")))
}

// parse parses s with the format. If s does not fit, ok is false.
func (f timespanFormat) parse(s string) (d time.Duration, ok bool, err error) {
	m := timespanMatcher{format: f, s: s, ends: make([]int, len(f)), failed: make([]bool, (len(f)+1)*(len(s)+1))}
	start := 0
	if strings.HasPrefix(s, "-") {
		start = 1
	}
	if !m.match(0, start) {
		if start == 0 || !m.match(0, 0) {
			return 0, false, nil
		}
		start = 0
	}
	var sum int64
	for i := range f {
		group := s[start:m.ends[i]]
		start = m.ends[i]
		if f[i].unit == 0 {
			continue
		}
		group = strings.TrimLeft(group, " \t\n\v\f\r")
		if !allDigits(group) {
			return 0, false, nil
		}
		ns, err := f[i].nanoseconds(group)
		if err != nil {
			return 0, true, err
		}
		if ns > math.MaxInt64-sum {
			return 0, true, errTimespanRange()
		}
		sum += ns
	}
	if strings.HasPrefix(s, "-") {
		sum = -sum
	}
	return time.Duration(sum), true, nil
}

// nanoseconds converts a part to nanoseconds.
func (g *timespanSegment) nanoseconds(digits string) (int64, error) {
	if g.fraction() {
		if g.total {
			return 0, fail(BadFormat, "a fraction of seconds, %%%c, needs the seconds before it", g.unit)
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return 0, errTimespanRange()
		}
		for i := len(digits); i < 9; i++ {
			n *= 10
		}
		return n, nil
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	size := timespanUnitSize[strings.IndexByte(timespanUnits, g.unit)]
	if err != nil || n > math.MaxInt64/size {
		return 0, errTimespanRange()
	}
	return n * size, nil
}

// A timespanMatcher finds the ends of the segments of a format in a text. It
// tries the longest match of each segment first and records failed attempts, so
// that its running time is bounded.
type timespanMatcher struct {
	format timespanFormat
	s      string
	ends   []int
	failed []bool // by segment and position
}

func (m *timespanMatcher) match(seg, at int) bool {
	if seg == len(m.format) {
		return at == len(m.s)
	}
	key := seg*(len(m.s)+1) + at
	if m.failed[key] {
		return false
	}
	g := &m.format[seg]
	if g.unit == 0 {
		if strings.HasPrefix(m.s[at:], g.literal) {
			m.ends[seg] = at + len(g.literal)
			if m.match(seg+1, m.ends[seg]) {
				return true
			}
		}
		m.failed[key] = true
		return false
	}
	least, most, blanks, start := g.accepts(m.s[at:])
	n := start
	for n < len(m.s)-at && n-start < most && (isDigit(m.s[at+n]) || blanks && isSpace(m.s[at+n])) {
		n++
	}
	for ; n-start >= least; n-- {
		m.ends[seg] = at + n
		if m.match(seg+1, at+n) {
			return true
		}
	}
	m.failed[key] = true
	return false
}

// accepts returns the smallest and the largest number of bytes that the segment
// matches, whether they can include blanks, and the number of blanks to skip
// first.
func (g *timespanSegment) accepts(s string) (least, most int, blanks bool, start int) {
	if g.width >= 0 {
		if g.pad == 0 {
			return 1, g.width, false, 0
		}
		return g.width, g.width, g.pad == ' ', 0
	}
	if !g.total {
		return 1, g.defaultWidth(), g.pad == ' ', 0
	}
	if g.pad == ' ' {
		for start < len(s) && isSpace(s[start]) {
			start++
		}
	}
	return 1, math.MaxInt, false, start
}
