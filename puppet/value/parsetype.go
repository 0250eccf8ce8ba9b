package value

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseType parses a type in the syntax of the language: Array[Integer, 1],
// Struct[{'a' => String}]. Arguments can be literals and types, but not
// variables, calls or operators. Names are looked up with [Builtin]. An unknown
// name becomes a [ReferenceType]. An error is a [*TypeError].
func ParseType(src string) (Type, error) { return parseTypeWith(src, nil) }

// parseTypeWith is [ParseType] that also looks up names with lookup, if lookup
// is not nil.
func parseTypeWith(src string, lookup func(name string) (Type, bool)) (Type, error) {
	p := typeParser{src: src, lookup: lookup}
	v, err := p.whole()
	if err != nil {
		return nil, err
	}
	t, ok := v.(Type)
	if !ok {
		return nil, typeErrorf("syntax", -1, "%s is not a type", clipText(src))
	}
	return t, nil
}

// clipText returns the beginning of a string, for messages.
func clipText(s string) string {
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "…"
	}
	return quoteString(s)
}

// A typeParser parses types by recursive descent.
type typeParser struct {
	src    string
	at     int
	depth  int
	lookup func(name string) (Type, bool)
}

func (p *typeParser) errorf(format string, args ...any) error {
	return typeErrorf("syntax", -1, "%s in the type %s, at character %d", fmt.Sprintf(format, args...), clipText(p.src), p.at+1)
}

func (p *typeParser) whole() (Value, error) {
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	if p.blanks(); p.at < len(p.src) {
		return nil, p.errorf("%q is not expected", p.src[p.at])
	}
	return v, nil
}

// blanks skips blanks and comments.
func (p *typeParser) blanks() {
	for p.at < len(p.src) {
		switch p.src[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		case '#':
			n := strings.IndexByte(p.src[p.at:], '\n')
			if n < 0 {
				n = len(p.src) - p.at
			}
			p.at += n
		default:
			return
		}
	}
}

// skip skips s if it is next.
func (p *typeParser) skip(s string) bool {
	p.blanks()
	if !strings.HasPrefix(p.src[p.at:], s) {
		return false
	}
	p.at += len(s)
	return true
}

// value = type | list | hash | string | regexp | number | word.
func (p *typeParser) value() (Value, error) {
	if p.depth++; p.depth > maxTypeDepth {
		return nil, p.errorf("there are too many levels")
	}
	defer func() { p.depth-- }()
	p.blanks()
	if p.at == len(p.src) {
		return nil, p.errorf("more is expected")
	}
	switch c := p.src[p.at]; {
	case 'A' <= c && c <= 'Z' || strings.HasPrefix(p.src[p.at:], "::"):
		return p.typ()
	case c == '[':
		p.at++
		list, err := p.list("]")
		if err != nil {
			return nil, err
		}
		return NewArray(list...), nil
	case c == '{':
		p.at++
		return p.hash()
	case c == '\'':
		return p.single()
	case c == '"':
		return p.double()
	case c == '/':
		return p.regexp()
	case c == '-' || c == '+' || '0' <= c && c <= '9':
		return p.number()
	}
	return p.word()
}

// typ = name [ "[" list "]" ].
func (p *typeParser) typ() (Value, error) {
	start := p.at
	for p.at < len(p.src) && (isWord(p.src[p.at:p.at+1]) || p.src[p.at] == ':') {
		p.at++
	}
	name := strings.TrimPrefix(p.src[start:p.at], "::")
	if !isQualifiedReference(name) {
		return nil, p.errorf("%s is not the name of a type", quoteString(name))
	}
	t, ok := Builtin(name)
	if !ok && p.lookup != nil {
		t, ok = p.lookup(name)
	}
	if !p.skip("[") {
		if !ok {
			return &ReferenceType{name}, nil
		}
		return t, nil
	}
	args, err := p.list("]")
	if err != nil {
		return nil, err
	}
	switch {
	case !ok:
		return &ReferenceType{p.src[start:p.at]}, nil
	case t == Type(anyResource) || t == Type(anyClass):
		return refer(t, args)
	case t == Type(anyReference) && len(args) == 1:
		if text, ok := args[0].(String); ok {
			return &ReferenceType{string(text)}, nil
		}
	}
	if _, ok := t.(*ResourceType); ok {
		return refer(t, args)
	}
	return Parametrize(t, args)
}

// list = [ value { "," value } [ "," ] ] end.
func (p *typeParser) list(end string) ([]Value, error) {
	var list []Value
	for !p.skip(end) {
		if len(list) > 0 && !p.skip(",") {
			return nil, p.errorf("a comma or %s is expected", end)
		}
		if len(list) > 0 && p.skip(end) {
			break
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// hash = [ entry { "," entry } [ "," ] ] "}"; entry = value "=>" value.
func (p *typeParser) hash() (Value, error) {
	var b HashBuilder
	for n := 0; !p.skip("}"); n++ {
		if n > 0 && !p.skip(",") {
			return nil, p.errorf("a comma or } is expected")
		}
		if n > 0 && p.skip("}") {
			break
		}
		k, err := p.value()
		if err != nil {
			return nil, err
		}
		if !p.skip("=>") {
			return nil, p.errorf("=> is expected")
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		b.Put(k, v)
	}
	return b.Build(), nil
}

func (p *typeParser) single() (Value, error) {
	var b strings.Builder
	for i := p.at + 1; i < len(p.src); i++ {
		switch c := p.src[i]; {
		case c == '\'':
			p.at = i + 1
			return String(b.String()), nil
		case c == '\\' && i+1 < len(p.src) && (p.src[i+1] == '\'' || p.src[i+1] == '\\'):
			i++
			b.WriteByte(p.src[i])
		default:
			b.WriteByte(c)
		}
	}
	return nil, p.errorf("the string does not end")
}

func (p *typeParser) double() (Value, error) {
	var b strings.Builder
	for i := p.at + 1; i < len(p.src); i++ {
		c := p.src[i]
		switch {
		case c == '"':
			p.at = i + 1
			return String(b.String()), nil
		case c == '$' && i+1 < len(p.src) && (p.src[i+1] == '{' || isWord(p.src[i+1:i+2])):
			p.at = i
			return nil, p.errorf("variables are not supported")
		case c != '\\' || i+1 == len(p.src):
			b.WriteByte(c)
			continue
		}
		i++
		switch c := p.src[i]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 's':
			b.WriteByte(' ')
		case '"', '\'', '\\', '$':
			b.WriteByte(c)
		case 'u':
			n, r := unicodeEscape(p.src[i+1:])
			if n == 0 {
				b.WriteString(`\u`)
			} else {
				b.WriteRune(r)
				i += n
			}
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return nil, p.errorf("the string does not end")
}

// unicodeEscape parses the part after \u: four digits, or up to six in braces.
func unicodeEscape(s string) (n int, r rune) {
	digits := ""
	if strings.HasPrefix(s, "{") {
		if end := strings.IndexByte(s, '}'); end > 1 && end <= 7 {
			digits, n = s[1:end], end+1
		}
	} else if len(s) >= 4 {
		digits, n = s[:4], 4
	}
	code, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || code > 0x10ffff || strings.HasPrefix(digits, "+") {
		return 0, 0
	}
	return n, rune(code)
}

func (p *typeParser) regexp() (Value, error) {
	var b strings.Builder
	for i := p.at + 1; i < len(p.src); i++ {
		switch c := p.src[i]; {
		case c == '/':
			r, err := NewRegexp(b.String())
			if err != nil {
				return nil, typeErrorf("pattern", -1, "%v", err)
			}
			p.at = i + 1
			return r, nil
		case c == '\\' && i+1 < len(p.src):
			if i++; p.src[i] != '/' {
				b.WriteByte(c)
			}
			b.WriteByte(p.src[i])
		case c == '\n':
			return nil, p.errorf("the regular expression does not end")
		default:
			b.WriteByte(c)
		}
	}
	return nil, p.errorf("the regular expression does not end")
}

func (p *typeParser) number() (Value, error) {
	start := p.at
	if c := p.src[p.at]; c == '-' || c == '+' {
		p.at++
		p.blanks()
	}
	digits := p.at
	for p.at < len(p.src) {
		c := p.src[p.at]
		exponent := p.at > digits && (p.src[p.at-1] == 'e' || p.src[p.at-1] == 'E') && !strings.HasPrefix(p.src[digits:], "0x")
		if c != '.' && !isWord(string(c)) && !(exponent && (c == '-' || c == '+')) {
			break
		}
		p.at++
	}
	text := p.src[digits:p.at]
	negative := p.src[start] == '-'
	if i, err := strconv.ParseInt(text, 0, 64); err == nil && !strings.Contains(text, "_") && !strings.HasPrefix(text, "0o") && !strings.HasPrefix(text, "0b") {
		if negative {
			i = -i
		}
		return Int(i), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.ContainsAny(text, "_xXpPnN") {
		p.at = start
		return nil, p.errorf("%s is not a number", quoteString(text))
	}
	if negative {
		f = -f
	}
	return Float(f), nil
}

func (p *typeParser) word() (Value, error) {
	start := p.at
	for p.at < len(p.src) && (isWord(p.src[p.at:p.at+1]) || p.src[p.at] == ':' || p.src[p.at] == '-' && p.at > start) {
		p.at++
	}
	switch word := p.src[start:p.at]; word {
	case "":
		return nil, p.errorf("%q is not expected", p.src[p.at])
	case "undef":
		return Undef{}, nil
	case "default":
		return Default{}, nil
	case "true":
		return Bool(true), nil
	case "false":
		return Bool(false), nil
	default:
		return String(word), nil
	}
}
