package eval

import (
	"errors"
	"fmt"
	"strings"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// An Error is what went wrong in a program.
type Error struct {
	// Kind is a word or two in kebab case that stays as it is between
	// versions: "unknown-variable", "type-mismatch", "internal". Errors that
	// functions raise for their callers have kinds of their own.
	Kind string
	// Msg is lower case and has no place; most are one line. A call that fits
	// none of several signatures has a line for each, indented by two blanks, and
	// what functions raise is as they wrote it.
	Msg string
	// Name is what is unknown, for errors of the kinds unknown-function,
	// unknown-type, unknown-variable, unknown-class and unknown-resource-type;
	// "" for others.
	Name string
	// Pos is where the expression is written. An Error that a function of Go
	// returns without one gets the place of the call.
	Pos syntax.Position
	// Stack are the calls around it, the innermost first.
	Stack []Frame
	// Details are for programs (Bolt's error hashes); nil without.
	Details *value.Hash
	// Err is the cause, for errors that are not of the language; nil without.
	Err error
}

// A Frame is a call that had not returned: the function that was in work, and
// the place inside it that was reached.
type Frame struct {
	Function string // "" for the text of a file outside of functions
	File     string
	Line     int
}

// Error returns "file:line:column: text".
func (e *Error) Error() string {
	if e.Pos.Line == 0 && e.Pos.File == "" {
		return e.Msg
	}
	return e.Pos.String() + ": " + e.Msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error of a kind without a place: what functions return.
func Errorf(kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Msg: fmt.Sprintf(format, args...)}
}

// A jump is next, break or return on its way to where it ends.
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
// define with a value (nil: undef). It is what the function next returns.
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

// IsBreak tells whether an error that a block gave is break(): an iterating
// function then stops and returns what it has. All other errors it passes on
// unchanged.
func IsBreak(err error) bool {
	j, ok := err.(*jump)
	return ok && j.kind == jumpBreak
}

// IsJump tells whether an error is next, break or return on its way, and not
// a failure: functions that catch errors must pass these on.
func IsJump(err error) bool {
	_, ok := err.(*jump)
	return ok
}

// Returned returns the value of a return() that is on its way: for functions
// whose block is as a function of its own.
func Returned(err error) (v value.Value, ok bool) {
	j, ok := err.(*jump)
	if !ok || j.kind != jumpReturn {
		return nil, false
	}
	return j.value, true
}

// AsError returns err as an *Error, wrapping what is not one.
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

// within returns an error that has e inside as an Error with its text, and the
// place and the stack of e. The place is told once.
func (e *Error) within(err error) *Error {
	c := *e
	c.Msg, c.Err = strings.Replace(err.Error(), e.Error(), e.Msg, 1), err
	return &c
}

// unheard is the error of a name that stands for nothing.
func (t *thread) unheard(at pos, kind Kind, name string) *Error {
	e := t.fail(at, "unknown-"+kind.String(), "unknown %v %s", kind, name)
	e.Name = name
	return e
}

// conversionKinds are the kinds of errors of what makes values of others.
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

// kindOfCause returns the kind of an error of another package, "" of one that
// says nothing about it.
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

// kinded is an error of a package above this one that knows its kind here.
type kinded interface {
	error
	LanguageKind() string
}
