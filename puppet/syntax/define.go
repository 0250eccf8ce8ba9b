package syntax

import (
	"strconv"
	"strings"
)

// if: "if" expression block ("elsif" expression block)* ("else" block)?
func (p *parser) ifElse() Expr {
	off := p.tok.off
	p.advance()
	n := p.ifs.get()
	n.Cond = p.expr(1)
	n.Then = p.block()
	switch p.tok.kind {
	case tElsif:
		if p.enter() {
			n.Else = p.ifElse()
		}
		p.depth--
	case tElse:
		p.advance()
		n.Else = p.block()
	}
	n.Span = p.since(off)
	return n
}

// unless: "unless" expression block ("else" block)?
func (p *parser) unless() Expr {
	off := p.tok.off
	p.advance()
	n := &Unless{Cond: p.expr(1)}
	n.Then = p.block()
	n.Span = p.since(off)
	if p.accept(tElse) {
		n.Else = p.block()
	}
	return n
}

// case: "case" expression "{" (expression ("," expression)* ":" block)+ "}"
func (p *parser) caseOf() Expr {
	off := p.tok.off
	p.advance()
	n := &Case{X: p.expr(1)}
	opener := p.tok
	p.expect(tLBrace)
	for {
		mark := p.exprs.mark()
		p.exprs.push(p.expr(1))
		for p.accept(tComma) {
			p.exprs.push(p.expr(1))
		}
		o := &CaseOption{Values: p.exprs.take(mark)}
		colon := p.tok.off
		p.expect(tColon)
		o.Then = p.block()
		o.Span = p.since(colon)
		n.Options = append(n.Options, o)
		if p.failed || p.tok.kind == tRBrace || !begins[p.tok.kind] {
			break
		}
	}
	p.close(tRBrace, opener)
	n.Span = p.since(off)
	return n
}

// lambda: "|" (parameter ("," parameter)* ","?)? "|" returns? block
func (p *parser) lambda() *Lambda {
	n := p.lambdas.get()
	off := p.tok.off
	if !p.enter() {
		p.depth--
		return n
	}
	n.Params = p.lambdaParams()
	n.Returns = p.returns()
	n.Body = p.block()
	p.depth--
	n.Span = p.since(off)
	return n
}

func (p *parser) lambdaParams() []*Param {
	opener := p.tok
	p.advance()
	params := p.parameters(tPipe)
	p.close(tPipe, opener)
	return params
}

// parameter_list: ("(" (parameter ("," parameter)* ","?)? ")")?
func (p *parser) parameterList() []*Param {
	opener := p.tok
	if opener.kind != tLParen && opener.kind != tWSLParen {
		return nil
	}
	p.advance()
	params := p.parameters(tRParen)
	p.close(tRParen, opener)
	return params
}

func (p *parser) parameters(end kind) []*Param {
	mark := p.params.mark()
	for p.tok.kind != end {
		p.params.push(p.parameter())
		if !p.accept(tComma) {
			break
		}
	}
	return p.params.take(mark)
}

// parameter: type? "*"? VARIABLE ("=" expression)?
func (p *parser) parameter() *Param {
	n := p.paramNodes.get()
	if p.tok.kind == tTypeName {
		n.Type = p.plainType()
	}
	if p.accept(tTimes) {
		n.Rest = true
	}
	t := p.tok
	n.Span, n.Name = t.span(), t.text
	p.expect(tVar)
	if p.accept(tEquals) {
		n.Value = p.expr(1)
	}
	return n
}

// type: TYPE ("[" access_arg ("," access_arg)* "]")?
func (p *parser) plainType() Expr {
	t := p.tok
	p.expect(tTypeName)
	x := Expr(p.typeNode(&t))
	if opener := p.tok; opener.kind == tLBrack {
		n := p.indexes.get()
		p.advance()
		mark := p.exprs.mark()
		if p.enter() {
			p.argument(mark, accessArg)
			for p.accept(tComma) {
				p.argument(mark, accessArg)
			}
		}
		p.depth--
		keys := p.exprs.take(mark)
		p.close(tRBrack, opener)
		*n = Index{p.since(t.off), x, keys}
		x = n
	}
	return x
}

// returns: (">>" type)?
func (p *parser) returns() Expr {
	if !p.accept(tRShift) {
		return nil
	}
	return p.plainType()
}

// className: NAME | WORD | TYPE
func (p *parser) className() string {
	t := p.tok
	switch t.kind {
	case tName, tWord, tTypeName:
		if len(t.text) > maxName {
			p.fail(&Error{Span: t.span(), Kind: "name-too-long", Msg: "the name has more than " + strconv.Itoa(maxName) + " bytes"})
			break
		}
		p.advance()
	case tClass:
		p.fail(&Error{Span: t.span(), Kind: "reserved-word", Msg: "'class' cannot be a name here"})
	case tString:
		p.fail(&Error{Span: t.span(), Kind: "quoted-name", Msg: "a name here is written without quotes"})
	default:
		p.unexpected()
	}
	return t.text
}

// maxName is the largest number of bytes in the name of a definition, including
// the names of the classes around it. Each definition in a class repeats the
// name of the class. Therefore the total of these names is limited, too, for
// many short definitions in many classes.
const maxName = 4096

// qualify adds the names of the classes around a definition to its name.
func (p *parser) qualify(at Span, name string) string {
	if len(p.namespace) == 0 {
		return name
	}
	size := len(name)
	for _, s := range p.namespace {
		size += len(s) + len("::")
	}
	p.qualified += size
	if size > maxName || p.qualified > 1<<20+8*len(p.file.Src) {
		p.refuse(at, false, "name-too-long", "with the names of the classes around, this name is too long")
		return name
	}
	return strings.TrimPrefix(strings.Join(p.namespace, "::")+"::"+name, "::")
}

// defined reserves the index of a definition among the others.
func (p *parser) defined() int {
	p.definitions = append(p.definitions, nil)
	return len(p.definitions) - 1
}

// define: "define" name parameter_list block
func (p *parser) define() Expr {
	place, off := p.defined(), p.tok.off
	p.advance()
	n := &Define{}
	p.definitions[place] = n
	n.Name = p.qualify(p.tok.span(), p.className())
	n.Params = p.parameterList()
	n.Body = p.block()
	n.Span = p.since(off)
	return n
}

// class: "class" name parameter_list ("inherits" (name | "default"))? block
func (p *parser) class() Expr {
	place, off := p.defined(), p.tok.off
	p.advance()
	n := &Class{}
	p.definitions[place] = n
	at := p.tok.span()
	name := p.className()
	n.Name = p.qualify(at, name)
	p.namespace = append(p.namespace, name)
	n.Params = p.parameterList()
	if p.accept(tInherits) {
		if p.tok.kind == tDefault {
			n.Parent = p.tok.text
			p.advance()
		} else {
			n.Parent = p.className()
		}
	}
	n.Body = p.block()
	p.namespace = p.namespace[:len(p.namespace)-1]
	n.Span = p.since(off)
	return n
}

// plan: "plan" name parameter_list block
func (p *parser) plan() Expr {
	place, off := p.defined(), p.tok.off
	p.advance()
	n := &Plan{}
	p.definitions[place] = n
	at := p.tok.span()
	name := p.className()
	n.Name = p.qualify(at, name)
	p.namespace = append(p.namespace, name)
	n.Params = p.parameterList()
	n.Body = p.block()
	p.namespace = p.namespace[:len(p.namespace)-1]
	n.Span = p.since(off)
	return n
}

// function: "function" name parameter_list returns block
func (p *parser) function() Expr {
	place, off := p.defined(), p.tok.off
	p.advance()
	n := &Function{}
	p.definitions[place] = n
	n.Name = p.className()
	n.Params = p.parameterList()
	n.Returns = p.returns()
	n.Body = p.block()
	n.Span = p.since(off)
	return n
}

// apply: "apply" "(" arguments ")" block
func (p *parser) apply() Expr {
	off := p.tok.off
	p.advance()
	n := &Apply{}
	opener := p.tok
	p.expect(tLParen)
	if p.tok.kind == tRParen {
		p.unexpected()
	}
	n.Args = p.arguments(true)
	p.close(tRParen, opener)
	n.Body = p.block()
	n.Span = p.since(off)
	return n
}

// node: "node" hostname ("," hostname)* ","? ("inherits" hostname)? block
func (p *parser) node() Expr {
	place, off := p.defined(), p.tok.off
	p.advance()
	n := &NodeDef{}
	p.definitions[place] = n
	n.Matches = append(n.Matches, p.hostname())
	for p.accept(tComma) && p.tok.kind != tLBrace && p.tok.kind != tInherits {
		n.Matches = append(n.Matches, p.hostname())
	}
	if p.accept(tInherits) {
		n.Parent = p.hostname()
	}
	n.Body = p.block()
	n.Span = p.since(off)
	return n
}

// hostname: (NAME | NUMBER) ("." (NAME | NUMBER))* | quoted | WORD | "default" | REGEXP
func (p *parser) hostname() Expr {
	t := p.tok
	switch t.kind {
	case tName, tNumber:
		p.advance()
		s := &Str{t.span(), t.text}
		var b strings.Builder
		for p.accept(tDot) {
			if b.Len() == 0 {
				b.WriteString(t.text)
			}
			b.WriteByte('.')
			b.WriteString(p.tok.text)
			if !p.accept(tNumber) {
				p.expect(tName)
			}
			s.Span = p.since(t.off)
		}
		if b.Len() > 0 {
			s.Value = b.String()
		}
		return s
	case tString, tWord, tDQPre, tHeredoc, tDefault, tRegexp:
		return p.primary()
	}
	p.unexpected()
	return nil
}

// type_alias: "type" type "=" (TYPE hash | TYPE ("[" … "]")? | hash | array)
// type_definition: "type" TYPE ("inherits" TYPE)? "{" statements? "}"
// or a call of the function type
func (p *parser) typeWord() Expr {
	word := p.tok
	p.advance()
	if p.tok.kind == tLParen {
		n := p.names.get()
		*n = Name{word.span(), word.text}
		return p.call(n)
	}
	place := p.defined()
	t := p.tok
	lhs := p.plainType()
	name, plain := lhs.(*TypeName)
	if plain && (p.tok.kind == tLBrace || p.tok.kind == tInherits) {
		n := &TypeDef{Name: t.text}
		p.definitions[place] = n
		if p.accept(tInherits) {
			n.Parent = p.tok.text
			p.expect(tTypeName)
		}
		body := p.block()
		n.Body = body
		n.Span = p.since(word.off)
		return n
	}
	p.expect(tEquals)
	value := p.aliasedType(t.off)
	span := p.since(t.off)
	if plain {
		n := &TypeAlias{span, name.Value, value}
		p.definitions[place] = n
		return n
	}
	n := &TypeMapping{span, lhs, value}
	p.definitions[place] = n
	return n
}

// aliasedType parses the definition of an alias. A hash defines an object type,
// and Parent {…} an object type with a parent.
func (p *parser) aliasedType(off uint32) Expr {
	object := func(parent *TypeName, hash Expr) Expr {
		n := p.indexes.get()
		mark := p.exprs.mark()
		p.exprs.push(hash)
		*n = Index{Span{Off: off}, parent, p.exprs.take(mark)}
		return n
	}
	switch p.tok.kind {
	case tLBrace:
		hash := p.hash()
		return object(&TypeName{Span{Off: off}, "Object"}, hash)
	case tListStart, tLBrack:
		return p.list()
	}
	t := p.tok
	p.expect(tTypeName)
	parent := p.typeNode(&t)
	switch opener := p.tok; opener.kind {
	case tLBrack:
		n := p.indexes.get()
		p.advance()
		keys := p.accessArgs()
		p.close(tRBrack, opener)
		*n = Index{Span{Off: off}, parent, keys}
		return n
	case tLBrace:
		hash := p.hash()
		h, ok := hash.(*Hash)
		if ok && t.text != "Object" && t.text != "TypeSet" {
			at := Span{Off: h.Off}
			h.Entries = append(h.Entries, Entry{at, &Name{at, "parent"}, parent})
			parent = &TypeName{Span{Off: off}, "Object"}
		}
		return object(parent, hash)
	}
	return parent
}

// render: "<%=" expression "%>" | "<%=" "{" statements "}" "%>"
func (p *parser) render() Expr {
	n := p.renders.get()
	off := p.tok.off
	p.advance()
	if p.tok.kind == tLBrace {
		n.X = p.renderBraces()
	} else {
		n.X = p.expr(1)
	}
	p.expect(tEPPEnd)
	n.Span = p.since(off)
	return n
}

// renderBraces parses a hash or a block of statements. The first arrow, or the
// end, decides which.
func (p *parser) renderBraces() Expr {
	opener := p.tok
	p.advance()
	if p.tok.kind == tRBrace {
		return p.exprFrom(p.hashFrom(opener, nil))
	}
	if p.tok.kind == tType || p.tok.kind == tFunction {
		if key := p.keywordEntry(); key != nil {
			return p.exprFrom(p.hashFrom(opener, key))
		}
	}
	first := p.assignment()
	if p.tok.kind == tFArrow {
		return p.exprFrom(p.hashFrom(opener, first))
	}
	b := p.blocks.get()
	b.Exprs = p.statementsFrom(first)
	p.close(tRBrace, opener)
	b.Span = p.since(opener.off)
	return b
}

// exprFrom parses the rest of an expression after its first operand.
func (p *parser) exprFrom(x Expr) Expr { return p.operators(p.postfix(x), 1) }
