// Package fault defines the error that has a kind: the form in which bolt
// reports problems such as a bad file, an unknown name or a wrong option to
// people and programs.
//
// The kinds and the JSON form are Puppet Bolt's (Bolt::Error#to_h), so that
// programs which read one can read the other.
package fault

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"bolt/format/ordered"
)

// Error is a problem with a kind.
type Error struct {
	// Kind names the problem for programs: "bolt/validation-error",
	// "bolt/cli-error", "bolt.inventory/wildcard-error", …
	Kind string
	// Msg describes the problem, its place, and the solution. It may have
	// several lines.
	Msg string
	// Code is the issue code, "" for most.
	Code string
	// Hint describes the solution if Msg does not, because programs compare Msg
	// with Bolt's; "" if there is no hint. It is not part of the JSON form.
	Hint string
	// Details is kind-specific data; nil means empty.
	Details *ordered.Map
	// Err is the cause for errors.Is and errors.As, or nil. Its text is not
	// part of Error's text; Msg contains the relevant part.
	Err error
}

// New makes an Error without details; the message is formatted as by
// fmt.Sprintf.
func New(kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Msg: fmt.Sprintf(format, args...)}
}

// File makes an Error about a file: of kind bolt/file-error, with the path in
// its details and err, which may be nil, as its cause. The message is formatted
// as by fmt.Sprintf. It should name the path, and may contain WithoutPath(err).
func File(path string, err error, format string, args ...any) *Error {
	return &Error{Kind: "bolt/file-error", Msg: fmt.Sprintf(format, args...), Details: ordered.Of("path", path), Err: err}
}

// WithoutPath returns the reason in an error of package os, without the
// operation and the path; any other error is returned as it is.
func WithoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

func (e *Error) Error() string { return e.Msg }

func (e *Error) Unwrap() error { return e.Err }

// Map returns the error as Puppet Bolt writes it: kind, msg, details, and
// issue_code if the error has one.
func (e *Error) Map() *ordered.Map {
	details := e.Details
	if details == nil {
		details = &ordered.Map{}
	}
	m := ordered.Of("kind", e.Kind, "msg", e.Msg, "details", details)
	if e.Code != "" {
		m.Set("issue_code", e.Code)
	}
	return m
}

// MarshalJSON writes Map.
func (e *Error) MarshalJSON() ([]byte, error) { return e.Map().MarshalJSON() }

// PrintCauses writes an error and the chain of its causes, one a line.
func PrintCauses(w io.Writer, err error) {
	for n := 0; err != nil; n++ {
		fmt.Fprintf(w, "%s%T: %v\n", strings.Repeat("  ", n), err, err)
		err = errors.Unwrap(err)
	}
}
