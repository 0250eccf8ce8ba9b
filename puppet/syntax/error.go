package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// An Error is what is wrong at one place of a text.
type Error struct {
	File *File
	Span Span
	// Kind is a word or two in kebab case, which stays as it is between
	// versions: "unexpected-token", "unclosed-string".
	Kind string
	Msg  string // one line, lower case, without the place
	// Incomplete: the text ended where more had to come.
	Incomplete bool
}

// Position returns where the error is.
func (e *Error) Position() Position { return e.File.Position(e.Span.Off) }

// Error returns "file:line:column: text".
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Position(), e.Msg) }

// Excerpt returns the line of the error and, below it, a caret under the place.
// Tabs stay tabs, so that the caret stands right. Of a long line it is the part
// around the place, with … where it was cut.
func (e *Error) Excerpt() string {
	return excerpt(e.File.Line(e.Span.Off), e.Position().Column)
}

// Excerpt returns the line of a place and, if its column is known, a caret
// below it; "" for a place that the file does not have.
func (f *File) Excerpt(p Position) string {
	f.line(0) // fills lines
	n := p.Line - f.Before
	if n < 1 || n > len(f.lines) {
		return ""
	}
	line := f.Line(f.lines[n-1])
	if p.Column < 1 {
		line, _ = window(line, 0)
		return line
	}
	return excerpt(line, p.Column)
}

func excerpt(line string, column int) string {
	line, at := window(line, forward(line, 0, column-1))
	var pad strings.Builder
	for _, r := range line[:at] {
		if r != '\t' {
			r = ' '
		}
		pad.WriteRune(r)
	}
	return line + "\n" + pad.String() + "^"
}

// excerptWidth is how many characters of a line an excerpt has.
const excerptWidth = 160

// window cuts a long line to what is around the byte at, and returns where that
// is then.
func window(line string, at int) (string, int) {
	// Where little is before the place, or behind it, there is more of the rest.
	end := forward(line, at, excerptWidth/2)
	begin := min(backward(line, end, excerptWidth), at)
	end = max(forward(line, begin, excerptWidth), at)
	const cut = "…"
	part := line[begin:end]
	at -= begin
	if begin > 0 {
		part = cut + part
		at += len(cut)
	}
	if end < len(line) {
		part += cut
	}
	return part, at
}

// forward returns the offset n characters behind another, at most the end.
func forward(line string, from, n int) int {
	for i := range line[from:] {
		if n--; n < 0 {
			return from + i
		}
	}
	return len(line)
}

// backward returns the offset n characters before another, at least 0.
func backward(line string, from, n int) int {
	for ; n > 0 && from > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(line[:from])
		from -= size
	}
	return from
}

// Errors are all that was found, in the order of the text.
type Errors []*Error

// Error returns them, one a line.
func (l Errors) Error() string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each of them.
func (l Errors) Unwrap() []error {
	errs := make([]error, len(l))
	for i, e := range l {
		errs[i] = e
	}
	return errs
}
