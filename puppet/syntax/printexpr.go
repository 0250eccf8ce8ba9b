package syntax

import (
	"fmt"
	"strings"
)

func (p *printer) expr(x Expr) {
	if p.over || p.instead != nil && p.replaced(x) {
		return
	}
	switch x := x.(type) {
	case nil, *Nop:
	case *Undef:
		p.write("undef")
	case *Default:
		p.write("default")
	case *Bool:
		if x.Value {
			p.write("true")
		} else {
			p.write("false")
		}
	case *Int:
		p.integer(x)
	case *Float:
		p.float(x.Value)
	case *Str:
		p.quote(x.Value)
	case *Concat:
		p.concat(x)
	case *Text:
		p.expr(x.X)
	case *Heredoc:
		p.heredoc(x)
	case *Regexp:
		p.write("/" + strings.ReplaceAll(x.Source, "/", `\/`) + "/")
	case *Name:
		p.write(x.Value)
	case *TypeName:
		p.write(x.Value)
	case *Reserved:
		p.write(x.Word)
	case *Var:
		p.write("$" + x.Name)
	case *List:
		p.items("[", "]", len(x.Items), true, func(i int) { p.expr(x.Items[i]) })
	case *Hash:
		p.entries("{", "}", x.Entries)
	case *Not:
		p.write("!")
		p.expr(x.X)
	case *Neg:
		p.write("-")
		p.expr(x.X)
	case *Splat:
		p.write("*")
		p.expr(x.X)
	case *Paren:
		p.write("(")
		p.expr(x.X)
		p.write(")")
	case *Binary:
		p.binary(x.X, x.Op, x.Y)
	case *Assign:
		p.binary(x.X, x.Op, x.Y)
	case *Relation:
		p.expr(x.X)
		if _, ok := x.X.(*Resource); ok {
			p.newline()
		} else {
			p.write(" ")
		}
		p.write(x.Op.String() + " ")
		p.expr(x.Y)
	case *Index:
		p.expr(x.X)
		p.keys(x.Keys, true)
	case *Call:
		if x.Bare && len(x.Args) > 0 {
			p.bareCall(x, false)
			return
		}
		p.expr(x.Func)
		if m, ok := x.Func.(*Method); ok && len(m.Args) == 0 && m.Lambda == nil {
			p.write("()")
		}
		p.arguments(x.Args, true)
		p.lambda(x.Lambda)
	case *Method:
		p.expr(x.X)
		p.write(".")
		p.expr(x.Func)
		if len(x.Args) > 0 {
			p.arguments(x.Args, false)
		}
		p.lambda(x.Lambda)
	case *Lambda:
		p.lambda(x)
	default:
		p.compound(x)
	}
}

// keys writes the […] of an index.
func (p *printer) keys(keys []Expr, trailing bool) {
	if p.text { // the bracket must touch the tag to be an index of the text
		p.buf = append(p.buf, "<%"...)
		p.text = false
	}
	if len(keys) == 1 {
		switch keys[0].(type) {
		case *Hash, *List:
			p.write("[")
			p.expr(keys[0])
			p.write("]")
			return
		}
	}
	p.items("[", "]", len(keys), trailing, func(i int) { p.expr(keys[i]) })
}

// plainType writes the type of a parameter or a result. In the grammar it
// cannot have a comma before its bracket.
func (p *printer) plainType(x Expr) {
	if n, ok := x.(*Index); ok {
		p.expr(n.X)
		p.keys(n.Keys, false)
		return
	}
	p.expr(x)
}

func (p *printer) binary(x Expr, op Op, y Expr) {
	p.expr(x)
	p.write(" " + op.String() + " ")
	p.expr(y)
}

// compound writes expressions with blocks or braces.
func (p *printer) compound(x Expr) {
	switch x := x.(type) {
	case *If:
		p.ifElse(x)
	case *Unless:
		p.write("unless ")
		p.expr(x.Cond)
		p.write(" ")
		p.block(x.Then)
		if b, ok := x.Else.(*Block); ok && b != nil {
			p.write(" else ")
			p.block(b)
		}
	case *Case:
		if p.limit > 0 {
			p.over = true
			return
		}
		p.write("case ")
		p.expr(x.X)
		p.write(" {")
		p.level++
		for _, o := range x.Options {
			p.newline()
			p.list(o.Values)
			p.write(": ")
			p.block(o.Then)
		}
		p.level--
		p.newline()
		p.write("}")
	case *Selector:
		p.expr(x.X)
		p.write(" ? ")
		p.entries("{", "}", x.Options)
	case *Resource:
		p.resource(x)
	case *Defaults:
		p.form(x.Form)
		p.expr(x.Type)
		p.write(" ")
		p.braces(x.Attrs)
	case *Override:
		p.form(x.Form)
		p.expr(x.X)
		p.write(" ")
		p.braces(x.Attrs)
	case *Collect:
		p.collect(x)
	case *Class:
		inherits := ""
		if x.Parent != "" {
			inherits = " inherits " + x.Parent
		}
		p.definition("class", x.Name, x.Params, inherits, nil, x.Body, true)
	case *Define:
		p.definition("define", x.Name, x.Params, "", nil, x.Body, false)
	case *Function:
		p.definition("function", x.Name, x.Params, "", x.Returns, x.Body, false)
	case *Plan:
		p.definition("plan", x.Name, x.Params, "", nil, x.Body, true)
	case *NodeDef:
		p.write("node ")
		p.list(x.Matches)
		if x.Parent != nil {
			p.write(" inherits ")
			p.expr(x.Parent)
		}
		p.write(" ")
		p.block(x.Body)
	case *TypeAlias:
		p.write("type " + x.Name + " = ")
		p.expr(x.Value)
	case *TypeMapping:
		p.write("type ")
		p.plainType(x.Type)
		p.write(" = ")
		p.expr(x.Value)
	case *TypeDef:
		p.write("type " + x.Name + " ")
		if x.Parent != "" {
			p.write("inherits " + x.Parent + " ")
		}
		body, _ := x.Body.(*Block)
		p.block(body)
	case *Apply:
		p.write("apply")
		p.items("(", ")", len(x.Args), true, func(i int) { p.expr(x.Args[i]) })
		p.write(" ")
		p.block(x.Body)
	case *Block:
		if isNameAndHash(x) {
			p.expr(x.Exprs[0])
			p.write(" ")
			h := x.Exprs[1].(*Hash)
			if len(h.Entries) == 0 {
				p.write("{ }")
			} else {
				p.bareHash(h)
			}
			return
		}
		p.statements(x.Exprs)
	case *EPP:
		p.statements(x.Body.Exprs)
	case *RenderText:
		p.renderText(x.Value)
	case *Render:
		p.render(x.X)
	}
}

func (p *printer) ifElse(x *If) {
	word := "if "
	for {
		p.write(word)
		p.expr(x.Cond)
		p.write(" ")
		p.block(x.Then)
		switch e := x.Else.(type) {
		case *If:
			word, x = " elsif ", e
			continue
		case *Block:
			p.write(" else ")
			p.block(e)
		}
		return
	}
}

func (p *printer) collect(x *Collect) {
	open, end := "<|", "|>"
	if x.Exported {
		open, end = "<<|", "|>>"
	}
	p.expr(x.Type)
	p.write(" " + open + " ")
	if x.Query != nil {
		p.expr(x.Query)
		p.write(" ")
	}
	p.write(end)
	if len(x.Attrs) > 0 {
		p.write(" ")
		p.braces(x.Attrs)
	}
}

// quote writes a string, in single quotes if possible.
func (p *printer) quote(s string) {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] == 0x7f {
			p.write(`"` + escapeDouble(s, true) + `"`)
			return
		}
	}
	if !strings.ContainsAny(s, `'\`) {
		p.write("'" + s + "'")
		return
	}
	b := []byte{'\''}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\'' || c == '\\' && (i+1 == len(s) || s[i+1] == '\\' || s[i+1] == '\'') {
			b = append(b, '\\')
		}
		b = append(b, c)
	}
	p.write(string(append(b, '\'')))
}

// escapeDouble escapes a string, or a part of a string, for double quotes.
func escapeDouble(s string, last bool) string {
	b := make([]byte, 0, len(s)+8)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\t':
			b = append(b, `\t`...)
		case '\r':
			b = append(b, `\r`...)
		case '$':
			if i+1 == len(s) && !last || i+1 < len(s) && (s[i+1] == '{' || s[i+1] == ':' || s[i+1] == '"' || s[i+1] == '$' || s[i+1] == '\\' || class[s[i+1]]&wordByte != 0) {
				b = append(b, '\\')
			}
			b = append(b, c)
		default:
			if c < ' ' || c == 0x7f {
				b = fmt.Appendf(b, `\u%04x`, c)
				continue
			}
			b = append(b, c)
		}
	}
	return string(b)
}

func (p *printer) concat(x *Concat) {
	p.write(`"`)
	for _, part := range x.Parts {
		switch part := part.(type) {
		case *Str:
			p.write(escapeDouble(part.Value, false))
		case *Text:
			p.interpolation(part.X)
		}
	}
	p.write(`"`)
}

// interpolation writes ${…}. Its code stays on the line. The text of a heredoc
// in it precedes the brace.
func (p *printer) interpolation(x Expr) {
	if p.over {
		return
	}
	p.write("${")
	if p.limit > 0 && hasBlock(x) { // an attempt to write on one line
		p.over = true
		return
	}
	flat, pending := p.flat, p.pending
	p.flat, p.pending = true, nil
	if v := p.bareVariable(x); v != nil {
		p.chain(x, v)
	} else {
		p.expr(x)
	}
	if len(p.pending) > 0 {
		p.buf = append(p.buf, '\n')
		p.flush()
	}
	p.flat, p.pending = flat, pending
	p.write("}")
}

// hasBlock reports whether an expression contains statements or heredocs, such
// as the body of a lambda.
func hasBlock(x Expr) bool {
	found := false
	Walk(x, func(n Node) bool {
		switch n.(type) {
		case *Block, *Heredoc, *Resource, *Case:
			found = true
		}
		return !found
	})
	return found
}

// bareVariable returns the variable that an interpolation begins with if its $
// can be omitted there: ${x}, ${x[1]}, ${x.y}.
func (p *printer) bareVariable(x Expr) *Var {
	for {
		switch n := x.(type) {
		case *Index:
			x = n.X
		case *Method:
			x = n.X
		case *Var:
			if !isBareVariable(n.Name) {
				return nil
			}
			if (n.Name == "true" || n.Name == "false") && int(n.Off) < len(p.src) && p.src[n.Off] == '$' {
				return nil
			}
			return n
		default:
			return nil
		}
	}
}

func isBareVariable(name string) bool {
	if name == "" {
		return false
	}
	switch c := class[name[0]]; {
	case c&digitByte != 0:
		kind, _ := badNumber(name)
		return scanNumber(name, 0) == len(name) && kind == ""
	case c&lowerByte != 0, strings.HasPrefix(name, "::") && len(name) > 2 && class[name[2]]&lowerByte != 0:
		end, _ := scanWord(name, 0)
		return end == len(name)
	}
	return false
}

// chain writes an expression without the $ of the variable that it begins with.
func (p *printer) chain(x Expr, v *Var) {
	switch n := x.(type) {
	case *Var:
		p.write(v.Name)
	case *Index:
		p.chain(n.X, v)
		p.keys(n.Keys, true)
	case *Method:
		p.chain(n.X, v)
		p.write(".")
		p.expr(n.Func)
		if len(n.Args) > 0 {
			p.arguments(n.Args, false)
		}
		p.lambda(n.Lambda)
	}
}

// A taggedHeredoc is a heredoc whose text is not written yet.
type taggedHeredoc struct {
	*Heredoc
	tag string
}

// heredoc writes @(…). The text follows at the end of the line.
func (p *printer) heredoc(h *Heredoc) {
	if p.instead != nil {
		p.expr(h.Text)
		return
	}
	if p.limit > 0 {
		p.over = true
		return
	}
	p.tags++
	name := p.tag(h)
	tag := name
	concat, interpol := h.Text.(*Concat)
	if interpol {
		tag = `"` + tag + `"`
	}
	if h.Syntax != "" {
		tag += ":" + h.Syntax
	}
	flags := ""
	if interpol && escapesDollar(concat) {
		flags += "$"
	}
	if escapesReturn(h) {
		flags += "r"
	}
	if flags != "" {
		tag += "/" + flags
	}
	p.write("@(" + tag + ")")
	p.pending = append(p.pending, taggedHeredoc{h, name})
}

func pieces(h *Heredoc) []Expr {
	if c, ok := h.Text.(*Concat); ok {
		return c.Parts
	}
	return []Expr{h.Text}
}

func escapesDollar(c *Concat) bool {
	for _, part := range c.Parts {
		if s, ok := part.(*Str); ok && strings.IndexByte(s.Value, '$') >= 0 {
			return true
		}
	}
	return false
}

// escapesReturn reports whether the text ends with a carriage return, which the
// - of the end tag would remove.
func escapesReturn(h *Heredoc) bool {
	list := pieces(h)
	s, ok := list[len(list)-1].(*Str)
	return ok && strings.HasSuffix(s.Value, "\r")
}

// tag returns an end tag that is not at the end of a line of the text. It
// contains the number of the heredoc, so that it differs from the tags around
// and inside.
func (p *printer) tag(h *Heredoc) string {
	for n := p.tags; ; n += 1000 {
		tag := "END"
		if n > 1 {
			tag = fmt.Sprintf("END%d", n)
		}
		clash := false
		for _, part := range pieces(h) {
			if s, ok := part.(*Str); ok && strings.Contains(s.Value, tag) {
				clash = true
			}
		}
		if !clash {
			return tag
		}
	}
}

// heredocText writes the lines of the text of a heredoc and its end tag.
func (p *printer) heredocText(h taggedHeredoc) {
	tag := h.tag
	indent := strings.Repeat("  ", p.level+1)
	list := pieces(h.Heredoc)
	concat, interpol := h.Text.(*Concat)
	dollar := interpol && escapesDollar(concat)
	escaped := dollar || escapesReturn(h.Heredoc)
	if p.flat || interpol && hasBlock(concat) {
		indent = "" // the content has its own lines
	}
	start := len(p.buf)
	for i, part := range list {
		switch part := part.(type) {
		case *Str:
			s := part.Value
			if escaped {
				s = strings.ReplaceAll(s, `\`, `\\`)
			}
			if dollar {
				s = strings.ReplaceAll(s, "$", `\$`)
			}
			if i == len(list)-1 && escapesReturn(h.Heredoc) {
				s = strings.TrimSuffix(s, "\r") + `\r`
			}
			p.marginText(s, indent, start)
		case *Text:
			if len(p.buf) == start || p.buf[len(p.buf)-1] == '\n' {
				p.buf = append(p.buf, indent...)
			}
			p.interpolation(part.X)
		}
	}
	end := "| "
	if len(p.buf) > start && p.buf[len(p.buf)-1] != '\n' {
		p.buf = append(p.buf, '\n')
		end = "|- "
	} else if len(p.buf) > start && !endsWithNewline(list) {
		end = "|- "
	}
	p.buf = append(p.buf, indent...)
	p.buf = append(p.buf, end...)
	p.buf = append(p.buf, tag...)
	p.buf = append(p.buf, '\n')
	p.line = len(p.buf)
}

func endsWithNewline(list []Expr) bool {
	s, ok := list[len(list)-1].(*Str)
	return ok && strings.HasSuffix(s.Value, "\n")
}

// marginText writes text with a margin before each line that is not empty.
func (p *printer) marginText(s, indent string, start int) {
	for s != "" {
		line := s
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			line = s[:i+1]
		}
		s = s[len(line):]
		if (len(p.buf) == start || p.buf[len(p.buf)-1] == '\n') && line != "\n" {
			p.buf = append(p.buf, indent...)
		}
		p.buf = append(p.buf, line...)
	}
}
