package value

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxWidth is the largest width and precision in a format.
const maxWidth = 1 << 20

// Sprintf formats args as Ruby's sprintf does: %d, %-8s, %08.3f, %#x, %2$s,
// %<name>d, %{name}, %*d. For names, the only argument is a hash. fits is as
// for [RubyText]. Other errors are a *[ConversionError].
func Sprintf(format string, args []Value, fits func(bytes int) error) (string, error) {
	p := printer{args: args, fits: fits}
	b, err := p.print(nil, format)
	return string(b), err
}

// printFlags are the flags, the width and the precision of a directive.
type printFlags struct {
	space, alt, plus, minus, zero bool
	hasWidth, hasPrec             bool
	width, prec                   int
}

func (f *printFlags) any() bool { return *f != printFlags{} }

// A printer writes formats and counts the arguments.
type printer struct {
	args       []Value
	next       int
	numbered   bool
	named      bool
	binaryArgs bool // strings are bytes
	fits       func(bytes int) error
}

func badFormat(msg, format string) error {
	return convErr(KindFormat, "%s in the format %q", msg, clip(format))
}

func (p *printer) print(b []byte, format string) ([]byte, error) {
	for i := 0; i < len(format); {
		if format[i] != '%' {
			j := strings.IndexByte(format[i:], '%')
			if j < 0 {
				j = len(format) - i
			}
			b = append(b, format[i:i+j]...)
			i += j
			continue
		}
		d := directiveScanner{p: p, format: format, at: i + 1}
		if err := d.scan(); err != nil {
			return nil, err
		}
		i = d.at
		var err error
		if b, err = d.write(b); err != nil {
			return nil, err
		}
		if err := fitting(p.fits, len(b)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// A directiveScanner parses one directive of a format.
type directiveScanner struct {
	p      *printer
	format string
	at     int
	flags  printFlags
	verb   byte
	arg    Value // nil: the next argument
}

func (d *directiveScanner) bad(msg string) error { return badFormat(msg, d.format) }

// scan parses flags, width, precision, names and the verb.
func (d *directiveScanner) scan() error {
	for d.at < len(d.format) {
		c := d.format[d.at]
		switch c {
		case ' ', '#', '+', '-', '0':
			if err := d.flag(c); err != nil {
				return err
			}
		case '1', '2', '3', '4', '5', '6', '7', '8', '9':
			n, err := d.number()
			if err != nil {
				return err
			}
			if d.at < len(d.format) && d.format[d.at] == '$' {
				if d.arg != nil {
					return d.bad("two numbers of arguments")
				}
				if d.arg, err = d.p.byNumber(n, d.format); err != nil {
					return err
				}
				d.at++
				continue
			}
			if err := d.setWidth(n); err != nil {
				return err
			}
		case '*':
			n, err := d.star()
			if err != nil {
				return err
			}
			if n < 0 {
				d.flags.minus = true
				n = -n
			}
			if err := d.setWidth(n); err != nil {
				return err
			}
		case '.':
			if err := d.precision(); err != nil {
				return err
			}
		case '<', '{':
			whole, err := d.name(c)
			if err != nil || whole {
				return err
			}
		default:
			d.verb = c
			d.at++
			if c == '\n' || c == 0 {
				d.verb = '%'
				d.at--
			}
			return nil
		}
	}
	return d.bad("an unfinished directive")
}

func (d *directiveScanner) flag(c byte) error {
	if d.flags.hasWidth || d.flags.hasPrec {
		return d.bad("a flag behind the width")
	}
	switch c {
	case ' ':
		d.flags.space = true
	case '#':
		d.flags.alt = true
	case '+':
		d.flags.plus = true
	case '-':
		d.flags.minus = true
	case '0':
		d.flags.zero = true
	}
	d.at++
	return nil
}

func (d *directiveScanner) number() (int, error) {
	n := 0
	for d.at < len(d.format) && isDigit(d.format[d.at]) {
		if n = n*10 + int(d.format[d.at]-'0'); n > maxWidth {
			return 0, convErr(KindLimit, "a number in the format %q is larger than %d", clip(d.format), maxWidth)
		}
		d.at++
	}
	return n, nil
}

func (d *directiveScanner) setWidth(n int) error {
	if d.flags.hasWidth || d.flags.hasPrec {
		return d.bad("a second width")
	}
	d.flags.hasWidth, d.flags.width = true, n
	return nil
}

// star reads a number from an argument.
func (d *directiveScanner) star() (int, error) {
	d.at++
	n := digitsAt(d.format, d.at)
	var v Value
	var err error
	if n > d.at && n < len(d.format) && d.format[n] == '$' {
		v, err = d.p.byNumber(atoi(d.format[d.at:n]), d.format)
		d.at = n + 1
	} else {
		v, err = d.p.take(d.format)
	}
	if err != nil {
		return 0, err
	}
	i, err := toInteger(v)
	if err != nil {
		return 0, err
	}
	if !i.IsInt64() || i.Int64() > maxWidth || i.Int64() < -maxWidth {
		return 0, convErr(KindLimit, "the width %s is larger than %d", clip(i.String()), maxWidth)
	}
	return int(i.Int64()), nil
}

func (d *directiveScanner) precision() error {
	if d.flags.hasPrec {
		return d.bad("a second precision")
	}
	d.flags.hasPrec = true
	d.at++
	var err error
	if d.at < len(d.format) && d.format[d.at] == '*' {
		d.flags.prec, err = d.star()
		if d.flags.prec < 0 {
			d.flags.hasPrec, d.flags.prec = false, 0
		}
		return err
	}
	d.flags.prec, err = d.number()
	return err
}

// name parses <name> or {name}. If the name ends the directive, whole is true.
func (d *directiveScanner) name(open byte) (whole bool, err error) {
	closing := byte('>')
	if open == '{' {
		closing = '}'
	}
	end := strings.IndexByte(d.format[d.at:], closing)
	if end < 0 {
		return false, d.bad("a name without its end")
	}
	if d.arg != nil {
		return false, d.bad("a second name")
	}
	d.arg, err = d.p.byName(d.format[d.at+1:d.at+end], d.format)
	d.at += end + 1
	if open == '{' {
		d.verb = '{'
	}
	return open == '{', err
}

// take returns the next argument.
func (p *printer) take(format string) (Value, error) {
	switch {
	case p.numbered:
		return nil, badFormat("an argument without a number after one with", format)
	case p.named:
		return nil, badFormat("an argument without a name after one with", format)
	case p.next >= len(p.args):
		return nil, convErr(KindArguments, "the format %q needs more than %d arguments", clip(format), len(p.args))
	}
	p.next++
	return p.args[p.next-1], nil
}

func (p *printer) byNumber(n int, format string) (Value, error) {
	switch {
	case p.next > 0:
		return nil, badFormat("an argument with a number after one without", format)
	case p.named:
		return nil, badFormat("an argument with a number after one with a name", format)
	case n < 1:
		return nil, badFormat("the argument 0", format)
	case n > len(p.args):
		return nil, convErr(KindArguments, "the format %q needs %d arguments, not %d", clip(format), n, len(p.args))
	}
	p.numbered = true
	return p.args[n-1], nil
}

func (p *printer) byName(name, format string) (Value, error) {
	switch {
	case p.next > 0 || p.numbered:
		return nil, badFormat("a name after an argument without", format)
	case len(p.args) != 1:
		return nil, convErr(KindArguments, "the names in the format %q need a hash", clip(format))
	}
	h, ok := p.args[0].(*Hash)
	if !ok {
		return nil, convErr(KindArguments, "the names in the format %q need a hash, not %s", clip(format), article(p.args[0]))
	}
	p.named = true
	v, ok := h.GetString(name)
	if !ok {
		return nil, convErr(KindArguments, "the format %q needs %q, which the hash does not have", clip(format), clip(name))
	}
	return v, nil
}

// write appends the formatted directive.
func (d *directiveScanner) write(b []byte) ([]byte, error) {
	f := &d.flags
	if d.verb == '%' {
		if f.any() {
			return nil, d.bad("flags for a %")
		}
		return append(b, '%'), nil
	}
	if strings.IndexByte("dixXobBuaAeEfgGcsp{", d.verb) < 0 {
		return nil, d.bad("the unknown directive %" + string(rune(d.verb)))
	}
	v := d.arg
	if v == nil {
		var err error
		if v, err = d.p.take(d.format); err != nil {
			return nil, err
		}
	}
	switch d.verb {
	case 's', '{':
		s, err := rubyString(v, d.p.fits)
		return f.text(b, s), err
	case 'p':
		s, err := rubyInspect(v, d.p.binaryArgs, d.p.fits)
		return f.text(b, s), err
	case 'c':
		s, err := toCharacter(v)
		f.hasPrec = false
		return f.text(b, s), err
	case 'a', 'A', 'e', 'E', 'f', 'g', 'G':
		if i, ok := v.(Int); ok && d.verb == 'f' {
			return f.wholeFloat(b, int64(i)), nil
		}
		x, err := toFloat(v)
		if err != nil {
			return nil, err
		}
		return f.float(b, d.verb, x), nil
	}
	if i, ok := v.(Int); ok {
		return f.integer(b, d.verb, big.NewInt(int64(i))), nil
	}
	n, err := toInteger(v)
	if err != nil {
		return nil, err
	}
	return f.integer(b, d.verb, n), nil
}

// text appends s, truncated to the precision and padded to the width.
func (f *printFlags) text(b []byte, s string) []byte {
	if f.hasPrec {
		n := 0
		for i := range s {
			if n == f.prec {
				s = s[:i]
				break
			}
			n++
		}
	}
	pad := 0
	if f.hasWidth {
		pad = f.width - utf8.RuneCountInString(s)
	}
	if !f.minus {
		b = appendRepeat(b, ' ', pad)
	}
	b = append(b, s...)
	if f.minus {
		b = appendRepeat(b, ' ', pad)
	}
	return b
}

// integer appends n in a base. Without a flag for the sign, negative numbers
// are written in two's complement, which continues to the left: ..f01.
func (f *printFlags) integer(b []byte, verb byte, n *big.Int) []byte {
	base, fill, prefix := 10, byte('0'), ""
	switch verb {
	case 'x', 'X':
		base, fill, prefix = 16, 'f', "0"+string(rune(verb))
	case 'o':
		base, fill, prefix = 8, '7', "0"
	case 'b', 'B':
		base, fill, prefix = 2, '1', "0"+string(rune(verb))
	}
	if !f.alt {
		prefix = ""
	}
	width, prec := f.width, -1
	if f.hasPrec {
		prec = f.prec
	}
	var sign byte
	dots := false
	var digits string
	switch {
	case n.Sign() >= 0 || base == 10 || f.plus || f.space:
		switch {
		case n.Sign() < 0:
			sign = '-'
		case f.plus:
			sign = '+'
		case f.space:
			sign = ' '
		}
		if sign != 0 {
			width--
		}
		digits = new(big.Int).Abs(n).Text(base)
	default:
		dots = true
		digits = complement(n, base, fill)
		width -= 2
		prec -= 2
	}
	if verb == 'X' {
		digits = strings.ToUpper(digits)
		if fill == 'f' {
			fill = 'F'
		}
	}
	zero := digits == "0"
	switch {
	case prefix == "0" && dots:
		prefix = ""
	case prefix == "0" && zero:
		digits = ""
		if f.hasPrec {
			prec--
		}
	case prefix == "0" && f.hasPrec && prec > len(digits), prefix != "" && zero:
		prefix = ""
	}
	width -= len(prefix)
	if f.zero && !f.minus && !f.hasPrec {
		prec, width = width, 0
	} else {
		if prec < len(digits) {
			if prefix == "" && prec == 0 && zero {
				digits = ""
			}
			prec = len(digits)
		}
		width -= prec
	}
	if !f.minus {
		b = appendRepeat(b, ' ', width)
	}
	if sign != 0 {
		b = append(b, sign)
	}
	b = append(b, prefix...)
	if dots {
		b = append(b, ".."...)
	} else {
		fill = '0'
	}
	b = appendRepeat(b, fill, prec-len(digits))
	b = append(b, digits...)
	if f.minus {
		b = appendRepeat(b, ' ', width)
	}
	return b
}

// complement returns the digits of a negative number in two's complement, with
// one digit of the infinite run before them.
func complement(n *big.Int, base int, fill byte) string {
	perDigit := bits.Len(uint(base - 1))
	count := (n.BitLen() + perDigit) / perDigit
	n = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(count*perDigit)))
	digits := n.Text(base)
	digits = strings.Repeat("0", count-len(digits)) + digits
	digits = strings.TrimLeft(digits, string(rune(fill)))
	return string(rune(fill)) + digits
}

// wholeFloat appends an integer in the format %f, without converting it to a
// float.
func (f *printFlags) wholeFloat(b []byte, n int64) []byte {
	prec := 6
	if f.hasPrec {
		prec = f.prec
	}
	d := strconv.AppendUint(nil, absInt(n), 10)
	if prec > 0 {
		d = append(d, '.')
	}
	return f.signed(b, n < 0, "", appendRepeat(d, '0', prec))
}

// signed appends a number with its sign and padding.
func (f *printFlags) signed(b []byte, negative bool, prefix string, digits []byte) []byte {
	var sign string
	switch {
	case negative:
		sign = "-"
	case f.plus:
		sign = "+"
	case f.space:
		sign = " "
	}
	pad := f.width - len(sign) - len(prefix) - len(digits)
	if !f.minus && !f.zero {
		b = appendRepeat(b, ' ', pad)
	}
	b = append(append(b, sign...), prefix...)
	if !f.minus && f.zero {
		b = appendRepeat(b, '0', pad)
	}
	b = append(b, digits...)
	if f.minus {
		b = appendRepeat(b, ' ', pad)
	}
	return b
}

// float appends x with one of the verbs a, e, f and g.
func (f *printFlags) float(b []byte, verb byte, x float64) []byte {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		g := *f
		g.zero = false
		name := "Inf"
		if math.IsNaN(x) {
			name = "NaN"
		}
		return g.signed(b, x < 0, "", []byte(name))
	}
	negative := math.Signbit(x)
	x = math.Abs(x)
	prec := 6
	if f.hasPrec {
		prec = f.prec
	}
	lower := verb | 0x20
	var d []byte
	prefix := ""
	switch lower {
	case 'f':
		d = appendFixed(nil, x, prec)
		if f.alt && prec == 0 {
			d = append(d, '.')
		}
	case 'e':
		d = f.point(appendExponent(nil, x, prec), 'e')
	case 'g':
		d = f.general(x, max(prec, 1))
	case 'a':
		if !f.hasPrec {
			prec = -1
		}
		d = shortExponent(f.point(strconv.AppendFloat(nil, x, 'x', prec, 64)[2:], 'p'))
		prefix = "0x"
	}
	if verb < 'a' {
		d = []byte(strings.ToUpper(string(d)))
		prefix = strings.ToUpper(prefix)
	}
	return f.signed(b, negative, prefix, d)
}

// point inserts a point before the exponent if the alternative form is set.
func (f *printFlags) point(d []byte, exponent byte) []byte {
	s := string(d)
	if !f.alt || strings.IndexByte(s, '.') >= 0 {
		return d
	}
	i := strings.IndexByte(s, exponent)
	return []byte(s[:i] + "." + s[i:])
}

// shortExponent removes the leading zeros from the exponent of a hexadecimal
// float.
func shortExponent(d []byte) []byte {
	i := strings.IndexByte(string(d), 'p') + 2
	for i < len(d)-1 && d[i] == '0' {
		d = append(d[:i], d[i+1:]...)
	}
	return d
}

// general formats x with %g. Small and large numbers have an exponent.
func (f *printFlags) general(x float64, prec int) []byte {
	d := appendExponent(nil, x, prec-1)
	s := string(d)
	i := strings.IndexByte(s, 'e')
	exp, _ := strconv.Atoi(s[i+1:])
	mantissa, tail := s[:i], s[i:]
	if exp >= -4 && exp < prec {
		mantissa, tail = string(appendFixed(nil, x, prec-1-exp)), ""
	}
	if f.alt {
		if strings.IndexByte(mantissa, '.') < 0 {
			mantissa += "."
		}
	} else if strings.IndexByte(mantissa, '.') >= 0 && !zerosStay(x, prec) {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	return []byte(mantissa + tail)
}

// toInteger returns the integer that %d formats for v.
func toInteger(v Value) (*big.Int, error) {
	switch v := v.(type) {
	case Int:
		return big.NewInt(int64(v)), nil
	case *BigInt:
		return v.Big(), nil
	case Float:
		x := float64(v)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, convErr(KindValue, "%s is not a whole number", floatString(x))
		}
		n, _ := big.NewFloat(x).Int(nil)
		return n, nil
	case String:
		n, ok := parseInteger(string(v), 0)
		if !ok {
			return nil, convErr(KindValue, "the string %q is not a whole number", clip(string(v)))
		}
		return n, nil
	case Timespan:
		return floorSeconds(int64(v)), nil
	case Timestamp:
		return big.NewInt(v.Unix()), nil
	}
	return nil, convErr(KindValue, "%s cannot be a whole number", article(v))
}

// floorSeconds converts nanoseconds to seconds, rounded down.
func floorSeconds(ns int64) *big.Int {
	s := ns / nsPerSec
	if ns%nsPerSec < 0 {
		s--
	}
	return big.NewInt(s)
}

// toFloat returns the number that %f formats for v.
func toFloat(v Value) (float64, error) {
	switch v := v.(type) {
	case Int:
		return float64(v), nil
	case *BigInt:
		x, _ := new(big.Float).SetInt(v.n).Float64()
		return x, nil
	case Float:
		return float64(v), nil
	case String:
		x, ok := parseFloat(string(v))
		if !ok {
			return 0, convErr(KindValue, "the string %q is not a number", clip(string(v)))
		}
		return x, nil
	case Timespan:
		return v.Seconds(), nil
	case Timestamp:
		return v.Seconds(), nil
	}
	return 0, convErr(KindValue, "%s cannot be a number", article(v))
}

// toCharacter returns the character that %c formats for v.
func toCharacter(v Value) (string, error) {
	if s, ok := v.(String); ok {
		if utf8.RuneCountInString(string(s)) != 1 {
			return "", convErr(KindValue, "the string %q is not one character", clip(string(s)))
		}
		return string(s), nil
	}
	n, err := toInteger(v)
	if err != nil {
		return "", err
	}
	return character(n)
}

// character returns the character of a code point.
func character(n *big.Int) (string, error) {
	if !n.IsInt64() || n.Int64() < 0 || n.Int64() > utf8.MaxRune || !utf8.ValidRune(rune(n.Int64())) {
		return "", convErr(KindValue, "%s is not the code point of a character", clip(n.String()))
	}
	return string(rune(n.Int64())), nil
}

// appendRepeat appends c n times.
func appendRepeat(b []byte, c byte, n int) []byte {
	for ; n > 0; n-- {
		b = append(b, c)
	}
	return b
}
