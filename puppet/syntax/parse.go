// Package syntax reads and writes the Puppet language, version 8, and its
// templates (EPP). It converts text to trees and trees to text.
//
// Parse and ParseTemplate parse a *File to a *Program. All nodes are plain data
// with a Span. Walk visits the nodes, Print writes them as code, and Dump
// writes them in Puppet's notations for trees. Errors are of type Errors. Each
// *Error has a position, a kind for programs and a message of one line. One
// pass finds up to 20 errors. Goroutines can share a tree if they do not change
// it.
//
// Trees, positions of nodes and positions of errors are as in Puppet. Its
// grammar, lexer and factory (lib/puppet/pops/parser, model/factory.rb) are the
// specification. Package check finds the errors that Puppet finds only when it
// validates a tree. A text is in UTF-8 and can have up to 1 GB. Expressions can
// be nested 1000 deep, and the height of a tree can be some thousand nodes.
package syntax

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// How it works.
//
// Puppet's grammar is LALR(1). Its expressions are ambiguous except for the
// precedence of operators. This parser works top-down and needs one token of
// lookahead in three places: to distinguish an attribute (name =>) from a title
// (name :), to distinguish class { from class name, and for the words type and
// function as values. As in Puppet's factory, calls without parentheses are
// recognized after the grammar, in the list of statements (statement.go).
//
// For the lexer, the meaning of a character depends on the tokens before it:
// whether "[" touches its operand, whether "(" is the first on its line,
// whether "/" can begin a regular expression. Strings with interpolation and
// heredocs are read lazily. However, errors are reported as if each string had
// been read as a whole, as in Puppet (fail, refuse).
//
// Puppet stops at the first error of the grammar. To find more errors, the
// parser skips to a token that can begin a statement (resync). Puppet does not
// report these further errors. Therefore they must be few and likely: at most
// one for each statement, and none before the last error.

// Options determine the language of a text.
type Options struct {
	// Tasks is set if plan and apply are keywords, as they are in Bolt.
	Tasks bool
}

// Parse parses a manifest. The error is Errors, up to a limit. The program then
// holds the parts that could be parsed.
func Parse(f *File, o Options) (*Program, error) { return parse(f, o, false) }

// ParseTemplate parses an EPP template. The body of the program is one *EPP.
func ParseTemplate(f *File, o Options) (*Program, error) { return parse(f, o, true) }

// Limits for malicious input.
const (
	maxErrors = 20
	maxDepth  = 1000    // of nested expressions in the source
	maxHeight = 4000    // of the tree; a + b + c … is a tall tree without nesting
	maxSize   = 1 << 30 // bytes of a text
)

// A parser builds the tree. There is a method for each rule of the grammar; its
// comment is the rule.
//
// An error is reported once and then poisons the current token. Each rule ends
// at this token without another report, up to the list of statements, which
// looks for a token to continue with (resync). Therefore rules do not return
// errors.
type parser struct {
	lexer
	tok      token
	ahead    token
	hasAhead bool
	prevEnd  uint32 // of the token before tok

	depth    int
	tallest  int // largest depth so far
	longest  int // longest chain of operators on one level
	failed   bool
	poisoned token // the token that the poisoned tok replaces
	errs     Errors
	late     Errors // errors that Puppet finds only in a text without other errors

	quoted      int      // number of strings with interpolation and heredocs around
	namespace   []string // names of the classes around
	qualified   int      // total bytes of names with their namespace
	definitions []Expr

	exprs   lists[Expr]
	entries lists[Entry]
	attrs   lists[Attr]
	params  lists[*Param]
	bodies  lists[*ResourceBody]
	nodes
}

// Slabs for the most frequent nodes.
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
		p.report(Span{uint32(off), 1}, "invalid-utf-8", fmt.Sprintf("the text has to be UTF-8, and the byte \\x%02x is not valid here", f.Src[off]))
	default:
		if template {
			p.startEPP()
		}
		p.program(prog)
	}
	for _, d := range p.definitions {
		if d != nil { // nil: it could not be parsed
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

// markedEncoding returns the encoding of the byte order mark at the beginning
// of s, or "".
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

// firstInvalid returns the offset of the first byte that is not valid UTF-8.
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
	// A list of statements can end before a token that cannot continue it. At
	// the top level, it must end at the end of the file.
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

// checkHeight reports a tree that is so tall that visiting it would need a deep
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

// advance moves to the next token.
func (p *parser) advance() {
	p.prevEnd = p.tok.end
	if p.hasAhead {
		p.tok = p.ahead
		p.hasAhead = false
	} else {
		p.lexer.next(&p.tok)
	}
}

// peek returns the kind of the token after the current one.
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
// current one.
func (p *parser) since(off uint32) Span { return Span{off, max(p.prevEnd, off) - off} }

// accept skips the current token if it has the kind k.
func (p *parser) accept(k kind) bool {
	if p.tok.kind != k {
		return false
	}
	p.advance()
	return true
}

// expect skips the current token, which must have the kind k.
func (p *parser) expect(k kind) bool {
	if p.tok.kind == k {
		p.advance()
		return true
	}
	p.unexpected()
	return false
}

// close expects the token that closes an opened bracket.
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

// unexpected reports that the current token is not allowed.
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

// fail reports an error and poisons the current token.
func (p *parser) fail(err *Error) {
	if p.failed {
		return
	}
	// If the string that contains the token has an error, that error precedes
	// it, because Puppet reads the string as a whole before the grammar sees
	// it.
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

// report adds an error that does not need recovery.
func (p *parser) report(at Span, kind, msg string) {
	if !p.failed {
		p.add(&Error{File: p.file, Span: at, Kind: kind, Msg: msg})
	}
}

// refuse reports an error in text that the grammar allows. An error of the
// lexer precedes it if the parser had to see the current token to find the end,
// or if the lexer error is in the rest of the string around it.
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

// add adds an error. An error before another known error is a consequence of
// that error, or would not have been found, because Puppet reads the text from
// its beginning and stops at the first error.
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

// chain records the number of operators on one level.
func (p *parser) chain(n int) {
	if n > p.longest {
		p.longest = n
	}
}

// resync looks for a token to continue with after an error in a statement that
// began at an offset. This is the first token of a line that is not indented
// deeper than the statement. A brace with smaller indentation closes the block
// that contains the statement.
func (p *parser) resync(start uint32) {
	p.tok = p.poisoned
	p.failed = false
	if len(p.errs) >= maxErrors || len(p.errs) > 0 && p.errs[len(p.errs)-1].Kind == "too-deep" {
		p.tok = token{kind: tEOF, off: uint32(len(p.file.Src)), end: uint32(len(p.file.Src))}
		p.hasAhead = false
		p.lexer.endsIn(&token{}, p.pos, "", "")
		return
	}
	begin, end := p.file.bounds(start) // of the current line
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

// maxIndent is the largest indentation of a line that resync continues with. It
// avoids reading long lines repeatedly.
const maxIndent = 200

// indent returns the number of blanks at the beginning of the line that begins
// at an offset.
func (p *parser) indent(begin uint32) int {
	line := p.file.Src[begin:]
	i := 0
	for i < min(len(line), maxIndent) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	return i
}
