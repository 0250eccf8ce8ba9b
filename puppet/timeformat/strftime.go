package timeformat

import (
	"strconv"
	"strings"
	"time"
)

// maxText is the largest size of a formatted text.
const maxText = 64 << 20

func errTooLong() error {
	return fail(TooLong, "the text would be longer than %d MiB", maxText>>20)
}

// A timeWriter writes a time with a format, as Ruby's strftime does.
type timeWriter struct {
	t   time.Time
	utc bool // the zone is UTC by name, not just by its offset
}

// timeFlags are the flags of a directive, between % and its letter.
type timeFlags struct {
	pad         byte // 0: not set
	width       int
	left        bool // no padding
	upper, swap bool
	lower       bool
	colons      int
}

// strftime writes t with a format.
func strftime(t time.Time, utc bool, format string) (string, error) {
	w := timeWriter{t, utc}
	b, err := w.append(nil, format)
	return string(b), err
}

func (w *timeWriter) append(b []byte, f string) ([]byte, error) {
	for i := 0; i < len(f); i++ {
		if f[i] != '%' {
			b = append(b, f[i])
			continue
		}
		start := i
		flags, n, known, err := scanTimeFlags(f[i+1:])
		if err != nil {
			return nil, err
		}
		i += n + 1
		if i >= len(f) {
			return nil, fail(BadFormat, "the format %q ends within a directive", clip(f))
		}
		ok := known
		if known {
			b, ok, err = w.directive(b, f[i], flags)
			if err != nil {
				return nil, err
			}
		}
		if !ok {
			b = append(b, f[start:i+1]...)
		}
		if len(b) > maxText {
			return nil, errTooLong()
		}
	}
	return b, nil
}

// scanTimeFlags parses the n bytes before the letter of a directive. If the
// next byte cannot be a letter, known is false.
func scanTimeFlags(f string) (g timeFlags, n int, known bool, err error) {
	for ; n < len(f); n++ {
		switch c := f[n]; {
		case strings.IndexByte("-^#_", c) >= 0:
			if g.width > 0 {
				return g, n, false, nil
			}
			switch c {
			case '-':
				g.left, g.pad, g.width = true, 0, 0
			case '^':
				g.upper = true
			case '#':
				g.swap = true
			case '_':
				g.pad = ' '
			}
		case c == ':':
			g.colons = 1
			for ; g.colons <= 3; g.colons++ {
				if n+g.colons >= len(f) || f[n+g.colons] != ':' && f[n+g.colons] != 'z' {
					return g, n, false, nil
				}
				if f[n+g.colons] == 'z' {
					break
				}
			}
			n += g.colons - 1
		case isDigit(c):
			if c == '0' {
				g.pad = '0'
			}
			m := digitsAt(f, n)
			width := atoi(f[n:m])
			if m-n > 9 || width > maxTimeWidth {
				return g, n, false, fail(TooLong, "a width in the format %q is larger than %d", clip(f), maxTimeWidth)
			}
			g.width = width
			n = m - 1
		case c == 'E' || c == 'O':
			letters := "cCxXyY"
			if c == 'O' {
				letters = "deHkIlmMSuUVwWy"
			}
			if n+1 == len(f) || strings.IndexByte(letters, f[n+1]) < 0 {
				return g, n, false, nil
			}
		default:
			return g, n, true, nil
		}
	}
	return g, n, true, nil
}

// text appends s, padded to its width.
func (g *timeFlags) text(b []byte, s string, verbatim bool) []byte {
	if s == "" {
		return b
	}
	if !g.left {
		pad := g.pad
		if pad == 0 {
			pad = ' '
		}
		b = appendRepeat(b, pad, g.width-len(s))
	}
	switch {
	case verbatim:
	case g.upper:
		s = strings.ToUpper(s)
	case g.lower:
		s = strings.ToLower(s)
	}
	return append(b, s...)
}

// number appends n. By default it is padded with pad to width.
func (g *timeFlags) number(b []byte, n int64, pad byte, width int) []byte {
	if g.left {
		width = 1
	} else if g.width > 0 {
		width = g.width
	}
	if g.pad != 0 {
		pad = g.pad
	}
	var digits [24]byte
	d := strconv.AppendInt(digits[:0], n, 10)
	if n < 0 && pad == '0' {
		b = append(b, '-')
		d = d[1:]
		width--
	}
	b = appendRepeat(b, pad, width-len(d))
	return append(b, d...)
}

// directive appends the part for one letter. If the letter is not a directive,
// ok is false.
func (w *timeWriter) directive(b []byte, c byte, g timeFlags) (_ []byte, ok bool, err error) {
	t := w.t
	num := func(n int, pad byte, width int) ([]byte, bool, error) {
		return g.number(b, int64(n), pad, width), true, nil
	}
	text := func(s string) ([]byte, bool, error) {
		if g.swap {
			g.upper = true
		}
		return g.text(b, s, false), true, nil
	}
	switch c {
	case 'A':
		return text(weekdays[t.Weekday()])
	case 'a':
		return text(weekdays[t.Weekday()][:3])
	case 'B':
		return text(months[t.Month()-1])
	case 'b', 'h':
		return text(months[t.Month()-1][:3])
	case 'C':
		return num(floorDiv(t.Year(), 100), '0', 2)
	case 'd':
		return num(t.Day(), '0', 2)
	case 'e':
		return num(t.Day(), ' ', 2)
	case 'H':
		return num(t.Hour(), '0', 2)
	case 'k':
		return num(t.Hour(), ' ', 2)
	case 'I':
		return num((t.Hour()+11)%12+1, '0', 2)
	case 'l':
		return num((t.Hour()+11)%12+1, ' ', 2)
	case 'j':
		return num(t.YearDay(), '0', 3)
	case 'M':
		return num(t.Minute(), '0', 2)
	case 'm':
		return num(int(t.Month()), '0', 2)
	case 'S':
		return num(t.Second(), '0', 2)
	case 's':
		return g.number(b, t.Unix(), '0', 1), true, nil
	case 'U':
		return num((t.YearDay()+6-int(t.Weekday()))/7, '0', 2)
	case 'W':
		return num((t.YearDay()+6-(int(t.Weekday())+6)%7)/7, '0', 2)
	case 'u':
		return num((int(t.Weekday())+6)%7+1, '0', 1)
	case 'w':
		return num(int(t.Weekday()), '0', 1)
	case 'G', 'g', 'V':
		year, week := t.ISOWeek()
		switch c {
		case 'V':
			return num(week, '0', 2)
		case 'g':
			return num(year-floorDiv(year, 100)*100, '0', 2)
		}
		return num(year, '0', 4+boolInt(year < 0))
	case 'Y':
		return num(t.Year(), '0', 4+boolInt(t.Year() < 0))
	case 'y':
		return num(t.Year()-floorDiv(t.Year(), 100)*100, '0', 2)
	case 'L':
		return g.fraction(b, t.Nanosecond(), 3), true, nil
	case 'N':
		return g.fraction(b, t.Nanosecond(), 9), true, nil
	case 'n':
		return g.text(b, "\n", true), true, nil
	case 't':
		return g.text(b, "\t", true), true, nil
	case '%':
		return g.text(b, "%", true), true, nil
	case 'P', 'p':
		if c == 'p' && g.swap || c == 'P' && !g.swap && !g.upper {
			g.upper, g.lower = false, true
		}
		g.swap = false
		if t.Hour() >= 12 {
			return text("PM")
		}
		return text("AM")
	case 'Z':
		if g.swap {
			g.swap, g.upper, g.lower = false, false, true
		}
		if !w.utc {
			return b, true, nil
		}
		return text("UTC")
	case 'z':
		if g.colons > 3 {
			return b, false, nil
		}
		return g.offset(b, t, w.utc), true, nil
	case 'c', 'D', 'x', 'F', 'R', 'r', 'T', 'X', 'v':
		f := compound(c)
		if c == 'v' {
			f = "%e-%^b-%4Y"
		}
		s, err := w.append(nil, f)
		if err != nil {
			return nil, false, err
		}
		g.left = false
		return g.text(b, string(s), false), true, nil
	}
	return b, false, nil
}

// fraction appends the first digits of a fraction of a second.
func (g *timeFlags) fraction(b []byte, ns, width int) []byte {
	if g.width > 0 {
		width = g.width
	}
	var digits [9]byte
	for i := 8; i >= 0; i-- {
		digits[i] = byte('0' + ns%10)
		ns /= 10
	}
	b = append(b, digits[:min(width, 9)]...)
	return appendRepeat(b, '0', width-9)
}

// offset appends the offset of the zone from UTC.
func (g *timeFlags) offset(b []byte, t time.Time, utc bool) []byte {
	_, off := t.Zone()
	sign := byte('+')
	if off < 0 || utc && g.left {
		off, sign = -off, '-'
	}
	const hourWidth = 2
	colons := g.colons
	behind := [...]int{3, 4, 7, 7}[colons]
	if colons == 3 {
		switch {
		case off%3600 == 0:
			behind = 1
		case off%60 == 0:
			behind = 4
		}
	}
	width := hourWidth
	if g.width > behind+hourWidth {
		width = g.width - behind
	}
	hour := strconv.Itoa(off / 3600)
	if g.pad == ' ' {
		b = appendRepeat(b, ' ', width-len(hour))
		b = append(b, sign)
	} else {
		b = append(b, sign)
		b = appendRepeat(b, '0', width-len(hour))
	}
	b = append(b, hour...)
	off %= 3600
	if colons == 3 && off == 0 {
		return b
	}
	if colons >= 1 {
		b = append(b, ':')
	}
	b = append(b, byte('0'+off/600), byte('0'+off/60%10))
	if off %= 60; colons < 2 || colons == 3 && off == 0 {
		return b
	}
	return append(b, ':', byte('0'+off/10), byte('0'+off%10))
}
