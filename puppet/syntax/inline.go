package syntax

// maxInline is how many bytes of an expression Inline writes, before it leaves
// the rest out.
const maxInline = 4000

// Inline writes an expression on one line for people to read: a heredoc stands
// there as a string, and of what is very long the rest is left out. For each
// part of it, and for itself, instead may give another text, and then returns
// true; it is not asked about a chain of variable, keys and methods that is all
// of an interpolation.
func Inline(x Expr, instead func(Expr) (string, bool)) string {
	p := &printer{flat: true, instead: instead}
	p.expr(x)
	return string(p.buf)
}

// replaced writes what stands instead of an expression, if anything does.
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
