package eval

import (
	"errors"
	"fmt"
	"strings"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// An Error is an error of a program.
type Error struct {
	// Kind is one or more words in kebab case, such as "unknown-variable",
	// "type-mismatch" or "internal". It does not change between versions.
	// Errors that functions raise for their callers have other kinds.
	Kind string
	// Msg begins in lower case and does not contain the position. Most messages
	// have one line. If a call fits none of several signatures, the message has
	// a line for each signature, indented by two spaces. The messages that
	// functions raise are unchanged.
	Msg string
	// Name is the unknown name, for errors of the kinds unknown-function,
	// unknown-type, unknown-variable, unknown-class and unknown-resource-type.
	// Otherwise it is "".
	Name string
	// Pos is the position of the expression. If a Go function returns an Error
	// without a position, the Error gets the position of the call.
	Pos syntax.Position
	// Stack are the calls around the expression, the innermost first.
	Stack []Frame
	// Details are for programs (the error hashes of Bolt), or nil.
	Details *value.Hash
	// Err is the cause of an error that does not come from the language, or
	// nil.
	Err error
}

// A Frame is a call that has not returned: its function, and the position that
// the evaluation reached inside the function.
type Frame struct {
	Function string // "" for code of a file outside of functions
	File     string
	Line     int
}

// Error returns "file:line:column: message".
func (e *Error) Error() string {
	if e.Pos.Line == 0 && e.Pos.File == "" {
		return e.Msg
	}
	return e.Pos.String() + ": " + e.Msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error of a kind without a position. Functions return such
// errors.
func Errorf(kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Msg: fmt.Sprintf(format, args...)}
}

// A jump is a next, break or return that has not reached its target yet.
type jump struct {
	kind  jumpKind
	value value.Value
	pos   syntax.Position
}

type jumpKind uint8

const (
	jumpNext jumpKind = iota
	jumpBreak
	jumpReturn
)

var jumpNames = [...]string{jumpNext: "next", jumpBreak: "break", jumpReturn: "return"}

func (j *jump) Error() string { return jumpNames[j.kind] + "() outside of what it could end" }

// Next returns the error that ends the innermost lambda, function, class or
// define with a value (nil: undef). The function next returns it.
func Next(c *Call, v value.Value) error { return &jump{jumpNext, orUndef(v), c.Position()} }

// Break returns the error that ends the innermost iteration.
func Break(c *Call) error { return &jump{jumpBreak, nil, c.Position()} }

// Return returns the error that ends the innermost function, class or define
// with a value (nil: undef).
func Return(c *Call, v value.Value) error { return &jump{jumpReturn, orUndef(v), c.Position()} }

func orUndef(v value.Value) value.Value {
	if v == nil {
		return value.Undef{}
	}
	return v
}

// IsBreak reports whether an error from a block is break(). Then an iterating
// function must stop and return its result so far. It must return all other
// errors unchanged.
func IsBreak(err error) bool {
	j, ok := err.(*jump)
	return ok && j.kind == jumpBreak
}

// IsJump reports whether an error is a next, break or return, and not a
// failure. A function that catches errors must return jumps unchanged.
func IsJump(err error) bool {
	_, ok := err.(*jump)
	return ok
}

// Returned returns the value of a return(). It is for functions whose block
// acts like a function.
func Returned(err error) (v value.Value, ok bool) {
	j, ok := err.(*jump)
	if !ok || j.kind != jumpReturn {
		return nil, false
	}
	return j.value, true
}

// AsError returns err as an *Error. It wraps errors of other types.
func AsError(err error) *Error {
	if e, is := err.(*Error); is {
		return e
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.within(err)
	}
	e := &Error{Kind: "call", Msg: err.Error(), Err: err}
	if kind := kindOfCause(err); kind != "" {
		e.Kind = kind
	}
	return e
}

// within returns err, which wraps e, as an Error with the text of err and with
// the position and the stack of e. The text has the position only once.
func (e *Error) within(err error) *Error {
	c := *e
	c.Msg, c.Err = strings.Replace(err.Error(), e.Error(), e.Msg, 1), err
	return &c
}

// unheard returns the error of an unknown name.
func (t *thread) unheard(at pos, kind Kind, name string) *Error {
	e := t.fail(at, "unknown-"+kind.String(), "unknown %v %s", kind, name)
	e.Name = name
	return e
}

// conversionKinds are the kinds of conversion errors.
var conversionKinds = [...]string{
	value.KindArguments:   "invalid-argument",
	value.KindValue:       "conversion",
	value.KindFormat:      "invalid-format",
	value.KindMismatch:    "type-mismatch",
	value.KindUnsupported: "unsupported",
	value.KindRange:       "out-of-range",
	value.KindLimit:       "too-large",
	value.KindInfinite:    "overflow",
}

// kindOfCause returns the kind of an error of another package, or "" if the
// error does not have one.
func kindOfCause(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	if e, ok := errors.AsType[*value.TypeError](err); ok {
		return e.Kind
	}
	if e, ok := errors.AsType[*value.ConversionError](err); ok {
		return conversionKinds[e.Kind]
	}
	if e, ok := errors.AsType[kinded](err); ok {
		return e.LanguageKind()
	}
	return value.RegexpFault(err)
}

// kinded is an error of a package above this one that knows its kind.
type kinded interface {
	error
	LanguageKind() string
}
