package syntax

import (
	"fmt"
	"strconv"
	"strings"
)

// The older notation is made in two steps, as in Puppet: first lists of strings
// and layout marks, then text. A node that opens one level more than it closes
// (an if without else) changes the level of indentation for the nodes after it.
// Therefore these two steps are necessary.
type (
	sexpr interface{ sexpr() }
	atom  string
	group []sexpr
	mark  uint8
)

const (
	lineBreak mark = iota
	indent
	dedent
)

func (atom) sexpr()  {}
func (group) sexpr() {}
func (mark) sexpr()  {}

type treeDumper struct{ level int }

// dump formats a tree. It writes a space between two parts, but not inside of
// brackets or next to a part that begins or ends with a blank.
func (d *treeDumper) dump(x sexpr) string {
	var parts []string
	d.flatten(x, &parts)
	var b strings.Builder
	for i, p := range parts {
		if i > 0 && p != ")" && !endsOpen(parts[i-1]) && !beginsBlank(p) {
			b.WriteByte(' ')
		}
		b.WriteString(p)
	}
	return b.String()
}

func (d *treeDumper) flatten(x sexpr, parts *[]string) {
	switch x := x.(type) {
	case atom:
		*parts = append(*parts, string(x))
	case group:
		*parts = append(*parts, "(")
		for _, e := range x {
			d.flatten(e, parts)
		}
		*parts = append(*parts, ")")
	case mark:
		switch x {
		case lineBreak:
			*parts = append(*parts, "\n"+strings.Repeat("  ", max(d.level, 0)))
		case indent:
			d.level++
		case dedent:
			d.level--
		}
	}
}

func isBlankByte(c byte) bool {
	return c == ' ' || c >= '\t' && c <= '\r'
}

// endsOpen reports whether a line of s ends with a blank or a bracket.
func endsOpen(s string) bool {
	for i := 1; i <= len(s); i++ {
		if (i == len(s) || s[i] == '\n') && (isBlankByte(s[i-1]) || s[i-1] == '(') {
			return true
		}
	}
	return false
}

// beginsBlank reports whether a line of s begins with a blank.
func beginsBlank(s string) bool {
	for i := 0; i < len(s); i++ {
		if (i == 0 || s[i-1] == '\n') && isBlankByte(s[i]) {
			return true
		}
	}
	return false
}

func (d *treeDumper) exprs(head group, list []Expr) group {
	for _, x := range list {
		head = append(head, d.expr(x))
	}
	return head
}

func (d *treeDumper) block(list []Expr) sexpr {
	g := group{atom("block"), indent}
	for _, x := range list {
		g = append(g, lineBreak, d.expr(x))
	}
	return append(g, dedent, lineBreak)
}

// body returns a sequence of expressions. A single expression is not written as
// a block.
func (d *treeDumper) body(b *Block) sexpr {
	switch {
	case b == nil || len(b.Exprs) == 0:
		return atom(":nop")
	case len(b.Exprs) == 1:
		return d.expr(b.Exprs[0])
	}
	return d.block(b.Exprs)
}

// blockOf returns expressions as a block.
func (d *treeDumper) blockOf(b *Block) sexpr {
	if len(b.Exprs) == 0 {
		return group{}
	}
	return d.block(b.Exprs)
}

func (d *treeDumper) params(g group, list []*Param) group {
	if len(list) == 0 {
		return g
	}
	params := group{atom("parameters")}
	for _, p := range list {
		name := p.Name
		if p.Rest {
			name = "*" + name
		}
		switch {
		case p.Type != nil && p.Value != nil:
			params = append(params, group{atom("=t"), d.expr(p.Type), atom(name), d.expr(p.Value)})
		case p.Value != nil:
			params = append(params, group{atom("="), atom(name), d.expr(p.Value)})
		case p.Type != nil:
			params = append(params, group{atom("t"), d.expr(p.Type), atom(name)})
		default:
			params = append(params, atom(name))
		}
	}
	return append(g, params)
}

func (d *treeDumper) definition(kind, name string, params []*Param, returns Expr, body *Block) sexpr {
	g := d.params(group{atom(kind), atom(name)}, params)
	if returns != nil {
		g = append(g, group{atom("return_type"), d.expr(returns)})
	}
	return append(g, d.blockOf(body))
}

func (d *treeDumper) attrs(g group, list []Attr) group {
	for i := range list {
		a := &list[i]
		op := atom("=>")
		if a.Add {
			op = "+>"
		}
		if a.Splat {
			g = append(g, lineBreak, group{atom("* =>"), d.expr(a.Value)})
		} else {
			g = append(g, lineBreak, group{atom(a.Name), op, d.expr(a.Value)})
		}
	}
	return append(g, dedent)
}

func form(f Form, name string) atom {
	if f == Regular {
		return atom(name)
	}
	return atom(formText[f] + "-" + name)
}

func (d *treeDumper) condition(kind string, cond Expr, then *Block, otherwise Expr) sexpr {
	thenPart := sexpr(atom("()"))
	if len(then.Exprs) > 0 {
		thenPart = d.body(then)
	}
	g := group{atom(kind), d.expr(cond), indent, lineBreak, group{atom("then"), indent, thenPart, dedent}}
	if b, ok := otherwise.(*Block); otherwise == nil || ok && len(b.Exprs) == 0 {
		return g
	}
	return append(g, lineBreak, group{atom("else"), indent, d.expr(otherwise), dedent}, dedent)
}

func (d *treeDumper) expr(x Expr) sexpr {
	switch x := x.(type) {
	case nil:
		return atom("()")
	case *Nop:
		return atom(":nop")
	case *Undef:
		return atom(":undef")
	case *Default:
		return atom(":default")
	case *Bool:
		return atom(strconv.FormatBool(x.Value))
	case *Int:
		switch x.Radix {
		case 8:
			return atom("0" + strconv.FormatInt(x.Value, 8))
		case 16:
			return atom(fmt.Sprintf("0x%X", x.Value))
		}
		return atom(intText(x))
	case *Float:
		return atom(floatText(x.Value))
	case *Str:
		return atom("'" + x.Value + "'")
	case *Concat:
		return d.exprs(group{atom("cat")}, x.Parts)
	case *Text:
		return group{atom("str"), d.expr(x.X)}
	case *Heredoc:
		return group{atom("@(" + x.Syntax + ")"), indent, lineBreak, d.expr(x.Text), dedent, lineBreak}
	case *Regexp:
		src := strings.ReplaceAll(x.Source, "/", `\/`)
		if fixedEncoding(src) {
			src = "(?-mix:" + src + ")"
		}
		return atom("/" + src + "/")
	case *Name:
		return atom(x.Value)
	case *TypeName:
		return atom(x.Value)
	case *Reserved:
		return group{atom("reserved"), atom(x.Word)}
	case *Var:
		return atom("$" + x.Name)
	case *List:
		return d.exprs(group{atom("[]")}, x.Items)
	case *Hash:
		g := group{atom("{}")}
		for _, e := range x.Entries {
			value := d.expr(e.Value)
			if _, ok := e.Value.(*Nop); ok {
				value = atom("()")
			}
			g = append(g, group{d.expr(e.Key), value})
		}
		return g
	case *Not:
		return group{atom("!"), atom(d.dump(d.expr(x.X)))}
	case *Neg:
		return group{atom("-"), d.expr(x.X)}
	case *Splat:
		return group{atom("unfold"), d.expr(x.X)}
	case *Paren:
		return d.expr(x.X)
	case *Binary:
		op := x.Op.String()
		switch x.Op {
		case And:
			op = "&&"
		case Or:
			op = "||"
		}
		return group{atom(op), d.expr(x.X), d.expr(x.Y)}
	case *Assign:
		return group{atom(x.Op.String()), d.expr(x.X), d.expr(x.Y)}
	case *Relation:
		return group{atom(x.Op.String()), d.expr(x.X), d.expr(x.Y)}
	case *Index:
		g := group{atom("slice"), d.expr(x.X)}
		if len(x.Keys) == 1 {
			return append(g, d.expr(x.Keys[0]))
		}
		return append(g, d.exprs(group{}, x.Keys))
	case *Call:
		kind := atom("call")
		if x.Statement {
			kind = "invoke"
		}
		return d.lambda(d.exprs(group{kind, d.expr(x.Func)}, x.Args), x.Lambda)
	case *Method:
		f := group{atom("."), d.expr(x.X), d.expr(x.Func)}
		return d.lambda(d.exprs(group{atom("call-method"), f}, x.Args), x.Lambda)
	case *Lambda:
		g := d.params(group{atom("lambda")}, x.Params)
		if x.Returns != nil {
			g = append(g, group{atom("return_type"), d.expr(x.Returns)})
		}
		return append(g, d.blockOf(x.Body))
	case *If:
		return d.condition("if", x.Cond, x.Then, x.Else)
	case *Unless:
		return d.condition("unless", x.Cond, x.Then, x.Else)
	case *Case:
		g := group{atom("case"), d.expr(x.X), indent}
		for _, o := range x.Options {
			then := sexpr(atom("()"))
			if len(o.Then.Exprs) > 0 {
				then = d.block(o.Then.Exprs)
			}
			g = append(g, lineBreak, group{atom("when"), d.exprs(group{}, o.Values), group{atom("then"), then}})
		}
		return append(g, dedent)
	case *Selector:
		g := group{atom("?"), d.expr(x.X)}
		for _, e := range x.Options {
			g = append(g, group{d.expr(e.Key), atom("=>"), d.expr(e.Value)})
		}
		return g
	}
	return d.declaration(x)
}

func (d *treeDumper) lambda(g group, l *Lambda) sexpr {
	if l != nil {
		g = append(g, d.expr(l))
	}
	return g
}

func (d *treeDumper) declaration(x Expr) sexpr {
	switch x := x.(type) {
	case *Resource:
		g := group{form(x.Form, "resource"), d.expr(x.Type), indent}
		for _, b := range x.Bodies {
			g = append(g, lineBreak, d.attrs(group{d.expr(b.Title), indent}, b.Attrs))
		}
		return append(g, dedent)
	case *Defaults:
		return d.attrs(group{form(x.Form, "resource-defaults"), d.expr(x.Type), indent}, x.Attrs)
	case *Override:
		return d.attrs(group{form(x.Form, "override"), d.expr(x.X), indent}, x.Attrs)
	case *Collect:
		query := group{atom("<| |>")}
		if x.Exported {
			query[0] = atom("<<| |>>")
		}
		if x.Query != nil {
			query = append(query, d.expr(x.Query))
		}
		return group{atom("collect"), d.expr(x.Type), indent, lineBreak, query, indent, dedent, dedent}
	case *Class:
		g := group{atom("class"), atom(x.Name)}
		if x.Parent != "" {
			g = append(g, group{atom("inherits"), atom(x.Parent)})
		}
		return append(d.params(g, x.Params), d.blockOf(x.Body))
	case *Define:
		return d.definition("define", x.Name, x.Params, nil, x.Body)
	case *Plan:
		return d.definition("plan", x.Name, x.Params, nil, x.Body)
	case *Function:
		return d.definition("function", x.Name, x.Params, x.Returns, x.Body)
	case *NodeDef:
		g := group{atom("node"), d.exprs(group{atom("matches")}, x.Matches)}
		if x.Parent != nil {
			g = append(g, group{atom("parent"), d.expr(x.Parent)})
		}
		return append(g, d.blockOf(x.Body))
	case *TypeAlias:
		return group{atom("type-alias"), atom(x.Name), d.expr(x.Value)}
	case *TypeMapping:
		return group{atom("type-mapping"), d.expr(x.Type), d.expr(x.Value)}
	case *TypeDef:
		body := sexpr(atom("()"))
		if b, ok := x.Body.(*Block); ok && len(b.Exprs) > 0 {
			body = d.block(b.Exprs)
		}
		return group{atom("type-definition"), atom(x.Name), atom(x.Parent), body}
	case *Apply:
		return group{atom("apply"), d.exprs(group{}, x.Args), d.blockOf(x.Body)}
	case *Block:
		return d.body(x)
	case *EPP:
		return append(d.params(group{atom("lambda")}, x.Params),
			group{atom("epp"), d.blockOf(x.Body)})
	case *RenderText:
		return group{atom("render-s"), atom(" '" + x.Value + "'")}
	case *Render:
		return group{atom("render"), d.expr(x.X)}
	}
	return atom("()")
}
