package syntax

// isStatementCall reports whether name is a function that can be called without
// parentheses, as a statement.
func isStatementCall(name string) bool {
	switch name {
	case "require", "realize", "include", "contain", "tag",
		"debug", "info", "notice", "warning", "err",
		"fail", "import", "break", "next", "return":
		return true
	}
	return false
}

// statements: statement (";"? statement)*
// statement: assignment ("," assignment)*
//
// If the name of a function that can be called without parentheses precedes a
// statement, the statement is its list of arguments.
func (p *parser) statements() []Expr { return p.statementsFrom(nil) }

// statementsFrom is statements after the first assignment is parsed.
func (p *parser) statementsFrom(x Expr) []Expr {
	mark := p.exprs.mark()
	if !p.enter() {
		p.depth--
		return nil
	}
	var loneList *Error // the first list that is not the arguments of a function
	for x != nil || begins[p.tok.kind] {
		start, definitions := p.tok.off, len(p.definitions)
		if x == nil {
			x = p.assignment()
		}
		list, comma := p.exprs.mark(), p.tok
		if p.tok.kind == tComma && !p.failed {
			p.exprs.push(x)
			for p.accept(tComma) {
				p.exprs.push(p.assignment())
			}
		}
		if p.failed {
			clear(p.exprs.stack[list:])
			p.exprs.stack = p.exprs.stack[:list]
			p.definitions = p.definitions[:definitions] // they are not in the tree
			p.resync(start)
			x = nil
			continue
		}
		args := p.exprs.take(list)
		var before *Name
		if list > mark {
			before, _ = p.exprs.stack[list-1].(*Name)
		}
		switch {
		case before != nil && isStatementCall(before.Value):
			last := x
			if args == nil {
				p.exprs.push(x)
				args = p.exprs.take(list)
			} else {
				last = args[len(args)-1]
			}
			c := p.calls.get()
			*c = Call{Span: Span{before.Off, max(last.At().End(), before.Off) - before.Off}, Func: before, Args: args, Statement: true, Bare: true}
			p.exprs.stack[list-1] = c
		case args != nil:
			if loneList == nil {
				loneList = &Error{File: p.file, Span: comma.span(), Kind: "unexpected-list", Msg: "a list separated by commas stands where no function takes it as its arguments"}
				if before != nil {
					loneList.Kind = "call-without-parentheses"
					loneList.Msg = "the function '" + Shortened(before.Value) + "' takes arguments only in parentheses"
				}
			}
			for _, a := range args {
				p.exprs.push(a)
			}
		default:
			if c, ok := x.(*Call); ok {
				c.Statement = true
			}
			p.exprs.push(x)
		}
		x = nil
		if p.tok.kind == tSemi {
			p.advance()
			if !begins[p.tok.kind] {
				p.unexpected()
				if p.poisoned.kind == tRBrace {
					p.tok, p.failed = p.poisoned, false
				} else {
					p.resync(start)
				}
			}
		}
	}
	p.depth--
	if loneList != nil {
		p.refuse(loneList.Span, true, loneList.Kind, loneList.Msg)
	}
	return p.exprs.take(mark)
}

// block: "{" statements? "}"
func (p *parser) block() *Block {
	b := p.blocks.get()
	opener := p.tok
	if !p.expect(tLBrace) {
		return b
	}
	b.Exprs = p.statements()
	p.close(tRBrace, opener)
	b.Span = p.since(opener.off)
	return b
}

// assignment: relation (("=" | "+=" | "-=") assignment)?
func (p *parser) assignment() Expr {
	return p.assignmentFrom(p.relationFrom(p.resource()))
}

func (p *parser) assignmentFrom(x Expr) Expr {
	switch p.tok.kind {
	case tEquals, tAppends, tDeletes:
	default:
		return x
	}
	op := p.tok
	p.advance()
	if !p.enter() {
		p.depth--
		return x
	}
	y := p.assignment()
	p.depth--
	n := p.assigns.get()
	*n = Assign{op.span(), operator[op.kind], x, y}
	return n
}

// relation: resource (("->" | "~>" | "<-" | "<~") resource)*
func (p *parser) relationFrom(x Expr) Expr {
	for n := 1; ; n++ {
		switch p.tok.kind {
		case tInEdge, tInEdgeSub, tOutEdge, tOutEdgeSub:
		default:
			return x
		}
		op := p.tok
		p.advance()
		x = &Relation{op.span(), operator[op.kind], x, p.resource()}
		p.chain(n)
	}
}

// resource: expression
//
//	| ("@" | "@@") resource
//	| "class" "{" resource_bodies ";"? "}"
//	| resource "{" … "}"
func (p *parser) resource() Expr {
	switch p.tok.kind {
	case tAt, tAtAt:
		return p.resourceFrom(p.virtual())
	case tClass:
		if p.peek() == tLBrace {
			return p.resourceFrom(p.classResource())
		}
	}
	return p.resourceFrom(p.expr(1))
}

func (p *parser) virtual() Expr {
	at := p.tok
	p.advance()
	if !p.enter() {
		p.depth--
		return nil
	}
	x := p.resource()
	p.depth--
	if p.failed {
		return x
	}
	form := Virtual
	if at.kind == tAtAt {
		form = Exported
	}
	span := Span{at.off, max(x.At().End(), at.end) - at.off}
	switch r := x.(type) {
	case *Resource:
		r.Form, r.Span = form, span
		for _, b := range r.Bodies {
			b.Off = at.off
		}
	case *Defaults:
		r.Form, r.Span = form, span
	case *Override:
		r.Form, r.Span = form, span
	default:
		p.refuse(at.span(), true, "not-a-resource", "'"+kindText[at.kind]+"' can stand only before a resource")
	}
	return x
}

func (p *parser) classResource() Expr {
	class := p.tok
	p.advance()
	opener := p.tok
	p.advance()
	r := p.resources.get()
	name := p.names.get()
	*name = Name{Span{Off: class.off}, class.text}
	r.Type = name
	mark := p.bodies.mark()
	p.resourceBodies(class.off)
	r.Bodies = p.bodies.take(mark)
	p.close(tRBrace, opener)
	r.Span = p.since(class.off)
	return r
}

// resource_bodies: resource_body (";" resource_body)* ";"?
func (p *parser) resourceBodies(off uint32) {
	for {
		title := p.expr(1)
		p.expect(tColon)
		p.bodies.push(p.resourceBody(off, title))
		if !p.accept(tSemi) || p.tok.kind == tRBrace {
			return
		}
	}
}

// resource_body: title ":" attributes
func (p *parser) resourceBody(off uint32, title Expr) *ResourceBody {
	b := p.bodyNodes.get()
	*b = ResourceBody{Span{Off: off}, title, p.attributes()}
	return b
}

// attributes: ","? (attribute ("," attribute)* ","?)?
func (p *parser) attributes() []Attr {
	mark := p.attrs.mark()
	if p.isAttribute() {
		p.attribute()
	}
	for p.accept(tComma) && p.isAttribute() {
		p.attribute()
	}
	return p.attrs.take(mark)
}

func (p *parser) isAttribute() bool {
	k := p.tok.kind
	return k == tName || k == tTimes || k >= tAnd
}

// attribute: (NAME | keyword) ("=>" | "+>") expression | "*" "=>" expression
func (p *parser) attribute() {
	t := p.tok
	p.advance()
	a := Attr{Name: t.text}
	switch {
	case t.kind == tTimes:
		a.Name, a.Splat = "*", true
		p.expect(tFArrow)
	case p.tok.kind == tPArrow:
		a.Add = true
		p.advance()
	default:
		p.expect(tFArrow)
	}
	a.Value = p.expr(1)
	a.Span = p.since(t.off)
	p.attrs.push(a)
}

// resourceFrom parses the bodies after an expression that can be a resource
// type:
//
//	"{" title ":" attributes (";" resource_bodies)? "}"
//	"{" attributes "}"
func (p *parser) resourceFrom(x Expr) Expr {
	for n := 1; p.tok.kind == tLBrace; n++ {
		p.chain(n)
		opener := p.tok
		p.advance()
		off := x.At().Off
		bare := false
		switch p.tok.kind {
		case tRBrace, tComma:
			bare = true
		default:
			if p.isAttribute() {
				k := p.peek()
				bare = k == tFArrow || k == tPArrow && p.tok.kind != tTimes || !begins[p.tok.kind]
			}
		}
		if bare {
			x = p.bareBody(x, off, opener)
		} else {
			r := p.resources.get()
			r.Type = x
			mark := p.bodies.mark()
			title := p.expr(1)
			p.expect(tColon)
			p.bodies.push(p.resourceBody(off, title))
			if p.accept(tSemi) && p.tok.kind != tRBrace {
				p.resourceBodies(off)
			}
			r.Bodies = p.bodies.take(mark)
			p.close(tRBrace, opener)
			r.Span = p.since(off)
			x = r
		}
		if p.failed {
			return x
		}
	}
	return x
}

// bareBody returns the meaning of X { attributes }: the defaults of a type, an
// override of references, or a name and a hash after it.
func (p *parser) bareBody(x Expr, off uint32, opener token) Expr {
	attrs := p.attributes()
	p.close(tRBrace, opener)
	if p.failed {
		return x
	}
	span := p.since(off)
	switch x := x.(type) {
	case *TypeName:
		return &Defaults{Span: span, Type: x, Attrs: attrs}
	case *Index:
		return &Override{Span: span, X: x, Attrs: attrs}
	case *Name:
		return p.nameAndHash(x, attrs, span, opener)
	}
	p.refuse(x.At(), false, "not-a-resource", "the expression before the '{' is neither a resource type nor a reference to resources")
	return x
}

func (p *parser) nameAndHash(name *Name, attrs []Attr, span Span, opener token) Expr {
	h := p.hashes.get()
	h.Span = p.since(opener.off)
	inside := Span{Off: opener.off}
	mark := p.entries.mark()
	for _, a := range attrs {
		switch {
		case a.Add:
			p.refuse(opener.span(), false, "not-a-resource", "a resource has a title and ':' before its attributes; a hash has no '+>'")
		case a.Splat:
			p.entries.push(Entry{inside, &Nop{inside}, &Nop{inside}})
		default:
			key := p.strings.get()
			*key = Str{inside, a.Name}
			p.entries.push(Entry{inside, key, a.Value})
		}
	}
	h.Entries = p.entries.take(mark)
	exprs := p.exprs.mark()
	p.exprs.push(h)
	if isStatementCall(name.Value) {
		c := p.calls.get()
		*c = Call{Span: span, Func: name, Args: p.exprs.take(exprs), Statement: true, Bare: true}
		return c
	}
	p.exprs.stack[exprs] = name
	p.exprs.push(h)
	b := p.blocks.get()
	*b = Block{span, p.exprs.take(exprs)}
	return b
}
