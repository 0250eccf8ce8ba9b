package graph

import (
	"strings"
	"unicode"

	"bolt/internal/safetext"
	"bolt/puppet/syntax"
)

// hidden replaces text that is not shown.
const hidden = "…"

// text returns an expression on one line, without secrets and without the
// arguments of calls that have their own nodes.
func (b *builder) text(x syntax.Expr) string { return b.textBut(nil, x) }

// textBut is like text, but keeps the arguments of the call full.
func (b *builder) textBut(full, x syntax.Expr) string {
	return clean(syntax.Inline(x, func(part syntax.Expr) (string, bool) {
		if b.secret[part] {
			_, variable := part.(*syntax.Var)
			return hidden, !variable
		}
		if part == full {
			return "", false
		}
		return short(part)
	}))
}

// short returns the short form of a call that is a step.
func short(x syntax.Expr) (string, bool) {
	name := ""
	switch p := x.(type) {
	case *syntax.Call:
		name = nameOf(p.Func)
	case *syntax.Method:
		name = nameOf(p.Func)
	}
	if s, is := signatures[name]; is && s.kind == Step {
		return name + "(" + hidden + ")", true
	}
	return "", false
}

// label is like text, but strings have no quotation marks.
func (b *builder) label(x syntax.Expr) string {
	if h, is := x.(*syntax.Heredoc); is && !b.secret[x] {
		x = h.Text
	}
	switch s := x.(type) {
	case *syntax.Str:
		if !b.secret[x] {
			return clean(s.Value)
		}
	case *syntax.Concat:
		if !b.secret[x] {
			return clean(b.pieces(s))
		}
	}
	return b.text(x)
}

// pieces returns a string with interpolation, without quotation marks and
// escapes.
func (b *builder) pieces(x *syntax.Concat) string {
	var text strings.Builder
	for _, part := range x.Parts {
		if s, is := part.(*syntax.Str); is {
			text.WriteString(s.Value)
			continue
		}
		one := b.text(&syntax.Concat{Parts: []syntax.Expr{part}})
		text.WriteString(strings.Trim(one, `"`))
	}
	return text.String()
}

// whole returns a call without its block.
func (b *builder) whole(c call) string {
	switch x := c.x.(type) {
	case *syntax.Call:
		bare := *x
		bare.Lambda = nil
		return b.textBut(&bare, &bare)
	case *syntax.Method:
		bare := *x
		bare.Lambda = nil
		return b.textBut(&bare, &bare)
	}
	return ""
}

// head returns a call with the parameters of its block.
func (b *builder) head(c call) string {
	text := strings.TrimSuffix(b.whole(c), "()")
	var names []string
	for _, p := range c.lambda.Params {
		names = append(names, "$"+p.Name)
	}
	if names != nil {
		text += " |" + strings.Join(names, ", ") + "|"
	}
	return text
}

// clean returns a string as one line without control characters.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.In(r, unicode.Bidi_Control):
			return -1
		}
		return r
	}, safetext.TerminalString(s))
	return strings.Join(strings.Fields(s), " ")
}

// secrets returns the parts of expressions that a program makes Sensitive.
func secrets(program *syntax.Program) map[syntax.Node]bool {
	all := map[syntax.Node]bool{}
	hide := func(list []syntax.Expr) {
		for _, x := range list {
			if namesSensitive(x) {
				continue
			}
			syntax.Walk(x, func(n syntax.Node) bool {
				seen := n == nil || all[n]
				if !seen {
					all[n] = true
				}
				return !seen
			})
		}
	}
	syntax.Walk(program.Body, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.Call:
			if namesSensitive(x.Func) || convertsTo(nameOf(x.Func), x.Args) {
				hide(x.Args)
			}
		case *syntax.Method:
			if operands := append([]syntax.Expr{x.X}, x.Args...); convertsTo(nameOf(x.Func), operands) {
				hide(operands)
			}
		}
		return n != nil
	})
	return all
}

// convertsTo reports whether a call makes a Sensitive from its arguments.
func convertsTo(name string, args []syntax.Expr) bool {
	if name != "new" && name != "convert_to" {
		return false
	}
	for _, x := range args {
		if namesSensitive(x) {
			return true
		}
	}
	return false
}

// namesSensitive reports whether a type is Sensitive or contains it.
func namesSensitive(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Paren:
		return namesSensitive(x.X)
	case *syntax.TypeName:
		return strings.EqualFold(strings.TrimPrefix(x.Value, "::"), "Sensitive")
	case *syntax.Index:
		if namesSensitive(x.X) {
			return true
		}
		for _, key := range x.Keys {
			if namesSensitive(key) {
				return true
			}
		}
	}
	return false
}
