package event

import (
	"context"
	"math/big"
	"slices"

	"bolt/format/ordered"
	"bolt/format/safejson"
)

// Redact returns a Sink that passes events to next without the secrets in the texts of
// plans. These texts are descriptions of steps, objects of their results, messages,
// lines of the log, questions, images, and the error that ended the plan. redact
// returns a string without its secrets.
//
// Redact does not change the return value of a plan, the output of commands and
// tasks, or the object of a command's action, which comes from the command
// line.
//
// RedactError is applied to the error of an event of FailedBy.
func Redact(next Sink, redact func(string) string) Sink {
	return &redactor{next: next, text: redact, steps: make(map[*Step]*redactedStep)}
}

type redactor struct {
	next  Sink
	text  func(string) string
	steps map[*Step]*redactedStep // steps that have not ended
}

// redactedStep is a step without secrets, and the last object of its results. The
// objects of thousands of targets are mostly the same.
type redactedStep struct {
	Step
	object, redacted string
}

func (r *redactor) Event(ctx context.Context, e Event) error {
	if s := StepOf(e); s != nil {
		return r.ofStep(ctx, e, s)
	}
	switch v := e.(type) {
	case ContainerBegin:
		v.Container = r.container(v.Container)
		e = v
	case ContainerEnd:
		v.Container, v.Result = r.container(v.Container), r.containerResult(v.Result)
		e = v
	case Message:
		v.Text, v.Logged = r.text(v.Text), r.text(v.Logged)
		e = v
	case Log:
		v.Text = r.text(v.Text)
		e = v
	case Question:
		v.Text = r.text(v.Text)
		e = v
	case Returned:
		if v.Error != nil {
			f := r.failed(*v.Error)
			v.Error = &f
		}
		e = v
	case Failed:
		e = r.failed(v)
	case Stopped:
		e = r.stopped(v)
	}
	return r.next.Event(ctx, e)
}

// ofStep passes on an event of a step.
func (r *redactor) ofStep(ctx context.Context, e Event, s *Step) error {
	own := r.steps[s]
	if own == nil {
		own = &redactedStep{Step: *r.step(s)}
		r.steps[s] = own
	}
	own.Quiet = s.Quiet
	if end, is := e.(TargetEnd); is {
		if object := end.Result.Object; object != own.object {
			own.object, own.redacted = object, r.text(object)
		}
		end.Result = withObject(end.Result, own.redacted)
		e = end
	}
	if _, is := e.(StepEnd); is {
		delete(r.steps, s)
	}
	return r.next.Event(ctx, OfStep(e, &own.Step))
}

// step returns a redacted copy of a step.
func (r *redactor) step(s *Step) *Step {
	shown := *s
	shown.Description, shown.Object = r.text(s.Description), r.text(s.Object)
	return &shown
}

// withObject returns a copy of the result with another object. It does not change the
// plan's own result.
func withObject(r *Result, object string) *Result {
	if r.Object == "" || r.Object == object {
		return r
	}
	shown := *r
	shown.Object = object
	return &shown
}

// results replaces the objects of results. It returns nil only for nil.
func (r *redactor) results(list []*Result) []*Result {
	if list == nil {
		return nil
	}
	shown := make([]*Result, len(list))
	for i, result := range list {
		shown[i] = withObject(result, r.text(result.Object))
	}
	return shown
}

func (r *redactor) container(c *Container) *Container {
	shown := *c
	shown.Image = r.text(c.Image)
	return &shown
}

func (r *redactor) containerResult(c *ContainerResult) *ContainerResult {
	if c == nil {
		return nil
	}
	return &ContainerResult{Image: r.text(c.Image), Value: c.Value}
}

func (r *redactor) failed(f Failed) Failed {
	if f.err != nil {
		return FailedBy(RedactError(f.err, r.text))
	}
	f.Msg, f.Trace, f.Hint = r.text(f.Msg), r.text(f.Trace), r.text(f.Hint)
	f.Container, f.Results = r.containerResult(f.Container), r.results(f.Results)
	f.Data, _ = r.data(f.Data).(*ordered.Map)
	if shows(f.Cause, r.text) {
		f.Cause = nil
	}
	return f
}

func (r *redactor) stopped(s Stopped) Stopped {
	s.Failed = r.failed(s.Failed)
	cut := make([]CutStep, len(s.Cut))
	for i, c := range s.Cut {
		cut[i] = CutStep{r.step(c.Step), r.results(c.Results)}
	}
	last := make([]EndedStep, len(s.Last))
	for i, e := range s.Last {
		last[i] = EndedStep{r.step(e.Step), e.Failures}
	}
	s.Cut, s.Last = cut, last
	return s
}

// data returns data of a plan without secrets. In results it only changes the object.
func (r *redactor) data(v any) any {
	switch v := v.(type) {
	case string:
		return r.text(v)
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = r.data(e)
		}
		return list
	case *ordered.Map:
		m := &ordered.Map{}
		for k, e := range v.All() {
			m.Set(r.text(k), r.data(e))
		}
		return m
	case safejson.Lazy:
		return redactedResult{r.text, v}
	}
	return v
}

// redactedResult is a result without secrets in its object. Its data is made when it
// is written.
type redactedResult struct {
	text   func(string) string
	result safejson.Lazy
}

// Data implements safejson.Lazy.
func (r redactedResult) Data() (any, error) {
	data, err := r.result.Data()
	m, ok := data.(*ordered.Map)
	if object, is := m.Value("object").(string); err == nil && ok && is {
		m.Set("object", r.text(object))
	}
	return data, err
}

// HasSecret reports whether redact would change a string in data. If v is not data of
// package ordered, it reports true.
func HasSecret(v any, redact func(string) string) bool {
	switch v := v.(type) {
	case nil, bool, int64, float64, *big.Int:
		return false
	case string:
		return redact(v) != v
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return HasSecret(e, redact) })
	case *ordered.Map:
		for k, e := range v.All() {
			if redact(k) != k || HasSecret(e, redact) {
				return true
			}
		}
		return false
	}
	return true
}
