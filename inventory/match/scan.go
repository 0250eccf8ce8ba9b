package match

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"bolt/internal/excerpt"
)

// kind is the kind of a token.
type kind uint8

const (
	end      kind = iota
	word          // a name, a member of a path, or a keyword
	text          // in quotes; value is the unquoted string
	digitsOf      // a number
	sign          // an operator, or one of ()[],.
)

// token is one lexical element of an expression.
type token struct {
	kind  kind
	text  string // as written
	value string // of a string
	at    int    // offset of its first byte
}

// String returns the token for messages ("found …").
func (t token) String() string {
	switch t.kind {
	case end:
		return "the end"
	case text:
		return "a text"
	}
	return "'" + t.text + "'"
}

// isWord reports whether s can be in a path without quotes.
func isWord(s string) bool {
	if s == "" || !letter(s[0]) {
		return false
	}
	return wordLen(s) == len(s)
}

func letter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// wordLen returns the length of the word at the start of s. A word can contain a
// dash but not end with one: fact names contain dashes, and there is no
// arithmetic.
func wordLen(s string) int {
	n := 0
	for n < len(s) && (letter(s[n]) || digit(s[n]) || s[n] == '-') {
		n++
	}
	for n > 0 && s[n-1] == '-' {
		n--
	}
	return n
}

// scan reads the token at or after at.
func (p *parser) scan(at int) (token, error) {
	for at < len(p.input) && strings.IndexByte(" \t\r\n", p.input[at]) >= 0 {
		at++
	}
	rest := p.input[at:]
	if rest == "" {
		return token{kind: end, at: at}, nil
	}
	t := token{at: at}
	switch c := rest[0]; {
	case letter(c):
		t.kind, t.text = word, rest[:wordLen(rest)]
	case digit(c), c == '-' && len(rest) > 1 && digit(rest[1]):
		t.kind, t.text = digitsOf, rest[:numberLen(rest)]
	case c == '"' || c == '\'':
		return p.scanText(at)
	default:
		t.kind = sign
		for _, s := range [...]string{"==", "!=", "<=", ">=", "=~", "!~", "<", ">", "(", ")", "[", "]", ",", "."} {
			if strings.HasPrefix(rest, s) {
				t.text = s
				return t, nil
			}
		}
		return t, p.strange(at)
	}
	return t, nil
}

// strange returns the error for a character that cannot begin a token.
func (p *parser) strange(at int) error {
	rest := p.input[at:]
	for _, other := range [...]struct{ sign, ours string }{
		{"&", `write "and"`}, {"|", `write "or"`}, {"!", `write "not"`},
		{"=", "write == for equal"}, {"/", "put patterns in quotes"}, {"$", "write names without $"},
		{"`", "put strings in double or single quotes"}, {"{", "map literals are not supported"},
	} {
		if strings.HasPrefix(rest, other.sign) {
			return p.fail(at, "unexpected %s: %s", other.sign, other.ours)
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return p.fail(at, "unexpected character %q: put strings in double or single quotes", r)
}

func numberLen(s string) int {
	n := 1
	for n < len(s) && digit(s[n]) {
		n++
	}
	if n+1 < len(s) && s[n] == '.' && digit(s[n+1]) {
		for n++; n < len(s) && digit(s[n]); {
			n++
		}
	}
	return n
}

// scanText reads the string whose quote is at at.
func (p *parser) scanText(at int) (token, error) {
	quote := p.input[at]
	var b strings.Builder
	for i := at + 1; i < len(p.input); i++ {
		switch c := p.input[i]; {
		case c == quote:
			return token{text, p.input[at : i+1], b.String(), at}, nil
		case c == '\\' && i+1 < len(p.input) && strings.IndexByte(`\"'`, p.input[i+1]) >= 0:
			i++
			b.WriteByte(p.input[i])
		default:
			b.WriteByte(c)
		}
	}
	return token{}, p.fail(at, "the string that begins here is not closed: add a %c", quote)
}

// An Error is a syntax error in an expression.
type Error struct {
	Msg    string // the problem and the expected token
	Line   int    // from 1
	Column int    // in characters, from 1
	Text   string // the line
}

// Error returns position and message, and below them the line with a caret.
func (e *Error) Error() string {
	where := fmt.Sprintf("column %d", e.Column)
	if e.Line > 1 {
		where = fmt.Sprintf("line %d, %s", e.Line, where)
	}
	line := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, e.Text)
	const width = 76
	return where + ": " + e.Msg + "\n  " + strings.ReplaceAll(excerpt.Of(line, e.Column, width), "\n", "\n  ")
}

// fail returns an Error at the byte offset at.
func (p *parser) fail(at int, format string, args ...any) error {
	head := p.input[:at]
	start := strings.LastIndexByte(head, '\n') + 1
	line, _, _ := strings.Cut(p.input[start:], "\n")
	return &Error{
		Msg: fmt.Sprintf(format, args...), Line: strings.Count(head, "\n") + 1,
		Column: utf8.RuneCountInString(p.input[start:at]) + 1, Text: line,
	}
}
