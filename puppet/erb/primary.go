package erb

// primary = operand { "." name [args] [block] | "[" args "]" | "::" name } .
func (p *parser) primary() node {
	defer p.enter()()
	x := p.operand()
	for {
		l := at(p.tok.line)
		switch {
		case p.op(".") || p.op("&."):
			safe := p.tok.text == "&."
			p.advance()
			if p.op("(") {
				c := &callNode{at: l, recv: x, name: "call", safe: safe}
				p.parens(c)
				x = p.block(c)
				continue
			}
			x = p.method(&callNode{at: at(p.tok.line), recv: x, safe: safe})
		case p.op("::"):
			p.advance()
			c, is := x.(*constNode)
			if p.tok.kind == tokConst && is {
				x = &constNode{l, c.name + "::" + p.tok.text}
				p.advance()
				continue
			}
			x = p.method(&callNode{at: at(p.tok.line), recv: x})
		case p.op("[") && !p.tok.spaceBefore, p.op("[") && indexable(x):
			c := &callNode{at: l, recv: x, name: "[]"}
			p.inside(func() {
				p.advance()
				p.args(c, "]")
			})
			p.expect("]")
			c.extendPath()
			x = c
		default:
			return x
		}
	}
}

// indexable reports whether a [ after a blank is an index of x.
func indexable(x node) bool {
	switch x.(type) {
	case *localNode, *ivarNode, *gvarNode:
		return true
	}
	return false
}

// method parses the name of a method, its arguments and its block.
func (p *parser) method(c *callNode) node {
	switch p.tok.kind {
	case tokName, tokConst, tokKeyword:
		c.name = p.tok.text
	case tokOp:
		if precedence(p.tok.text) == 0 {
			p.unexpected()
		}
		c.name = p.tok.text
	default:
		p.unexpected()
	}
	p.advance()
	n := p.callRest(c)
	c.extendPath()
	return n
}

// callRest parses the arguments of a call, with or without parentheses, and its
// block.
func (p *parser) callRest(c *callNode) node {
	if p.op("(") && !p.tok.spaceBefore {
		p.parens(c)
	} else if p.argumentFollows() {
		noDo := p.noDo
		p.noDo = true
		p.args(c, "")
		p.noDo = noDo
	}
	return p.block(c)
}

func (p *parser) parens(c *callNode) {
	p.inside(func() {
		p.advance()
		p.args(c, ")")
	})
	p.expect(")")
}

// argumentFollows reports whether the next token begins an argument of a call
// without parentheses.
func (p *parser) argumentFollows() bool {
	t := &p.tok
	switch t.kind {
	case tokName, tokConst, tokIvar, tokGvar, tokNumber, tokString, tokSymbol, tokRegexp, tokWords, tokLabel:
		return true
	case tokKeyword:
		switch t.text {
		case "nil", "true", "false", "self", "not", "defined?", "__FILE__", "case", "def":
			return true
		}
	case tokOp:
		switch t.text {
		case "[", "(":
			return t.spaceBefore
		case "->":
			return true
		case "!":
			return !t.spaceAfter
		case "-", "*", "&", "**", "::":
			return t.spaceBefore && !t.spaceAfter
		}
	}
	return false
}

// args parses arguments up to a bracket. "" means without parentheses.
func (p *parser) args(c *callNode, shut string) {
	var named *hashNode
	for {
		if shut != "" {
			p.lines()
			if p.op(shut) {
				return
			}
		}
		l := at(p.tok.line)
		switch {
		case p.tok.kind == tokLabel:
			if named == nil {
				named = &hashNode{at: l}
				c.args = append(c.args, named)
			}
			named.pairs = append(named.pairs, p.labelled())
		case p.accept("*"):
			c.args = append(c.args, &splatNode{l, p.arg()})
		case p.accept("**"):
			if named == nil {
				named = &hashNode{at: l}
				c.args = append(c.args, named)
			}
			named.pairs = append(named.pairs, pairNode{nil, p.arg()})
		case p.accept("&"):
			c.pass = p.arg()
		default:
			x := p.argument2()
			if p.accept("=>") {
				if named == nil {
					named = &hashNode{at: l}
					c.args = append(c.args, named)
				}
				p.lines()
				named.pairs = append(named.pairs, pairNode{x, p.arg()})
			} else {
				c.args = append(c.args, x)
			}
		}
		if shut != "" {
			p.lines()
		}
		if !p.accept(",") {
			return
		}
		p.lines()
	}
}

// argument2 parses an argument, which can contain not.
func (p *parser) argument2() node {
	if p.kw("not") {
		return p.negation()
	}
	return p.arg()
}

// labelled parses a key with a colon, and its value.
func (p *parser) labelled() pairNode {
	l := at(p.tok.line)
	key := node(&literal{l, symbol(p.tok.text)})
	if p.tok.parts != nil {
		key = &strNode{l, p.tok.parts, true}
	}
	p.advance()
	p.lines()
	return pairNode{key, p.arg()}
}

// block parses the block of a call, if there is one.
func (p *parser) block(c *callNode) node {
	l := at(p.tok.line)
	switch {
	case p.op("{") && c.block == nil:
		b := &blockNode{at: l}
		p.scoped(func() {
			p.inside(func() {
				p.advance()
				b.params = p.blockParams()
				b.body = p.statements()
			})
			p.expect("}")
		})
		c.block = b
	case p.kw("do") && !p.noDo && c.block == nil:
		b := &blockNode{at: l}
		p.scoped(func() {
			p.inside(func() {
				p.advance()
				b.params = p.blockParams()
				b.body = p.body()
			})
		})
		c.block = b
	}
	if c.block != nil || c.pass != nil {
		c.bare = false
	}
	return c
}

// scoped runs f with new local variables, which are dropped at its end.
func (p *parser) scoped(f func()) {
	outer := p.locals
	p.locals = &locals{map[string]bool{}, outer}
	f()
	p.locals = outer
}

// blockParams parses |a, (b, c)|, if it is present.
func (p *parser) blockParams() []param {
	p.lines()
	if p.accept("||") {
		return nil
	}
	if !p.accept("|") {
		return nil
	}
	params := p.params("|")
	if p.tok.kind == tokLine {
		// |a; b|: b is a local variable.
		p.advance()
		for p.tok.kind == tokName {
			p.locals.names[p.tok.text] = true
			p.advance()
			p.accept(",")
		}
	}
	p.expect("|")
	return params
}

// params parses parameters up to a bracket. "" means up to the end of the line.
func (p *parser) params(shut string) []param {
	list := []param{}
	for {
		p.paramLines(shut)
		if shut != "" && p.op(shut) || p.tok.kind == tokLine {
			return list
		}
		var x param
		switch {
		case p.accept("*"):
			x.splat = true
		case p.accept("**"):
			x.keySplat = true
		case p.accept("&"):
			x.block = true
		case p.accept("("):
			x.sub = p.params(")")
			p.expect(")")
		}
		switch {
		case x.sub != nil:
		case p.tok.kind == tokName:
			x.name = p.tok.text
			p.locals.names[x.name] = true
			p.advance()
			if p.accept("=") {
				x.value = p.binary(precShift)
			}
		case p.tok.kind == tokLabel:
			x.name, x.key = p.tok.text, true
			p.locals.names[x.name] = true
			p.advance()
			if p.op(",") || shut != "" && p.op(shut) || p.tok.kind == tokLine {
				x.required = true
			} else {
				x.value = p.binary(precShift)
			}
		case x.splat || x.keySplat || x.block:
		default:
			p.unexpected()
		}
		list = append(list, x)
		p.paramLines(shut)
		if !p.accept(",") {
			return list
		}
	}
}

// paramLines skips line ends inside parentheses.
func (p *parser) paramLines(shut string) {
	if shut == ")" {
		p.lines()
	}
}

// operand parses an operand, without the operators, calls and indexes after it.
func (p *parser) operand() node {
	t := p.tok
	l := at(t.line)
	switch t.kind {
	case tokNumber:
		p.advance()
		return &literal{l, t.v}
	case tokString:
		p.advance()
		n := &strNode{l, t.parts, false}
		for p.tok.kind == tokString {
			n.parts = append(append([]node{}, n.parts...), p.tok.parts...)
			p.advance()
		}
		return n
	case tokSymbol:
		p.advance()
		if s, is := t.parts[0].(*textPart); is && len(t.parts) == 1 {
			return &literal{l, symbol(s.s)}
		}
		return &strNode{l, t.parts, true}
	case tokRegexp:
		p.advance()
		n := &regexNode{at: l, parts: t.parts, flags: t.text}
		if s, is := t.parts[0].(*textPart); is && len(t.parts) == 1 {
			n.fixed = fixedRegexp(s.s, t.text)
		}
		return n
	case tokWords:
		p.advance()
		n := &arrayNode{at: l}
		for _, w := range t.words {
			if t.text == "i" || t.text == "I" {
				n.elems = append(n.elems, &literal{l, symbol(w)})
			} else {
				n.elems = append(n.elems, &strNode{l, []node{&textPart{l, w}}, false})
			}
		}
		return n
	case tokIvar:
		p.advance()
		return &ivarNode{at: l, name: t.text}
	case tokGvar:
		p.advance()
		return &gvarNode{l, t.text}
	case tokConst:
		p.advance()
		if p.op("(") && !p.tok.spaceBefore || p.tok.kind == tokString {
			return p.callRest(&callNode{at: l, name: t.text})
		}
		return &constNode{l, t.text}
	case tokName:
		p.advance()
		if p.locals.has(t.text) && !(p.op("(") && !p.tok.spaceBefore) {
			return &localNode{l, t.text}
		}
		if t.text == "lambda" || t.text == "proc" {
			c := &callNode{at: l, name: t.text}
			p.block(c)
			if c.block != nil {
				c.block.lambda = t.text == "lambda"
				return c.block
			}
		}
		c := &callNode{at: l, name: t.text}
		p.callRest(c)
		c.bare = len(c.args) == 0 && c.block == nil && c.pass == nil && p.prevWas(t)
		return c
	case tokKeyword:
		return p.keywordOperand()
	case tokOp:
		switch t.text {
		case "(":
			var n node
			p.inside(func() {
				p.advance()
				n = p.statements()
			})
			p.expect(")")
			return &seqNode{l, []node{n}}
		case "[":
			c := &callNode{}
			p.inside(func() {
				p.advance()
				p.args(c, "]")
			})
			p.expect("]")
			return &arrayNode{l, c.args}
		case "{":
			return p.hash()
		case "->":
			return p.arrow()
		case "::":
			p.advance()
			return p.operand()
		case "..", "...":
			p.advance()
			return &rangeNode{l, nil, p.binary(precOr), t.text == "..."}
		}
	}
	p.unexpected()
	return nil
}

// prevWas reports whether a token is a name without parentheses: foo and not
// foo().
func (p *parser) prevWas(t token) bool {
	return isNameByte(t.text[len(t.text)-1]) && (t.end >= len(p.src) || p.src[t.end] != '(')
}

// hash = "{" [ pair { "," pair } ] "}" .
func (p *parser) hash() node {
	n := &hashNode{at: at(p.tok.line)}
	p.inside(func() {
		p.advance()
		c := &callNode{}
		p.args(c, "}")
		for _, x := range c.args {
			h, is := x.(*hashNode)
			if !is || len(c.args) > 1 || c.pass != nil {
				p.fail(x.line(), "a hash needs keys with values")
			}
			n.pairs = h.pairs
		}
	})
	p.expect("}")
	return n
}

// arrow = "->" [ "(" params ")" ] ( "{" statements "}" | "do" statements "end" ) .
func (p *parser) arrow() node {
	b := &blockNode{at: at(p.tok.line), lambda: true}
	p.scoped(func() {
		p.advance()
		if p.accept("(") {
			b.params = p.params(")")
			p.expect(")")
		} else if p.tok.kind == tokName {
			b.params = p.params("{")
		}
		p.inside(func() {
			switch {
			case p.accept("{"):
				b.body = p.statements()
			case p.acceptKw("do"):
				b.body = p.body()
			default:
				p.unexpected()
			}
		})
		if p.op("}") {
			p.advance()
		}
	})
	return b
}
