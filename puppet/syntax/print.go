package syntax

import (
	"io"
	"strconv"
	"strings"
)

// Print writes a program in the usual style: two spaces of indentation, one
// attribute on each line, aligned arrows, lines of about 100 characters. The
// output parses to the same tree. Comments are lost, because they are not part
// of a tree.
func Print(w io.Writer, prog *Program) error {
	p := &printer{src: prog.File.Src}
	if len(prog.Body.Exprs) == 1 {
		if epp, ok := prog.Body.Exprs[0].(*EPP); ok {
			p.template(epp)
			_, err := w.Write(p.buf)
			return err
		}
	}
	p.statements(prog.Body.Exprs)
	if len(prog.Body.Exprs) > 0 {
		p.newline()
	}
	_, err := w.Write(p.buf)
	return err
}

// maxLine is the length up to which a construct that can be broken stays on one
// line.
const maxLine = 100

// A printer writes code. In flat mode it does not write line ends. Flat mode is
// for code within strings, and for attempts to write a construct on one line.
// Such an attempt ends (over) beyond limit.
type printer struct {
	buf     []byte
	src     string
	level   int
	line    int // the beginning of the current line in buf
	flat    bool
	limit   int // 0: none
	over    bool
	scopes  []string // names of the classes and plans around
	pending []taggedHeredoc
	tags    int
	epp     bool
	text    bool                      // in a template, outside of tags
	behind  bool                      // directly after text of a template
	instead func(Expr) (string, bool) // of Inline; or nil
}

func (p *printer) write(s string) {
	if p.text {
		p.text = false
		p.buf = append(p.buf, "<% "...)
	}
	p.behind = false
	p.buf = append(p.buf, s...)
	if p.limit > 0 && len(p.buf)-p.line > p.limit {
		p.over = true
	}
}

func (p *printer) column() int { return len(p.buf) - p.line }

// newline ends the line and writes the texts of the heredocs that began on it.
func (p *printer) newline() {
	if p.flat {
		p.write(" ")
		return
	}
	p.write("\n")
	p.flush()
	p.line = len(p.buf)
	for range p.level {
		p.buf = append(p.buf, "  "...)
	}
}

// flush writes the texts of the heredocs that have begun.
func (p *printer) flush() {
	list := p.pending
	p.pending = nil
	for _, h := range list {
		p.heredocText(h)
	}
}

// tryFlat writes a construct on the current line if it fits.
func (p *printer) tryFlat(f func()) bool {
	if p.flat {
		f()
		return true
	}
	mark, tags, text, pending := len(p.buf), p.tags, p.text, len(p.pending)
	p.flat, p.limit = true, maxLine
	f()
	fits := !p.over
	p.flat, p.limit, p.over = false, 0, false
	if !fits {
		p.buf = p.buf[:mark]
		p.tags, p.text, p.pending = tags, text, p.pending[:pending]
	}
	return fits
}

// statements writes a sequence of expressions. It writes a semicolon before an
// expression that would otherwise be parsed as a part of the one before it.
func (p *printer) statements(list []Expr) {
	for i, x := range list {
		if i > 0 {
			c := leading(x)
			switch {
			case p.text && c == 0:
			case p.flat || p.text, c == '-', c == '*', c == '{', c == '/', c == '(' && p.epp:
				p.write(";")
				p.newline()
			default:
				if !p.flat && c != 0 && (isDefinition(x) || isDefinition(list[i-1])) {
					p.buf = append(p.buf, '\n')
					p.flush()
					p.line = len(p.buf)
				}
				p.newline()
			}
		}
		p.statement(x)
	}
}

func isDefinition(x Expr) bool {
	switch x := x.(type) {
	case *Relation:
		return isDefinition(x.X)
	case *Class, *Define, *Function, *Plan, *NodeDef, *Resource:
		return true
	}
	return false
}

func (p *printer) statement(x Expr) {
	c, ok := x.(*Call)
	if !ok || !c.Bare || len(c.Args) == 0 {
		p.expr(x)
		return
	}
	p.bareCall(c, true)
}

// bareCall writes a call without parentheses if its first argument allows it.
func (p *printer) bareCall(c *Call, statement bool) {
	name, _ := c.Func.(*Name)
	first := leading(c.Args[0])
	if h, ok := c.Args[0].(*Hash); ok && len(c.Args) == 1 && name != nil && attributesOf(h) {
		p.write(name.Value + " ")
		p.bareHash(h)
		return
	}
	if statement && strings.IndexByte("-*{/(", first) >= 0 {
		p.expr(c.Func)
		p.write("(")
		p.list(c.Args)
		p.write(")")
		return
	}
	p.expr(c.Func)
	p.write(" ")
	p.list(c.Args)
}

// attributesOf reports whether a hash was written as the attributes of a
// resource.
func attributesOf(h *Hash) bool {
	for i := range h.Entries {
		e := &h.Entries[i]
		if _, ok := e.Key.(*Nop); !ok && (e.Len != 0 || e.Off != h.Off) {
			return false
		}
	}
	return len(h.Entries) > 0
}

// bareHash writes { name => value } as attributes.
func (p *printer) bareHash(h *Hash) {
	p.write("{ ")
	for i := range h.Entries {
		if i > 0 {
			p.write(", ")
		}
		switch k := h.Entries[i].Key.(type) {
		case *Str:
			p.write(k.Value + " => ")
			p.expr(h.Entries[i].Value)
		default:
			p.write("* => undef")
		}
	}
	p.write(" }")
}

// leading returns the first character of an expression if it can affect the
// parsing of the text before it. It returns 0 for text of a template, and 'a'
// for others.
func leading(x Expr) byte {
	for {
		switch n := x.(type) {
		case *Binary:
			x = n.X
		case *Assign:
			x = n.X
		case *Relation:
			x = n.X
		case *Index:
			x = n.X
		case *Method:
			x = n.X
		case *Selector:
			x = n.X
		case *Collect:
			x = n.Type
		case *Call:
			x = n.Func
		case *Resource:
			if n.Form != Regular {
				return '@'
			}
			x = n.Type
		case *Override:
			if n.Form != Regular {
				return '@'
			}
			x = n.X
		case *Neg:
			return '-'
		case *Splat:
			return '*'
		case *Hash:
			return '{'
		case *Paren:
			return '('
		case *Regexp:
			return '/'
		case *Concat:
			// The part before the string determines whether a slash divides.
			for _, part := range n.Parts {
				if t, ok := part.(*Text); ok {
					if leading(t.X) == '/' {
						return '/'
					}
					break
				}
			}
			return 'a'
		case *RenderText, *Render:
			return 0
		default:
			return 'a'
		}
	}
}

// block writes { … }.
func (p *printer) block(b *Block) {
	if b == nil || len(b.Exprs) == 0 {
		p.write("{ }")
		return
	}
	if p.limit > 0 { // an attempt to write on one line
		p.over = true
		return
	}
	p.write("{")
	p.level++
	if leading(b.Exprs[0]) != 0 {
		p.newline()
	}
	p.statements(b.Exprs)
	p.level--
	if !p.text {
		p.newline()
	}
	p.write("}")
}

// list writes expressions separated by commas, on one line.
func (p *printer) list(list []Expr) {
	for i, x := range list {
		if i > 0 {
			p.write(", ")
		}
		p.expr(x)
	}
}

// items writes items in brackets, on one line or each on its own line.
func (p *printer) items(open, end string, n int, trailing bool, item func(i int)) {
	if p.over {
		return
	}
	p.write(open)
	inline := func() {
		for i := range n {
			if p.over {
				return
			}
			if i > 0 {
				p.write(", ")
			}
			item(i)
		}
	}
	if n == 0 || p.tryFlat(inline) {
		p.write(end)
		return
	}
	p.level++
	for i := range n {
		p.newline()
		item(i)
		if i < n-1 || trailing {
			p.write(",")
		}
	}
	p.level--
	p.newline()
	p.write(end)
}

// arguments writes (…) for a call. If the last argument has several lines, it
// begins on the line of the bracket.
func (p *printer) arguments(args []Expr, trailing bool) {
	if n := len(args); n > 0 && !p.flat {
		switch args[n-1].(type) {
		case *Hash, *List, *Heredoc, *Concat, *Str:
			if n == 1 {
				p.write("(")
				p.expr(args[0])
				p.write(")")
				return
			}
		}
	}
	p.items("(", ")", len(args), trailing, func(i int) { p.expr(args[i]) })
}

// entries writes the entries K => V of a hash or a selector.
func (p *printer) entries(open, end string, list []Entry) {
	if p.over {
		return
	}
	inline := func() {
		p.write(open)
		for i := range list {
			if p.over {
				return
			}
			if i > 0 {
				p.write(",")
			}
			p.write(" ")
			p.expr(list[i].Key)
			p.write(" => ")
			p.expr(list[i].Value)
		}
		p.write(" " + end)
	}
	if len(list) == 0 {
		p.write(open + end)
		return
	}
	if p.tryFlat(inline) {
		return
	}
	p.write(open)
	p.level++
	width := 0
	for i := range list {
		width = max(width, p.width(list[i].Key))
	}
	for i := range list {
		p.newline()
		from := p.column()
		p.expr(list[i].Key)
		p.pad(width - (p.column() - from))
		p.write(" => ")
		p.expr(list[i].Value)
		p.write(",")
	}
	p.level--
	p.newline()
	p.write(end)
}

// width returns the length of a key, or 0 for a key that is too long for
// alignment.
func (p *printer) width(x Expr) int {
	mark, line := len(p.buf), p.line
	p.line = mark
	n := 0
	if p.tryFlat(func() { p.expr(x) }) {
		n = len(p.buf) - mark
	}
	p.buf, p.line = p.buf[:mark], line
	if n > 40 {
		return 0
	}
	return n
}

func (p *printer) pad(n int) {
	if n > 0 && n <= 40 && !p.flat {
		p.write(strings.Repeat(" ", n))
	}
}

func (p *printer) attrs(list []Attr, trailing bool) {
	width := 0
	for i := range list {
		width = max(width, len(list[i].Name))
	}
	for i := range list {
		a := &list[i]
		p.newline()
		p.write(a.Name)
		p.pad(width - len(a.Name))
		if a.Add {
			p.write(" +> ")
		} else {
			p.write(" => ")
		}
		p.expr(a.Value)
		if i < len(list)-1 || trailing && !p.flat {
			p.write(",")
		}
	}
}

// braces writes { attributes }.
func (p *printer) braces(list []Attr) {
	if p.limit > 0 && len(list) > 0 {
		p.over = true
		return
	}
	p.write("{")
	p.level++
	p.attrs(list, true)
	p.level--
	if len(list) > 0 {
		p.newline()
	} else {
		p.write(" ")
	}
	p.write("}")
}

func (p *printer) resource(r *Resource) {
	if p.limit > 0 {
		p.over = true
		return
	}
	p.form(r.Form)
	p.expr(r.Type)
	p.write(" {")
	if len(r.Bodies) == 1 {
		b := r.Bodies[0]
		p.write(" ")
		p.expr(b.Title)
		p.write(":")
		p.level++
		p.attrs(b.Attrs, true)
		p.level--
		if len(b.Attrs) > 0 {
			p.newline()
		} else {
			p.write(" ")
		}
		p.write("}")
		return
	}
	p.level++
	for i, b := range r.Bodies {
		p.newline()
		p.expr(b.Title)
		p.write(":")
		p.level++
		p.attrs(b.Attrs, false)
		p.level--
		if i < len(r.Bodies)-1 || !p.flat {
			p.write(";")
		}
	}
	p.level--
	p.newline()
	p.write("}")
}

func (p *printer) form(f Form) { p.write([...]string{Regular: "", Virtual: "@", Exported: "@@"}[f]) }

func (p *printer) params(list []*Param, open, end string) {
	if p.flat || open == "|" {
		p.write(open)
		for i, x := range list {
			if i > 0 {
				p.write(", ")
			}
			p.param(x)
		}
		p.write(end)
		return
	}
	p.write(open)
	p.level++
	for _, x := range list {
		p.newline()
		p.param(x)
		p.write(",")
	}
	p.level--
	p.newline()
	p.write(end)
}

func (p *printer) param(x *Param) {
	if x.Type != nil {
		p.plainType(x.Type)
		p.write(" ")
	}
	if x.Rest {
		p.write("*")
	}
	p.write("$" + x.Name)
	if x.Value != nil {
		p.write(" = ")
		p.expr(x.Value)
	}
}

// definition writes the common parts of all definitions.
func (p *printer) definition(word, name string, params []*Param, between string, returns Expr, body *Block, scope bool) {
	if p.limit > 0 {
		p.over = true
		return
	}
	prefix := strings.TrimPrefix(strings.Join(p.scopes, "::")+"::", "::")
	if word == "function" {
		prefix = ""
	}
	name = strings.TrimPrefix(name, prefix)
	p.write(word + " " + name)
	if len(params) > 0 {
		p.params(params, " (", ")")
	}
	if returns != nil {
		p.write(" >> ")
		p.plainType(returns)
	}
	p.write(between + " ")
	if scope {
		p.scopes = append(p.scopes, name)
		p.block(body)
		p.scopes = p.scopes[:len(p.scopes)-1]
		return
	}
	p.block(body)
}

func (p *printer) lambda(l *Lambda) {
	if l == nil {
		return
	}
	p.write(" ")
	p.params(l.Params, "|", "|")
	if l.Returns != nil {
		p.write(" >> ")
		p.plainType(l.Returns)
	}
	p.write(" ")
	p.block(l.Body)
}

// integer writes a number in the form of the source.
func (p *printer) integer(x *Int) {
	switch {
	case x.Over != "":
		p.write(x.Over)
	case x.Radix == 16:
		p.write("0x" + strconv.FormatInt(x.Value, 16))
	case x.Radix == 8:
		p.write("0" + strconv.FormatInt(x.Value, 8))
	default:
		p.write(strconv.FormatInt(x.Value, 10))
	}
}

func (p *printer) float(f float64) {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	mantissa, exponent, ok := strings.Cut(s, "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if ok {
		mantissa += "e" + strings.TrimPrefix(exponent, "+")
	}
	p.write(mantissa)
}

// template writes an EPP template: text and tags.
func (p *printer) template(epp *EPP) {
	p.epp, p.text = true, true
	list := epp.Body.Exprs
	if epp.HasParams {
		p.text = false
		p.buf = append(p.buf, "<%- "...)
		p.params(epp.Params, "|", "|")
		p.text = true
		if len(list) == 0 { // a line end after -%> would be text
			p.buf = append(p.buf, " %>"...)
			return
		}
		p.buf = append(p.buf, " -%>\n"...)
		p.line = len(p.buf)
		if t, ok := list[0].(*RenderText); ok && t.Value == "" { // this was the line end
			list = list[1:]
		}
	}
	p.statements(list)
	p.leaveTag()
	if p.behind && strings.HasSuffix(string(p.buf[max(0, len(p.buf)-3):]), "<%%") { // <%% at the end would be lost
		p.buf = append(p.buf, "<% %>"...)
	}
}

// leaveTag ends the current tag, if there is one.
func (p *printer) leaveTag() {
	if p.text {
		return
	}
	if len(p.pending) > 0 {
		p.buf = append(p.buf, '\n')
		p.flush()
	}
	p.buf = append(p.buf, " %>"...)
	p.text = true
}

func (p *printer) renderText(s string) {
	if s == "" { // only after a last tag that trims
		p.leaveTag()
		if p.behind || len(p.buf) == 0 {
			p.buf = append(p.buf, "<% %>"...)
		}
		p.buf = append(p.buf[:len(p.buf)-len("%>")], "-%>\n"...)
		return
	}
	if p.behind {
		p.buf = append(p.buf, "<% %>"...)
	}
	p.leaveTag()
	for i := 0; i < len(s); {
		switch {
		case strings.HasPrefix(s[i:], "<%"):
			p.buf = append(p.buf, "<%%"...)
			i += 2
		case strings.HasPrefix(s[i:], "%%>"):
			p.buf = append(p.buf, "%%%>"...)
			i += 3
		default:
			p.buf = append(p.buf, s[i])
			i++
		}
	}
	p.behind = true
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		p.line = len(p.buf) - (len(s) - i - 1)
	}
}

func (p *printer) render(x Expr) {
	p.leaveTag()
	p.buf = append(p.buf, "<%= "...)
	p.text, p.behind = false, false
	if b, ok := x.(*Block); ok && !isNameAndHash(b) {
		p.block(b)
	} else {
		p.expr(x)
	}
	p.leaveTag()
}

func isNameAndHash(b *Block) bool {
	if len(b.Exprs) != 2 {
		return false
	}
	name, ok := b.Exprs[0].(*Name)
	h, ok2 := b.Exprs[1].(*Hash)
	return ok && ok2 && name.Off == b.Off && h.End() == b.End()
}
