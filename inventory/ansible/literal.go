package ansible

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"bolt/format/ordered"
)

// literal parses the value of a variable in an INI file: a literal of Python
// (docs.python.org/3/library/ast.html#ast.literal_eval), or else the string
// itself. Tuples and sets become lists, bytes become strings.
func literal(s string) any {
	p := pythonParser{s: strings.TrimLeft(s, " \t")}
	v, ok := p.tuple()
	if !ok {
		return s
	}
	p.blank()
	if strings.HasPrefix(p.s, "#") {
		_, p.s, _ = strings.Cut(p.s, "\n")
	}
	if strings.TrimSpace(p.s) != "" {
		return s
	}
	return v
}

// maxNesting is the maximum nesting of collections; a value with more nesting is
// a string.
const maxNesting = 50

// A pythonParser parses literals at the start of s.
type pythonParser struct {
	s     string
	depth int
}

// blank skips white space; within brackets it also skips line breaks and
// comments.
func (p *pythonParser) blank() {
	for {
		p.s = strings.TrimLeft(p.s, " \t\f")
		if p.depth == 0 || p.s == "" || !strings.Contains("\r\n#", p.s[:1]) {
			return
		}
		if p.s[0] == '#' {
			_, p.s, _ = strings.Cut(p.s, "\n")
			continue
		}
		p.s = p.s[1:]
	}
}

func (p *pythonParser) take(prefix string) bool {
	p.blank()
	rest, ok := strings.CutPrefix(p.s, prefix)
	if ok {
		p.s = rest
	}
	return ok
}

// tuple parses one value, or several values separated by commas without
// brackets.
func (p *pythonParser) tuple() (any, bool) {
	v, ok := p.value()
	if !ok || !p.take(",") {
		return v, ok
	}
	list := []any{v}
	for {
		before := p.s
		if v, ok = p.value(); !ok {
			p.s = before
			return list, true // the caller checks the rest of the string
		}
		list = append(list, v)
		if !p.take(",") {
			return list, true
		}
	}
}

func (p *pythonParser) value() (any, bool) {
	p.blank()
	if p.s == "" || p.depth > maxNesting {
		return nil, false
	}
	switch c := p.s[0]; {
	case c == '[' || c == '(' || c == '{':
		p.s = p.s[1:]
		p.depth++
		defer func() { p.depth-- }()
		if c == '{' {
			return p.braces()
		}
		return p.list(map[byte]string{'[': "]", '(': ")"}[c], c == '(')
	case c == '-' || c == '+':
		p.s = p.s[1:]
		p.blank()
		v, ok := p.number() // a literal cannot have two signs
		if ok && c == '-' {
			v = negative(v)
		}
		return v, ok
	case c >= '0' && c <= '9' || c == '.':
		return p.number()
	}
	if v, ok := p.text(); ok {
		return v, true
	}
	word := p.word()
	switch word {
	case "True":
		return true, true
	case "False":
		return false, true
	case "None":
		return nil, true
	}
	return nil, false
}

// negative returns the negated number.
func negative(n any) any {
	switch n := n.(type) {
	case int64:
		return -n
	case float64:
		return -n
	case *big.Int:
		if n = new(big.Int).Neg(n); n.IsInt64() {
			return n.Int64()
		}
		return n
	}
	return n
}

func (p *pythonParser) word() string {
	end := strings.IndexFunc(p.s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r < utf8.RuneSelf
	})
	if end < 0 {
		end = len(p.s)
	}
	word := p.s[:end]
	p.s = p.s[end:]
	return word
}

// list parses the elements of [] or (). In (), one value without a comma is that
// value.
func (p *pythonParser) list(closing string, tuple bool) (any, bool) {
	list := []any{}
	for {
		if p.take(closing) {
			return list, true
		}
		v, ok := p.value()
		if !ok {
			return nil, false
		}
		list = append(list, v)
		switch {
		case p.take(","):
		case p.take(closing):
			if tuple && len(list) == 1 {
				return v, true
			}
			return list, true
		default:
			return nil, false
		}
	}
}

// braces parses a dictionary or a set.
func (p *pythonParser) braces() (any, bool) {
	m := &ordered.Map{}
	var set []any
	for {
		if p.take("}") {
			break
		}
		k, ok := p.value()
		if !ok {
			return nil, false
		}
		switch pair := p.take(":"); {
		case pair && set == nil:
			v, ok := p.value()
			if !ok {
				return nil, false
			}
			name, ok := keyText(k)
			if !ok {
				return nil, false
			}
			m.Set(name, v)
		case !pair && m.Len() == 0:
			set = append(set, k)
		default:
			return nil, false
		}
		if p.take(",") {
			continue
		}
		if !p.take("}") {
			return nil, false
		}
		break
	}
	if set != nil {
		return set, true
	}
	return m, true
}

// keyText returns a key as Python's json module writes it.
func keyText(k any) (string, bool) {
	switch k := k.(type) {
	case string:
		return k, true
	case int64:
		return strconv.FormatInt(k, 10), true
	case bool:
		return strconv.FormatBool(k), true
	case nil:
		return "null", true
	case float64:
		return strconv.FormatFloat(k, 'g', -1, 64), true
	}
	return "", false
}

// number parses a number without a sign.
func (p *pythonParser) number() (any, bool) {
	end := 0
	for end < len(p.s) {
		c := p.s[end] | 0x20
		sign := (p.s[end] == '-' || p.s[end] == '+') && end > 0 && p.s[end-1]|0x20 == 'e' && !strings.HasPrefix(strings.ToLower(p.s), "0x")
		if !sign && p.s[end] != '.' && p.s[end] != '_' && (p.s[end] < '0' || p.s[end] > '9') && (c < 'a' || c > 'z') {
			break
		}
		end++
	}
	text := p.s[:end]
	p.s = p.s[end:]
	const most = 4300 // the limit of Python
	if text == "" || len(text) > most || strings.Contains(text, "__") || strings.HasSuffix(text, "_") || text[0] == '_' {
		return nil, false
	}
	digits := strings.ReplaceAll(text, "_", "")
	if strings.TrimLeft(digits, "0") == "" {
		return int64(0), true
	}
	based := len(digits) > 1 && digits[0] == '0' && strings.ContainsRune("xXoObB", rune(digits[1]))
	if based || strings.Trim(digits, "0123456789") == "" {
		if !based && digits[0] == '0' {
			return nil, false
		}
		n, ok := new(big.Int).SetString(digits, 0)
		switch {
		case !ok:
			return nil, false
		case n.IsInt64():
			return n.Int64(), true
		}
		return n, true
	}
	if strings.Trim(digits, "0123456789.eE+-") != "" {
		return nil, false
	}
	f, err := strconv.ParseFloat(digits, 64)
	return f, err == nil
}

// text parses one or several adjacent quoted strings, which are concatenated.
func (p *pythonParser) text() (string, bool) {
	var all strings.Builder
	found := false
	for {
		p.blank()
		prefix := len(p.s) - len(strings.TrimLeft(p.s, "rRbBuU"))
		if prefix > 2 || prefix == len(p.s) || p.s[prefix] != '"' && p.s[prefix] != '\'' {
			return all.String(), found
		}
		raw := strings.ContainsAny(p.s[:prefix], "rR")
		rest := p.s[prefix:]
		quote := rest[:1]
		if strings.HasPrefix(rest, strings.Repeat(quote, 3)) {
			quote = rest[:3]
		}
		s, after, ok := quoted(rest[len(quote):], quote, raw)
		if !ok {
			return "", false
		}
		all.WriteString(s)
		p.s, found = after, true
	}
}

// quoted parses up to the closing quote.
func quoted(s, quote string, raw bool) (text, after string, ok bool) {
	var b strings.Builder
	for s != "" {
		switch {
		case strings.HasPrefix(s, quote):
			return b.String(), s[len(quote):], true
		case s[0] == '\n' && len(quote) == 1:
			return "", "", false
		case s[0] != '\\' || len(s) == 1:
			b.WriteByte(s[0])
			s = s[1:]
		case raw:
			b.WriteString(s[:2])
			s = s[2:]
		default:
			n := escape(&b, s)
			if n == 0 {
				return "", "", false
			}
			s = s[n:]
		}
	}
	return "", "", false
}

// escape writes the meaning of the escape sequence at the start of s, and
// returns its length; 0 if it is not valid.
func escape(b *strings.Builder, s string) int {
	const simple = "\\\\''\"\"a\ab\bf\fn\nr\rt\tv\v"
	c := s[1]
	if i := strings.IndexByte(simple, c); i >= 0 && i%2 == 0 {
		b.WriteByte(simple[i+1])
		return 2
	}
	hex := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	switch {
	case c == '\n':
		return 2
	case hex > 0:
		if len(s) < 2+hex {
			return 0
		}
		n, err := strconv.ParseUint(s[2:2+hex], 16, 32)
		if err != nil || n > utf8.MaxRune {
			return 0
		}
		b.WriteRune(rune(n))
		return 2 + hex
	case c >= '0' && c <= '7':
		end := 2
		for end < len(s) && end < 4 && s[end] >= '0' && s[end] <= '7' {
			end++
		}
		n, _ := strconv.ParseUint(s[1:end], 8, 32) // it contains only digits
		b.WriteRune(rune(n))
		return end
	}
	b.WriteByte('\\') // Python keeps unknown escape sequences
	return 1
}
