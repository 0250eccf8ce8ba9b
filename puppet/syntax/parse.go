// Package syntax reads and writes the Puppet language, version 8, and its
// templates (EPP): text to tree, and back.
//
// Parse and ParseTemplate make a *Program of a *File. All nodes are plain data
// with a Span; Walk visits them, Print writes them as code and Dump in Puppet's
// notations for trees. Errors are of type Errors, one *Error for each, with a
// position, a kind to decide by and a line of text; several are found in one
// pass, up to 20. A tree may be shared by goroutines as long as none changes it.
//
// Trees, the places of nodes and the places of errors are Puppet's, whose
// grammar, lexer and factory (lib/puppet/pops/parser, model/factory.rb) are the
// specification; what Puppet finds only when it validates a tree is for package
// check. A text is UTF-8 and may have up to 1 GB, expressions may be nested 1000
// deep, and a tree may be some thousand nodes tall.
package syntax

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// How it works.
//
// Puppet's grammar is LALR(1), its expressions ambiguous but for the precedence
// of operators. Read from the top it needs one token beyond the present one, in
// three places: an attribute (name =>) against a title (name :), class { against
// class name, and the words type and function as values. Which statements are
// calls without parentheses is decided behind the grammar, on the list of
// statements (statement.go), as Puppet's factory does.
//
// The lexer decides by the tokens before it what a character is: whether "["
// touches its operand, whether "(" is the first on its line, whether "/" can
// begin a regular expression. Strings with interpolation and heredocs are read
// lazily, but errors come out as if each had been read as a whole, because
// Puppet does (fail, refuse).
//
// An error of the grammar can be told only once: Puppet stops there. To find
// more, the parser skips to where a statement can begin (resync). Errors from
// then on are ours, so they have to be few and likely: one for each statement,
// and none before the last.

// Options say what a text may hold.
type Options struct {
	// Tasks: plan and apply are words of the language, as they are for Bolt.
	Tasks bool
}

// Parse reads a manifest. The error is Errors: what was found up to a limit;
// the program then holds what could be read nevertheless.
func Parse(f *File, o Options) (*Program, error) { return parse(f, o, false) }

// ParseTemplate reads an EPP template: its body is one *EPP.
func ParseTemplate(f *File, o Options) (*Program, error) { return parse(f, o, true) }

// Limits for hostile texts.
const (
	maxErrors = 20
	maxDepth  = 1000    // of expressions in one another, as they are written
	maxHeight = 4000    // of the tree: a + b + c … is a tall tree on one level
	maxSize   = 1 << 30 // bytes of a text
)

// A parser makes the tree. There is a method for each rule of the grammar; the
// rule stands above it.
//
// An error is reported once and then poisons the present token: every rule ends
// at it without a further report, up to the list of statements, which looks for
// a place to go on (resync). So rules need no error results.
type parser struct {
	lexer
	tok      token
	ahead    token
	hasAhead bool
	prevEnd  uint32 // of the token before tok

	depth    int
	tallest  int // depth reached
	longest  int // chain of operators on one level
	failed   bool
	poisoned token // the token in whose place tok is poisoned
	errs     Errors
	late     Errors // what Puppet finds only in a text without other errors

	quoted      int      // strings with interpolation and heredocs around
	namespace   []string // of the classes around
	qualified   int      // bytes of names with their namespace
	definitions []Expr

	exprs   lists[Expr]
	entries lists[Entry]
	attrs   lists[Attr]
	params  lists[*Param]
	bodies  lists[*ResourceBody]
	nodes
}

// Slabs of the nodes that there are many of.
type nodes struct {
	vars        slab[Var]
	names       slab[Name]
	types       slab[TypeName]
	strings     slab[Str]
	concats     slab[Concat]
	texts       slab[Text]
	ints        slab[Int]
	floats      slab[Float]
	bools       slab[Bool]
	listNodes   slab[List]
	hashes      slab[Hash]
	binaries    slab[Binary]
	assigns     slab[Assign]
	indexes     slab[Index]
	calls       slab[Call]
	methods     slab[Method]
	lambdas     slab[Lambda]
	paramNodes  slab[Param]
	ifs         slab[If]
	blocks      slab[Block]
	resources   slab[Resource]
	bodyNodes   slab[ResourceBody]
	selectors   slab[Selector]
	renderTexts slab[RenderText]
	renders     slab[Render]
}

func parse(f *File, o Options, template bool) (*Program, error) {
	p := &parser{}
	p.file, p.src, p.tasks = f, f.Src, o.Tasks
	prog := &Program{File: f, Body: &Block{}}
	switch {
	case len(f.Src) > maxSize:
		p.report(Span{}, "too-big", "the text has more than "+strconv.Itoa(maxSize)+" bytes")
	case markedEncoding(f.Src) != "":
		p.report(Span{}, "byte-order-mark", "the text begins with a byte order mark of "+markedEncoding(f.Src)+": it has to be UTF-8 without one")
	case !utf8.ValidString(f.Src):
		off := firstInvalid(f.Src)
		p.report(Span{uint32(off), 1}, "invalid-utf-8", fmt.Sprintf("the text has to be UTF-8, and the byte \\x%02x is none here", f.Src[off]))
	default:
		if template {
			p.startEPP()
		}
		p.program(prog)
	}
	for _, d := range p.definitions {
		if d != nil { // nil: it could not be read
			prog.Definitions = append(prog.Definitions, d)
		}
	}
	prog.Warnings = p.warnings
	if len(p.errs) == 0 {
		p.errs = p.late
	}
	if len(p.errs) > 0 {
		return prog, p.errs
	}
	return prog, nil
}

// markedEncoding returns the encoding that a byte order mark names, or "".
func markedEncoding(s string) string {
	for _, m := range [...]struct{ mark, name string }{
		{"\x00\x00\xfe\xff", "UTF-32"}, {"\xff\xfe\x00\x00", "UTF-32"}, {"\x84\x31\x95\x33", "GB 18030"},
		{"\xdd\x73\x66\x73", "UTF-EBCDIC"}, {"\x0e\xfe\xff", "SCSU"}, {"\xef\xbb\xbf", "UTF-8"}, {"\xf7\x64\x4c", "UTF-1"},
		{"\xfb\xee\x28", "BOCU-1"}, {"\xfe\xff", "UTF-16"}, {"\xff\xfe", "UTF-16"},
	} {
		if len(s) >= len(m.mark) && s[:len(m.mark)] == m.mark {
			return m.name
		}
	}
	return ""
}

// firstInvalid returns the offset of the first byte that is no UTF-8.
func firstInvalid(s string) int {
	for i, r := range s {
		if r != utf8.RuneError {
			continue
		}
		if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
			return i
		}
	}
	return len(s)
}

// program: statements | EPP_START epp_parameters? statements? | nothing
func (p *parser) program(prog *Program) {
	p.advance()
	if p.tok.kind == tEPPStart {
		p.advance()
		epp := &EPP{}
		if p.tok.kind == tPipe {
			epp.HasParams = true
			epp.Params = p.lambdaParams()
		}
		epp.Body = &Block{Exprs: p.statements()}
		prog.Body.Exprs = []Expr{epp}
	} else {
		prog.Body.Exprs = p.statements()
		if n := len(prog.Body.Exprs); n > 0 {
			first, last := prog.Body.Exprs[0].At(), prog.Body.Exprs[n-1].At()
			prog.Body.Span = Span{first.Off, max(last.End(), first.Off) - first.Off}
		} else {
			prog.Body.Off = uint32(len(p.file.Src))
		}
	}
	// A list of statements may end where none of its tokens can go on. At the top
	// that has to be the end.
	for p.tok.kind != tEOF && len(p.errs) < maxErrors {
		p.unexpected()
		start := p.poisoned.off
		p.resync(start)
		if p.tok.kind == tEOF {
			break
		}
		if len(prog.Body.Exprs) > 0 {
			if epp, ok := prog.Body.Exprs[0].(*EPP); ok {
				epp.Body.Exprs = append(epp.Body.Exprs, p.statements()...)
				continue
			}
		}
		prog.Body.Exprs = append(prog.Body.Exprs, p.statements()...)
	}
	if p.tallest*p.longest > maxHeight {
		p.checkHeight(prog)
	}
}

// checkHeight refuses a tree so tall that passes over it would need a deep
// stack.
func (p *parser) checkHeight(prog *Program) {
	depth := 0
	var tooTall Node
	visit := func(n Node) bool {
		if n == nil {
			depth--
			return false
		}
		if depth >= maxHeight || tooTall != nil {
			if tooTall == nil {
				tooTall = n
			}
			return false
		}
		depth++
		return true
	}
	Walk(prog.Body, visit)
	if tooTall != nil {
		p.errs = append(p.errs, &Error{File: p.file, Span: tooTall.At(), Kind: "too-deep", Msg: "expressions are nested too deep"})
		prog.Body.Exprs = nil
		p.definitions = nil
	}
}

// advance makes the next token the present one.
func (p *parser) advance() {
	p.prevEnd = p.tok.end
	if p.hasAhead {
		p.tok = p.ahead
		p.hasAhead = false
	} else {
		p.lexer.next(&p.tok)
	}
}

// peek returns the kind of the token behind the present one.
func (p *parser) peek() kind {
	if !p.hasAhead {
		if p.failed {
			return tBad
		}
		p.lexer.next(&p.ahead)
		p.hasAhead = true
	}
	return p.ahead.kind
}

func (t *token) span() Span { return Span{t.off, t.end - t.off} }

// since returns the span from an offset to the end of the token before the
// present one.
func (p *parser) since(off uint32) Span { return Span{off, max(p.prevEnd, off) - off} }

// accept goes on behind a token of a kind if it is there.
func (p *parser) accept(k kind) bool {
	if p.tok.kind != k {
		return false
	}
	p.advance()
	return true
}

// expect goes on behind a token of a kind that has to be there.
func (p *parser) expect(k kind) bool {
	if p.tok.kind == k {
		p.advance()
		return true
	}
	p.unexpected()
	return false
}

// close expects the token that closes what another one opened.
func (p *parser) close(k kind, opener token) {
	switch {
	case p.tok.kind == k:
		p.advance()
	case p.tok.kind == tEOF && !p.failed:
		line := strconv.Itoa(p.file.Position(opener.off).Line)
		p.fail(&Error{Span: p.tok.span(), Kind: "unexpected-end", Incomplete: true,
			Msg: "the text ends before the '" + kindText[opener.kind] + "' of line " + line + " is closed with '" + kindText[k] + "'"})
	default:
		p.unexpected()
	}
}

// unexpected reports that the present token cannot be where it is.
func (p *parser) unexpected() {
	if p.failed {
		return
	}
	t := &p.tok
	switch t.kind {
	case tBad:
		err := p.err
		if err == nil {
			err = &Error{Span: t.span(), Kind: "unexpected-token", Msg: "unexpected text"}
		}
		p.fail(err)
	case tEOF:
		p.fail(&Error{Span: t.span(), Kind: "unexpected-end", Msg: "the text ends where more has to come", Incomplete: true})
	default:
		p.fail(&Error{Span: t.span(), Kind: "unexpected-token", Msg: "unexpected " + t.describe()})
	}
}

// fail reports an error and poisons the present token.
func (p *parser) fail(err *Error) {
	if p.failed {
		return
	}
	// An error of the string that the token is in comes before it: the string is
	// read as a whole before the grammar sees any of it.
	for !p.hasAhead && p.tok.kind != tBad && (len(p.lexer.strs) > 0 || len(p.frames) > 0 || len(p.queue) > 0) && p.tok.kind != tEOF {
		p.lexer.next(&p.tok)
		if p.tok.kind == tBad {
			err = p.err
		}
	}
	err.File = p.file
	p.add(err)
	p.failed = true
	p.poisoned = p.tok
	p.tok.kind = tBad
}

// report adds an error that leaves nothing to recover from.
func (p *parser) report(at Span, kind, msg string) {
	if !p.failed {
		p.add(&Error{File: p.file, Span: at, Kind: kind, Msg: msg})
	}
}

// refuse reports that what has been read makes no sense although the grammar
// allows it. If the present token had to be seen to know where it ends, an error
// of the lexer there comes first; so does one in the rest of the string that it
// is in.
func (p *parser) refuse(at Span, seen bool, kind, msg string) {
	switch {
	case p.failed:
	case (seen || p.quoted > 0) && p.tok.kind == tBad:
		p.unexpected()
	case len(p.lexer.strs) > 0 || len(p.frames) > 0:
		p.fail(&Error{Span: at, Kind: kind, Msg: msg})
	default:
		p.report(at, kind, msg)
	}
}

// add adds an error. One before another that is known is its consequence, or
// would not have been found: what reads the text from its beginning stops at
// the first.
func (p *parser) add(err *Error) {
	if n := len(p.errs); n > 0 && err.Span.Off <= p.errs[n-1].Span.Off || n >= maxErrors {
		return
	}
	p.errs = append(p.errs, err)
}

// enter counts a level of nesting.
func (p *parser) enter() bool {
	p.depth++
	if p.depth > p.tallest {
		p.tallest = p.depth
	}
	if p.depth > maxDepth {
		p.fail(&Error{Span: p.tok.span(), Kind: "too-deep", Msg: "expressions are nested too deep"})
		return false
	}
	return true
}

// chain counts the operators on one level.
func (p *parser) chain(n int) {
	if n > p.longest {
		p.longest = n
	}
}

// resync looks for a token to go on with after an error in a statement that
// began at an offset: the first one of a line that is indented no deeper than
// the statement was. A brace there that is not indented as deep closes what the
// statement is in.
func (p *parser) resync(start uint32) {
	p.tok = p.poisoned
	p.failed = false
	if len(p.errs) >= maxErrors || len(p.errs) > 0 && p.errs[len(p.errs)-1].Kind == "too-deep" {
		p.tok = token{kind: tEOF, off: uint32(len(p.file.Src)), end: uint32(len(p.file.Src))}
		p.hasAhead = false
		p.lexer.endsIn(&token{}, p.pos, "", "")
		return
	}
	begin, end := p.file.bounds(start) // of the line in work
	column := p.indent(begin)
	for ; p.tok.kind != tEOF; p.advance() {
		off := min(p.tok.off, uint32(len(p.file.Src)))
		if off <= start {
			continue
		}
		if off < begin || off >= end {
			begin, end = p.file.bounds(off)
		}
		if off-begin > maxIndent || !blankLine(p.file.Src[begin:off]) {
			continue
		}
		switch col := p.indent(begin); {
		case p.tok.kind == tRBrace && col < column:
			return
		case p.tok.kind != tRBrace && col <= column && begins[p.tok.kind]:
			return
		}
	}
}

// maxIndent is how deep a line can be indented for resync to go on with it. It
// keeps the search from reading long lines again and again.
const maxIndent = 200

// indent returns how many blanks the line that begins at an offset begins with.
func (p *parser) indent(begin uint32) int {
	line := p.file.Src[begin:]
	i := 0
	for i < min(len(line), maxIndent) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	return i
}
