package event

import (
	"errors"

	"bolt/format/fault"
	"bolt/format/ordered"
)

// Excerpt returns a line of the file that the error is about, with a caret below the position:
// two lines, or "" if there is no such file. It has at most width characters of the line and two
// marks where the line was cut.
func (f Failed) Excerpt(width int) string {
	if f.err != nil {
		return excerptOf(f.err, width)
	}
	return excerptOf(f.Cause, width)
}

func excerptOf(err error, width int) string {
	if e, is := errors.AsType[interface {
		error
		Excerpt(width int) string
	}](err); is {
		return e.Excerpt(width)
	}
	return ""
}

// Returned holds the return value of a plan. At most one field is set; if none
// is set, the plan returned nil.
type Returned struct {
	Value     any       // as data
	Results   []*Result // a ResultSet; not nil if the value is one
	Result    *Result   // a single result
	Container *ContainerResult
	Error     *Failed // an error that the plan has caught
}

// Failed is the error that ended an action or a plan. Results or Container, if
// set, are the failed results or the failed container.
type Failed struct {
	Msg       string
	Place     string       // in a plan, "(file: F, line: L)"; "" if it is unknown
	Trace     string       // of a plan, the calls and branches that led to the error, in lines; mostly ""
	Hint      string       // what to do, if Msg does not contain it; "" without advice
	Data      *ordered.Map // the error for programs
	Results   []*Result    // not nil if the action on them has failed
	Container *ContainerResult
	Cause     error // for Excerpt; nil if it is not known

	err error // the error that was passed to FailedBy
}

// FailedBy returns the event for an error. An error without a kind becomes an internal
// error.
func FailedBy(err error) Failed {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		e = &fault.Error{Kind: "bolt/internal-error", Msg: err.Error()}
	}
	return Failed{Msg: err.Error(), Data: e.Map(), Hint: e.Hint, err: err}
}

// Stopped describes the progress of a plan when it was stopped.
type Stopped struct {
	Failed             // the failure for programs, without the steps
	Cut    []CutStep   // in the order in which the steps began
	Ended  int         // number of steps that had ended before
	Last   []EndedStep // the last of them
}

// A CutStep is a step that had not ended when the plan was stopped.
type CutStep struct {
	Step    *Step
	Results []*Result // existing results, in the order of the targets
}

// An EndedStep is a step that ended before the plan was stopped.
type EndedStep struct {
	Step     *Step
	Failures int
}

// CutResults returns the results of the steps that were cut off, step by step.
func (s *Stopped) CutResults() (list []*Result) {
	for _, c := range s.Cut {
		list = append(list, c.Results...)
	}
	return list
}
