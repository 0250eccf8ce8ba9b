package erb

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// literal reads a string, a symbol or a regular expression, if there is one.
func (l *lexer) literal(t *token, c byte) bool {
	operand := !l.afterValue() || l.argument()
	switch c {
	case '"':
		l.pos++
		t.kind, t.parts = tokString, l.quoted('"', 0, true, false)
		l.label(t)
	case '\'':
		l.pos++
		t.kind, t.parts = tokString, l.quoted('\'', 0, false, false)
		l.label(t)
	case '`':
		l.subset(t.line, "a command in backquotes")
	case '/':
		if !operand {
			return false
		}
		l.pos++
		l.regexp(t, '/', 0)
	case '%':
		return operand && l.percent(t)
	case '?':
		r, n := utf8.DecodeRuneInString(l.src[l.pos+1:])
		if l.afterValue() || n == 0 || r == ' ' || r == '\n' || r == '\t' || r == '\\' || l.pos+1+n < len(l.src) && isNameByte(l.src[l.pos+1+n]) {
			return false
		}
		l.pos += 1 + n
		t.kind, t.parts = tokString, []node{&textPart{at(t.line), string(r)}}
	case ':':
		return l.symbol(t)
	case '<':
		rest := l.src[l.pos:]
		if operand && (strings.HasPrefix(rest, "<<~") || strings.HasPrefix(rest, "<<-") || strings.HasPrefix(rest, "<<") && len(rest) > 2 && (rest[2] >= 'A' && rest[2] <= 'Z')) {
			l.subset(t.line, "a here document (<<)")
		}
		return false
	default:
		return false
	}
	return true
}

// argument reports whether the next character can begin the first argument of a
// call without parentheses. A name and a blank precede it, and a blank does not
// follow it.
func (l *lexer) argument() bool {
	if l.prev.kind != tokName || l.isLocal(l.prev.text) {
		return false
	}
	before := l.pos > l.prev.end
	c := l.byte(1)
	return before && c != ' ' && c != '\t' && c != '\n' && c != '='
}

// label converts a string that is followed by : to a key.
func (l *lexer) label(t *token) {
	if l.byte(0) == ':' && l.byte(1) != ':' && l.ternary == 0 && (l.prev.kind == tokOp && (l.prev.text == "{" || l.prev.text == "," || l.prev.text == "(")) {
		l.pos++
		t.kind = tokLabel
	}
}

func closing(c byte) byte {
	switch c {
	case '(':
		return ')'
	case '[':
		return ']'
	case '{':
		return '}'
	case '<':
		return '>'
	}
	return c
}

// percent reads %w(…), %q(…), %r{…} and similar literals.
func (l *lexer) percent(t *token) bool {
	kind, open := byte('Q'), l.byte(1)
	n := 2
	if open != 0 && strings.IndexByte("wWiIqQrsx", open) >= 0 {
		kind, open = open, l.byte(2)
		n = 3
	}
	if open == 0 || open == ' ' || open == '\n' || open == '=' && n == 2 || isNameByte(open) {
		return false
	}
	shut := closing(open)
	nest := open
	if shut == open {
		nest = 0
	}
	l.pos += n
	switch kind {
	case 'w', 'W', 'i', 'I':
		t.kind = tokWords
		t.text = string(kind)
		t.words = l.words(shut, nest, kind == 'W' || kind == 'I')
	case 'q':
		t.kind, t.parts = tokString, l.quoted(shut, nest, false, false)
	case 'Q':
		t.kind, t.parts = tokString, l.quoted(shut, nest, true, false)
	case 'r':
		l.regexp(t, shut, nest)
	case 's':
		t.kind, t.parts = tokSymbol, l.quoted(shut, nest, false, false)
	default:
		l.subset(t.line, "a command in %x")
	}
	return true
}

// words reads the words of a %w list.
func (l *lexer) words(shut, nest byte, double bool) []string {
	start := l.ln
	var list []string
	var b []byte
	in := false
	end := func() {
		if in {
			list = append(list, string(b))
		}
		b, in = nil, false
	}
	for depth := 0; ; {
		if l.pos >= len(l.src) {
			l.fail(start, "the list of words does not end")
		}
		c := l.src[l.pos]
		l.pos++
		switch {
		case c == '\\' && l.pos < len(l.src):
			b, in = append(b, l.src[l.pos]), true
			l.pos++
		case double && c == '#' && l.byte(0) == '{':
			l.subset(l.ln, "#{} in a %W list")
		case c == '\n':
			l.ln++
			end()
		case c == ' ' || c == '\t' || c == '\r':
			end()
		case c == shut && depth == 0:
			end()
			return list
		case c == 0:
			l.fail(start, "the list of words does not end")
		default:
			if nest != 0 && c == nest {
				depth++
			} else if c == shut {
				depth--
			}
			b, in = append(b, c), true
		}
	}
}

// symbol reads :name, :"text" or an operator as a symbol. If the : is an
// operator, ok is false.
func (l *lexer) symbol(t *token) (ok bool) {
	c := l.byte(1)
	if l.afterValue() && (l.ternary > 0 || !(l.prev.kind == tokName && l.pos > l.prev.end)) {
		return false
	}
	switch {
	case c == '"':
		l.pos += 2
		t.kind, t.parts = tokSymbol, l.quoted('"', 0, true, false)
		return true
	case c == '\'':
		l.pos += 2
		t.kind, t.parts = tokSymbol, l.quoted('\'', 0, false, false)
		return true
	case isNameStart(c) || c == '@':
		l.pos++
		start := l.pos
		if c == '@' {
			l.pos++
		}
		l.word()
		if d := l.byte(0); (d == '?' || d == '!') && l.byte(1) != '=' || d == '=' && l.byte(1) != '=' && l.byte(1) != '>' && l.byte(1) != '~' {
			l.pos++
		}
		t.kind, t.parts = tokSymbol, []node{&textPart{at(t.line), l.src[start:l.pos]}}
		return true
	}
	for _, op := range []string{"[]=", "[]", "<=>", "===", "==", "=~", "<<", ">>", "<=", ">=", "**", "!=", "+", "-", "*", "/", "%", "<", ">", "!", "&", "|", "^", "~"} {
		if strings.HasPrefix(l.src[l.pos+1:], op) {
			l.pos += 1 + len(op)
			t.kind, t.parts = tokSymbol, []node{&textPart{at(t.line), op}}
			return true
		}
	}
	return false
}

func (l *lexer) regexp(t *token, shut, nest byte) {
	t.kind = tokRegexp
	t.parts = l.quoted(shut, nest, true, true)
	start := l.pos
	for strings.IndexByte("imxounse", l.byte(0)) >= 0 && l.byte(0) != 0 {
		l.pos++
	}
	t.text = l.src[start:l.pos]
}

// quoted reads a string up to shut. If double is set, it has escapes and #{}.
// In a regular expression, escapes are kept. nest opens another level; 0 means
// that no character does.
func (l *lexer) quoted(shut, nest byte, double, regex bool) []node {
	start := l.ln
	var parts []node
	var b []byte
	flush := func() {
		if len(b) > 0 {
			parts = append(parts, &textPart{at(l.ln), string(b)})
			b = nil
		}
	}
	for depth := 0; ; {
		if l.pos >= len(l.src) {
			l.fail(start, "the string does not end")
		}
		c := l.src[l.pos]
		switch {
		case c == shut && depth == 0:
			l.pos++
			flush()
			if parts == nil {
				parts = []node{&textPart{at(start), ""}}
			}
			return parts
		case c == '\\' && l.pos+1 < len(l.src):
			b = l.escape(b, shut, nest, double, regex)
			continue
		case double && c == '#' && l.byte(1) == '{':
			flush()
			l.pos += 2
			parts = append(parts, l.embedded())
			continue
		case double && c == '#' && l.byte(1) == '@' && isNameStart(l.byte(2)):
			flush()
			l.pos += 2
			parts = append(parts, &ivarNode{at: at(l.ln), name: l.word()})
			continue
		case c == 0:
			l.fail(start, "the string does not end in its tag")
		case c == '\n':
			l.ln++
		case nest != 0 && c == nest:
			depth++
		case c == shut:
			depth--
		}
		b = append(b, c)
		l.pos++
	}
}

// escape reads a backslash and the character after it.
func (l *lexer) escape(b []byte, shut, nest byte, double, regex bool) []byte {
	c := l.src[l.pos+1]
	if c == '\n' {
		l.ln++
	}
	l.pos += 2
	switch {
	case regex:
		if c == '/' {
			return append(b, '/')
		}
		return append(b, '\\', c)
	case !double:
		if c == shut || c == '\\' || nest != 0 && c == nest {
			return append(b, c)
		}
		return append(b, '\\', c)
	}
	switch c {
	case 'n':
		return append(b, '\n')
	case 't':
		return append(b, '\t')
	case 's':
		return append(b, ' ')
	case 'r':
		return append(b, '\r')
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return append(b, byte(l.digits(2, 8, int(c-'0'))))
	case 'e':
		return append(b, 27)
	case 'a':
		return append(b, 7)
	case 'b':
		return append(b, 8)
	case 'f':
		return append(b, 12)
	case 'v':
		return append(b, 11)
	case 'x':
		return append(b, byte(l.digits(2, 16, 0)))
	case 'u':
		if l.byte(0) == '{' {
			end := strings.IndexByte(l.src[l.pos:], '}')
			if end < 0 {
				l.fail(l.ln, "the escape \\u{ does not end")
			}
			for _, s := range strings.Fields(l.src[l.pos+1 : l.pos+end]) {
				n, err := strconv.ParseUint(s, 16, 21)
				if err != nil {
					l.fail(l.ln, "%q is not a character", s)
				}
				b = utf8.AppendRune(b, rune(n))
			}
			l.pos += end + 1
			return b
		}
		return utf8.AppendRune(b, rune(l.digits(4, 16, 0)))
	case '\n':
		return b
	}
	return append(b, c)
}

// digits reads up to most further digits after n.
func (l *lexer) digits(most, base, n int) int {
	for range most {
		d, err := strconv.ParseUint(string(l.byte(0)), base, 8)
		if err != nil || l.byte(0) >= 0x80 {
			break
		}
		n = n*base + int(d)
		l.pos++
	}
	return n
}
