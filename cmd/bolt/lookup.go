package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"bolt/internal/environment"
	"bolt/internal/fault"
	"bolt/internal/ordered"
	"bolt/internal/output"
	"bolt/internal/valuedata"
	"bolt/inventory"
	"bolt/puppet/eval"
	"bolt/puppet/hiera"
	"bolt/puppet/value"
	"bolt/run"
)

// wordsOfLookup are a key, and variables for the lookup.
func wordsOfLookup(args []string) error {
	if len(args) == 0 {
		return usagef("Must specify a key to look up")
	}
	for _, arg := range args[1:] {
		name, _, ok := strings.Cut(arg, "=")
		if !ok {
			return hinted(usagef("Unknown argument %s", arg), "one key is looked up; variables are given as NAME=VALUE")
		}
		if err := environment.CheckVariable(name); err != nil {
			return usagef("%v", err)
		}
	}
	return nil
}

// A search is one key, looked up for many targets or for none.
type search struct {
	app     *app
	env     *environment.Environment
	key     string
	given   map[string]string
	explain bool
	warned  map[string]bool // what was said already
}

func runLookup(ctx context.Context, a *app, args []string) error {
	s := &search{app: a, env: a.environment(), key: args[0], given: map[string]string{}, explain: a.values.on("explain", false), warned: map[string]bool{}}
	for _, arg := range args[1:] {
		name, val, _ := strings.Cut(arg, "=")
		s.given[name] = val
	}
	if a.values.on("plan-hierarchy", false) {
		return s.inPlan(ctx)
	}
	return s.onTargets(ctx)
}

// inPlan looks up what a plan would find.
func (s *search) inPlan(ctx context.Context) error {
	a := s.app
	v, ex, err := s.find(ctx, environment.Plan(s.given))
	if err != nil {
		if hint := s.hint(err); hint != "" && a.format() != output.NDJSON {
			fmt.Fprintln(a.console, "hint:", hint)
		}
		f := &fault.Error{Kind: "bolt/pal-error", Msg: err.Error(), Err: err}
		if ex != nil {
			if a.format().IsJSON() {
				f.Details = ordered.Of("explanation", valuedata.To(ex.Root().Data()))
			} else if err := output.PrintValue(a.sys.out, a.format(), a.terminal(), ex.String(), nil); err != nil {
				return written(err)
			}
		}
		return f
	}
	text, data := lines(v), valuedata.To(v)
	if ex != nil {
		text, data = ex.String()+text, ordered.Of("value", data, "explanation", valuedata.To(ex.Root().Data()))
	}
	return written(output.PrintValue(a.sys.out, a.format(), a.terminal(), text, data))
}

// lines is a value as Ruby's puts prints it: each element of an array on a
// line.
func lines(v value.Value) string {
	list, ok := v.(*value.Array)
	if !ok || list.Len() == 0 {
		text := ""
		if !ok {
			text = value.RubyString(v)
		}
		return strings.TrimSuffix(text, "\n") + "\n"
	}
	var b strings.Builder
	for _, e := range list.All() {
		b.WriteString(lines(e))
	}
	return b.String()
}

// onTargets looks the key up for each target, as a catalog of it would. What
// is known of a target is what the inventory says: nothing is connected to.
//
// Differs from Bolt: there an agent is installed on the targets, to ask it for
// facts.
func (s *search) onTargets(ctx context.Context) error {
	a := s.app
	find, err := a.targeting(ctx)
	if err != nil {
		return err
	}
	targets, err := find(ctx)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		a.warnNoTargets()
	}
	view, err := a.renderer(len(targets))
	if err != nil {
		return err
	}
	if err := view.Start(output.Info{Action: output.Lookup, Object: s.key, Targets: targets}); err != nil {
		return written(err)
	}
	var hints hints
	outcome := make(map[*inventory.Target]bool, len(targets))
	begin := time.Now()
	for _, t := range targets {
		r := s.onTarget(ctx, t)
		outcome[t] = r.OK()
		hints.add(r)
		if view.Event(run.Event{Kind: run.Finished, Target: t, Result: r}) != nil {
			break // End returns the error again
		}
	}
	a.saveRerun(targets, outcome)
	if err := view.End(time.Since(begin)); err != nil {
		return written(err)
	}
	if a.format() != output.NDJSON {
		hints.print(a.console)
	}
	for _, t := range targets {
		if !outcome[t] {
			return errFailedTargets
		}
	}
	return nil
}

// onTarget looks the key up for one target.
func (s *search) onTarget(ctx context.Context, t *inventory.Target) *run.Result {
	r := &run.Result{Target: t, Action: output.Lookup, Value: &ordered.Map{}}
	if ctx.Err() != nil {
		r.Err = run.Skipped()
		return r
	}
	begin := time.Now()
	v, ex, err := s.asTarget(ctx, t)
	r.Elapsed = time.Since(begin)
	json := s.app.format().IsJSON()
	if ex != nil && !json {
		r.Value.Set("_output", ex.String())
	}
	if err != nil {
		// Bolt's own word for this; nothing was done that has an object.
		r.Action = "action"
		r.Err = s.failure(err)
	} else {
		r.Object = s.key
		r.Value.Set("value", valuedata.To(v))
	}
	if ex != nil && json {
		r.Value.Set("explanation", valuedata.To(ex.Root().Data()))
	}
	return r
}

func (s *search) asTarget(ctx context.Context, t *inventory.Target) (value.Value, *hiera.Explanation, error) {
	data, err := t.Data(ctx)
	if err != nil {
		return nil, nil, err
	}
	of := environment.Target{Name: t.Name, Facts: data.Facts, Vars: data.Vars, Given: s.given}
	node, collisions, err := of.Node()
	if err != nil {
		return nil, nil, err
	}
	for _, text := range collisions {
		s.warn("variable_overridden", text)
	}
	return s.find(ctx, node)
}

// find looks the key up. The explanation is nil unless one is wanted; it is
// there after an error, too.
func (s *search) find(ctx context.Context, n environment.Node) (value.Value, *hiera.Explanation, error) {
	n.Log = s.log
	var ex *hiera.Explanation
	if s.explain {
		ex = &hiera.Explanation{}
	}
	v, err := s.env.Evaluation(n).Lookup(ctx, hiera.Request{Names: []string{s.key}, Explain: ex})
	return v, ex, err
}

// log passes on what the lookup, or a function of the hierarchy, says.
func (s *search) log(l eval.Log) {
	switch l.Level {
	case eval.Debug, eval.Info, eval.Notice:
		s.app.log.Info(l.Msg)
	default:
		s.warn("lookup", l.Msg)
	}
}

// warn warns of what may be so for every target, once.
func (s *search) warn(id, text string) {
	if !s.warned[text] {
		s.warned[text] = true
		s.app.logs.Warn(id, text)
	}
}

// failure is the failure of a lookup for a target, as Bolt words it.
func (s *search) failure(err error) *run.Error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		m := f.Details
		if m == nil {
			m = &ordered.Map{}
		}
		return &run.Error{Kind: f.Kind, Code: f.Code, Msg: f.Msg, Details: m, Class: run.ClassFailed, Command: true}
	}
	details := &ordered.Map{}
	if _, ok := errors.AsType[*hiera.Error](err); ok {
		details.Set("class", "Puppet::DataBinding::LookupError") // what programs know it by
	}
	return &run.Error{Kind: "puppetlabs.tasks/exception-error", Code: "EXCEPTION", Msg: err.Error(), Details: details,
		Class: run.ClassFailed, Command: true, Hint: s.hint(err)}
}

// hint says what to do about a lookup that found nothing.
func (s *search) hint(err error) string {
	if !hiera.IsNotFound(err) {
		return ""
	}
	if config := s.app.config.HieraConfig; missing(config) {
		return fmt.Sprintf("there is no %s; without it data is looked for in data/common.yaml beside it, and in modules", config)
	}
	if s.explain {
		return ""
	}
	return "--explain shows where it was looked for"
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, os.ErrNotExist)
}
