package builtin

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// scans returns the function scanf.
func scans() []*eval.Function {
	run := func(c *eval.Call) (value.Value, error) {
		found, err := scan(string(c.Args[0].(value.String)), string(c.Args[1].(value.String)))
		if err != nil || c.Block == nil {
			return value.NewArray(found...), err
		}
		return c.Yield(value.NewArray(found...))
	}
	return []*eval.Function{{
		Name: "scanf", Doc: "Parses values from a string with a format of scanf(3), until one does not fit. It returns the values, or passes them to the block.",
		Signatures: []eval.Signature{{Params: "String $text, String $format", Block: "Optional[Callable[1, 1]]", Run: run}},
	}}
}

// A directive is a % directive of a format.
type directive struct {
	verb  byte
	width int // largest number of characters
	skip  bool
	set   string // of %[…]
}

// scan parses as much of text as matches the format.
func scan(text, format string) ([]value.Value, error) {
	found := []value.Value{}
	for format != "" {
		switch r, n := utf8.DecodeRuneInString(format); {
		case strings.ContainsRune(" \t\n\r\v\f", r):
			text = strings.TrimLeft(text, " \t\n\r\v\f")
			format = format[n:]
			continue
		case r != '%' || strings.HasPrefix(format, "%%"):
			if r == '%' {
				text = strings.TrimLeft(text, " \t\n\r\v\f")
				format = format[1:]
			}
			if !strings.HasPrefix(text, format[:n]) {
				return found, nil
			}
			text, format = text[n:], format[n:]
			continue
		}
		d, rest, ok := parseDirective(format[1:])
		if !ok {
			return nil, eval.Errorf("invalid-format", "%q is not a format: at %q", format, format)
		}
		format = rest
		v, left, ok := d.read(text)
		if !ok {
			return found, nil
		}
		if text = left; !d.skip {
			found = append(found, v)
		}
	}
	return found, nil
}

func parseDirective(s string) (d directive, rest string, ok bool) {
	s, d.skip = strings.CutPrefix(s, "*")
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	d.width = math.MaxInt
	if n > 0 {
		w, err := strconv.Atoi(s[:n])
		if err != nil || w == 0 {
			return d, "", false
		}
		d.width = w
	}
	if s = s[n:]; s == "" {
		return d, "", false
	}
	d.verb, rest = s[0], s[1:]
	switch d.verb {
	case '[':
		begin := 0
		if strings.HasPrefix(rest, "^") {
			begin = 1
		}
		if strings.HasPrefix(rest[begin:], "]") {
			begin++
		}
		end := strings.IndexByte(rest[begin:], ']')
		if end < 0 {
			return d, "", false
		}
		d.set, rest = rest[:begin+end], rest[begin+end+1:]
		return d, rest, d.set != ""
	case 'd', 'u', 'i', 'f', 'g', 'e', 'a', 'E', 'F', 'G', 'A', 'x', 'X', 'o', 's', 'c':
		return d, rest, true
	}
	return d, "", false
}

// read parses a value at the beginning of text.
func (d *directive) read(text string) (v value.Value, rest string, ok bool) {
	if d.verb == 'c' {
		n := d.length(text, min(d.width, utf8.RuneCountInString(text)), func(rune) bool { return true })
		if d.width == math.MaxInt {
			_, n = utf8.DecodeRuneInString(text)
		}
		return value.String(text[:n]), text[n:], n > 0
	}
	if d.verb == '[' {
		n := d.length(text, d.width, d.inSet)
		return value.String(text[:n]), text[n:], n > 0
	}
	text = strings.TrimLeft(text, " \t\n\r\v\f")
	switch d.verb {
	case 's':
		n := d.length(text, d.width, func(r rune) bool { return !strings.ContainsRune(" \t\n\r\v\f", r) })
		return value.String(text[:n]), text[n:], n > 0
	case 'd', 'u':
		return d.integer(text, 10)
	case 'x', 'X':
		return d.integer(text, 16)
	case 'o':
		return d.integer(text, 8)
	case 'i':
		digits := strings.TrimLeft(text, "+-")
		switch {
		case strings.HasPrefix(digits, "0x"), strings.HasPrefix(digits, "0X"):
			return d.integer(text, 16)
		case strings.HasPrefix(digits, "0"):
			return d.integer(text, 8)
		}
		return d.integer(text, 10)
	}
	return d.float(text)
}

// length returns the number of bytes of up to width accepted characters at the
// beginning of text.
func (d *directive) length(text string, width int, accept func(rune) bool) int {
	for i, r := range text {
		if width == 0 || !accept(r) {
			return i
		}
		width--
	}
	return len(text)
}

func (d *directive) inSet(r rune) bool {
	set, not := strings.CutPrefix(d.set, "^")
	chars := []rune(set)
	in := false
	for i := 0; i < len(chars); i++ {
		if i+2 < len(chars) && chars[i+1] == '-' {
			in = in || chars[i] <= r && r <= chars[i+2]
			i += 2
			continue
		}
		in = in || chars[i] == r
	}
	return in != not
}

func (d *directive) integer(text string, base int) (value.Value, string, bool) {
	limit := min(d.width, len(text))
	n, negative := 0, false
	if n < limit && (text[n] == '-' || text[n] == '+') {
		negative = text[n] == '-'
		n++
	}
	if base == 16 && limit-n > 2 && text[n] == '0' && (text[n+1] == 'x' || text[n+1] == 'X') {
		n += 2
	}
	begin := n
	for n < limit && digitOf(text[n]) < base {
		n++
	}
	if n == begin {
		return nil, "", false
	}
	sign := ""
	if negative {
		sign = "-"
	}
	i, err := strconv.ParseInt(sign+text[begin:n], base, 64)
	return value.Int(i), text[n:], err == nil
}

func digitOf(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return math.MaxInt
}

func (d *directive) float(text string) (value.Value, string, bool) {
	limit := min(d.width, len(text))
	n := 0
	if n < limit && (text[n] == '-' || text[n] == '+') {
		n++
	}
	begin := n
	for n < limit && isDigit(text[n]) {
		n++
	}
	digits := n > begin
	if n < limit && text[n] == '.' {
		for n++; n < limit && isDigit(text[n]); n++ {
			digits = true
		}
	}
	if !digits {
		return nil, "", false
	}
	if n < limit && (text[n] == 'e' || text[n] == 'E') {
		m := n + 1
		if m < limit && (text[m] == '-' || text[m] == '+') {
			m++
		}
		if m < limit && isDigit(text[m]) {
			for n = m; n < limit && isDigit(text[n]); n++ {
			}
		}
	}
	f, err := strconv.ParseFloat(text[:n], 64)
	return value.Float(f), text[n:], err == nil
}
