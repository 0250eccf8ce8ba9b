package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// An Error is an error at a position in a file.
type Error struct {
	File *File
	Span Span
	// Kind is a word or two in kebab case, such as "unexpected-token" or
	// "unclosed-string". It does not change between versions.
	Kind string
	Msg  string // one line, begins in lower case, without the position
	// Incomplete is set if the source ended too early.
	Incomplete bool
}

// Position returns the position of the error.
func (e *Error) Position() Position { return e.File.Position(e.Span.Off) }

// Error returns "file:line:column: message".
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Position(), e.Msg) }

// Excerpt returns the line of the error and, below it, a caret under the
// position. Tabs are kept, so that the caret is in the right column. A long
// line is cut to the part around the position, with … at the cuts.
func (e *Error) Excerpt() string {
	return excerpt(e.File.Line(e.Span.Off), e.Position().Column)
}

// Excerpt returns the line of a position and, if its column is known, a caret
// below it. It returns "" if the file does not have the position.
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

// excerptWidth is the largest number of characters of a line in an excerpt.
const excerptWidth = 160

// window cuts a long line to the part around the byte at, and returns the new
// offset of that byte.
func window(line string, at int) (string, int) {
	// If one side is short, the other side is longer.
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

// forward returns the offset n characters after from, but not beyond the end.
func forward(line string, from, n int) int {
	for i := range line[from:] {
		if n--; n < 0 {
			return from + i
		}
	}
	return len(line)
}

// backward returns the offset n characters before from, but at least 0.
func backward(line string, from, n int) int {
	for ; n > 0 && from > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(line[:from])
		from -= size
	}
	return from
}

// Errors are all errors that were found, in the order of the source.
type Errors []*Error

// Error returns the errors, one on each line.
func (l Errors) Error() string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors.
func (l Errors) Unwrap() []error {
	errs := make([]error, len(l))
	for i, e := range l {
		errs[i] = e
	}
	return errs
}
