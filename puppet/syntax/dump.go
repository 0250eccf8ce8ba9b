package syntax

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Format is a notation for syntax trees.
type Format uint8

// The notations that Dump writes. All of them are Puppet's.
const (
	PN         Format = iota // S-expressions: (invoke {:functor (qn "notice") :args [1]})
	JSON                     // PN in JSON: {"^": ["invoke", {"#": ["functor", …]}]}
	Tree                     // the older notation: (invoke notice 1)
	PrettyPN                 // PN with each element on its own line
	PrettyJSON               // JSON with each element on its own line
)

// Dump writes the tree of a program in one of Puppet's notations, as Puppet's
// command "parser dump" does. It does not write a line end at the end.
func Dump(w io.Writer, prog *Program, format Format) error {
	b := bufio.NewWriter(w)
	switch format {
	case Tree:
		d := &treeDumper{}
		b.WriteString(d.dump(d.body(prog.Body)))
	case PrettyJSON:
		var compact, indented bytes.Buffer
		if err := Dump(&compact, prog, JSON); err != nil {
			return err
		}
		if err := json.Indent(&indented, compact.Bytes(), "", "  "); err != nil {
			return err
		}
		b.Write(indented.Bytes())
	default:
		d := &dumper{w: b, json: format == JSON, pretty: format == PrettyPN, src: prog.File.Src}
		d.body(prog.Body)
	}
	return b.Flush()
}

// A dumper writes PN or PN in JSON. The values of PN are calls, lists, maps and
// literals. first is set if the next element is the first one.
type dumper struct {
	w     *bufio.Writer
	json  bool
	first bool
	src   string

	pretty bool
	depth  int  // of the calls, lists and maps around, for pretty
	keyed  bool // the next element is the value of a key, for pretty
}

// sep writes the separator between two elements.
func (d *dumper) sep() {
	switch {
	case d.pretty && d.depth == 0:
	case d.pretty && d.keyed:
		d.keyed = false
		d.w.WriteByte(' ')
	case d.pretty:
		d.w.WriteByte('\n')
		for range d.depth {
			d.w.WriteString("  ")
		}
	case d.first:
		d.first = false
	case d.json:
		d.w.WriteByte(',')
	default:
		d.w.WriteByte(' ')
	}
}

func (d *dumper) call(name string, elements func()) {
	d.sep()
	if d.json {
		d.w.WriteString(`{"^":["`)
		d.w.WriteString(name)
		d.w.WriteByte('"')
	} else {
		d.w.WriteByte('(')
		d.w.WriteString(name)
	}
	if elements != nil {
		d.inside(elements)
	}
	if d.json {
		d.w.WriteString("]}")
	} else {
		d.w.WriteByte(')')
	}
}

// inside writes the elements between brackets.
func (d *dumper) inside(elements func()) {
	d.depth++
	elements()
	d.depth--
	d.first = false
}

func (d *dumper) list(elements func()) {
	d.sep()
	d.w.WriteByte('[')
	d.first = true
	d.inside(elements)
	d.w.WriteByte(']')
}

func (d *dumper) mapping(entries func()) {
	d.sep()
	if d.json {
		d.w.WriteString(`{"#":[`)
	} else {
		d.w.WriteByte('{')
	}
	d.first = true
	d.inside(entries)
	if d.json {
		d.w.WriteString("]}")
	} else {
		d.w.WriteByte('}')
	}
}

func (d *dumper) key(name string) {
	d.sep()
	if d.json {
		d.string(name)
		return
	}
	d.w.WriteByte(':')
	d.w.WriteString(name)
	d.keyed = true
}

// literal writes a value that has the same form in both notations.
func (d *dumper) literal(s string) {
	d.sep()
	d.w.WriteString(s)
}

func (d *dumper) text(s string) {
	d.sep()
	d.string(s)
}

func (d *dumper) string(s string) {
	d.w.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\t':
			d.w.WriteString(`\t`)
		case c == '\n':
			d.w.WriteString(`\n`)
		case c == '\r':
			d.w.WriteString(`\r`)
		case c == '"':
			d.w.WriteString(`\"`)
		case c == '\\':
			d.w.WriteString(`\\`)
		case c < 0x20 && !d.json:
			fmt.Fprintf(d.w, `\o%03o`, c)
		case c == '\b' && d.json:
			d.w.WriteString(`\b`)
		case c == '\f' && d.json:
			d.w.WriteString(`\f`)
		case c < 0x20:
			fmt.Fprintf(d.w, `\u%04x`, c)
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			d.w.WriteRune(r)
			i += n - 1
		default:
			d.w.WriteByte(c)
		}
	}
	d.w.WriteByte('"')
}

func (d *dumper) nop() { d.call("nop", nil) }

func (d *dumper) exprs(list []Expr) {
	for _, x := range list {
		d.expr(x)
	}
}

// body writes a sequence of expressions. Several expressions are written as a
// block.
func (d *dumper) body(b *Block) {
	switch {
	case b == nil || len(b.Exprs) == 0:
		d.first = true
		d.nop()
	case len(b.Exprs) == 1:
		d.first = true
		d.expr(b.Exprs[0])
	default:
		d.first = true
		d.call("block", func() { d.exprs(b.Exprs) })
	}
}

// block writes expressions as the list of a key. As in Puppet, if the only
// expression is a block, it is written without brackets.
func (d *dumper) block(key string, b *Block, alone bool) {
	d.key(key)
	list := b.Exprs
	if alone && len(list) == 1 {
		if inner, ok := list[0].(*Block); ok {
			list = inner.Exprs
		}
	}
	d.list(func() {
		if len(list) == 0 {
			d.nop()
		}
		d.exprs(list)
	})
}

func (d *dumper) binary(name string, x, y Expr) {
	d.call(name, func() {
		d.expr(x)
		d.expr(y)
	})
}

func (d *dumper) unary(name string, x Expr) { d.call(name, func() { d.expr(x) }) }

func (d *dumper) textCall(name, s string) { d.call(name, func() { d.text(s) }) }

func (d *dumper) entries(list []Entry) {
	for i := range list {
		d.binary("=>", list[i].Key, list[i].Value)
	}
}

func (d *dumper) attrs(list []Attr) {
	d.key("ops")
	d.list(func() {
		for i := range list {
			a := &list[i]
			if a.Splat {
				d.unary("splat-hash", a.Value)
				continue
			}
			op := "=>"
			if a.Add {
				op = "+>"
			}
			d.call(op, func() {
				d.text(a.Name)
				d.expr(a.Value)
			})
		}
	})
}

func (d *dumper) form(f Form) {
	if f != Regular {
		d.key("form")
		d.text(formText[f])
	}
}

var formText = [...]string{Regular: "regular", Virtual: "virtual", Exported: "exported"}

func (d *dumper) params(list []*Param) {
	if len(list) == 0 {
		return
	}
	d.key("params")
	d.mapping(func() {
		for _, p := range list {
			d.key(p.Name)
			d.mapping(func() {
				if p.Type != nil {
					d.key("type")
					d.expr(p.Type)
				}
				if p.Rest {
					d.key("splat")
					d.literal("true")
				}
				if p.Value != nil {
					d.key("value")
					d.expr(p.Value)
				}
			})
		}
	})
}

func (d *dumper) definition(kind, name, parent string, params []*Param, body *Block, returns Expr) {
	d.call(kind, func() {
		d.mapping(func() {
			d.key("name")
			d.text(name)
			if parent != "" {
				d.key("parent")
				d.text(parent)
			}
			d.params(params)
			if len(body.Exprs) > 0 {
				d.block("body", body, false)
			}
			if returns != nil {
				d.key("returns")
				d.expr(returns)
			}
		})
	})
}

func (d *dumper) invocation(kind string, f func(), args []Expr, lambda *Lambda) {
	d.call(kind, func() {
		d.mapping(func() {
			d.key("functor")
			f()
			d.key("args")
			d.list(func() { d.exprs(args) })
			if lambda != nil {
				d.key("block")
				d.expr(lambda)
			}
		})
	})
}

func (d *dumper) condition(kind string, cond Expr, then *Block, otherwise Expr) {
	d.call(kind, func() {
		d.mapping(func() {
			d.key("test")
			d.expr(cond)
			if len(then.Exprs) > 0 {
				d.block("then", then, true)
			}
			switch e := otherwise.(type) {
			case nil:
			case *Block:
				if len(e.Exprs) > 0 {
					d.block("else", e, true)
				}
			default:
				d.key("else")
				d.list(func() { d.expr(e) })
			}
		})
	})
}

func (d *dumper) expr(x Expr) {
	switch x := x.(type) {
	case nil, *Nop:
		d.nop()
	case *Undef:
		if d.json {
			d.literal("null")
		} else {
			d.literal("nil")
		}
	case *Default:
		d.call("default", nil)
	case *Bool:
		d.literal(strconv.FormatBool(x.Value))
	case *Int:
		d.integer(x)
	case *Float:
		d.literal(floatText(x.Value))
	case *Str:
		d.text(x.Value)
	case *Concat:
		d.call("concat", func() { d.exprs(x.Parts) })
	case *Text:
		d.unary("str", x.X)
	case *Heredoc:
		d.call("heredoc", func() {
			d.mapping(func() {
				if x.Syntax != "" {
					d.key("syntax")
					d.text(x.Syntax)
				}
				d.key("text")
				d.expr(x.Text)
			})
		})
	case *Regexp:
		src := x.Source
		if fixedEncoding(src) {
			src = "(?-imx:" + src + ")"
		}
		d.textCall("regexp", src)
	case *Name:
		d.textCall("qn", x.Value)
	case *TypeName:
		d.textCall("qr", x.Value)
	case *Reserved:
		d.textCall("reserved", x.Word)
	case *Var:
		d.variable(x)
	case *List:
		d.call("array", func() { d.exprs(x.Items) })
	case *Hash:
		d.call("hash", func() { d.entries(x.Entries) })
	case *Not:
		d.unary("!", x.X)
	case *Neg:
		d.negative(x)
	case *Splat:
		d.unary("unfold", x.X)
	case *Paren:
		d.unary("paren", x.X)
	case *Binary:
		d.binary(x.Op.String(), x.X, x.Y)
	case *Assign:
		d.binary(x.Op.String(), x.X, x.Y)
	case *Relation:
		d.binary(x.Op.String(), x.X, x.Y)
	case *Index:
		d.call("access", func() {
			d.expr(x.X)
			d.exprs(x.Keys)
		})
	case *Call:
		kind := "call"
		if x.Statement {
			kind = "invoke"
		}
		d.invocation(kind, func() { d.expr(x.Func) }, x.Args, x.Lambda)
	case *Method:
		d.invocation("call-method", func() { d.binary(".", x.X, x.Func) }, x.Args, x.Lambda)
	case *Lambda:
		d.call("lambda", func() {
			d.mapping(func() {
				d.params(x.Params)
				if x.Returns != nil {
					d.key("returns")
					d.expr(x.Returns)
				}
				if len(x.Body.Exprs) > 0 {
					d.block("body", x.Body, false)
				}
			})
		})
	case *If:
		d.condition("if", x.Cond, x.Then, x.Else)
	case *Unless:
		d.condition("unless", x.Cond, x.Then, x.Else)
	case *Case:
		d.call("case", func() {
			d.expr(x.X)
			d.list(func() {
				for _, o := range x.Options {
					d.mapping(func() {
						d.key("when")
						d.list(func() { d.exprs(o.Values) })
						d.block("then", o.Then, false)
					})
				}
			})
		})
	case *Selector:
		d.call("?", func() {
			d.expr(x.X)
			d.list(func() { d.entries(x.Options) })
		})
	default:
		d.declaration(x)
	}
}

// declaration writes resources, definitions and templates.
func (d *dumper) declaration(x Expr) {
	switch x := x.(type) {
	case *Resource:
		d.call("resource", func() {
			d.mapping(func() {
				d.key("type")
				d.expr(x.Type)
				d.key("bodies")
				d.list(func() {
					for _, b := range x.Bodies {
						d.mapping(func() {
							d.key("title")
							d.expr(b.Title)
							d.attrs(b.Attrs)
						})
					}
				})
				d.form(x.Form)
			})
		})
	case *Defaults:
		d.call("resource-defaults", func() {
			d.mapping(func() {
				d.key("type")
				d.expr(x.Type)
				d.attrs(x.Attrs)
				d.form(x.Form)
			})
		})
	case *Override:
		d.call("resource-override", func() {
			d.mapping(func() {
				d.key("resources")
				d.expr(x.X)
				d.attrs(x.Attrs)
				d.form(x.Form)
			})
		})
	case *Collect:
		query := "virtual-query"
		if x.Exported {
			query = "exported-query"
		}
		d.call("collect", func() {
			d.mapping(func() {
				d.key("type")
				d.expr(x.Type)
				d.key("query")
				if x.Query == nil {
					d.call(query, nil)
				} else {
					d.unary(query, x.Query)
				}
				if len(x.Attrs) > 0 {
					d.attrs(x.Attrs)
				}
			})
		})
	case *Class:
		d.definition("class", x.Name, x.Parent, x.Params, x.Body, nil)
	case *Define:
		d.definition("define", x.Name, "", x.Params, x.Body, nil)
	case *Function:
		d.definition("function", x.Name, "", x.Params, x.Body, x.Returns)
	case *Plan:
		d.definition("plan", x.Name, "", x.Params, x.Body, nil)
	case *NodeDef:
		d.call("node", func() {
			d.mapping(func() {
				d.key("matches")
				d.list(func() { d.exprs(x.Matches) })
				if x.Parent != nil {
					d.key("parent")
					d.expr(x.Parent)
				}
				if len(x.Body.Exprs) > 0 {
					d.block("body", x.Body, false)
				}
			})
		})
	case *TypeAlias:
		d.call("type-alias", func() {
			d.text(x.Name)
			d.expr(x.Value)
		})
	case *TypeMapping:
		d.binary("type-mapping", x.Type, x.Value)
	case *TypeDef:
		d.call("type-definition", func() {
			d.text(x.Name)
			switch {
			case x.Parent != "":
				d.text(x.Parent)
			case d.json:
				d.literal("null")
			default:
				d.literal("nil")
			}
			if b, ok := x.Body.(*Block); ok && len(b.Exprs) > 0 {
				d.call("block", func() { d.exprs(b.Exprs) })
			} else {
				d.nop()
			}
		})
	case *Apply:
		// Puppet has no notation for apply. This one resembles the others.
		d.call("apply", func() {
			d.mapping(func() {
				d.key("args")
				d.list(func() { d.exprs(x.Args) })
				d.key("body")
				d.list(func() { d.exprs(x.Body.Exprs) })
			})
		})
	case *Block:
		// A block with one expression is written as that expression, an empty
		// block as nothing.
		switch len(x.Exprs) {
		case 0:
			d.nop()
		case 1:
			d.expr(x.Exprs[0])
		default:
			d.call("block", func() { d.exprs(x.Exprs) })
		}
	case *EPP:
		d.call("lambda", func() {
			d.mapping(func() {
				d.params(x.Params)
				d.key("body")
				d.list(func() { d.call("epp", func() { d.exprs(x.Body.Exprs) }) })
			})
		})
	case *RenderText:
		d.textCall("render-s", x.Value)
	case *Render:
		d.unary("render", x.X)
	}
}

// intText writes an integer in decimal.
func intText(x *Int) string {
	if x.Over != "" {
		return x.Over
	}
	return strconv.FormatInt(x.Value, 10)
}

func (d *dumper) integer(x *Int) {
	if x.Radix == 10 {
		d.literal(intText(x))
		return
	}
	d.call("int", func() {
		d.mapping(func() {
			d.key("radix")
			d.literal(strconv.Itoa(int(x.Radix)))
			d.key("value")
			d.literal(intText(x))
		})
	})
}

// negative writes the minus and its number as one literal.
func (d *dumper) negative(x *Neg) {
	switch n := x.X.(type) {
	case *Int:
		if n.Over != "" {
			d.literal("-" + n.Over)
		} else {
			d.literal(strconv.FormatInt(-n.Value, 10))
		}
	case *Float:
		d.literal(floatText(-n.Value))
	default:
		d.unary("-", x.X)
	}
}

func (d *dumper) variable(x *Var) {
	d.call("var", func() {
		if (x.Name == "true" || x.Name == "false") && int(x.Off) < len(d.src) && d.src[x.Off] != '$' {
			d.literal(x.Name) // the variable in "${true}" has a boolean as its name
			return
		}
		d.text(x.Name)
	})
}

// floatText writes a float as Ruby does.
func floatText(f float64) string {
	s := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	exp, err := strconv.Atoi(exponent)
	if err != nil { // Infinity or NaN
		return s
	}
	if exp >= -4 && exp < 15 {
		s = strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	return mantissa + "e" + exponent
}

// fixedEncoding reports whether Ruby sets the encoding of a regular expression
// to UTF-8. Ruby then prints it with its (absent) options.
func fixedEncoding(src string) bool {
	for i := 0; i < len(src); i++ {
		switch {
		case src[i] >= utf8.RuneSelf:
			return true
		case src[i] != '\\' || i+1 == len(src):
		default:
			i++
			switch src[i] {
			case 'p', 'P':
				return true
			case 'u':
				r, n := unicodeEscape(src[i+1:])
				if r >= utf8.RuneSelf {
					return true
				}
				i += n
			}
		}
	}
	return false
}
