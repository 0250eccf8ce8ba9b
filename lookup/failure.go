package lookup

import (
	"context"
	"errors"
	"fmt"
	"os"

	"bolt/environment/program"
	"bolt/event"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/yaml"
	"bolt/internal/excerpt"
	"bolt/puppet/eval"
	"bolt/puppet/hiera"
	"bolt/puppet/syntax"
	"bolt/transport"
)

// failure returns the error of a lookup for a target, worded as in Bolt. ctx is
// the lookup's context.
func (s *Search) failure(ctx context.Context, err error) *event.Error {
	if late, is := errors.AsType[*program.LateError](context.Cause(ctx)); is {
		return &event.Error{Kind: "puppetlabs.tasks/timeout-error", Code: "TIMEOUT", Msg: "The lookup was " + late.Error(), Details: &ordered.Map{}, Class: transport.ClassTimeout}
	}
	if ctx.Err() != nil {
		return &event.Error{Kind: "puppetlabs.tasks/cancelled-error", Code: "CANCELLED", Msg: err.Error(), Details: &ordered.Map{}, Class: transport.ClassCancelled}
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		m := f.Details
		if m == nil {
			m = &ordered.Map{}
		}
		return &event.Error{Kind: f.Kind, Code: f.Code, Msg: f.Msg, Details: m, Class: event.ClassFailed, Command: true}
	}
	msg, details := s.mistake(ctx, err)
	if e, ok := errors.AsType[*yaml.Error](err); ok && !s.o.JSON {
		msg += "\n" + e.Excerpt(excerpt.Width)
	}
	return &event.Error{Kind: "puppetlabs.tasks/exception-error", Code: "EXCEPTION", Msg: msg, Details: details,
		Class: event.ClassFailed, Command: true, Hint: s.hint(err)}
}

// mistake returns an error of a lookup, or of a function of the hierarchy, as a
// message and as details: class, kind, file, line, column and stack, as far as
// they are known. In text output, the message includes the stack.
func (s *Search) mistake(ctx context.Context, err error) (msg string, details *ordered.Map) {
	details = &ordered.Map{}
	msg = err.Error()
	at := syntax.Position{}
	var stack []string
	h, inData := errors.AsType[*hiera.Error](err)
	if inData {
		details.Set("class", "Puppet::DataBinding::LookupError") // what programs know it by
	}
	x, inProgram := errors.AsType[*eval.Error](err)
	switch {
	case inProgram && (x.Pos.File != "" || !inData):
		details.Set("kind", x.Kind)
		at, stack = x.Pos, program.Frames(x.Stack)
		if error(x) == err && x.Name != "" {
			explained := *x
			explained.Msg = s.explained(ctx, x)
			msg = explained.Error()
		}
	case inData:
		details.Set("kind", h.LanguageKind())
		at = syntax.Position{File: h.File, Line: h.Line, Column: h.Column}
	}
	if at.File != "" {
		details.Set("file", at.File)
	}
	if at.Line > 0 {
		details.Set("line", int64(at.Line))
	}
	if at.Column > 0 {
		details.Set("column", int64(at.Column))
	}
	if len(stack) == 0 {
		return msg, details
	}
	list := make([]any, len(stack))
	for i, frame := range stack {
		list[i] = frame
		if !s.o.JSON {
			msg += "\n  from " + frame
		}
	}
	details.Set("stack", list)
	return msg, details
}

// hint returns the hint for a lookup that found no value, or for a file that is not YAML.
func (s *Search) hint(err error) string {
	if e, ok := errors.AsType[*yaml.Error](err); ok {
		return e.Hint
	}
	if !hiera.IsNotFound(err) {
		return ""
	}
	config := s.o.Config
	if _, err := os.Stat(config); errors.Is(err, os.ErrNotExist) {
		return fmt.Sprintf("%s does not exist; without it, bolt searches data/common.yaml beside it, and modules", config)
	}
	if s.o.Explain {
		return ""
	}
	return "--explain shows where it was looked for"
}

func (s *Search) explained(ctx context.Context, e *eval.Error) string {
	if s.o.ExplainError == nil {
		return e.Msg
	}
	return s.o.ExplainError(ctx, e)
}
