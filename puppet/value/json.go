package value

import (
	"bytes"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxJSONDepth is the largest depth of nested arrays and objects in JSON.
const maxJSONDepth = 1000

// A JSONError is the error of JSON that is invalid or exceeds a limit, with its
// position.
type JSONError struct {
	Line, Column int // from 1; columns are bytes
	Problem      *ConversionError
}

func (e *JSONError) Error() string {
	return fmt.Sprintf("json: line %d, column %d: %s", e.Line, e.Column, e.Problem.Msg)
}

// Unwrap returns the problem.
func (e *JSONError) Unwrap() error { return e.Problem }

// FromJSON returns plain data. Keys keep their order. If a key occurs several
// times, the last value is used. Numbers with a fraction or an exponent are
// Floats. The error is a *[JSONError].
func FromJSON(b []byte) (Value, error) { return (&jsonParser{b: b}).document() }

// FromRubyJSON is FromJSON for files that were written for Ruby's parser, such
// as data of hiera. Ruby also accepts comments (/* … */ and // …), and
// backslashes before characters that do not need them. Half of a surrogate pair
// is an error, because it is not a character.
func FromRubyJSON(b []byte) (Value, error) { return (&jsonParser{b: b, ruby: true}).document() }

// A jsonParser parses JSON.
type jsonParser struct {
	b    []byte
	at   int
	ruby bool // see FromRubyJSON
}

func (p *jsonParser) document() (Value, error) {
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.blanks(); p.at < len(p.b) {
		return nil, p.bad("text behind the value")
	}
	return v, nil
}

func (p *jsonParser) bad(what string) error { return p.fail(p.at, convErr(KindValue, "%s", what)) }

func (p *jsonParser) fail(at int, problem *ConversionError) error {
	before := p.b[:at]
	return &JSONError{bytes.Count(before, []byte("\n")) + 1, at - bytes.LastIndexByte(before, '\n'), problem}
}

func (p *jsonParser) blanks() {
	for p.at < len(p.b) {
		switch p.b[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		case '/':
			n := 0
			if p.ruby {
				n = commentLen(p.b[p.at:])
			}
			if n == 0 {
				return // and values do not begin with a slash
			}
			p.at += n
		default:
			return
		}
	}
}

// commentLen returns the length of the comment at the beginning of text, or 0
// if there is none.
func commentLen(text []byte) int {
	end := ""
	switch {
	case bytes.HasPrefix(text, []byte("//")):
		end = "\n"
	case bytes.HasPrefix(text, []byte("/*")):
		end = "*/"
	default:
		return 0
	}
	n := bytes.Index(text[2:], []byte(end))
	if n < 0 {
		return 0
	}
	return 2 + n + len(end)
}

func (p *jsonParser) peek() byte {
	p.blanks()
	if p.at < len(p.b) {
		return p.b[p.at]
	}
	return 0
}

func (p *jsonParser) value(depth int) (Value, error) {
	if depth > maxJSONDepth {
		return nil, p.fail(p.at, convErr(KindLimit, "arrays and objects stand more than %d deep in each other", maxJSONDepth))
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		s, err := p.text()
		if err != nil {
			return nil, err
		}
		return String(s), nil
	case c == '-' || isDigit(c):
		return p.number()
	case c == 't':
		return p.word("true", Bool(true))
	case c == 'f':
		return p.word("false", Bool(false))
	case c == 'n':
		return p.word("null", Undef{})
	case p.at >= len(p.b):
		return nil, p.bad("nothing where a value should be")
	}
	return nil, p.bad("no value")
}

func (p *jsonParser) word(word string, v Value) (Value, error) {
	if len(p.b)-p.at < len(word) || string(p.b[p.at:p.at+len(word)]) != word {
		return nil, p.bad("no value")
	}
	p.at += len(word)
	return v, nil
}

func (p *jsonParser) array(depth int) (Value, error) {
	p.at++
	if p.peek() == ']' {
		p.at++
		return NewArray(), nil
	}
	var elems []Value
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		elems = append(elems, v)
		switch p.peek() {
		case ',':
			p.at++
		case ']':
			p.at++
			return NewArray(elems...), nil
		default:
			return nil, p.bad("no comma and no end in an array")
		}
	}
}

func (p *jsonParser) object(depth int) (Value, error) {
	p.at++
	var b HashBuilder
	if p.peek() == '}' {
		p.at++
		return b.Build(), nil
	}
	for {
		if p.peek() != '"' {
			return nil, p.bad("no key in an object")
		}
		k, err := p.text()
		if err != nil {
			return nil, err
		}
		if p.peek() != ':' {
			return nil, p.bad("no colon behind a key")
		}
		p.at++
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		b.Put(String(k), v)
		switch p.peek() {
		case ',':
			p.at++
		case '}':
			p.at++
			return b.Build(), nil
		default:
			return nil, p.bad("no comma and no end in an object")
		}
	}
}

func (p *jsonParser) number() (Value, error) {
	start := p.at
	if p.b[p.at] == '-' {
		p.at++
	}
	digits := p.digits()
	if digits == 0 || digits > 1 && p.b[p.at-digits] == '0' {
		return nil, p.bad("no number")
	}
	if p.at < len(p.b) && p.b[p.at] == '.' {
		p.at++
		if p.digits() == 0 {
			return nil, p.bad("no fraction behind a point")
		}
	}
	if p.at < len(p.b) && p.b[p.at]|0x20 == 'e' {
		p.at++
		if p.at < len(p.b) && (p.b[p.at] == '+' || p.b[p.at] == '-') {
			p.at++
		}
		if p.digits() == 0 {
			return nil, p.bad("no exponent behind an e")
		}
	}
	v, err := numberOfJSON(string(p.b[start:p.at]))
	if err != nil {
		return nil, p.fail(start, err)
	}
	return v, nil
}

func (p *jsonParser) digits() (n int) {
	for p.at < len(p.b) && isDigit(p.b[p.at]) {
		p.at++
		n++
	}
	return n
}

// numberOfJSON converts a number in JSON.
//
// Differs from Puppet: a float that does not fit in 64 bits is an error, not
// Infinity.
func numberOfJSON(s string) (Value, *ConversionError) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return Int(n), nil
	}
	if len(s) > maxDigits {
		return nil, convErr(KindRange, "%s has more than %d digits", clip(s), maxDigits)
	}
	if !strings.ContainsAny(s, ".eE") {
		if n, ok := new(big.Int).SetString(s, 10); ok {
			return NewInteger(n), nil
		}
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, convErr(KindRange, "%s does not fit a float of 64 bits", clip(s))
	}
	return Float(x), nil
}

// text parses a string. Bytes that are not UTF-8 become U+FFFD. So do halves of
// surrogate pairs, unless they are errors.
func (p *jsonParser) text() (string, error) {
	p.at++
	start := p.at
	for p.at < len(p.b) && p.b[p.at] != '"' && p.b[p.at] != '\\' && p.b[p.at] >= 0x20 && p.b[p.at] < 0x80 {
		p.at++
	}
	if p.at < len(p.b) && p.b[p.at] == '"' {
		p.at++
		return string(p.b[start : p.at-1]), nil
	}
	s := append([]byte(nil), p.b[start:p.at]...)
	for p.at < len(p.b) {
		c := p.b[p.at]
		switch {
		case c == '"':
			p.at++
			return string(s), nil
		case c < 0x20:
			return "", p.bad("a control character in a string")
		case c == '\\':
			var err error
			if s, err = p.escape(s); err != nil {
				return "", err
			}
		default:
			r, size := utf8.DecodeRune(p.b[p.at:])
			s = utf8.AppendRune(s, r)
			p.at += size
		}
	}
	return "", p.bad("no end of a string")
}

func (p *jsonParser) escape(s []byte) ([]byte, error) {
	p.at++
	if p.at == len(p.b) {
		return nil, p.bad("no end of a string")
	}
	c := p.b[p.at]
	p.at++
	switch c {
	case '"', '\\', '/':
		return append(s, c), nil
	case 'b':
		return append(s, '\b'), nil
	case 'f':
		return append(s, '\f'), nil
	case 'n':
		return append(s, '\n'), nil
	case 'r':
		return append(s, '\r'), nil
	case 't':
		return append(s, '\t'), nil
	case 'u':
		r, ok := p.hex4()
		if !ok {
			return nil, p.bad("no four digits behind \\u")
		}
		if 0xd800 <= r && r < 0xdc00 && p.at+1 < len(p.b) && p.b[p.at] == '\\' && p.b[p.at+1] == 'u' {
			back := p.at
			p.at += 2
			if low, ok := p.hex4(); ok && 0xdc00 <= low && low < 0xe000 {
				return utf8.AppendRune(s, (r-0xd800)<<10+(low-0xdc00)+0x10000), nil
			}
			p.at = back
		}
		if p.ruby && utf16.IsSurrogate(r) {
			return nil, p.bad(`half of a pair of surrogates, such as \ud83d, without the other half`)
		}
		return utf8.AppendRune(s, r), nil
	}
	if p.ruby && c >= ' ' {
		p.at-- // the character can be longer than a byte
		return s, nil
	}
	return nil, p.bad("an unknown escape in a string")
}

func (p *jsonParser) hex4() (rune, bool) {
	if len(p.b)-p.at < 4 {
		return 0, false
	}
	r := rune(0)
	for _, c := range p.b[p.at : p.at+4] {
		d := digitValue(c)
		if d > 15 {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	p.at += 4
	return r, true
}

// appendJSONString writes a string and escapes only the characters that need
// it.
func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x80 {
			r, size := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += size
			continue
		}
		i++
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\t':
			b = append(b, `\t`...)
		case '\r':
			b = append(b, `\r`...)
		case '\b':
			b = append(b, `\b`...)
		case '\f':
			b = append(b, `\f`...)
		default:
			if c < 0x20 {
				b = fmt.Appendf(b, `\u%04x`, c)
			} else {
				b = append(b, c)
			}
		}
	}
	return append(b, '"')
}

// MarshalData returns plain data as JSON: undef, booleans, numbers, strings,
// arrays, and hashes whose keys are strings. If v contains other values, the
// error is a *[ConversionError] with the path to the value.
func MarshalData(v Value) ([]byte, error) {
	if err := checkSize(v); err != nil {
		return nil, err
	}
	w := richWriter{plain: true}
	w.value(v)
	return w.b, w.err
}
