// Package lookup looks up a key of Hiera's data for many targets, or for a plan.
//
// Facts and variables of targets come from the inventory: the package connects
// to no target. Lookups of targets run in parallel, as many as there are
// processors. Results and warnings come in the order of the targets, from one
// goroutine.
package lookup

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"time"

	"bolt/environment"
	"bolt/environment/program"
	"bolt/event"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/internal/inorder"
	"bolt/inventory"
	"bolt/puppet/eval"
	"bolt/puppet/hiera"
	"bolt/puppet/value"
)

// Options are the settings of a Search. Environment, Key, Warn and Logger are
// required.
type Options struct {
	Environment *environment.Environment
	Key         string
	Given       map[string]string // variables
	Explain     bool              // say where was looked
	OnlyOptions bool              // explain lookup_options, and look up nothing else; needs Explain
	JSON        bool              // programs read the results: explanations and stacks are data
	Timeout     time.Duration     // of one lookup; 0 for none
	Config      string            // path of hiera.yaml, for advice
	Source      string            // name of the inventory, for warnings
	// ExplainError returns the text of an error of a function; nil is that of the
	// error itself.
	ExplainError func(context.Context, *eval.Error) string
	Warn         func(id, text string)
	Logger       *slog.Logger
}

// A Search is one key, looked up for many targets or for none. It is for one
// goroutine.
type Search struct {
	o       Options
	warned  map[string]bool     // what was said already
	refused map[string][]string // targets by the error of one of their variables
	bare    []string            // targets of which no facts are known, where paths use facts
}

// New makes a Search.
func New(o Options) *Search {
	return &Search{o: o, warned: map[string]bool{}, refused: map[string][]string{}}
}

// ParseVariables reads variables in the form NAME=VALUE. It returns the other words as
// ignored. It is an error if a name is not that of a variable.
func ParseVariables(words []string) (given map[string]string, ignored []string, err error) {
	given = map[string]string{}
	for _, word := range words {
		name, val, ok := strings.Cut(word, "=")
		if !ok {
			ignored = append(ignored, word)
			continue
		}
		if err := environment.CheckVariable(name); err != nil {
			return nil, nil, err
		}
		given[name] = val
	}
	return given, ignored, nil
}

// A found is the outcome of a lookup.
type found struct {
	result *event.Result
	odd    environment.Odd
	logs   []eval.Log
	bare   bool // no facts are known, and paths of the hierarchy use facts
}

// An Answer is the outcome of a lookup as a plan makes it.
type Answer struct {
	Text string // for people; after an error the explanation, if one is wanted
	Data any    // for programs, with Options.JSON
}

// InPlan looks up the key as a plan does. The error is a *fault.Error.
func (s *Search) InPlan(ctx context.Context) (a Answer, err error) {
	ctx, cancel := program.Limited(ctx, s.o.Timeout)
	defer cancel()
	v, ex, err := s.find(ctx, s.evaluation(environment.Plan(s.o.Given), func(l eval.Log) { s.log(ctx, l) }))
	if err != nil {
		msg, details := s.mistake(ctx, err)
		if _, ok := errors.AsType[*eval.Error](err); !ok {
			details = &ordered.Map{} // as Bolt has them here
		}
		f := &fault.Error{Kind: "bolt/pal-error", Msg: msg, Hint: s.hint(err), Details: details, Err: err}
		switch {
		case ex == nil:
		case s.o.JSON:
			explanation, err := s.data(ex.Root().Data())
			if err != nil {
				return a, err
			}
			f.Details.Set("explanation", explanation)
		default:
			a.Text = ex.String()
		}
		return a, f
	}
	if ex != nil {
		a.Text = ex.String()
	}
	if !s.o.OnlyOptions {
		a.Text += lines(v)
	}
	if s.o.JSON {
		a.Data, err = s.answer(v, ex)
	}
	return a, err
}

// answer returns the JSON output of a lookup.
func (s *Search) answer(v value.Value, ex *hiera.Explanation) (any, error) {
	if ex == nil {
		return s.data(v)
	}
	m := &ordered.Map{}
	if !s.o.OnlyOptions {
		d, err := s.data(v)
		if err != nil {
			return nil, err
		}
		m.Set("value", d)
	}
	d, err := s.data(ex.Root().Data())
	m.Set("explanation", d)
	return m, err
}

// data converts a value to data.
func (s *Search) data(v value.Value) (any, error) {
	d, err := valuedata.To(v)
	if err != nil {
		return nil, fault.New("bolt/pal-error", "The result of the lookup of '%s' cannot be written as JSON: %v", s.o.Key, err)
	}
	return d, nil
}

// lines returns a value as Ruby's puts prints it: each element of an array on a
// line.
func lines(v value.Value) string {
	list, ok := v.(*value.Array)
	if !ok || list.Len() == 0 {
		text := ""
		if !ok {
			text = value.RubyShown(v)
		}
		return strings.TrimSuffix(text, "\n") + "\n"
	}
	var b strings.Builder
	for _, e := range list.All() {
		b.WriteString(lines(e))
	}
	return b.String()
}

// OnTargets looks the key up for each target, as a catalog of it would. Results
// come in the order of targets; each has the value as "value". A warning that holds
// for many targets comes after the last result.
//
// Differs from Bolt: Bolt installs an agent on the targets to get their facts.
func (s *Search) OnTargets(ctx context.Context, targets []*inventory.Target) iter.Seq[*event.Result] {
	return func(yield func(*event.Result) bool) {
		defer s.tellBare()
		defer s.tellRefused()
		for f := range inorder.Each(targets, func(t *inventory.Target) *found { return s.onTarget(ctx, t) }) {
			s.tell(ctx, f)
			if !yield(f.result) {
				return
			}
		}
	}
}

// Run looks the key up for each target, as OnTargets does, and sends the events to sink, from
// ActionBegin to ActionEnd. failed is set if the lookup failed for a target.
func (s *Search) Run(ctx context.Context, targets []*inventory.Target, sink event.Sink) (failed bool, err error) {
	if err := sink.Event(ctx, event.ActionBegin{Action: event.Lookup, Object: s.o.Key, Targets: targets}); err != nil {
		return false, err
	}
	begin := time.Now()
	for r := range s.OnTargets(ctx, targets) {
		failed = failed || !r.OK()
		if sink.Event(ctx, event.TargetEnd{Result: r}) != nil {
			break // ActionEnd returns the error again
		}
	}
	return failed, sink.Event(ctx, event.ActionEnd{Elapsed: time.Since(begin), Failed: failed})
}

// onTarget looks the key up for one target.
func (s *Search) onTarget(ctx context.Context, t *inventory.Target) *found {
	r := &event.Result{Target: t, Action: event.Lookup, Value: &ordered.Map{}}
	f := &found{result: r}
	if ctx.Err() != nil {
		r.Err = event.Skipped()
		return f
	}
	ctx, cancel := program.Limited(ctx, s.o.Timeout)
	defer cancel()
	begin := time.Now()
	v, ex, err := s.asTarget(ctx, t, f)
	r.Elapsed = time.Since(begin)
	json := s.o.JSON
	if ex != nil && !json {
		r.Value.Set("_output", ex.String())
	}
	if err != nil {
		// Bolt uses this word. The result has no object.
		r.Action = "action"
		r.Err = s.failure(ctx, err)
	} else {
		r.Object = s.o.Key
		if !s.o.OnlyOptions {
			s.set(ctx, r, "value", v)
		}
	}
	if ex != nil && json {
		s.set(ctx, r, "explanation", ex.Root().Data())
	}
	return f
}

// set adds a member to a result. If the member cannot be written, the result fails.
func (s *Search) set(ctx context.Context, r *event.Result, name string, v value.Value) {
	d, err := s.data(v)
	if err != nil {
		r.Err = cmp.Or(r.Err, s.failure(ctx, err))
		return
	}
	r.Value.Set(name, d)
}

func (s *Search) asTarget(ctx context.Context, t *inventory.Target, f *found) (value.Value, *hiera.Explanation, error) {
	data, err := t.Data(ctx)
	if err != nil {
		return nil, nil, err
	}
	of := environment.Target{Name: t.Name, Facts: inventory.RevealMap(data.Facts), Vars: inventory.RevealMap(data.Vars), Given: s.o.Given}
	node, odd, err := of.Node()
	if err != nil {
		return nil, nil, err
	}
	f.odd = odd
	x := s.evaluation(node, func(l eval.Log) { f.logs = append(f.logs, l) })
	v, ex, err := s.find(ctx, x)
	if data.Facts.Len() == 0 {
		f.bare = slices.ContainsFunc(x.Unset(), isFact)
	}
	return v, ex, err
}

// evaluation returns the evaluation for a lookup for a node. log receives the
// log messages.
func (s *Search) evaluation(n environment.Node, log func(eval.Log)) *environment.Evaluation {
	n.Log = log
	return s.o.Environment.Evaluation(n)
}

// find looks the key up. The explanation is nil unless Options.Explain is set;
// it is also set after an error.
func (s *Search) find(ctx context.Context, x *environment.Evaluation) (value.Value, *hiera.Explanation, error) {
	var ex *hiera.Explanation
	if s.o.Explain {
		ex = &hiera.Explanation{OnlyOptions: s.o.OnlyOptions}
	}
	v, err := x.Lookup(ctx, hiera.Request{Names: []string{s.o.Key}, Explain: ex})
	return v, ex, err
}
