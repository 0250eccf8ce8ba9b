package erb

import "strings"

// Precedences of binary operators. Those of assignments and of ?: are lower.
const (
	precRange = iota + 2
	precOr
	precAnd
	precEqual
	precCompare
	precBitOr
	precBitAnd
	precShift
	precSum
	precProduct
	precMinus
	precPower
)

func precedence(op string) int {
	switch op {
	case "..", "...":
		return precRange
	case "||":
		return precOr
	case "&&":
		return precAnd
	case "<=>", "==", "===", "!=", "=~", "!~":
		return precEqual
	case "<", "<=", ">", ">=":
		return precCompare
	case "|", "^":
		return precBitOr
	case "&":
		return precBitAnd
	case "<<", ">>":
		return precShift
	case "+", "-":
		return precSum
	case "*", "/", "%":
		return precProduct
	case "**":
		return precPower
	}
	return 0
}

// arg = binary [ "?" arg ":" arg ] .
func (p *parser) arg() node {
	defer p.enter()()
	x := p.binary(precRange)
	if !p.op("?") {
		return x
	}
	n := &ifNode{at: at(p.tok.line), cond: x}
	p.ternary++
	p.advance()
	p.lines()
	n.then = p.arg()
	p.lines()
	if !p.op(":") {
		p.unexpected()
	}
	p.ternary--
	p.advance()
	p.lines()
	n.other = p.arg()
	return n
}

// binary parses operators whose precedence is at least least.
func (p *parser) binary(least int) node {
	defer p.enter()()
	x := p.unary()
	if p.tok.kind == tokOp && assignable(x) {
		if p.op("=") || strings.HasSuffix(p.tok.text, "=") && precedence(strings.TrimSuffix(p.tok.text, "=")) > precRange && precedence(p.tok.text) == 0 {
			return p.assign(x)
		}
	}
	for p.tok.kind == tokOp {
		op, l := p.tok.text, at(p.tok.line)
		prec := precedence(op)
		if prec == 0 || prec < least {
			break
		}
		p.advance()
		if prec == precRange {
			n := &rangeNode{at: l, lo: x, exclusive: op == "..."}
			if !p.op(")") && !p.op("]") && p.tok.kind != tokLine && !p.kw("then") {
				n.hi = p.binary(precOr)
			}
			return n
		}
		next := prec + 1
		if prec == precPower {
			next = prec
		}
		y := p.binary(next)
		switch op {
		case "&&":
			x = &logicNode{l, false, x, y}
		case "||":
			x = &logicNode{l, true, x, y}
		case "!=":
			x = &notNode{l, &callNode{at: l, recv: x, name: "==", args: []node{y}}}
		case "!~":
			x = &notNode{l, &callNode{at: l, recv: x, name: "=~", args: []node{y}}}
		default:
			x = &callNode{at: l, recv: x, name: op, args: []node{y}}
		}
	}
	return x
}

func (p *parser) assign(x node) node {
	n := &assignNode{at: at(p.tok.line), op: strings.TrimSuffix(p.tok.text, "=")}
	n.target = p.target(x)
	p.advance()
	p.lines()
	if p.op("*") {
		l := at(p.tok.line)
		n.value = &arrayNode{l, p.valueList()}
		return n
	}
	n.value = p.arg()
	if p.kw("rescue") {
		l := at(p.tok.line)
		p.advance()
		n.value = &beginNode{at: l, body: n.value, rescues: []rescueNode{{body: p.arg()}}}
	}
	return n
}

// unary = ("!" | "-" | "+" | "~") unary | "defined?" unary | primary .
func (p *parser) unary() node {
	l := at(p.tok.line)
	switch {
	case p.op("!"):
		defer p.enter()()
		p.advance()
		return &notNode{l, p.unary()}
	case p.op("-"):
		defer p.enter()()
		p.advance()
		if p.tok.kind == tokNumber && !p.tok.spaceBefore {
			switch v := p.tok.v.(type) {
			case int64:
				p.tok.v = -v
			case float64:
				p.tok.v = -v
			}
			return p.power(p.primary())
		}
		return &callNode{at: l, recv: p.binary(precMinus), name: "-@"}
	case p.op("+"):
		p.advance()
		return p.unary()
	case p.op("~"):
		p.subset(int(l), "the operator ~")
	case p.op("&"), p.op("*"), p.op("**"):
		p.unexpected()
	case p.kw("defined?"):
		if p.byte(0) == '(' {
			break // as a function
		}
		defer p.enter()()
		p.advance()
		return &definedNode{l, p.unary()}
	case p.kw("not"):
		return p.negation()
	}
	return p.primary()
}

// power parses ** after a number with a sign. The sign is applied last.
func (p *parser) power(x node) node {
	n, is := x.(*literal)
	if !is || !p.op("**") {
		return x
	}
	l := at(p.tok.line)
	p.advance()
	var positive any
	switch v := n.v.(type) {
	case int64:
		positive = -v
	case float64:
		positive = -v
	}
	return &callNode{at: l, name: "-@", recv: &callNode{at: l, recv: &literal{n.at, positive}, name: "**", args: []node{p.binary(precPower)}}}
}
