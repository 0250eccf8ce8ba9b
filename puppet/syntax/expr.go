package syntax

// expression: unary (operator unary)*. Operators with higher precedence are
// inner ones. After X ? {…}, a postfix belongs to the whole.
//
// min is the smallest precedence of the operators of this expression.
func (p *parser) expr(min uint8) Expr { return p.operators(p.unary(), min) }

// operators parses the rest of an expression after its first operand.
func (p *parser) operators(x Expr, min uint8) Expr {
	for n := 1; ; n++ {
		op := p.tok
		tight := tightness[op.kind]
		if tight < min || tight == 0 {
			return x
		}
		p.chain(n)
		p.advance()
		if op.kind == tQMark {
			x = p.postfix(p.selector(x))
			continue
		}
		if !p.enter() {
			p.depth--
			return x
		}
		y := p.expr(tight + 1)
		p.depth--
		b := p.binaries.get()
		*b = Binary{op.span(), operator[op.kind], x, y}
		x = b
	}
}

// selector: X "?" (entry | "{" entry ("," entry)* ","? "}")
// entry: expression "=>" expression
func (p *parser) selector(x Expr) Expr {
	s := p.selectors.get()
	mark := p.entries.mark()
	if !p.enter() {
		p.depth--
		return x
	}
	if opener := p.tok; opener.kind == tSelBrace {
		p.advance()
		p.selectorEntry()
		for p.accept(tComma) && p.tok.kind != tRBrace {
			p.selectorEntry()
		}
		p.close(tRBrace, opener)
	} else {
		p.selectorEntry()
	}
	p.depth--
	*s = Selector{p.since(x.At().Off), x, p.entries.take(mark)}
	return s
}

func (p *parser) selectorEntry() {
	key := p.expr(1)
	arrow := p.tok
	p.expect(tFArrow)
	p.entries.push(Entry{arrow.span(), key, p.expr(1)})
}

// unary: ("!" | "-" | "*") unary | primary postfix*
func (p *parser) unary() Expr {
	op := p.tok
	switch op.kind {
	case tNot, tMinus, tTimes:
	default:
		return p.postfix(p.primary())
	}
	p.advance()
	if !p.enter() {
		p.depth--
		return nil
	}
	x := p.unary()
	p.depth--
	switch op.kind {
	case tNot:
		return &Not{op.span(), x}
	case tMinus:
		return &Neg{op.span(), x}
	}
	return &Splat{op.span(), x}
}

// postfix: "[" … "]" | "." NAME … | "(" … ")" | "<|" … "|>"
func (p *parser) postfix(x Expr) Expr {
	for n := 1; !p.failed; n++ {
		switch p.tok.kind {
		case tLBrack:
			x = p.index(x)
		case tDot:
			x = p.method(x)
		case tLParen:
			x = p.call(x)
		case tLCollect, tLLCollect:
			x = p.collect(x)
		default:
			return x
		}
		p.chain(n)
	}
	return x
}

// index: X "[" access_arg ("," access_arg)* ","? "]"
func (p *parser) index(x Expr) Expr {
	n := p.indexes.get()
	off := x.At().Off
	opener := p.tok
	p.advance()
	keys := p.accessArgs()
	p.close(tRBrack, opener)
	*n = Index{p.since(off), x, keys}
	return n
}

func (p *parser) accessArgs() []Expr {
	mark := p.exprs.mark()
	if !p.enter() {
		p.depth--
		return nil
	}
	p.argument(mark, accessArg)
	for p.accept(tComma) && p.tok.kind != tRBrack {
		p.argument(mark, accessArg)
	}
	p.depth--
	return p.exprs.take(mark)
}

// An argKind is the kind of a list. It determines which elements are allowed
// besides an expression or K => V.
type argKind uint8

const (
	callArg   argKind = iota // an assignment
	accessArg                // none: an assignment is allowed only as a key
	listArg                  // an assignment, and the words type and function
)

// argument: assignment | hash_entry "=>" hash_entry
//
// Adjacent pairs are one hash.
func (p *parser) argument(mark int, kind argKind) {
	var x Expr
	isKey := false // x can only be a key
	switch {
	case p.tok.kind == tType || p.tok.kind == tFunction:
		if x = p.keywordEntry(); x == nil {
			x = p.assignment()
		} else {
			isKey = kind != listArg
		}
	case kind != accessArg || p.tok.kind == tAt || p.tok.kind == tAtAt || p.tok.kind == tClass && p.peek() == tLBrace:
		x = p.assignment()
		isKey = kind == accessArg
	default:
		first := p.expr(1)
		x = first
		switch p.tok.kind {
		case tLBrace, tEquals, tAppends, tDeletes, tInEdge, tInEdgeSub, tOutEdge, tOutEdgeSub:
			x = p.assignmentFrom(p.relationFrom(p.resourceFrom(first)))
			isKey = true
		}
	}
	if p.tok.kind != tFArrow {
		if isKey {
			p.unexpected()
		}
		p.exprs.push(x)
		return
	}
	arrow := p.tok
	p.advance()
	e := Entry{arrow.span(), x, p.hashEntry()}
	if n := p.exprs.mark(); n > mark {
		if h, ok := p.exprs.stack[n-1].(*Hash); ok && h.unbraced() {
			h.Entries = append(h.Entries, e)
			return
		}
	}
	h := p.hashes.get()
	*h = Hash{Span: arrow.span(), Entries: []Entry{e}}
	p.exprs.push(h)
}

// unbraced reports whether the hash is written as arguments K => V.
func (h *Hash) unbraced() bool { return h.Len == 2 && len(h.Entries) > 0 }

// keywordEntry parses the words type and function if they are values. If they
// begin a statement, it returns nil.
func (p *parser) keywordEntry() Expr {
	switch p.peek() {
	case tFArrow, tComma, tRBrack, tRBrace:
	default:
		return nil
	}
	s := p.strings.get()
	*s = Str{p.tok.span(), p.tok.text}
	p.advance()
	return s
}

// hash_entry: assignment | "type" | "function"
func (p *parser) hashEntry() Expr {
	if p.tok.kind == tType || p.tok.kind == tFunction {
		if x := p.keywordEntry(); x != nil {
			return x
		}
	}
	return p.assignment()
}

// call: X "(" (argument ("," argument)* ","?)? ")" lambda?
func (p *parser) call(x Expr) Expr {
	c := p.calls.get()
	off := x.At().Off
	opener := p.tok
	p.advance()
	args := p.arguments(true)
	p.close(tRParen, opener)
	var lambda *Lambda
	if p.tok.kind == tPipe {
		lambda = p.lambda()
	}
	*c = Call{Span: p.since(off), Func: x, Args: args, Lambda: lambda}
	return c
}

// arguments: (argument ("," argument)* ","?)?
func (p *parser) arguments(trailing bool) []Expr {
	if p.tok.kind == tRParen {
		return nil
	}
	mark := p.exprs.mark()
	if !p.enter() {
		p.depth--
		return nil
	}
	p.argument(mark, callArg)
	for p.accept(tComma) && (!trailing || p.tok.kind != tRParen) {
		p.argument(mark, callArg)
	}
	p.depth--
	return p.exprs.take(mark)
}

// method: X "." (NAME | "type") ("(" arguments ")")? lambda?
func (p *parser) method(x Expr) Expr {
	m := p.methods.get()
	dot := p.tok
	p.advance()
	name := p.names.get()
	*name = Name{p.tok.span(), p.tok.text}
	if p.tok.kind == tType {
		p.advance()
	} else {
		p.expect(tName)
	}
	m.X, m.Func = x, name
	if opener := p.tok; opener.kind == tLParen {
		p.advance()
		m.Args = p.arguments(false)
		p.close(tRParen, opener)
		m.Span = p.since(opener.off)
	} else {
		m.Span = p.since(dot.off)
	}
	if p.tok.kind == tPipe {
		m.Lambda = p.lambda()
	}
	return m
}

// collect: X ("<|" expression? "|>" | "<<|" expression? "|>>") ("{" attributes "}")?
func (p *parser) collect(x Expr) Expr {
	c := &Collect{Type: x}
	off := x.At().Off
	end := tRCollect
	opener := p.tok
	if opener.kind == tLLCollect {
		end = tRRCollect
		c.Exported = true
	}
	p.advance()
	if !p.enter() {
		p.depth--
		return x
	}
	if p.tok.kind != end {
		c.Query = p.expr(1)
	}
	p.depth--
	p.close(end, opener)
	if opener := p.tok; opener.kind == tLBrace {
		p.advance()
		c.Attrs = p.attributes()
		p.close(tRBrace, opener)
	}
	c.Span = p.since(off)
	return c
}

// primary: all expressions without an operator.
func (p *parser) primary() Expr {
	t := p.tok
	switch t.kind {
	case tVar:
		p.advance()
		n := p.vars.get()
		*n = Var{t.span(), t.text}
		return n
	case tName:
		p.advance()
		n := p.names.get()
		*n = Name{t.span(), t.text}
		return n
	case tTypeName:
		p.advance()
		return p.typeNode(&t)
	case tString, tWord:
		p.advance()
		n := p.strings.get()
		*n = Str{t.span(), t.text}
		return n
	case tDQPre:
		return p.interpolated()
	case tNumber:
		p.advance()
		return p.numberOf(&t)
	case tTrue, tFalse:
		p.advance()
		n := p.bools.get()
		*n = Bool{t.span(), t.kind == tTrue}
		return n
	case tUndef:
		p.advance()
		return &Undef{t.span()}
	case tDefault:
		p.advance()
		return &Default{t.span()}
	case tRegexp:
		p.advance()
		return &Regexp{t.span(), t.text}
	case tHeredoc:
		return p.heredoc()
	case tPrivate, tAttr:
		p.advance()
		return &Reserved{t.span(), t.text}
	case tRenderText:
		p.advance()
		n := p.renderTexts.get()
		*n = RenderText{t.span(), t.text}
		return n
	}
	if !p.enter() {
		p.depth--
		return nil
	}
	x := p.compound()
	p.depth--
	return x
}

func (p *parser) typeNode(t *token) *TypeName {
	n := p.types.get()
	*n = TypeName{t.span(), t.text}
	return n
}

// compound parses a primary expression that contains other expressions.
func (p *parser) compound() Expr {
	t := p.tok
	switch t.kind {
	case tListStart, tLBrack:
		return p.list()
	case tLBrace:
		return p.hash()
	case tLParen, tWSLParen:
		p.advance()
		x := p.assignment()
		p.close(tRParen, t)
		return &Paren{p.since(t.off), x}
	case tIf:
		return p.ifElse()
	case tUnless:
		return p.unless()
	case tCase:
		return p.caseOf()
	case tClass:
		return p.class()
	case tDefine:
		return p.define()
	case tNode:
		return p.node()
	case tFunction:
		return p.function()
	case tPlan:
		return p.plan()
	case tApply:
		return p.apply()
	case tType:
		return p.typeWord()
	case tRenderExpr:
		return p.render()
	}
	p.unexpected()
	return nil
}

// list: "[" (entry ("," entry)* ","?)? "]"
func (p *parser) list() Expr {
	opener := p.tok
	n := p.listNodes.get()
	p.advance()
	mark := p.exprs.mark()
	for p.tok.kind != tRBrack {
		p.argument(mark, listArg)
		if !p.accept(tComma) {
			break
		}
	}
	n.Items = p.exprs.take(mark)
	p.close(tRBrack, opener)
	n.Span = p.since(opener.off)
	return n
}

// hash: "{" (pair ("," pair)* ","?)? "}"
// pair: hash_entry "=>" hash_entry
func (p *parser) hash() Expr {
	opener := p.tok
	p.advance()
	if p.tok.kind == tRBrace {
		return p.hashFrom(opener, nil)
	}
	return p.hashFrom(opener, p.hashEntry())
}

// hashFrom parses a hash after its first key. For an empty hash, key is nil.
func (p *parser) hashFrom(opener token, key Expr) Expr {
	n := p.hashes.get()
	mark := p.entries.mark()
	for key != nil {
		arrow := p.tok
		p.expect(tFArrow)
		p.entries.push(Entry{arrow.span(), key, p.hashEntry()})
		if !p.accept(tComma) || p.tok.kind == tRBrace {
			break
		}
		key = p.hashEntry()
	}
	n.Entries = p.entries.take(mark)
	p.close(tRBrace, opener)
	n.Span = p.since(opener.off)
	return n
}

// interpolated: DQPRE assignment (DQMID assignment)* DQPOST
func (p *parser) interpolated() Expr {
	if !p.enter() {
		p.depth--
		return nil
	}
	p.quoted++
	n := p.concats.get()
	off := p.tok.off
	mark := p.exprs.mark()
	p.piece()
	for {
		p.advance()
		x := p.assignment()
		text := p.texts.get()
		*text = Text{Span{Off: off}, p.variableOf(x, off)}
		p.exprs.push(text)
		if p.tok.kind != tDQMid {
			break
		}
		p.piece()
	}
	p.quoted--
	if p.tok.kind == tDQPost {
		p.piece()
		p.advance()
	} else {
		p.unexpected()
	}
	p.depth--
	*n = Concat{p.since(off), p.exprs.take(mark)}
	return n
}

// piece adds the text of the current token, if it is not empty.
func (p *parser) piece() {
	if p.tok.text != "" {
		n := p.strings.get()
		*n = Str{p.tok.span(), p.tok.text}
		p.exprs.push(n)
	}
}

// variableOf converts a name in ${name}, ${name[1]}, ${name.method} to a
// variable. Usually the lexer has done so at the closing brace. If a heredoc
// ends before the brace, it has not.
func (p *parser) variableOf(x Expr, off uint32) Expr {
	switch n := x.(type) {
	case *Name:
		v := p.vars.get()
		*v = Var{Span{Off: off}, n.Value}
		return v
	case *Int:
		v := p.vars.get()
		*v = Var{Span{Off: off}, intText(n)}
		return v
	case *Index:
		n.X = p.variableOf(n.X, n.Off)
	case *Method:
		n.X = p.variableOf(n.X, n.Off)
	}
	return x
}

// heredoc: HEREDOC (STRING | interpolated)
func (p *parser) heredoc() Expr {
	h := &Heredoc{Span: p.tok.span(), Syntax: p.tok.text}
	p.advance()
	switch p.tok.kind {
	case tString:
		n := p.strings.get()
		*n = Str{p.tok.span(), p.tok.text}
		h.Text = n
		p.advance()
	case tDQPre:
		h.Text = p.interpolated()
	default:
		p.unexpected()
	}
	return h
}
