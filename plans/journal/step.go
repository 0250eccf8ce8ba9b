package journal

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"bolt/event"
	"bolt/format/fault"
	"bolt/format/safejson"
	"bolt/inventory"
)

// A Step is one action on targets, with its record in the journal.
type Step struct {
	run     *Run
	place   string
	past    *pastStep // nil if it was not begun in an earlier run
	action  *Action
	decided map[string]*event.Result // by Decide

	mu    sync.Mutex     // guards times
	times map[string]int // how many times it was allowed to begin on a target since the run was resumed
}

// Name returns a name for the work of a step on a target, in letters and digits. After an
// interruption, the target can be queried by that name. Each attempt has another name. Without a
// journal, Name returns "".
func (s *Step) Name(t *inventory.Target) string {
	if s == nil || s.run.Token == "" {
		return ""
	}
	name := t.SafeName()
	s.mu.Lock()
	n := s.times[name]
	s.mu.Unlock()
	if s.past != nil {
		n += s.past.times[name]
	}
	return Digest(s.run.Token, s.place, name, n)[:32]
}

// Step begins or resumes a step. It returns an error if a different step is recorded at its
// place.
func (r *Run) Step(place string, a *Action) (*Step, error) {
	r.mu.Lock()
	before := r.past.steps[place]
	effect := r.past.effects[place]
	r.mu.Unlock()
	s := &Step{run: r, place: place, past: before, action: a}
	switch {
	case effect != nil:
		return nil, r.refuse(otherWay(effect.function, a.About))
	case before == nil:
		return s, r.write(&line{Kind: lineStep, Place: place, Action: a}, false)
	case before.action.Function != a.Function || before.action.Digest != a.Digest:
		return nil, r.refuse(otherWay(before.action.where(), a.where()))
	case !slices.Equal(before.action.Targets, a.Targets):
		return nil, r.refuse(otherWay(before.action.on(), a.on()))
	}
	return s, nil
}

func (a *Action) where() string {
	if a.File == "" {
		return a.About
	}
	return fmt.Sprintf("%s (%s:%d)", a.About, a.File, a.Line)
}

func (a *Action) on() string { return a.About + " on " + strings.Join(a.Targets, ", ") }

func otherWay(recorded, now string) error {
	if recorded == now {
		now = "a step of that name with other parameters, options or files"
	}
	return &fault.Error{Kind: Kind, Msg: fmt.Sprintf("The run does not repeat its recorded steps: the journal has %s here, and the plan now requests %s.", recorded, now),
		Hint: "The plan's input has changed: its parameters, data, files or inventory. Restore it, or run the plan again from the start."}
}

// Place returns the place of the step in the plan; "" for a nil Step.
func (s *Step) Place() string {
	if s == nil {
		return ""
	}
	return s.place
}

// Done reports whether the step was done in an earlier run and all its results were recorded. For
// a nil Step it returns false.
func (s *Step) Done() bool {
	return s.Ended() && len(s.past.results)+len(s.decided) == len(s.action.Targets)
}

// Ended reports whether the step was done on all targets in an earlier run.
func (s *Step) Ended() bool { return s != nil && s.past != nil && s.past.done }

// Begun reports whether the step may have begun on any target in an earlier run.
func (s *Step) Begun() bool {
	return s != nil && s.past != nil && len(s.past.gone)+len(s.past.results) > 0
}

// Result returns the recorded result of a target, nil if there is none.
func (s *Step) Result(t *inventory.Target) (*event.Result, error) {
	if s == nil || s.past == nil {
		return nil, nil
	}
	if r := s.decided[t.SafeName()]; r != nil {
		return r, nil
	}
	at, ok := s.past.results[t.SafeName()]
	if !ok {
		return nil, nil
	}
	l, err := readLine(s.run.file, at)
	if err != nil {
		return nil, failed(s.run.path, err, "be read")
	}
	res, err := decodeResult(l.Result, t, s.run.spill)
	if err != nil {
		return nil, failed(s.run.path, err, "be read")
	}
	return res, nil
}

// Unknown returns the names of the targets on which the step may have begun and whose outcome is
// unknown.
func (s *Step) Unknown() []string {
	if s == nil || s.past == nil {
		return nil
	}
	var names []string
	for _, t := range s.action.Targets {
		if _, known := s.past.results[t]; !known && s.decided[t] == nil && s.past.mayHaveBegun(t, s.run.boot) {
			names = append(names, t)
		}
	}
	return names
}

// Decide records the result to use for a target whose outcome is unknown.
func (s *Step) Decide(r *event.Result) error {
	if s.decided == nil {
		s.decided = make(map[string]*event.Result)
	}
	s.decided[r.Target.SafeName()] = r
	return s.finished(r)
}

// Event records the events of the step on the targets that it acts on. If the run is being
// stopped, a result that is only a consequence of that is not written.
func (s *Step) Event(ctx context.Context, e event.Event) error {
	switch e := e.(type) {
	case event.BatchBegin:
		return s.goOn(e.Targets)
	case event.TargetBegin:
		return s.began(e.Target)
	case event.TargetEnd:
		if cutOff := e.Result.Ending() == event.EndCut || e.Result.NotBegun(); cutOff && ctx.Err() != nil {
			return nil
		}
		return s.finished(e.Result)
	}
	return nil
}

// goOn records that the step may begin on targets from now on. The step must not begin before
// goOn returns.
func (s *Step) goOn(targets []*inventory.Target) error {
	if s == nil {
		return nil
	}
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.SafeName()
	}
	s.mu.Lock()
	if s.times == nil {
		s.times = make(map[string]int)
	}
	for _, name := range names {
		s.times[name]++
	}
	s.mu.Unlock()
	return s.run.write(&line{Kind: lineGo, Place: s.place, Targets: names}, true)
}

// began records that the step begins on a target. If it returns an error, the step must not begin
// there, because a resumed run would assume that it did not begin.
func (s *Step) began(t *inventory.Target) error {
	if s == nil {
		return nil
	}
	return s.run.write(&line{Kind: lineBegan, Place: s.place, Target: t.SafeName()}, false)
}

// finished records the outcome of the step on a target. A result that contains a secret is not
// written, so its outcome stays unknown.
func (s *Step) finished(r *event.Result) error {
	if s == nil || hasSecret(r.Value) {
		return nil
	}
	text, err := encodeResult(r)
	if err != nil {
		return failed(s.run.path, err, "store a result")
	}
	return s.run.write(&line{Kind: lineResult, Place: s.place, Target: r.Target.SafeName(), OK: r.OK(), Result: text}, false)
}

// End records that the step is done on all targets. raised is set if its failure ends the plan or
// branch.
func (s *Step) End(raised bool) error {
	if s == nil {
		return nil
	}
	return s.run.write(&line{Kind: lineEnd, Place: s.place, OK: !raised}, true)
}

// An Effect is an operation other than an action on targets.
type Effect struct {
	run                     *Run
	place, function, digest string
	past                    *pastEffect
}

// Effect begins or resumes an effect, such as a question to the user or a container. once is set
// if it must not be repeated without asking. A nil Run returns a nil Effect.
func (r *Run) Effect(place, function, digest string, once bool) (*Effect, error) {
	if r == nil {
		return nil, nil
	}
	r.mu.Lock()
	before := r.past.effects[place]
	step := r.past.steps[place]
	r.mu.Unlock()
	e := &Effect{run: r, place: place, function: function, digest: digest, past: before}
	switch {
	case step != nil:
		return nil, r.refuse(otherWay(step.action.where(), function))
	case before == nil && once:
		return e, r.write(&line{Kind: lineEffect, Place: place, Plan: function, Digest: digest}, true)
	case before != nil && (before.function != function || before.digest != digest):
		return nil, r.refuse(otherWay(before.function, function))
	}
	return e, nil
}

// Value returns the recorded outcome, in the types of package ordered.
func (e *Effect) Value() (v any, known bool) {
	if e == nil || e.past == nil || !e.past.done {
		return nil, false
	}
	return e.past.value, true
}

// Unknown reports whether the effect may have been done and its outcome is unknown.
func (e *Effect) Unknown() bool { return e != nil && e.past != nil && !e.past.done }

// Done records the outcome, in the types of package ordered.
func (e *Effect) Done(v any) error {
	if e == nil {
		return nil
	}
	var b bytes.Buffer
	if err := safejson.Write(&b, v); err != nil {
		return failed(e.run.path, err, "store a value")
	}
	return e.run.write(&line{Kind: lineValue, Place: e.place, Plan: e.function, Digest: e.digest, Value: b.Bytes()}, true)
}
