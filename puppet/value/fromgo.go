package value

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"time"
	"unicode/utf8"
)

// FromGo returns data of Go as a value: nil, booleans, numbers, strings, []byte
// (a Binary), time.Duration, time.Time, slices of any, maps with keys of string
// (sorted) and values of any, and values themselves. The error is a
// *[ConversionError].
func FromGo(v any) (Value, error) { return fromGo(v, 0) }

func fromGo(v any, depth int) (Value, error) {
	if depth > MaxDepth {
		return nil, convErr(KindLimit, "data stand more than %d deep in each other", MaxDepth)
	}
	switch v := v.(type) {
	case nil:
		return Undef{}, nil
	case Value:
		return v, nil
	case bool:
		return Bool(v), nil
	case string:
		return String(v), nil
	case int:
		return Int(v), nil
	case int8:
		return Int(v), nil
	case int16:
		return Int(v), nil
	case int32:
		return Int(v), nil
	case int64:
		return Int(v), nil
	case uint:
		return fromUint(uint64(v))
	case uint8:
		return Int(v), nil
	case uint16:
		return Int(v), nil
	case uint32:
		return Int(v), nil
	case uint64:
		return fromUint(v)
	case float32:
		return Float(v), nil
	case float64:
		return Float(v), nil
	case json.Number:
		return numberOfJSON(string(v))
	case []byte:
		return NewBinary(slices.Clone(v)), nil
	case time.Duration:
		return Timespan(v), nil
	case time.Time:
		return NewTimestamp(v), nil
	case []any:
		return fromSlice(v, depth)
	case []string:
		elems := make([]Value, len(v))
		for i, s := range v {
			elems[i] = String(s)
		}
		return NewArray(elems...), nil
	case map[string]any:
		return fromMap(v, depth)
	case map[string]string:
		var b HashBuilder
		for _, k := range sortedKeys(v) {
			b.Put(String(k), String(v[k]))
		}
		return b.Build(), nil
	}
	return nil, convErr(KindUnsupported, "the language has no values for %T", v)
}

func fromUint(n uint64) (Value, error) {
	if n > math.MaxInt64 {
		return nil, convErr(KindRange, "%d does not fit a whole number of 64 bits", n)
	}
	return Int(n), nil
}

func fromSlice(v []any, depth int) (Value, error) {
	elems := make([]Value, len(v))
	for i, e := range v {
		var err error
		if elems[i], err = fromGo(e, depth+1); err != nil {
			return nil, err
		}
	}
	return NewArray(elems...), nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func fromMap(m map[string]any, depth int) (Value, error) {
	var b HashBuilder
	for _, k := range sortedKeys(m) {
		v, err := fromGo(m[k], depth+1)
		if err != nil {
			return nil, err
		}
		b.Put(String(k), v)
	}
	return b.Build(), nil
}

// maxJSONDepth bounds how deep arrays and objects stand in each other in JSON.
const maxJSONDepth = 1000

// FromJSON returns plain data; keys keep their order, and of equal ones the last
// counts. Numbers with a fraction or an exponent are Floats. The error is a
// *[ConversionError].
func FromJSON(b []byte) (Value, error) {
	p := jsonParser{b: b}
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.blanks(); p.at < len(b) {
		return nil, p.bad("text behind the value")
	}
	return v, nil
}

// A jsonParser reads JSON.
type jsonParser struct {
	b  []byte
	at int
}

func (p *jsonParser) bad(what string) error {
	return convErr(KindValue, "json: %s at byte %d", what, p.at)
}

func (p *jsonParser) blanks() {
	for p.at < len(p.b) {
		switch p.b[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
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
		return nil, convErr(KindLimit, "json: arrays and objects stand more than %d deep in each other", maxJSONDepth)
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
	return numberOfJSON(string(p.b[start:p.at]))
}

func (p *jsonParser) digits() (n int) {
	for p.at < len(p.b) && isDigit(p.b[p.at]) {
		p.at++
		n++
	}
	return n
}

// numberOfJSON is the number that s is in JSON.
func numberOfJSON(s string) (Value, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return Int(n), nil
	}
	if _, whole := new(big.Int).SetString(clip(s), 10); whole || len(s) > maxDigits {
		return nil, convErr(KindRange, "json: %s does not fit a number of 64 bits", clip(s))
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, convErr(KindRange, "json: %s does not fit a number of 64 bits", clip(s))
	}
	return Float(x), nil
}

// text reads a string. Bytes that are not UTF-8, and halves of pairs of
// characters, become U+FFFD.
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
		return utf8.AppendRune(s, r), nil
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

// appendJSONString writes a string; only what must be escaped is.
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
// arrays, and hashes with keys of strings. The error, a *[ConversionError], says
// where something else is.
func MarshalData(v Value) ([]byte, error) {
	if err := checkSize(v); err != nil {
		return nil, err
	}
	w := richWriter{plain: true}
	w.value(v)
	return w.b, w.err
}
