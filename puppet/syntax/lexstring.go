package syntax

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// singleQuoted makes a token of '…'. A backslash escapes a backslash or a '.
func (l *lexer) singleQuoted(t *token) {
	start := l.pos
	i, escaped := secondQuote(l.src, start+1, "'")
	for {
		if i >= len(l.src) {
			l.endsIn(t, start+1, "unclosed-string", "the string that begins here with ' is not closed")
			return
		}
		switch l.src[i] {
		case '\\':
			escaped = true
			i += 2
			continue
		case '\'':
			l.pos = i + 1
			l.set(t, tString, start)
			t.text = l.src[start+1 : i]
			if escaped {
				t.text = unescapeSingle(t.text)
			}
			return
		}
		i++
	}
}

func unescapeSingle(s string) string {
	i := 0
	for i < len(s) && (s[i] != '\\' || i+1 == len(s) || s[i+1] != '\\' && s[i+1] != '\'') {
		i++
	}
	if i == len(s) {
		return s
	}
	b := make([]byte, 0, len(s))
	for last := 0; ; {
		b = append(b, s[last:i]...)
		if i == len(s) {
			return string(b)
		}
		b = append(b, s[i+1])
		i += 2
		for last = i; i < len(s) && (s[i] != '\\' || i+1 == len(s) || s[i+1] != '\\' && s[i+1] != '\''); {
			i++
		}
	}
}

// doubleQuoted makes a token of "…", or of its beginning up to the first
// interpolation.
func (l *lexer) doubleQuoted(t *token) {
	start := l.pos
	l.pos++
	l.text(t, start, tString, tDQPre, false)
}

// tail makes a token of the text of a string after an interpolation, or of the
// beginning of the text of a heredoc.
func (l *lexer) tail(t *token) {
	l.segment = false
	l.firstToken = false
	switch {
	case len(l.strs) > l.frame.strs:
		l.text(t, l.pos, tDQPost, tDQMid, l.strs[len(l.strs)-1].heredoc)
	default:
		l.text(t, l.pos, tString, tDQPre, true)
	}
}

// text makes a token of the text of a string up to its end (kind last) or the
// next interpolation (kind more).
func (l *lexer) text(t *token, start int, last, more kind, heredoc bool) {
	begin := l.pos // of the text
	from := begin  // of the part that is not in text yet
	var text strings.Builder
	taken := false // text holds the part before from
	for {
		var end int
		var term byte
		var escaped bool
		if heredoc {
			end, term, escaped = scanHeredocText(l.src, from, l.interpol, l.escapes&escDollar != 0)
			escaped = escaped && l.escapes != 0
		} else {
			end, term, escaped = scanQuoted(l.src, from)
			if term == 0 {
				at := "here"
				if n := len(l.strs); last == tDQPost && n > 0 {
					at = "in line " + strconv.Itoa(l.file.Position(l.strs[n-1].off).Line)
				}
				l.endsIn(t, from, "unclosed-string", `the string that begins `+at+` with " is not closed`)
				return
			}
		}
		if escaped {
			if !taken {
				taken = true
				text.Grow(end - begin)
				text.WriteString(l.src[begin:from])
			}
			set := escapes(escDouble)
			if heredoc {
				set = l.escapes
			}
			after := end + 1
			if term == '{' {
				after++
			}
			if !l.unescape(&text, l.src[from:end], set, heredoc, min(after, len(l.src))) {
				l.pos = end
				err := l.err
				l.endsIn(t, from, err.Kind, err.Msg)
				l.err.Incomplete = false
				return
			}
		} else if taken {
			text.WriteString(l.src[from:end])
		}
		switch term {
		case '$':
			v := scanVar(l.src, end+1)
			if v == 0 { // only a dollar sign
				if taken {
					text.WriteByte('$')
				}
				from = end + 1
				continue
			}
			l.pos = end
			l.set(t, more, start)
			if t.text = l.src[begin:end]; taken {
				t.text = text.String()
			}
			var name token
			l.pos = v
			l.set(&name, tVar, end)
			name.text = l.src[end+1 : v]
			l.queue = append(l.queue, name)
			if last == tString && !l.open(t, start, heredoc) {
				return
			}
			l.segment = true
		case '{':
			l.pos = end + 2
			l.set(t, more, start)
			if t.text = l.src[begin:end]; taken {
				t.text = text.String()
			}
			if last == tString && !l.open(t, start, heredoc) {
				return
			}
			l.strs[len(l.strs)-1].braces = l.braces
			l.braces++
			l.firstToken = true
		default:
			l.pos = end
			if !heredoc {
				l.pos++
			}
			l.set(t, last, start)
			if t.text = l.src[begin:end]; taken {
				t.text = text.String()
			}
			if last == tDQPost {
				l.strs = l.strs[:len(l.strs)-1]
			}
			if heredoc {
				l.leave()
			}
			if len(l.strs) == 0 && len(l.frames) == 0 {
				l.after = last
			}
		}
		return
	}
}

// open registers the beginning of a string with interpolation.
func (l *lexer) open(t *token, start int, heredoc bool) bool {
	if len(l.strs) >= maxStrings {
		l.endsIn(t, start, "too-deep", "strings are nested too deep")
		l.err.Incomplete = false
		return false
	}
	l.strs = append(l.strs, openString{heredoc: heredoc, off: t.off})
	return true
}

// scanQuoted finds the end of a part of a string in double quotes: its quote, a
// $ or the $ of ${ (then term is '{'). If there is none, it returns 0.
func scanQuoted(src string, i int) (end int, term byte, escaped bool) {
	i, escaped = secondQuote(src, i, `"$`)
	for i < len(src) {
		switch src[i] {
		case '\\':
			escaped = true
			i += 2
			continue
		case '"':
			return i, '"', escaped
		case '$':
			if i+1 < len(src) && src[i+1] == '{' {
				return i, '{', escaped
			}
			return i, '$', escaped
		}
		i++
	}
	return len(src), 0, escaped
}

// secondQuote returns the position from which to search the end of a part of a
// string that begins at i. Puppet does not accept the first character as the
// end if another character that can be the end follows it, except for pairs of
// backslashes between them. So """ is the string ".
func secondQuote(src string, i int, ends string) (from int, escaped bool) {
	if i >= len(src) || strings.IndexByte(ends, src[i]) < 0 {
		return i, false
	}
	j := i + 1
	for j+1 < len(src) && src[j] == '\\' && src[j+1] == '\\' {
		j += 2
	}
	if j < len(src) && strings.IndexByte(ends, src[j]) >= 0 {
		return j, j > i+1
	}
	return i, false
}

// scanHeredocText is scanQuoted for the text of a heredoc, whose end is known.
func scanHeredocText(src string, i int, interpol, escapedDollar bool) (end int, term byte, escaped bool) {
	for i < len(src) {
		switch src[i] {
		case '\\':
			escaped = true
			if escapedDollar {
				i++
			}
		case '$':
			if !interpol {
				break
			}
			if i+1 < len(src) && src[i+1] == '{' {
				return i, '{', escaped
			}
			return i, '$', escaped
		}
		i++
	}
	return len(src), 0, escaped
}

// escapes is a set of characters that can be escaped.
type escapes uint16

const (
	escBackslash escapes = 1 << iota
	escQuote             // both quotes
	escDollar
	escT
	escR
	escN
	escS
	escU
	escLine // the line end is removed

	escDouble = escBackslash | escQuote | escDollar | escT | escR | escN | escS | escU | escLine
)

// unescape appends s with the escapes of a set replaced. Other escapes are
// kept. They are a warning at pos, unless the text is a heredoc.
func (l *lexer) unescape(b *strings.Builder, s string, set escapes, heredoc bool, pos int) bool {
	if set&escU != 0 && strings.Contains(s, `\u`) {
		var ok bool
		if s, ok = unescapeUnicode(s); !ok {
			l.err = &Error{Kind: "bad-unicode-escape", Msg: `\u escapes a character that does not exist`}
			return false
		}
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' || i+1 == len(s) {
			b.WriteByte(c)
			continue
		}
		i++
		var is escapes
		switch c = s[i]; c {
		case '\\':
			is = escBackslash
		case '"', '\'':
			is = escQuote
		case '$':
			is = escDollar
		case 't':
			c, is = '\t', escT
		case 'r':
			c, is = '\r', escR
		case 'n':
			c, is = '\n', escN
		case 's':
			c, is = ' ', escS
		case 'u':
			if set&escU != 0 {
				l.warn(pos, "bad-unicode-escape", `\u is followed by neither four hexadecimal digits nor one to six in braces: it stays as it is`)
			}
		case '\n':
			if set&escLine != 0 {
				continue
			}
		case '\r':
			if i+1 == len(s) || s[i+1] != '\n' {
				b.WriteByte('\\')
				i--
				continue
			}
			if set&escLine != 0 {
				i++
				continue
			}
		}
		switch {
		case set&is != 0:
			b.WriteByte(c)
		default:
			b.WriteByte('\\')
			_, n := utf8.DecodeRuneInString(s[i:])
			if !heredoc && s[i] != 'u' {
				l.warn(pos, "unknown-escape", `\`+s[i:i+n]+` is not an escape: it stays as it is`)
			}
			b.WriteString(s[i : i+n])
			i += n - 1
		}
	}
	return true
}

func (l *lexer) warn(pos int, kind, msg string) {
	if len(l.warnings) < maxErrors {
		l.warnings = append(l.warnings, &Error{File: l.file, Span: Span{Off: l.at(pos)}, Kind: kind, Msg: msg})
	}
}

// unescapeUnicode replaces \uXXXX and \u{X…}. The result can contain escapes
// again, so it is repeated until there are none. In one pass, an escape that
// directly follows another one is left for the next pass.
func unescapeUnicode(s string) (string, bool) {
	for range 8 {
		var b []byte
		last := 0     // the text before it is in b
		adjacent := 0 // the end of the last escape
		for i := 0; i < len(s); {
			if s[i] != '\\' {
				i++
				continue
			}
			run := i
			for i < len(s) && s[i] == '\\' {
				i++
			}
			if i == len(s) || s[i] != 'u' || (i-run)%2 == 0 || run > 0 && run == adjacent {
				continue
			}
			r, n := unicodeEscape(s[i+1:])
			if n == 0 {
				continue
			}
			if r > utf8.MaxRune || r >= 0xd800 && r < 0xe000 {
				return "", false
			}
			b = append(b, s[last:i-1]...)
			b = utf8.AppendRune(b, r)
			i += 1 + n
			last, adjacent = i, i
		}
		if b == nil {
			return s, true
		}
		s = string(append(b, s[last:]...))
	}
	return s, true
}

// unicodeEscape parses the part after \u and returns its length, or 0 if it is
// invalid.
func unicodeEscape(s string) (r rune, n int) {
	if len(s) >= 4 {
		for n < 4 && class[s[n]]&hexByte != 0 {
			r = r<<4 | hexValue(s[n])
			n++
		}
		if n == 4 {
			return r, n
		}
	}
	if s == "" || s[0] != '{' {
		return 0, 0
	}
	r = 0
	for n = 1; n < len(s) && n <= 6 && class[s[n]]&hexByte != 0; n++ {
		r = r<<4 | hexValue(s[n])
	}
	if n == 1 || n >= len(s) || s[n] != '}' {
		return 0, 0
	}
	return r, n + 1
}

func hexValue(c byte) rune {
	if c <= '9' {
		return rune(c - '0')
	}
	return rune(c|0x20-'a') + 10
}
