package hocon

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind uint8

const (
	tokEnd     kind = iota
	tokNewline      // a line has ended
	tokSpace        // white space that separates nothing
	tokPunct        // { } [ ] : = , or += in text
	tokText         // unquoted text, and the white space between two simple values
	tokString       // quoted
	tokValue        // number, boolean, null
	tokRef          // ${path}
)

type token struct {
	kind     kind
	line     int
	text     string // its form when it is joined with others
	v        any    // of tokValue
	path     []string
	optional bool
}

func (t token) is(punct string) bool { return t.kind == tokPunct && t.text == punct }

// simple reports whether white space after the token may be part of a value.
func (t token) simple() bool {
	return t.kind == tokText || t.kind == tokString || t.kind == tokValue || t.kind == tokRef
}

// blank reports whether the token is white space within a line.
func (t token) blank() bool {
	return t.kind == tokSpace || t.kind == tokText && strings.TrimFunc(t.text, isSpace) == ""
}

// String returns the name of the token for messages.
func (t token) String() string {
	switch t.kind {
	case tokEnd:
		return "end of file"
	case tokNewline:
		return "the end of the line"
	case tokRef:
		return "a substitution"
	}
	return strconv.Quote(t.text)
}

// scanner cuts text into tokens, in one pass.
type scanner struct {
	s      string
	i      int
	line   int
	tokens []token
	count  int // of tokens, with those of substitutions
}

func scan(s string) ([]token, error) {
	sc := &scanner{s: s, line: 1}
	if err := sc.until(false); err != nil {
		return nil, err
	}
	return append(sc.tokens, token{kind: tokEnd, line: sc.line}), nil
}

func (sc *scanner) fail(format string, args ...any) error {
	return &Error{Line: sc.line, Problem: fmt.Sprintf(format, args...)}
}

func (sc *scanner) add(t token) {
	sc.tokens = append(sc.tokens, t)
	sc.count++
}

// reserved characters are not allowed in unquoted text.
const reserved = "$\"{}[]:=,+#`^?!@*&\\"

// until reads to the end of the text, or to the closing brace of a
// substitution.
func (sc *scanner) until(brace bool) error {
	simple := false // the token before was a simple value
	for {
		if sc.count > maxTokens {
			return sc.fail("the document has more than %d words, signs and spaces", maxTokens)
		}
		from := sc.i
		sc.skipSpace()
		space := sc.s[from:sc.i]
		if sc.i >= len(sc.s) {
			if brace {
				return sc.fail("a substitution ${ is not closed")
			}
			return nil
		}
		c := sc.s[sc.i]
		if space != "" {
			kind := tokSpace
			if simple {
				kind = tokText // dropped again unless a simple value follows
			}
			sc.add(token{kind: kind, line: sc.line, text: space})
		}
		simple = false
		switch {
		case c == '\n':
			sc.add(token{kind: tokNewline, line: sc.line})
			sc.i++
			sc.line++
			continue
		case sc.comment():
			end := strings.IndexByte(sc.s[sc.i:], '\n')
			if end < 0 {
				end = len(sc.s) - sc.i
			}
			sc.i += end
			continue
		case c == '}' && brace:
			sc.i++
			return nil
		case strings.IndexByte("{}[]:=,", c) >= 0:
			sc.add(token{kind: tokPunct, line: sc.line, text: sc.s[sc.i : sc.i+1]})
			sc.i++
			continue
		case c == '+':
			if !strings.HasPrefix(sc.s[sc.i:], "+=") {
				return sc.fail("a + must be followed by =; put text with a + in quotes")
			}
			sc.add(token{kind: tokPunct, line: sc.line, text: "+="})
			sc.i += 2
			continue
		}
		simple = true
		var err error
		switch {
		case c == '"':
			err = sc.quoted()
		case c == '$':
			err = sc.substitution()
		case c >= '0' && c <= '9' || c == '-':
			sc.number()
		case strings.IndexByte(reserved, c) >= 0:
			err = sc.fail("the character %c is reserved; put the text in quotes", c)
		default:
			sc.bare()
		}
		if err != nil {
			return err
		}
	}
}

// isSpace reports whether r is white space by the specification.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || r == 0xFEFF || r >= 0x1C && r <= 0x1F || r == 0xA0
}

func (sc *scanner) skipSpace() {
	for sc.i < len(sc.s) {
		r, n := utf8.DecodeRuneInString(sc.s[sc.i:])
		if r == '\n' || !isSpace(r) {
			return
		}
		sc.i += n
	}
}

func (sc *scanner) comment() bool {
	return sc.s[sc.i] == '#' || strings.HasPrefix(sc.s[sc.i:], "//")
}

// bare reads unquoted text. If it begins with true, false or null, that is a
// separate value, whatever follows.
func (sc *scanner) bare() {
	from := sc.i
	for sc.i < len(sc.s) {
		r, n := utf8.DecodeRuneInString(sc.s[sc.i:])
		if r < utf8.RuneSelf && strings.IndexByte(reserved, byte(r)) >= 0 || isSpace(r) || sc.comment() {
			break
		}
		sc.i += n
		switch sc.s[from:sc.i] {
		case "true":
			sc.add(token{kind: tokValue, line: sc.line, text: "true", v: true})
			return
		case "false":
			sc.add(token{kind: tokValue, line: sc.line, text: "false", v: false})
			return
		case "null":
			sc.add(token{kind: tokValue, line: sc.line, text: "null"})
			return
		}
	}
	sc.add(token{kind: tokText, line: sc.line, text: sc.s[from:sc.i]})
}

// number reads text that begins like a number. If it is not a number, it is
// unquoted text.
func (sc *scanner) number() {
	from := sc.i
	float := false
	for sc.i++; sc.i < len(sc.s) && strings.IndexByte("0123456789eE+-.", sc.s[sc.i]) >= 0; sc.i++ {
		switch sc.s[sc.i] {
		case '.', 'e', 'E':
			float = true
		}
	}
	text := sc.s[from:sc.i]
	t := token{kind: tokText, line: sc.line, text: text}
	if v, ok := numeral(text, float); ok {
		t.kind, t.v = tokValue, v
	}
	sc.add(t)
}

// numeral converts as Ruby's Integer and Float do: 010 is octal, and a float
// has digits on both sides of its point. A float without a fraction is an
// integer, as in the original. A number with too many digits stays text,
// because it would cost too much to convert.
func numeral(s string, float bool) (any, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || strings.Contains(digits[1:], "-") && !float {
		return nil, false
	}
	if float {
		if strings.HasSuffix(s, ".") || digits[0] == '.' || strings.Contains(s, ".e") || strings.Contains(s, ".E") {
			return nil, false
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, false
		}
		if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
			return int64(f), true
		}
		return f, true
	}
	base := 10
	if len(digits) > 1 && digits[0] == '0' {
		base = 8
	}
	n, err := strconv.ParseInt(s, base, 64)
	if err == nil {
		return n, true
	}
	if errors.Is(err, strconv.ErrRange) && len(digits) <= maxDigits {
		if n, ok := new(big.Int).SetString(s, base); ok {
			return n, true
		}
	}
	return nil, false
}

// quoted reads a string in quotes, or in three of them.
func (sc *scanner) quoted() error {
	if strings.HasPrefix(sc.s[sc.i:], `"""`) {
		return sc.triple()
	}
	line := sc.line
	var b strings.Builder
	for sc.i++; ; {
		if sc.i >= len(sc.s) {
			return sc.fail("a string is not closed")
		}
		r, n := utf8.DecodeRuneInString(sc.s[sc.i:])
		switch {
		case r == '"':
			sc.i++
			sc.add(token{kind: tokString, line: line, text: b.String()})
			return nil
		case r == '\\':
			if err := sc.escape(&b); err != nil {
				return err
			}
		case unicode.IsControl(r):
			return sc.fail("a string in quotes holds the control character %U; write it as an escape, or use \"\"\"", r)
		default:
			b.WriteString(sc.s[sc.i : sc.i+n])
			sc.i += n
		}
	}
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (sc *scanner) escape(b *strings.Builder) error {
	if sc.i+1 >= len(sc.s) {
		return sc.fail("a string is not closed")
	}
	c := sc.s[sc.i+1]
	sc.i += 2
	if plain, ok := escapes[c]; ok {
		b.WriteByte(plain)
		return nil
	}
	if c != 'u' {
		return sc.fail("\\%c is not an escape; write \\\\ for a backslash", c)
	}
	hex := sc.s[sc.i:min(sc.i+4, len(sc.s))]
	n, err := strconv.ParseUint(hex, 16, 16)
	if err != nil || len(hex) < 4 {
		return sc.fail("\\u must be followed by four hexadecimal digits")
	}
	sc.i += 4
	b.WriteRune(rune(n))
	return nil
}

// triple reads a string in three quotes. If it ends with more than three
// quotes, the last three close it.
func (sc *scanner) triple() error {
	line := sc.line
	sc.i += 3
	end := strings.Index(sc.s[sc.i:], `"""`)
	if end < 0 {
		return sc.fail(`a string in """ is not closed`)
	}
	end += sc.i
	for strings.HasPrefix(sc.s[end+3:], `"`) {
		end++
	}
	text := sc.s[sc.i:end]
	sc.line += strings.Count(text, "\n")
	sc.i = end + 3
	sc.add(token{kind: tokString, line: line, text: text})
	return nil
}

func (sc *scanner) substitution() error {
	line := sc.line
	sc.i++
	if !strings.HasPrefix(sc.s[sc.i:], "{") {
		return sc.fail("a $ must be followed by {; put text with a $ in quotes")
	}
	sc.i++
	optional := strings.HasPrefix(sc.s[sc.i:], "?")
	if optional {
		sc.i++
	}
	outer := sc.tokens
	sc.tokens = nil
	err := sc.until(true)
	inner := sc.tokens
	sc.tokens = outer
	if err != nil {
		return err
	}
	path, err := parsePath(inner, line)
	if err != nil {
		return err
	}
	sc.add(token{kind: tokRef, line: line, path: path, optional: optional})
	return nil
}
