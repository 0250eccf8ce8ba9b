package syntax

// maxInline is the number of bytes after which Inline truncates an expression.
const maxInline = 4000

// Inline writes an expression on one line, for messages. A heredoc is written
// as a string, and a very long expression is truncated. instead is called for
// the expression and for each of its parts. It can return another text and
// true. It is not called for a chain of a variable, keys and methods that is a
// whole interpolation.
func Inline(x Expr, instead func(Expr) (string, bool)) string {
	p := &printer{flat: true, instead: instead}
	p.expr(x)
	return string(p.buf)
}

// replaced writes the replacement of an expression, if there is one.
func (p *printer) replaced(x Expr) bool {
	if len(p.buf) > maxInline {
		if !p.over {
			p.write(" …")
		}
		p.over = true
		return true
	}
	text, is := p.instead(x)
	if is {
		p.write(text)
	}
	return is
}
