package match

import (
	"strconv"
	"strings"
)

// String returns the expression in its canonical form: double quotes, one space
// around operators, no redundant parentheses. Parse of the result returns an
// equal expression.
func (e *Expr) String() string {
	var w printer
	e.root.write(&w, levelOr)
	return w.String()
}

// The levels of the grammar, lowest precedence first.
const (
	levelOr = iota
	levelAnd
	levelNot
)

type printer struct{ strings.Builder }

// parens writes inner, in parentheses if an expression of this level cannot
// stand at a position that requires level within.
func (w *printer) parens(level, within int, inner func()) {
	if level < within {
		w.WriteByte('(')
		defer w.WriteByte(')')
	}
	inner()
}

// write writes the right operand at the next level, because Parse parses a
// chain from the left.
func (o or) write(w *printer, within int) {
	w.parens(levelOr, within, func() {
		o.a.write(w, levelOr)
		w.WriteString(" or ")
		o.b.write(w, levelAnd)
	})
}

func (o and) write(w *printer, within int) {
	w.parens(levelAnd, within, func() {
		o.a.write(w, levelAnd)
		w.WriteString(" and ")
		o.b.write(w, levelNot)
	})
}

func (o not) write(w *printer, _ int) {
	w.WriteString("not ")
	o.a.write(w, levelNot)
}

func (o truth) write(w *printer, _ int) { w.WriteString(o.a.String()) }

func (o comparison) write(w *printer, _ int) {
	w.WriteString(o.a.String() + " " + o.op + " " + o.b.String())
}

func (o operand) String() string {
	if o.path == nil {
		return literal(o.value)
	}
	var b strings.Builder
	for i, step := range o.path {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			switch {
			case i == 0:
				b.WriteString(step)
			case isWord(step):
				b.WriteString("." + step)
			default:
				b.WriteString("[" + quote(step) + "]")
			}
		}
	}
	return b.String()
}

func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case number:
		return v.text
	case string:
		return quote(v)
	}
	var parts []string
	for _, e := range v.([]any) {
		parts = append(parts, literal(e))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// quote quotes a string so that Parse can read it.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
