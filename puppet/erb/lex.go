package erb

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokEnd     tokenKind = iota
	tokLine              // a line end, or ;
	tokName              // foo, foo?, foo!
	tokConst             // Foo
	tokIvar              // @foo, without the @
	tokGvar              // $1, without the $
	tokKeyword           // if
	tokNumber            // v
	tokString            // parts
	tokSymbol            // parts
	tokRegexp            // parts, text: the flags
	tokWords             // words, %w
	tokLabel             // foo:
	tokOp                // an operator or a bracket
	tokText              // v: the text of the template
	tokInsert            // <%=
	tokInsertEnd
)

// A token is a token of Ruby.
type token struct {
	kind        tokenKind
	text        string
	v           any
	parts       []node
	words       []string
	line        int
	end         int // of the source
	spaceBefore bool
	spaceAfter  bool
}

func keyword(s string) bool {
	switch s {
	case "if", "unless", "elsif", "else", "end", "while", "until", "for", "in", "do", "case", "when", "then", "begin", "rescue",
		"ensure", "def", "return", "break", "next", "redo", "retry", "and", "or", "not", "nil", "true", "false", "self", "defined?",
		"yield", "class", "module", "super", "alias", "undef", "BEGIN", "END", "__FILE__", "__LINE__":
		return true
	}
	return false
}

// A lexer reads tokens. The parser owns it and provides the names of local
// variables.
type lexer struct {
	src  string
	name string
	pos  int
	ln   int // of pos
	prev token
	// ternary is the number of conditional expressions around whose : has not
	// been read.
	ternary int
	isLocal func(name string) bool
	// embedded parses the program of a #{…} that begins at pos. It sets pos to
	// the byte after its }.
	embedded func() node
}

func (l *lexer) fail(line int, format string, args ...any) {
	panic(&Error{Kind: kindSyntax, Name: l.name, Line: line, Msg: fmt.Sprintf(format, args...)})
}

func (l *lexer) subset(line int, what string) {
	panic(&Error{Kind: kindSubset, Name: l.name, Line: line, Msg: what + outside})
}

// outside ends the message about a construct of Ruby that is not evaluated.
const outside = " is not in the subset of Ruby that bolt evaluates. " + hint

const hint = "Use an EPP template, or compile with --compiler puppet"

// afterValue reports whether the previous token ends an operand.
func (l *lexer) afterValue() bool {
	t := &l.prev
	switch t.kind {
	case tokName, tokConst, tokIvar, tokGvar, tokNumber, tokString, tokSymbol, tokRegexp, tokWords, tokInsertEnd, tokText:
		return true
	case tokOp:
		return t.text == ")" || t.text == "]" || t.text == "}"
	case tokKeyword:
		switch t.text {
		case "end", "self", "nil", "true", "false", "__FILE__", "__LINE__":
			return true
		}
	}
	return false
}

// lineCounts reports whether a line end ends the statement.
func (l *lexer) lineCounts() bool {
	if l.afterValue() {
		return true
	}
	if l.prev.kind == tokKeyword {
		switch l.prev.text {
		case "return", "break", "next", "rescue", "yield", "redo", "retry":
			return true
		}
	}
	return l.prev.kind == tokOp && l.prev.text == "|"
}

// afterDot reports whether the next token is the name of a method, so that any
// name is allowed.
func (l *lexer) afterDot() bool {
	return l.prev.kind == tokOp && (l.prev.text == "." || l.prev.text == "&." || l.prev.text == "::") ||
		l.prev.kind == tokKeyword && l.prev.text == "def"
}

func (l *lexer) byte(i int) byte {
	if l.pos+i < len(l.src) {
		return l.src[l.pos+i]
	}
	return 0
}

// next returns the next token.
func (l *lexer) next() token {
	space := l.blank()
	t := token{line: l.ln, spaceBefore: space}
	start := l.pos
	l.read(&t)
	if l.pos == start && t.kind != tokEnd {
		l.fail(l.ln, "internal error: no progress")
	}
	t.end = l.pos
	c := l.byte(0)
	t.spaceAfter = c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == 0 && l.pos >= len(l.src)
	l.prev = t
	return t
}

// blank skips blanks, comments and insignificant line ends. It reports whether
// it skipped any.
func (l *lexer) blank() bool {
	start := l.pos
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == ' ' || c == '\t' || c == '\r':
			l.pos++
		case c == '\\' && l.byte(1) == '\n':
			l.pos += 2
			l.ln++
		case c == '\\' && l.byte(1) == '\r' && l.byte(2) == '\n':
			l.pos += 3
			l.ln++
		case c == '#':
			if n := strings.IndexByte(l.src[l.pos:], '\n'); n >= 0 {
				l.pos += n
			} else {
				l.pos = len(l.src)
			}
		case c == '\n' && (!l.lineCounts() || l.dotFollows()):
			l.pos++
			l.ln++
		default:
			return l.pos > start
		}
	}
	return l.pos > start
}

// dotFollows reports whether the next line that is not blank begins with a dot
// that calls a method of the previous expression.
func (l *lexer) dotFollows() bool {
	rest := l.src[l.pos:]
	for {
		rest = strings.TrimLeft(rest, " \t\r\n")
		if !strings.HasPrefix(rest, "#") {
			break
		}
		_, after, _ := strings.Cut(rest, "\n")
		rest = after
	}
	return strings.HasPrefix(rest, "&.") || strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, "..")
}

func isNameStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNameByte(c byte) bool { return isNameStart(c) || isDigit(c) }

func (l *lexer) word() string {
	start := l.pos
	for l.pos < len(l.src) && isNameByte(l.src[l.pos]) {
		l.pos++
	}
	return l.src[start:l.pos]
}

func (l *lexer) read(t *token) {
	if l.pos >= len(l.src) {
		t.kind = tokEnd
		return
	}
	c := l.src[l.pos]
	switch {
	case c == '\n':
		l.pos++
		l.ln++
		t.kind = tokLine
	case c == ';':
		l.pos++
		t.kind = tokLine
	case c == 0:
		l.mark(t)
	case isDigit(c):
		l.number(t)
	case isNameStart(c):
		l.readName(t)
	case c == '@':
		l.pos++
		if l.byte(0) == '@' {
			l.subset(t.line, "a class variable (@@)")
		}
		if !isNameStart(l.byte(0)) {
			l.fail(t.line, "a name must follow @")
		}
		t.kind, t.text = tokIvar, l.word()
	case c == '$':
		l.pos++
		t.kind = tokGvar
		if isNameByte(l.byte(0)) {
			t.text = l.word()
			return
		}
		t.text = l.src[l.pos:min(l.pos+1, len(l.src))]
		l.pos += len(t.text)
	case l.literal(t, c):
	default:
		l.operator(t)
	}
}

// mark reads a mark that split has inserted.
func (l *lexer) mark(t *token) {
	switch l.byte(1) {
	case 'I':
		t.kind = tokInsert
	case 'E':
		t.kind = tokInsertEnd
	default:
		t.kind = tokText
		end := strings.IndexByte(l.src[l.pos+2:], 0)
		n, err := strconv.Atoi(l.src[l.pos+2 : l.pos+2+max(end, 0)])
		if err != nil {
			l.fail(t.line, "internal error: a mark without a text")
		}
		t.v = n
		l.pos += end + 3
		return
	}
	l.pos += 2
}

func (l *lexer) readName(t *token) {
	s := l.word()
	if c, d := l.byte(0), l.byte(1); c == '?' || c == '!' {
		if d != '=' || l.byte(2) == '=' || l.byte(2) == '~' || l.byte(2) == '>' {
			s += string(c)
			l.pos++
		}
	}
	t.text = s
	dotted := l.afterDot()
	if l.byte(0) == ':' && l.byte(1) != ':' && !dotted && l.ternary == 0 && l.labelFits() {
		l.pos++
		t.kind = tokLabel
		return
	}
	switch {
	case keyword(s) && !dotted:
		t.kind = tokKeyword
	case s[0] >= 'A' && s[0] <= 'Z' && !strings.HasSuffix(s, "?") && !strings.HasSuffix(s, "!"):
		t.kind = tokConst
	default:
		t.kind = tokName
	}
}

// labelFits reports whether name: can be a key at this position.
func (l *lexer) labelFits() bool {
	if !l.afterValue() {
		return true
	}
	return l.prev.kind == tokName
}

func (l *lexer) number(t *token) {
	t.kind = tokNumber
	start := l.pos
	base := 10
	if l.src[l.pos] == '0' {
		switch l.byte(1) {
		case 'x', 'X':
			base = 16
		case 'b', 'B':
			base = 2
		case 'o', 'O':
			base = 8
		default:
			if isDigit(l.byte(1)) {
				base = 8
			}
		}
	}
	if base != 10 {
		l.pos++
		s := strings.TrimLeft(strings.ReplaceAll(l.word(), "_", ""), "xXbBoO")
		n, err := strconv.ParseInt(s, base, 64)
		if err != nil {
			l.fail(t.line, "%s is not a number of 64 bits", l.src[start:l.pos])
		}
		t.v = n
		return
	}
	digits := func() {
		for isDigit(l.byte(0)) || l.byte(0) == '_' && isDigit(l.byte(1)) {
			l.pos++
		}
	}
	digits()
	float := false
	if l.byte(0) == '.' && isDigit(l.byte(1)) {
		float = true
		l.pos++
		digits()
	}
	if c := l.byte(0); (c == 'e' || c == 'E') && (isDigit(l.byte(1)) || (l.byte(1) == '-' || l.byte(1) == '+') && isDigit(l.byte(2))) {
		float = true
		l.pos += 2
		digits()
	}
	s := strings.ReplaceAll(l.src[start:l.pos], "_", "")
	var err error
	if float {
		t.v, err = strconv.ParseFloat(s, 64)
	} else {
		t.v, err = strconv.ParseInt(s, 10, 64)
	}
	if err != nil {
		l.fail(t.line, "%s is not a number of 64 bits", s)
	}
}

// operators returns the operators, longest first.
func operators() []string {
	return []string{
		"**=", "<=>", "===", "...", "<<=", ">>=", "&&=", "||=",
		"**", "==", "!=", ">=", "<=", "&&", "||", "=~", "!~", "..", "::", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<", ">>", "=>", "->", "&.",
		"+", "-", "*", "/", "%", "=", "<", ">", "!", "&", "|", "^", "~", "?", ":", ",", ".", "(", ")", "[", "]", "{", "}",
	}
}

func (l *lexer) operator(t *token) {
	rest := l.src[l.pos:]
	for _, op := range operators() {
		if strings.HasPrefix(rest, op) {
			t.kind, t.text = tokOp, op
			l.pos += len(op)
			return
		}
	}
	r, n := utf8.DecodeRuneInString(rest)
	l.pos += n
	l.fail(t.line, "unexpected character %q", r)
}
