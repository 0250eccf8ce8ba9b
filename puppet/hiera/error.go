package hiera

import (
	"errors"
	"fmt"
	"strings"

	"bolt/puppet/eval"
)

// An Error is what went wrong in a lookup.
type Error struct {
	// Kind is a word in kebab case: "config" (hiera.yaml), "config-shape" (that
	// has keys or values that it must not have), "data" (a data
	// file), "key" (it is not one), "dig" (it goes on where the data holds
	// nothing), "interpolation", "unknown-variable",
	// "recursion", "merge", "type-mismatch", "function", "not-found",
	// "canceled", "internal" (a mistake of ours).
	Kind string
	Msg  string
	File string // the file that is to blame, "" if none is
	Line int    // from 1; 0 if it is not known
	// Column is from 1; 0 if it is not known.
	Column int
	// Err is the cause, nil without.
	Err error

	atCall bool // a program has it where it looks something up, as in Puppet
}

// kindShape is the kind of the error of a hiera.yaml that has not the shape of
// one.
const kindShape = "config-shape"

// Error returns "file:line:column: text".
func (e *Error) Error() string {
	if e.File == "" {
		return e.Msg
	}
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&b, ":%d", e.Column)
		}
	}
	return b.String() + ": " + e.Msg
}

// LanguageKind is the kind that the error has as one of a program, be it of the
// function lookup or of data for a class: "lookup-data".
func (e *Error) LanguageKind() string { return "lookup-" + e.Kind }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// errorf returns an Error without a place.
func errorf(kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Msg: fmt.Sprintf(format, args...)}
}

// IsNotFound tells whether an error says that a lookup found nothing.
func IsNotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == "not-found"
}

// plain is what an error of the language says, without its place when that is in
// no file: it would be one in a text that nobody has written.
func plain(err error) string {
	if e, ok := err.(*eval.Error); ok && e.Pos.File == "" {
		return e.Msg
	}
	return err.Error()
}

// quoteNames writes 'a', 'b'.
func quoteNames(names []string) string {
	var b strings.Builder
	for i, n := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("'" + n + "'")
	}
	return b.String()
}
