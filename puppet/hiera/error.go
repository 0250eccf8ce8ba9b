package hiera

import (
	"errors"
	"fmt"
	"strings"

	"bolt/puppet/eval"
)

// An Error is an error of a lookup.
type Error struct {
	// Kind is a word in kebab case: "config" (hiera.yaml), "config-shape"
	// (invalid keys or values in hiera.yaml), "data" (a data file), "key" (an
	// invalid key), "dig" (the key continues into a value that does not contain
	// others), "interpolation", "unknown-variable", "recursion", "merge",
	// "type-mismatch", "function", "not-found", "canceled", "internal" (a bug).
	Kind string
	Msg  string
	File string // the file with the fault, or ""
	Line int    // from 1; 0 if it is unknown
	// Column is from 1; 0 if it is unknown.
	Column int
	// Err is the cause, or nil.
	Err error

	atCall bool // a program reports it at its lookup, as in Puppet
}

// kindShape is the kind of the error of a hiera.yaml with a wrong structure.
const kindShape = "config-shape"

// Error returns "file:line:column: message".
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

// LanguageKind returns the kind that the error has in a program, for the
// function lookup and for data of a class: "lookup-data".
func (e *Error) LanguageKind() string { return "lookup-" + e.Kind }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// errorf returns an Error without a position.
func errorf(kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Msg: fmt.Sprintf(format, args...)}
}

// IsNotFound reports whether an error means that a lookup found no value.
func IsNotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == "not-found"
}

// plain returns the message of an error of the language. If its position is not
// in a file, it leaves out the position, because the user did not write that
// code.
func plain(err error) string {
	if e, ok := err.(*eval.Error); ok && e.Pos.File == "" {
		return e.Msg
	}
	return err.Error()
}

// quoteNames writes names in the form 'a', 'b'.
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
