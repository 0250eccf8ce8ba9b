package executor

import (
	"errors"
	"fmt"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/plans/journal"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// A Failure is an error that ended a plan, or an error that a plan can catch.
type Failure struct {
	Kind, Msg, Code string
	Details         *value.Hash // never nil
	// File, Line and Column are the position of the error. A Line or Column of 0 is
	// unknown.
	File         string
	Line, Column int
	Err          error // the cause, or nil
	// Hint is what to do, if Msg does not contain it; "" without advice.
	Hint string
	// Calls are the calls that led to the position, the innermost first. Branches are
	// the failed branches if this is the common error of several branches.
	Calls    []Call
	Branches []Branch
	// Before is the failure as it was caught, if this failure is raised again or
	// returned.
	Before *Failure

	// step is the name of the failed step in package journal. It is "" if no step
	// failed, or if the error was caught since.
	step string
	// lineOnly is set for errors that Puppet Bolt reports without a column.
	lineOnly bool
	// unplaced is set for errors that Puppet Bolt reports without a place. Before has
	// the place.
	unplaced bool
	// acted is set for the failure of an action, but not for an Error that a plan
	// creates from it. bolt prints the results of the action, or the message of the Error.
	acted bool
}

func (f *Failure) Error() string { return f.Msg }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Place returns "(file: F, line: L, column: C)" with the known parts, or "".
func (f *Failure) Place() string {
	if f.File == "" {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "(file: %s", f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ", line: %d", f.Line)
		if f.Column > 0 {
			fmt.Fprintf(&b, ", column: %d", f.Column)
		}
	}
	return b.String() + ")"
}

// Placed adds the position in the details of an error to its message. Other errors are
// returned unchanged.
func Placed(err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	var f Failure
	f.File, _ = e.Details.Value("file").(string)
	if line, ok := e.Details.Value("line").(int64); ok {
		f.Line = int(line)
	}
	if column, ok := e.Details.Value("column").(int64); ok {
		f.Column = int(column)
	}
	if f.File == "" {
		return err
	}
	shown := *e
	shown.Msg += "\n  " + f.Place()
	return &shown
}

// palError is the kind of errors of the language.
const palError = "bolt/pal-error"

func failf(kind, format string, args ...any) *Failure {
	return &Failure{Kind: kind, Msg: fmt.Sprintf(format, args...), Details: value.NewHash()}
}

// caught returns an error that a plan can catch: an error of the plan or of an action
// that it calls, but not an error of the language.
func caught(err error) (*Failure, bool) {
	if Unfinished(err) {
		return nil, false
	}
	if f, ok := errors.AsType[*Failure](err); ok && f.Kind != palError {
		return f, true
	}
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Kind != palError {
		return ofFault(e), true
	}
	return nil, false
}

// catchable reports whether a plan can catch an error.
func catchable(err error) bool {
	_, ok := caught(err)
	return ok
}

// Unfinished reports whether an error is an error of the journal. Then the run is not
// finished, and no plan can catch the error.
func Unfinished(err error) bool {
	e, ok := errors.AsType[*fault.Error](err)
	return ok && e.Kind == journal.Kind
}

// final reports whether an error ends the run even if the plan waits for it or catches
// it.
func (x *Executor) final(err error) bool { return Unfinished(err) || x.ends(err) }

func ofFault(e *fault.Error) *Failure {
	f := &Failure{Kind: e.Kind, Msg: e.Msg, Code: e.Code, Details: value.NewHash(), Err: e}
	if e.Details != nil {
		v, err := valuedata.Of(e.Details)
		if err != nil { // keep the details as text
			v = value.NewHash(value.Entry{Key: value.String("details"), Value: value.String(fmt.Sprint(e.Details))})
		}
		f.Details = v.(*value.Hash)
	}
	return f
}

// failure returns any error as the error that ended a plan, with its position.
func (x *Executor) failure(err error) *Failure {
	var f Failure
	own, _ := errors.AsType[*Failure](err)
	if own != nil {
		f = *own
	} else if e, ok := errors.AsType[*fault.Error](err); ok {
		f = *ofFault(e)
	} else {
		f = Failure{Kind: palError, Msg: eval.AsError(err).Msg, Details: value.NewHash()}
		f.Err = err
	}
	e, ok := errors.AsType[*eval.Error](err)
	if !ok || e.Pos.File == "" || f.File != "" || f.unplaced || own != nil && f.saysFile() {
		return &f
	}
	if own == nil && (f.Kind == palError && ofLookup(e.Kind) || f.Kind == "bolt.inventory/validation-error") {
		f.unplaced = true
		f.Before = &Failure{File: e.Pos.File, Line: e.Pos.Line, Column: e.Pos.Column, Calls: callsOf(e)}
		return &f
	}
	f.File, f.Line, f.Column = e.Pos.File, e.Pos.Line, e.Pos.Column
	f.Calls = callsOf(e)
	switch {
	case own != nil || f.Kind != palError:
	case e.Kind == "division-by-zero":
		f.Msg = "divided by 0"
	case e.Kind == "unknown-variable":
		f.Msg = "Evaluation Error: Unknown variable: '" + strings.TrimPrefix(e.Name, "$") + "'."
	}
	if f.lineOnly {
		f.Column = 0
	}
	if strings.HasSuffix(f.File, ".yaml") && f.Kind == palError && own == nil {
		f.Kind, f.Column = "bolt/evaluation-error", 0
		return &f
	}
	if (own == nil && f.Kind == palError && !placeless(e.Kind) || f.lineOnly) && !strings.HasSuffix(f.Msg, f.Place()) {
		f.Msg += " " + f.Place()
	}
	return &f
}

// saysFile reports whether the plan itself has set the file in the details. The place
// of the failure is then not added to them.
func (f *Failure) saysFile() bool {
	v, ok := f.Details.GetString("file")
	return ok && value.Truthy(v)
}

// placeless reports whether Puppet Bolt leaves the place out of the message of an
// error of the language.
func placeless(kind string) bool {
	return kind == "fail" || kind == "division-by-zero" || kind == "argument-count"
}

// ofLookup reports whether an error is one of the errors of the function lookup that
// Puppet Bolt reports without a position: no value was found, the data cannot be used,
// or the key is invalid.
func ofLookup(kind string) bool {
	return kind == "lookup-not-found" || kind == "lookup-interpolation" || kind == "lookup-data" || kind == "lookup-key"
}

// FailedSteps returns the names in package journal of the steps whose failure has
// ended a plan.
func FailedSteps(err error) []string {
	f, ok := errors.AsType[*Failure](err)
	switch {
	case !ok:
		return nil
	case f.step != "":
		return []string{f.step}
	}
	var places []string
	for _, b := range f.Branches {
		places = append(places, FailedSteps(b.Failure)...)
	}
	return places
}

// Map returns the failure as data: kind, msg, details with the position, and
// issue_code if there is one. Like ToWrite, it is for output. A detail that cannot be
// converted becomes the text that the language writes.
func (f *Failure) Map() *ordered.Map { return f.data(converter(whenWritten)) }

func (f *Failure) data(c *valuedata.Converter) *ordered.Map {
	m := ordered.Of("kind", f.Kind, "msg", f.Msg)
	if f.Kind == "" {
		m.Set("kind", nil)
	}
	details, err := c.Map(f.Details)
	if err != nil {
		details = &ordered.Map{}
		for k, v := range f.Details.All() {
			d, err := c.To(v)
			if err != nil {
				d = value.Inspect(v)
			}
			key := value.ToString(k)
			if _, twice := details.Get(key); twice {
				key = value.Inspect(k)
			}
			details.Set(key, d)
		}
	}
	if f.File != "" {
		details.Set("file", f.File)
		if f.Line > 0 {
			details.Set("line", int64(f.Line))
		}
		if f.Column > 0 {
			details.Set("column", int64(f.Column))
		}
	}
	m.Set("details", details)
	if f.Code != "" {
		m.Set("issue_code", f.Code)
	}
	return m
}

// maxCaught limits the number of caught failures that are kept.
const maxCaught = 1000

// errorValue returns a caught failure as a value of the language. It keeps the
// position of the failure, which the value does not contain.
func (x *Executor) errorValue(f *Failure, err error) *value.Object {
	o := f.object()
	if len(x.caught) >= maxCaught {
		clear(x.caught)
	}
	x.caught[o] = x.failure(err)
	return o
}

// again returns the failure of an Error of the language that is raised or returned,
// perhaps after it was caught.
func (x *Executor) again(o *value.Object) *Failure {
	f := ofObject(o)
	f.Before = x.caught[o]
	return f
}

// object returns the failure as a value of the language.
func (f *Failure) object() *value.Object {
	return value.ErrorType().Wrap(nil, textOrUndef(f.Msg), textOrUndef(f.Kind), f.Details, textOrUndef(f.Code))
}

func textOrUndef(s string) value.Value {
	if s == "" {
		return value.Undef{}
	}
	return value.String(s)
}

// ofObject returns the failure for an Error of the language.
func ofObject(o *value.Object) *Failure {
	text := func(name string) string {
		v, _ := o.Get(name)
		s, _ := v.(value.String)
		return string(s)
	}
	f := &Failure{Kind: text("kind"), Msg: text("msg"), Code: text("issue_code"), Details: value.NewHash()}
	if d, _ := o.Get("details"); d != nil {
		if h, ok := d.(*value.Hash); ok {
			f.Details = h
		}
	}
	return f
}
