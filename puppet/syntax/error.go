package syntax

import (
	"fmt"
	"strings"

	"bolt/internal/excerpt"
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
	return excerpt.Of(e.File.Line(e.Span.Off), e.Position().Column, excerpt.Width)
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
		return excerpt.Begin(line, excerpt.Width)
	}
	return excerpt.Of(line, p.Column, excerpt.Width)
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
