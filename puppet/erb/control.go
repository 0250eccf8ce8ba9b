package erb

// keywordOperand parses an operand that begins with a keyword.
func (p *parser) keywordOperand() node {
	t := p.tok
	l := at(t.line)
	switch t.text {
	case "nil":
		p.advance()
		return &literal{l, nil}
	case "true", "false":
		p.advance()
		return &literal{l, t.text == "true"}
	case "self":
		p.advance()
		return &selfNode{l}
	case "__FILE__":
		p.advance()
		return &strNode{l, []node{&textPart{l, p.name}}, false}
	case "__LINE__":
		p.advance()
		return &literal{l, int64(l)}
	case "defined?":
		n := &definedNode{at: l}
		p.inside(func() {
			p.advance()
			p.expect("(")
			p.lines()
			n.x = p.expression()
			p.lines()
		})
		p.expect(")")
		return n
	case "if", "unless":
		return p.ifUnless()
	case "while", "until":
		n := &whileNode{at: l, until: t.text == "until"}
		p.advance()
		n.cond = p.condition()
		p.acceptKw("do")
		p.inside(func() { n.body = p.statements() })
		p.expectKw("end")
		return n
	case "for":
		return p.forIn()
	case "case":
		return p.caseWhen()
	case "begin":
		var n node
		p.inside(func() {
			p.advance()
			n = p.body()
		})
		if b, is := n.(*beginNode); is {
			return b
		}
		return &beginNode{at: l, body: n}
	case "def":
		return p.def()
	case "return", "break", "next":
		n := &jumpNode{at: l, kind: jumpReturn}
		switch t.text {
		case "break":
			n.kind = jumpBreak
		case "next":
			n.kind = jumpNext
		}
		p.advance()
		if !p.operandFollows() {
			return n
		}
		values := p.valueList()
		n.value = values[0]
		if _, splat := n.value.(*splatNode); len(values) > 1 || splat {
			n.value = &arrayNode{l, values}
		}
		return n
	case "yield":
		p.advance()
		c := &callNode{at: l, name: "yield"}
		if p.op("(") && !p.tok.spaceBefore {
			p.parens(c)
		} else if p.argumentFollows() {
			p.args(c, "")
		}
		return &yieldNode{l, c.args}
	case "class", "module", "super", "alias", "undef", "redo", "retry", "BEGIN", "END":
		p.subset(t.line, t.text)
	}
	p.unexpected()
	return nil
}

// operandFollows reports whether a value follows return, break or next.
func (p *parser) operandFollows() bool {
	if p.blockEnds() {
		return false
	}
	switch p.tok.kind {
	case tokLine, tokText, tokInsert:
		return false
	case tokKeyword:
		switch p.tok.text {
		case "if", "unless", "while", "until", "and", "or":
			return false
		}
	case tokOp:
		switch p.tok.text {
		case "(", "[", "{", "-", "!", "->", "*", "::":
			return true
		}
		return false
	}
	return true
}

// condition parses the condition of a loop. A do after it belongs to the loop
// and not to a call.
func (p *parser) condition() node {
	noDo := p.noDo
	p.noDo = true
	x := p.expression()
	p.noDo = noDo
	return x
}

func (p *parser) ifUnless() node {
	defer p.enter()()
	n := &ifNode{at: at(p.tok.line)}
	unless := p.tok.text == "unless"
	p.inside(func() {
		p.advance()
		n.cond = p.expression()
		if p.tok.kind != tokLine && !p.kw("then") {
			p.unexpected()
		}
		p.lines()
		p.acceptKw("then")
		n.then = p.statements()
		switch {
		case p.kw("elsif") && !unless:
			// An elsif is an if with the same end.
			p.tok.text = "if"
			n.other = p.ifUnless()
			return
		case p.acceptKw("else"):
			n.other = p.statements()
		}
		p.expectKw("end")
	})
	if unless {
		n.then, n.other = n.other, n.then
	}
	return n
}

func (p *parser) forIn() node {
	n := &forNode{at: at(p.tok.line)}
	p.advance()
	targets := []node{p.multiTarget()}
	for p.accept(",") {
		targets = append(targets, p.multiTarget())
	}
	n.target = targets[0]
	if len(targets) > 1 {
		n.target = &multiNode{at: n.at, targets: targets}
	}
	p.expectKw("in")
	n.list = p.condition()
	p.acceptKw("do")
	p.inside(func() { n.body = p.statements() })
	p.expectKw("end")
	return n
}

func (p *parser) caseWhen() node {
	n := &caseNode{at: at(p.tok.line)}
	p.inside(func() {
		p.advance()
		if p.tok.kind != tokLine && !p.kw("when") {
			n.subject = p.expression()
		}
		p.lines()
		if p.kw("in") {
			p.subset(p.tok.line, "case with patterns (in)")
		}
		if !p.kw("when") {
			p.unexpected()
		}
		for p.acceptKw("when") {
			w := whenNode{tests: p.valueList()}
			p.lines()
			p.acceptKw("then")
			w.body = p.statements()
			n.whens = append(n.whens, w)
		}
		if p.acceptKw("else") {
			n.other = p.statements()
		}
		p.expectKw("end")
	})
	return n
}

func (p *parser) def() node {
	n := &defNode{at: at(p.tok.line)}
	p.advance()
	if p.tok.kind != tokName {
		p.subset(p.tok.line, "def of "+p.tok.text)
	}
	n.name = p.tok.text
	p.advance()
	outer := p.locals
	p.locals = &locals{names: map[string]bool{}}
	p.inside(func() {
		switch {
		case p.accept("("):
			n.params = p.params(")")
			p.expect(")")
		case p.op("."):
			p.subset(p.tok.line, "def of a method of an object")
		default:
			n.params = p.params("")
		}
		if p.op("=") {
			p.subset(p.tok.line, "def without an end")
		}
		n.body = p.body()
	})
	p.locals = outer
	return n
}
