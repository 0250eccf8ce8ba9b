package puppetfile

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A tokenKind is the kind of a token.
type tokenKind uint8

const (
	tokenEnd     tokenKind = iota // of the file
	tokenNewline                  // or a semicolon
	tokenWord                     // mod, forge …
	tokenText                     // '…' or "…"
	tokenSymbol                   // :name
	tokenLabel                    // name:
	tokenBool
	tokenNil
	tokenMark // , . => ( ) { }
)

type token struct {
	kind tokenKind
	text string
	line int
}

// String names the token for messages.
func (t token) String() string {
	switch t.kind {
	case tokenEnd:
		return "the end of the file"
	case tokenNewline:
		return "the end of the line"
	case tokenText:
		return fmt.Sprintf("the text %.60q", t.text)
	case tokenSymbol:
		return fmt.Sprintf(":%.60s", t.text)
	case tokenLabel:
		return fmt.Sprintf("%.60s:", t.text)
	case tokenNil:
		return "nil"
	}
	return fmt.Sprintf("%.60q", t.text)
}

// An option is one pair of a hash.
type option struct {
	key   string
	value token
	line  int
}

// Parse reads a Puppetfile. The error is an *Error.
func Parse(data []byte) (*File, error) {
	text := strings.TrimPrefix(string(data), "\ufeff")
	f := &File{Managed: strings.HasPrefix(text, managedLine)}
	p := &parser{scanner: scanner{rest: text, line: 1}}
	p.advance()
	err := p.file(f)
	if p.err != nil { // after an error of the scanner, errors of the parser are consequences
		return nil, p.err
	}
	if err != nil {
		return nil, err
	}
	seen := map[string]int{}
	for i := range f.Modules {
		m := &f.Modules[i]
		if before, twice := seen[m.Name()]; twice {
			return nil, &Error{m.Line, fmt.Sprintf("module %s is already in line %d", m.Name(), before)}
		}
		seen[m.Name()] = m.Line
	}
	return f, nil
}

type parser struct {
	scanner
	now token
}

func (p *parser) advance() { p.now = p.next() }

// over skips line ends. Ruby ignores line ends inside of brackets and after commas.
func (p *parser) over() {
	for p.now.kind == tokenNewline {
		p.advance()
	}
}

func (p *parser) unexpected(want string) error {
	return &Error{p.now.line, fmt.Sprintf("expected %s, found %s; bolt does not run a Puppetfile as a Ruby program", want, p.now)}
}

func (p *parser) mark(text string) bool {
	if p.now.kind == tokenMark && p.now.text == text {
		p.advance()
		return true
	}
	return false
}

// file = { statement }.
func (p *parser) file(f *File) error {
	for {
		p.over()
		if p.now.kind == tokenEnd {
			return nil
		}
		if p.now.kind != tokenWord {
			return p.unexpected("mod, forge or moduledir")
		}
		word, line := p.now.text, p.now.line
		p.advance()
		bracket := p.mark("(")
		if bracket {
			p.over()
		}
		var err error
		switch word {
		case "mod":
			err = p.mod(f, line, bracket)
		case "forge":
			_, err = p.text("the address of a Forge") // ignored: the project's setting is used
		case "moduledir":
			f.ModuleDir, err = p.directory()
		default:
			err = &Error{line, fmt.Sprintf("unknown directive %q: use mod, forge or moduledir; bolt does not run a Puppetfile as a Ruby program", word)}
		}
		if err != nil {
			return err
		}
		if bracket {
			if p.over(); !p.mark(")") {
				return p.unexpected("a closing bracket")
			}
		}
		if p.now.kind != tokenNewline && p.now.kind != tokenEnd {
			return p.unexpected("the end of the line")
		}
	}
}

func (p *parser) text(what string) (string, error) {
	if p.now.kind != tokenText {
		return "", p.unexpected(what + " in quotes")
	}
	text := p.now.text
	p.advance()
	return text, nil
}

// directory = text | "File" "." "join" "(" here { "," text } ")". Many Puppetfiles
// contain this one call.
func (p *parser) directory() (string, error) {
	const what = "a directory in quotes"
	if p.now.kind != tokenWord || p.now.text != "File" {
		return p.text("a directory")
	}
	if !p.words("File", ".", "join", "(") {
		return "", p.unexpected(what)
	}
	if p.now.text == "__dir__" {
		p.advance()
	} else if !p.words("File", ".", "dirname", "(", "__FILE__", ")") {
		return "", p.unexpected(what)
	}
	var parts []string
	for p.mark(",") {
		part, err := p.text("the name of a directory")
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	if !p.mark(")") {
		return "", p.unexpected("a closing bracket")
	}
	return strings.TrimLeft(strings.Join(parts, "/"), "/"), nil // File.join("a", "/b") is "a/b", not "/b"
}

// words reads a sequence of words and marks.
func (p *parser) words(list ...string) bool {
	for _, text := range list {
		if p.now.kind != tokenWord && p.now.kind != tokenMark || p.now.text != text {
			return false
		}
		p.advance()
	}
	return true
}

// mod = text [ "," ( version | hash | pairs ) ].
func (p *parser) mod(f *File, line int, bracket bool) error {
	title, err := p.text("the name of a module")
	if err != nil {
		return err
	}
	var options []option
	if p.mark(",") {
		p.over()
		switch p.now.kind {
		case tokenText, tokenNil:
			options = []option{{"version", p.now, p.now.line}}
			p.advance()
		case tokenSymbol:
			symbol := p.now
			if p.advance(); p.mark("=>") {
				options, err = p.pairs(option{key: symbol.text, line: symbol.line}, bracket)
			} else {
				options = []option{{"version", symbol, symbol.line}}
			}
		case tokenLabel:
			options, err = p.pairs(option{}, bracket)
		default:
			if !p.mark("{") {
				return p.unexpected("a version or options")
			}
			p.over()
			if options, err = p.pairs(option{}, true); err == nil {
				if p.over(); !p.mark("}") {
					return p.unexpected("a closing brace")
				}
			}
		}
		if err != nil {
			return err
		}
	}
	m, err := newModule(title, line, options)
	if err != nil {
		return err
	}
	f.Modules = append(f.Modules, m)
	return nil
}

// pairs reads the pairs of a hash. If first has a key, the parser has read it
// already. If bracket is true, line ends are ignored.
func (p *parser) pairs(first option, bracket bool) ([]option, error) {
	var list []option
	seen := map[string]bool{}
	o := first
	for {
		if o.key == "" {
			switch p.now.kind {
			case tokenLabel:
				o = option{key: p.now.text, line: p.now.line}
				p.advance()
			case tokenSymbol, tokenText:
				o = option{key: p.now.text, line: p.now.line}
				p.advance()
				if bracket {
					p.over()
				}
				if !p.mark("=>") {
					return nil, p.unexpected("=>")
				}
			default:
				if bracket && p.now.kind == tokenMark && len(list) == 0 {
					return list, nil // an empty hash
				}
				return nil, p.unexpected("an option")
			}
		}
		p.over()
		switch p.now.kind {
		case tokenText, tokenSymbol, tokenBool, tokenNil:
		default:
			return nil, p.unexpected("the value of " + o.key)
		}
		o.value = p.now
		p.advance()
		if seen[o.key] {
			return nil, &Error{o.line, fmt.Sprintf("the option %s is a duplicate", o.key)}
		}
		seen[o.key] = true
		list = append(list, o)
		o = option{}
		if bracket {
			p.over()
		}
		if !p.mark(",") {
			return list, nil
		}
		p.over()
		if bracket && p.now.kind == tokenMark {
			return list, nil // a comma at the end
		}
	}
}

// A scanner splits text into tokens. After an error, it returns tokenEnd only.
type scanner struct {
	rest  string
	line  int
	begun bool // whether the line has a token already
	err   error
}

func (s *scanner) fail(format string, args ...any) token {
	if s.err == nil {
		s.err = &Error{s.line, fmt.Sprintf(format, args...)}
	}
	s.rest = ""
	return token{tokenEnd, "", s.line}
}

func (s *scanner) next() token {
	for s.rest != "" {
		c := s.rest[0]
		switch {
		case c == '\n' || c == ';':
			t := token{tokenNewline, "", s.line}
			s.rest = s.rest[1:]
			if c == '\n' {
				s.line++
				s.begun = false
			}
			return t
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
			s.rest = s.rest[1:]
		case c == '#':
			s.skipLine()
		case strings.HasPrefix(s.rest, "=begin") && !s.begun:
			if !s.skipBlock() {
				return s.fail("the comment =begin has no =end")
			}
		case strings.HasPrefix(s.rest, "\\\n"), strings.HasPrefix(s.rest, "\\\r\n"):
			s.rest = s.rest[strings.IndexByte(s.rest, '\n')+1:]
			s.line++
		default:
			s.begun = true
			return s.token(c)
		}
	}
	return token{tokenEnd, "", s.line}
}

func (s *scanner) skipLine() {
	if i := strings.IndexByte(s.rest, '\n'); i >= 0 {
		s.rest = s.rest[i:]
	} else {
		s.rest = ""
	}
}

// skipBlock skips from =begin to the line that begins with =end.
func (s *scanner) skipBlock() bool {
	i := strings.Index(s.rest, "\n=end")
	if i < 0 {
		return false
	}
	s.line += strings.Count(s.rest[:i+1], "\n")
	s.rest = s.rest[i+1:]
	s.skipLine()
	return true
}

func (s *scanner) token(c byte) token {
	line := s.line
	switch {
	case c == '\'' || c == '"':
		text, ok := s.quoted(c)
		if !ok {
			return s.fail("the string has no closing quote")
		}
		if strings.HasPrefix(s.rest, ":") && !strings.HasPrefix(s.rest, "::") { // "name": value
			s.rest = s.rest[1:]
			return token{tokenLabel, text, line}
		}
		return token{tokenText, text, line}
	case c == ':' && len(s.rest) > 1 && (s.rest[1] == '\'' || s.rest[1] == '"'):
		s.rest = s.rest[1:]
		text, ok := s.quoted(s.rest[0])
		if !ok {
			return s.fail("the symbol has no closing quote")
		}
		return token{tokenSymbol, text, line}
	case c == ':' && len(s.rest) > 1 && isLetter(s.rest[1]):
		s.rest = s.rest[1:]
		return token{tokenSymbol, s.word(), line}
	case isLetter(c):
		word := s.word()
		if strings.HasPrefix(s.rest, ":") && !strings.HasPrefix(s.rest, "::") {
			s.rest = s.rest[1:]
			return token{tokenLabel, word, line}
		}
		switch word {
		case "true", "false":
			return token{tokenBool, word, line}
		case "nil":
			return token{tokenNil, word, line}
		}
		return token{tokenWord, word, line}
	case strings.HasPrefix(s.rest, "=>"):
		s.rest = s.rest[2:]
		return token{tokenMark, "=>", line}
	case strings.IndexByte(",.(){}", c) >= 0:
		s.rest = s.rest[1:]
		return token{tokenMark, string(c), line}
	}
	r, _ := utf8.DecodeRuneInString(s.rest)
	return s.fail("unexpected %q; bolt does not run a Puppetfile as a Ruby program", r)
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }

func (s *scanner) word() string {
	n := 0
	for n < len(s.rest) && (isLetter(s.rest[n]) || '0' <= s.rest[n] && s.rest[n] <= '9') {
		n++
	}
	word := s.rest[:n]
	s.rest = s.rest[n:]
	return word
}

// quoted reads a string in quotes. In double quotes, some escapes are supported,
// and an interpolation is an error.
func (s *scanner) quoted(quote byte) (string, bool) {
	var b strings.Builder
	for i := 1; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == quote:
			s.rest = s.rest[i+1:]
			return b.String(), true
		case c == '\n':
			s.line++
			b.WriteByte(c)
		case c == '\\' && i+1 < len(s.rest):
			i++
			if !s.escape(&b, quote, s.rest[i]) {
				return "", true
			}
		case c == '#' && quote == '"' && i+1 < len(s.rest) && strings.IndexByte("{$@", s.rest[i+1]) >= 0:
			s.fail("a string with #%c must be evaluated by Ruby; write its value instead", s.rest[i+1])
			return "", true
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// escape writes the character of the escape sequence \c.
func (s *scanner) escape(b *strings.Builder, quote, c byte) bool {
	if c == '\n' {
		s.line++
	}
	if c == '\\' || c == quote {
		b.WriteByte(c)
		return true
	}
	if quote == '\'' {
		b.WriteByte('\\')
		b.WriteByte(c)
		return true
	}
	switch c {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case '\'', '/', '#', ' ', '-', '.':
		b.WriteByte(c)
	default:
		s.fail("the escape \\%c is not supported", c)
		return false
	}
	return true
}
