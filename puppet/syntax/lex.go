package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A lexer splits a text into tokens, one at a time. The meaning of a character
// depends on the tokens before it, but not on the grammar.
//
// Inside a string with interpolation, it alternates between the text of the
// string and code; strs holds the open strings. The text of a heredoc is a
// separate text, whose lines can be without their margin. At @(END), the lexer
// enters this text, saves its state in frames, and returns at the end.
type lexer struct {
	file *File
	frame
	strs   []openString
	frames []frame
	queue  []token // tokens that were found together with a returned one
	tasks  bool

	epp     eppMode
	eppOpen bool

	wordEnded bool // a brace ended an interpolation
	nested    int  // bytes of nested heredocs so far

	err      *Error // of the last tBad
	warnings []*Error
}

// A frame is a text and the position in it.
type frame struct {
	src        string
	pos        int
	base       uint32  // if src is not a part of it
	margin     *margin // if src is not
	lineStart  int     // beginning of the line, for code; lines within strings do not count
	indented   int     // the line is blank up to this position
	noRegexp   bool    // the rest has no slash that closes a regular expression
	jump       int     // beginning of the next line after heredocs; 0: not set
	braces     int
	after      kind // the token before the next one
	strs       int  // number of open strings when the text was entered
	heredoc    bool
	escapes    escapes
	interpol   bool
	segment    bool // the next token is text of a string
	firstToken bool // the next token is the first of an interpolation
}

// An openString is a string with interpolation that is not closed yet.
type openString struct {
	braces  int  // open braces before its ${
	heredoc bool // ends at the end of the text
	off     uint32
}

// maxStrings is the largest depth of nested open strings.
const maxStrings = 200

// Classes of bytes.
const (
	wordByte = 1 << iota
	lowerByte
	upperByte
	digitByte
	hexByte
)

var class = func() (c [256]uint8) {
	for b := 'a'; b <= 'z'; b++ {
		c[b] |= wordByte | lowerByte
	}
	for b := 'A'; b <= 'Z'; b++ {
		c[b] |= wordByte | upperByte
	}
	for b := '0'; b <= '9'; b++ {
		c[b] |= wordByte | digitByte | hexByte
	}
	for b := 'a'; b <= 'f'; b++ {
		c[b] |= hexByte
		c[b-'a'+'A'] |= hexByte
	}
	c['_'] |= wordByte | lowerByte
	return c
}()

// at converts a position in the text to an offset in the file.
func (l *lexer) at(pos int) uint32 {
	if l.margin != nil {
		return l.margin.at(pos)
	}
	return l.base + uint32(pos)
}

func (l *lexer) byteAt(pos int) byte {
	if pos < len(l.src) {
		return l.src[pos]
	}
	return 0
}

// set sets the token from the position start to the current one.
func (l *lexer) set(t *token, k kind, start int) {
	t.kind, t.text = k, ""
	if l.margin == nil {
		t.off, t.end = l.base+uint32(start), l.base+uint32(l.pos)
	} else {
		t.off, t.end = l.margin.at(start), l.margin.at(l.pos)
	}
}

// fail makes t a tBad with an error at a position.
func (l *lexer) fail(t *token, pos int, kind, msg string) {
	off := l.at(pos)
	l.err = &Error{File: l.file, Span: Span{Off: min(off, uint32(len(l.file.Src)))}, Kind: kind, Msg: msg}
	t.kind, t.off, t.end, t.text = tBad, off, off, ""
}

// endsIn is fail for a text that ended too early. The lexer cannot continue
// after it.
func (l *lexer) endsIn(t *token, pos int, kind, msg string) {
	l.fail(t, pos, kind, msg)
	l.err.Incomplete = true
	for len(l.frames) > 0 {
		l.leave()
	}
	l.pos = len(l.src)
	l.strs = l.strs[:0]
	l.segment = false
	l.firstToken = false
	l.queue = l.queue[:0]
	l.eppOpen = false
}

// next returns the next token in t. After the last token it always returns
// tEOF.
func (l *lexer) next(t *token) {
	if len(l.queue) > 0 {
		*t = l.queue[0]
		l.queue = append(l.queue[:0], l.queue[1:]...)
		if len(l.strs) == 0 && len(l.frames) == 0 {
			l.after = t.kind
		}
		return
	}
	switch {
	case l.segment:
		l.tail(t)
	case l.firstToken:
		l.first(t)
	default:
		l.code(t)
	}
}

// first returns the first token of an interpolation. A word that is alone, or
// is followed by a method or an index, is a variable.
func (l *lexer) first(t *token) {
	l.firstToken = false
	l.code(t)
	if !variableInString[t.kind] || len(l.queue) > 0 {
		return
	}
	var second token
	l.wordEnded = false
	l.code(&second)
	// The interpolation was only this word if the text of the string follows.
	ended := second.kind == tDQMid || second.kind == tDQPost
	if ended && l.wordEnded || second.kind == tDot || second.kind == tLBrack {
		t.kind = tVar
	}
	l.queue = append(l.queue, token{})
	copy(l.queue[1:], l.queue)
	l.queue[0] = second
}

var variableInString = func() (v [kinds]bool) {
	v[tNumber], v[tName], v[tWord] = true, true, true
	for k := tTrue; k < kinds; k++ {
		v[k] = true
	}
	return v
}()

// code returns the next token of code.
func (l *lexer) code(t *token) {
	for l.pos < len(l.src) {
		start := l.pos
		c := l.src[start]
		switch {
		case class[c]&lowerByte != 0:
			l.word(t)
			l.after = t.kind
			return
		case class[c]&upperByte != 0:
			l.typeName(t)
			l.after = t.kind
			return
		case class[c]&digitByte != 0:
			l.number(t)
			l.after = t.kind
			return
		}
		k, n := tOther, 1
		switch c {
		case ' ', '\t', '\r':
			i := start + 1
			for i < len(l.src) && (l.src[i] == ' ' || l.src[i] == '\t' || l.src[i] == '\r') {
				i++
			}
			l.pos = i
			continue
		case '\n':
			// Differs from Puppet: if a comment or a string begins after the
			// heredoc on the same line and ends below the heredoc, Puppet reads
			// the lines that it contains again.
			l.pos, l.jump = max(l.jump, l.pos+1), 0
			l.lineStart = l.pos
			continue
		case '#':
			if i := strings.IndexByte(l.src[start:], '\n'); i >= 0 {
				l.pos = start + i
			} else {
				l.pos = len(l.src)
			}
			continue
		case '$':
			i := scanVar(l.src, start+1)
			l.pos = max(i, start+1)
			l.set(t, tVar, start)
			if i > 0 {
				t.text = l.src[start+1 : i]
			}
			l.after = tVar
			return
		case '\'':
			l.singleQuoted(t)
			l.after = t.kind
			return
		case '"':
			l.doubleQuoted(t)
			if t.kind == tString {
				l.after = tString
			}
			return
		case '.':
			k = tDot
		case ',':
			k = tComma
		case '[':
			k = tLBrack
			if start == 0 || blankBefore(l.src, start, true) {
				k = tListStart
			}
		case ']':
			k = tRBrack
		case '(':
			k = tLParen
			if l.beginsLine(start) {
				k = tWSLParen
			}
		case ')':
			k = tRParen
		case ';':
			k = tSemi
		case '?':
			k = tQMark
		case '*':
			k = tTimes
		case '{':
			l.braces++
			k = tLBrace
			if l.after == tQMark {
				k = tSelBrace
			}
		case '}':
			l.braces--
			if len(l.strs) > l.frame.strs && l.braces == l.strs[len(l.strs)-1].braces {
				l.pos++
				l.after = tRBrace
				l.wordEnded = true
				l.tail(t)
				return
			}
			k = tRBrace
		case '%':
			if l.byteAt(start+1) == '>' && l.inEPP() {
				l.endTag(t, false)
				if t.kind != tEOF {
					return
				}
				continue
			}
			k = tModulo
		case '@':
			switch l.byteAt(start + 1) {
			case '@':
				k, n = tAtAt, 2
			case '(':
				l.heredocStart(t)
				return
			default:
				k = tAt
			}
		case '|':
			switch {
			case l.byteAt(start+1) != '>':
				k = tPipe
			case l.byteAt(start+2) == '>':
				k, n = tRRCollect, 3
			default:
				k, n = tRCollect, 2
			}
		case '=':
			switch l.byteAt(start + 1) {
			case '=':
				k, n = tEq, 2
			case '>':
				k, n = tFArrow, 2
			case '~':
				k, n = tMatch, 2
			default:
				k = tEquals
			}
		case '+':
			switch l.byteAt(start + 1) {
			case '=':
				k, n = tAppends, 2
			case '>':
				k, n = tPArrow, 2
			default:
				k = tPlus
			}
		case '-':
			switch d := l.byteAt(start + 1); {
			case d == '%' && l.byteAt(start+2) == '>' && l.inEPP():
				l.endTag(t, true)
				if t.kind != tEOF {
					return
				}
				continue
			case d == '>':
				k, n = tInEdge, 2
			case d == '=':
				k, n = tDeletes, 2
			default:
				k = tMinus
			}
		case '!':
			switch l.byteAt(start + 1) {
			case '=':
				k, n = tNe, 2
			case '~':
				k, n = tNoMatch, 2
			default:
				k = tNot
			}
		case '~':
			if l.byteAt(start+1) == '>' {
				k, n = tInEdgeSub, 2
			}
		case '<':
			switch l.byteAt(start + 1) {
			case '<':
				k, n = tLShift, 2
				if l.byteAt(start+2) == '|' {
					k, n = tLLCollect, 3
				}
			case '=':
				k, n = tLe, 2
			case '|':
				k, n = tLCollect, 2
			case '-':
				k, n = tOutEdge, 2
			case '~':
				k, n = tOutEdgeSub, 2
			default:
				k = tLt
			}
		case '>':
			switch l.byteAt(start + 1) {
			case '>':
				k, n = tRShift, 2
			case '=':
				k, n = tGe, 2
			default:
				k = tGt
			}
		case ':':
			if l.byteAt(start+1) == ':' {
				l.qualified(t)
				l.after = t.kind
				return
			}
			k = tColon
		case '/':
			if l.byteAt(start+1) == '*' {
				i := strings.Index(l.src[start+2:], "*/")
				if i < 0 {
					l.endsIn(t, start, "unclosed-comment", "the comment that begins here with /* is not closed")
					return
				}
				l.pos = start + 2 + i + 2
				continue
			}
			if !divides[l.after] && l.regexp(t) {
				l.after = tRegexp
				return
			}
			k = tDiv
		default:
			if w := blankRune(l.src[start:]); w > 0 {
				l.pos += w
				continue
			}
			_, n = utf8.DecodeRuneInString(l.src[start:])
		}
		l.pos += n
		l.set(t, k, start)
		if k == tOther {
			t.text = l.src[start:l.pos]
		}
		l.after = k
		return
	}
	l.eof(t)
}

// eof handles the end of a frame in code.
func (l *lexer) eof(t *token) {
	switch {
	case len(l.strs) > l.frame.strs:
		// The interpolation is not closed. The rest is text of its string. If
		// the string is a heredoc, it ends correctly here.
		l.tail(t)
	case l.eppOpen && l.epp != eppNone && len(l.frames) == 0:
		l.endsIn(t, l.pos, "unclosed-tag", "the template ends inside a tag: %> is missing")
		l.epp = eppNone
	default:
		l.set(t, tEOF, l.pos)
	}
}

// word makes a token of a bare word: a name, a keyword, or another word.
func (l *lexer) word(t *token) {
	start := l.pos
	end, name := scanWord(l.src, start)
	l.pos = end
	text := l.src[start:end]
	k := tWord
	if name {
		k = keyword(text, l.tasks)
	}
	l.set(t, k, start)
	t.text = text
}

// scanWord returns the end of the bare word at pos, and whether it is a name. A
// word consists of parts that are joined by ::. Each part begins with a-z or _
// and continues with word characters and hyphens, but does not end with a
// hyphen.
func scanWord(src string, pos int) (end int, name bool) {
	name = true
	i := pos
	for {
		if i+2 < len(src) && src[i] == ':' && src[i+1] == ':' && class[src[i+2]]&lowerByte != 0 {
			i += 2
		} else if i > pos {
			return i, name
		}
		if src[i] == '_' {
			name = false
		}
		i++
		for i < len(src) && class[src[i]]&wordByte != 0 {
			i++
		}
		if i < len(src) && src[i] == '-' {
			last := i
			for i < len(src) && (class[src[i]]&wordByte != 0 || src[i] == '-') {
				i++
				if src[i-1] != '-' {
					last = i
					name = false
				}
			}
			i = last
		}
		if i >= len(src) || src[i] != ':' {
			return i, name
		}
	}
}

// scanVar returns the end of the name of a variable at pos, or 0 if there is
// none. The name consists of word characters, joined by ::, with an optional ::
// before them.
func scanVar(src string, pos int) int {
	i := pos
	if i+1 < len(src) && src[i] == ':' && src[i+1] == ':' {
		i += 2
	}
	end := 0
	for {
		begin := i
		for i < len(src) && class[src[i]]&wordByte != 0 {
			i++
		}
		if i == begin {
			return end
		}
		end = i
		if i+1 >= len(src) || src[i] != ':' || src[i+1] != ':' {
			return end
		}
		i += 2
	}
}

// scanType returns the end of the name of a type at pos.
func scanType(src string, pos int) int {
	i := pos
	for {
		if i+2 < len(src) && src[i] == ':' && src[i+1] == ':' && class[src[i+2]]&upperByte != 0 {
			i += 2
		} else if i >= len(src) || i > pos {
			return i
		}
		for i < len(src) && class[src[i]]&wordByte != 0 {
			i++
		}
	}
}

func (l *lexer) typeName(t *token) {
	start := l.pos
	l.pos = scanType(l.src, start)
	if strings.HasPrefix(l.src[l.pos:], "::") {
		l.fail(t, l.pos+1, "bad-type-name", "each part of a type's name begins with a capital letter")
		l.pos += 2
		return
	}
	l.set(t, tTypeName, start)
	t.text = l.src[start:l.pos]
}

// qualified makes a token of a name that begins with ::.
func (l *lexer) qualified(t *token) {
	start := l.pos
	var c uint8
	if start+2 < len(l.src) {
		c = class[l.src[start+2]]
	}
	switch {
	case c&upperByte != 0:
		l.pos = scanType(l.src, start)
		if strings.HasPrefix(l.src[l.pos:], "::") {
			l.fail(t, l.pos+3, "bad-type-name", "each part of a type's name begins with a capital letter")
			l.pos += 2
			return
		}
		l.set(t, tTypeName, start)
		t.text = l.src[start:l.pos]
	case c&lowerByte != 0:
		end, name := scanWord(l.src, start)
		l.pos = end
		l.set(t, tWord, start)
		if name {
			t.kind = tName
		}
		t.text = l.src[start:end]
	default:
		l.pos += 2
		l.fail(t, l.pos, "bad-name", "a name is missing behind ::")
	}
}

// regexp makes a token of a regular expression if there is one.
//
// If a slash is not closed by another slash, all slashes after it are escaped.
// A search from one of these would read the same characters. Therefore it is
// omitted.
func (l *lexer) regexp(t *token) bool {
	if l.noRegexp {
		return false
	}
	start := l.pos
	escaped := false
	for i := start + 1; i < len(l.src); i++ {
		switch l.src[i] {
		case '\\':
			escaped = true
			i++
		case '/':
			l.pos = i + 1
			l.set(t, tRegexp, start)
			t.text = l.src[start+1 : i]
			if escaped {
				t.text = strings.ReplaceAll(t.text, `\/`, "/")
			}
			return true
		}
	}
	l.noRegexp = true
	return false
}

// beginsLine reports whether only blanks precede pos on its line. It looks at
// each blank only once.
func (l *lexer) beginsLine(pos int) bool {
	i := max(l.indented, l.lineStart)
	for i < pos {
		n := 1
		if c := l.src[i]; c != ' ' && c != '\t' && c != '\r' {
			if n = blankRune(l.src[i:]); n == 0 {
				break
			}
		}
		i += n
	}
	l.indented = i
	return i >= pos
}

// blankRune returns the length of the blank character at the beginning of s, or
// 0 if there is none. It does not include space and tab.
func blankRune(s string) int {
	if s[0] < utf8.RuneSelf {
		return 0
	}
	r, n := utf8.DecodeRuneInString(s)
	if unicode.Is(unicode.Zs, r) {
		return n
	}
	return 0
}

// blankBefore reports whether the character before pos is blank or ends a line.
func blankBefore(src string, pos int, lines bool) bool {
	switch c := src[pos-1]; {
	case c == ' ' || c == '\t' || c == '\r':
		return true
	case c == '\n':
		return lines
	case c < utf8.RuneSelf:
		return false
	}
	r, _ := utf8.DecodeLastRuneInString(src[:pos])
	return unicode.Is(unicode.Zs, r)
}

// blankLine reports whether s contains only blanks.
func blankLine(s string) bool {
	for i := 0; i < len(s); {
		switch s[i] {
		case ' ', '\t', '\r':
			i++
		default:
			n := blankRune(s[i:])
			if n == 0 {
				return false
			}
			i += n
		}
	}
	return true
}
