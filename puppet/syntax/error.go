package syntax

import (
	"fmt"
	"strings"
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
// Tabs stay tabs, so that the caret stands right.
func (e *Error) Excerpt() string {
	return excerpt(e.File.Line(e.Span.Off), e.Position().Column)
}

// Excerpt returns the line of a place and, if its column is known, a caret
// below it; "" for a place that the file does not have.
func (f *File) Excerpt(p Position) string {
	f.line(0) // fills lines
	if p.Line < 1 || p.Line > len(f.lines) {
		return ""
	}
	line := f.Line(f.lines[p.Line-1])
	if p.Column < 1 {
		return line
	}
	return excerpt(line, p.Column)
}

func excerpt(line string, column int) string {
	col := column - 1
	var pad strings.Builder
	for _, r := range line {
		if col == 0 {
			break
		}
		col--
		if r != '\t' {
			r = ' '
		}
		pad.WriteRune(r)
	}
	return line + "\n" + pad.String() + "^"
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
