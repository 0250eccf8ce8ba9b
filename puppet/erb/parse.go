package erb

import (
	"strings"
)

// maxNesting is the largest depth of nested expressions.
const maxNesting = 250

// A parser parses a program. It panics with an *Error, which parse returns.
type parser struct {
	lexer
	tok    token
	texts  []string
	locals *locals
	depth  int
	noDo   bool // a do belongs to the loop or the call around
}

// locals are the names of local variables.
type locals struct {
	names map[string]bool
	outer *locals // nil: outer names are not visible
}

func (l *locals) has(name string) bool {
	for ; l != nil; l = l.outer {
		if l.names[name] {
			return true
		}
	}
	return false
}

func parse(name, text string) (body node, err error) {
	if i := strings.IndexByte(text, 0); i >= 0 {
		return nil, &Error{Kind: kindSyntax, Name: name, Line: 1 + strings.Count(text[:i], "\n"), Msg: "the template has a NUL character"}
	}
	code, texts := split(text)
	p := &parser{texts: texts, locals: &locals{names: map[string]bool{}}}
	p.src, p.name, p.ln = code, name, 1
	p.isLocal = func(n string) bool { return p.locals.has(n) }
	p.embedded = p.interpolation
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			body, err = nil, e
		default:
			panic(e)
		}
	}()
	p.advance()
	body = p.statements()
	if p.tok.kind != tokEnd {
		p.unexpected()
	}
	return body, nil
}

func (p *parser) advance() { p.tok = p.next() }

func (p *parser) unexpected() {
	line := p.tok.line
	switch t := &p.tok; t.kind {
	case tokEnd:
		p.fail(line, "unexpected end of the template: an end is missing")
	case tokLine:
		p.fail(line, "unexpected end of the line")
	case tokText:
		p.fail(line, "unexpected text of the template")
	case tokInsert:
		p.fail(line, "unexpected <%%=")
	case tokInsertEnd:
		p.fail(line, "unexpected %%>")
	case tokString, tokSymbol, tokRegexp, tokWords, tokNumber:
		p.fail(line, "unexpected literal")
	default:
		p.fail(line, "unexpected %q", t.text)
	}
}

// enter counts a nested expression. The caller must call the returned function
// at its end.
func (p *parser) enter() func() {
	p.depth++
	if p.depth > maxNesting {
		p.fail(p.tok.line, "more than %d expressions in each other", maxNesting)
	}
	return func() { p.depth-- }
}

// inside runs f inside brackets. A do or a : there belongs to the expressions
// inside.
func (p *parser) inside(f func()) {
	noDo, ternary := p.noDo, p.ternary
	p.noDo, p.ternary = false, 0
	f()
	p.noDo, p.ternary = noDo, ternary
}

func (p *parser) op(s string) bool { return p.tok.kind == tokOp && p.tok.text == s }

func (p *parser) kw(s string) bool { return p.tok.kind == tokKeyword && p.tok.text == s }

func (p *parser) accept(op string) bool {
	if p.op(op) {
		p.advance()
		return true
	}
	return false
}

func (p *parser) expect(op string) {
	if !p.accept(op) {
		p.unexpected()
	}
}

func (p *parser) acceptKw(s string) bool {
	if p.kw(s) {
		p.advance()
		return true
	}
	return false
}

func (p *parser) expectKw(s string) {
	if !p.acceptKw(s) {
		p.unexpected()
	}
}

func (p *parser) lines() {
	for p.tok.kind == tokLine {
		p.advance()
	}
}

// interpolation parses the program of a #{…}, beginning after the brace.
func (p *parser) interpolation() node {
	defer p.enter()()
	tok, prev := p.tok, p.prev
	var body node
	p.prev = token{}
	p.inside(func() {
		p.advance()
		body = p.statements()
		if !p.op("}") {
			p.unexpected()
		}
	})
	p.pos = p.tok.end
	p.ln = p.tok.line
	p.tok, p.prev = tok, prev
	return body
}

// statements parses statements up to a token that cannot begin a statement.
func (p *parser) statements() node {
	s := &seqNode{at: at(p.tok.line)}
	for {
		p.lines()
		if p.blockEnds() {
			break
		}
		s.list = append(s.list, p.statement())
		if p.tok.kind != tokLine && !p.blockEnds() {
			p.unexpected()
		}
	}
	if len(s.list) == 1 {
		return s.list[0]
	}
	return s
}

// blockEnds reports whether the next token ends a list of statements.
func (p *parser) blockEnds() bool {
	switch p.tok.kind {
	case tokEnd, tokInsertEnd:
		return true
	case tokOp:
		return p.tok.text == "}" || p.tok.text == ")"
	case tokKeyword:
		switch p.tok.text {
		case "end", "else", "elsif", "when", "in", "rescue", "ensure":
			return true
		}
	}
	return false
}

// statement = expression { ("if" | "unless" | "while" | "until" | "rescue") expression } .
func (p *parser) statement() node {
	switch p.tok.kind {
	case tokText:
		n := &outNode{at(p.tok.line), p.texts[p.tok.v.(int)]}
		p.advance()
		return n
	case tokInsert:
		n := &insertNode{at: at(p.tok.line)}
		p.inside(func() {
			p.advance()
			n.x = p.statements()
		})
		if p.tok.kind != tokInsertEnd {
			p.unexpected()
		}
		p.advance()
		return n
	}
	if p.op("*") {
		return p.multiple(p.multiTarget())
	}
	x := p.expression()
	if p.op(",") && assignable(x) {
		x = p.multiple(p.target(x))
	}
	if a, is := x.(*assignNode); is && a.op == "" && p.op(",") {
		l := at(p.tok.line)
		p.advance()
		a.value = &arrayNode{l, append([]node{a.value}, p.valueList()...)}
	}
	for p.tok.kind == tokKeyword {
		l := at(p.tok.line)
		switch p.tok.text {
		case "if":
			p.advance()
			x = &ifNode{l, p.expression(), x, nil}
		case "unless":
			p.advance()
			x = &ifNode{l, p.expression(), nil, x}
		case "while", "until":
			until := p.tok.text == "until"
			p.advance()
			_, after := x.(*beginNode)
			x = &whileNode{l, p.expression(), x, until, after}
		case "rescue":
			p.advance()
			x = &beginNode{at: l, body: x, rescues: []rescueNode{{body: p.expression()}}}
		default:
			return x
		}
	}
	return x
}

// expression = negation { ("and" | "or") negation } .
func (p *parser) expression() node {
	defer p.enter()()
	x := p.negation()
	for p.kw("and") || p.kw("or") {
		l, or := at(p.tok.line), p.tok.text == "or"
		p.advance()
		x = &logicNode{l, or, x, p.negation()}
	}
	return x
}

// negation = "not" negation | arg .
func (p *parser) negation() node {
	if p.kw("not") {
		l := at(p.tok.line)
		defer p.enter()()
		p.advance()
		return &notNode{l, p.negation()}
	}
	return p.arg()
}

func assignable(x node) bool {
	switch x := x.(type) {
	case *localNode, *ivarNode, *gvarNode:
		return true
	case *callNode:
		return x.name == "[]" || x.bare || x.recv != nil && len(x.args) == 0 && x.block == nil && x.pass == nil && isNameStart(x.name[0])
	}
	return false
}

// target converts an expression to the target of an assignment. It declares a
// local variable.
func (p *parser) target(x node) node {
	if c, is := x.(*callNode); is && c.bare {
		p.locals.names[c.name] = true
		return &localNode{c.at, c.name}
	}
	return x
}

// multiple parses the rest of a, *b = values.
func (p *parser) multiple(first node) node {
	n := &multiNode{at: at(first.line()), targets: []node{first}}
	for p.accept(",") {
		if p.op("=") {
			break
		}
		n.targets = append(n.targets, p.multiTarget())
	}
	p.expect("=")
	l := at(p.tok.line)
	values := p.valueList()
	n.value = values[0]
	if _, splat := n.value.(*splatNode); len(values) > 1 || splat {
		n.value = &arrayNode{l, values}
	}
	return n
}

func (p *parser) multiTarget() node {
	l := at(p.tok.line)
	switch {
	case p.accept("*"):
		if p.op(",") || p.op("=") || p.op(")") || p.kw("in") {
			return &splatNode{l, nil}
		}
		return &splatNode{l, p.multiTarget()}
	case p.accept("("):
		n := &multiNode{at: l}
		for !p.op(")") {
			n.targets = append(n.targets, p.multiTarget())
			if !p.accept(",") {
				break
			}
		}
		p.expect(")")
		return n
	}
	x := p.primary()
	if !assignable(x) {
		p.fail(int(l), "this cannot be assigned to")
	}
	return p.target(x)
}

// valueList = ["*"] arg { "," ["*"] arg } .
func (p *parser) valueList() []node {
	var list []node
	for {
		l := at(p.tok.line)
		if p.accept("*") {
			list = append(list, &splatNode{l, p.arg()})
		} else {
			list = append(list, p.arg())
		}
		if !p.accept(",") {
			return list
		}
		p.lines()
	}
}

// body parses statements with rescue, else and ensure, and the end keyword.
func (p *parser) body() node {
	n := &beginNode{at: at(p.tok.line)}
	n.body = p.statements()
	for p.kw("rescue") {
		p.advance()
		var r rescueNode
		for p.tok.kind != tokLine && !p.kw("then") && !p.op("=>") {
			l := at(p.tok.line)
			if p.accept("*") {
				r.classes = append(r.classes, &splatNode{l, p.arg()})
			} else {
				r.classes = append(r.classes, p.arg())
			}
			if !p.accept(",") {
				break
			}
		}
		if p.accept("=>") {
			r.target = p.target(p.primary())
		}
		p.acceptKw("then")
		r.body = p.statements()
		n.rescues = append(n.rescues, r)
	}
	if p.acceptKw("else") {
		n.other = p.statements()
	}
	if p.acceptKw("ensure") {
		n.ensure = p.statements()
	}
	p.expectKw("end")
	if n.rescues == nil && n.ensure == nil && n.other == nil {
		return n.body
	}
	return n
}
