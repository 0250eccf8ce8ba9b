package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bolt/environment"
	"bolt/environment/program"
	"bolt/event"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/internal/nodeset"
	"bolt/internal/safetext"
	"bolt/inventory"
	"bolt/output"
	"bolt/output/listing"
	"bolt/puppet/eval"
	"bolt/puppet/hiera"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
	"bolt/transport"
)

// wordsOfLookup are a key, and variables for the lookup.
func wordsOfLookup(args []string) error {
	if len(args) == 0 {
		return usagef("Must specify a key to look up")
	}
	if name, _, is := strings.Cut(args[0], "="); is {
		return hinted(usagef("Must specify a key to look up"), "%s is the variable %s: the key stands before it", args[0], name)
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

// A search is one key, looked up for many targets or for none. Its lookups run
// beside each other; all that they have to say is said by one goroutine.
type search struct {
	app     *app
	env     *environment.Environment
	key     string
	given   map[string]string
	results *resultOptions
	explain bool
	options bool                // explain lookup_options, and look up nothing else
	warned  map[string]bool     // what was said already
	refused map[string][]string // targets by what is wrong with a variable of them
	bare    []string            // targets of which no facts are known, where paths use facts
}

// A found is what became of a lookup.
type found struct {
	result *event.Result
	odd    environment.Odd
	logs   []eval.Log
	bare   bool // no facts are known, and paths of the hierarchy use facts
}

func runLookup(ctx context.Context, a *app, o *lookupOptions) error {
	a.warnModulepath()
	s := &search{
		app: a, env: a.environment(o.planned), key: o.key, given: map[string]string{}, explain: o.explain || o.explainOptions, options: o.explainOptions, results: &o.results,
		warned: map[string]bool{}, refused: map[string][]string{},
	}
	for _, arg := range o.variables {
		name, val, _ := strings.Cut(arg, "=")
		s.given[name] = val
	}
	if o.planned {
		return s.inPlan(ctx)
	}
	return s.onTargets(ctx)
}

// inPlan looks up what a plan would find.
func (s *search) inPlan(ctx context.Context) error {
	a := s.app
	ctx, cancel := program.Limited(ctx, a.timeout())
	defer cancel()
	v, ex, err := s.find(ctx, s.evaluation(environment.Plan(s.given), s.log))
	if err != nil {
		if hint := s.hint(err); hint != "" && a.format() != output.NDJSON {
			fmt.Fprintln(a.console, "hint:", hint)
		}
		msg, details := s.mistake(ctx, err)
		if _, ok := errors.AsType[*eval.Error](err); !ok {
			details = &ordered.Map{} // as Bolt has them here
		}
		f := &fault.Error{Kind: "bolt/pal-error", Msg: msg, Details: details, Err: err}
		if ex != nil {
			if a.format().IsJSON() {
				explanation, err := s.data(ex.Root().Data())
				if err != nil {
					return err
				}
				f.Details.Set("explanation", explanation)
			} else if err := listing.PrintValue(a.sys.out, a.format(), a.terminal(), ex.String(), nil); err != nil {
				return written(err)
			}
		}
		return f
	}
	var text string
	if ex != nil {
		text = ex.String()
	}
	if !s.options {
		text += lines(v)
	}
	var data any
	if a.format().IsJSON() {
		if data, err = s.answer(v, ex); err != nil {
			return err
		}
	}
	return written(listing.PrintValue(a.sys.out, a.format(), a.terminal(), text, data))
}

// answer returns what a lookup prints as JSON.
func (s *search) answer(v value.Value, ex *hiera.Explanation) (any, error) {
	if ex == nil {
		return s.data(v)
	}
	m := &ordered.Map{}
	if !s.options {
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
func (s *search) data(v value.Value) (any, error) {
	d, err := valuedata.To(v)
	if err != nil {
		return nil, fault.New("bolt/pal-error", "The result of the lookup of '%s' cannot be written as JSON: %v", s.key, err)
	}
	return d, nil
}

// lines is a value as Ruby's puts prints it: each element of an array on a
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
	known := map[string]bool{}
	if inv, err := a.inventory(ctx); err == nil {
		for _, t := range inv.AllTargets() {
			known[t.Name] = true
		}
	}
	targets, err := find(ctx)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		a.warnNoTargets()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	shown, err := a.shown(s.results, len(targets), stop)
	if err != nil {
		return err
	}
	defer shown.close()
	sink := event.Fan(a.rerunSink(), shown)
	if err := sink.Event(ctx, event.ActionBegin{Action: event.Lookup, Object: s.key, Targets: targets}); err != nil {
		return err
	}
	failed := false
	begin := time.Now()
	for f := range inOrder(targets, func(t *inventory.Target) *found { return s.onTarget(ctx, t) }) {
		s.tell(f)
		failed = failed || !f.result.OK()
		if sink.Event(ctx, event.TargetEnd{Result: f.result}) != nil {
			break // ActionEnd returns the error again
		}
	}
	s.tellRefused()
	s.tellBare()
	if err := sink.Event(ctx, event.ActionEnd{Elapsed: time.Since(begin), Failed: failed}); err != nil {
		return err
	}
	if a.format() != output.NDJSON {
		a.hintUnlisted(targets, known)
	}
	if failed {
		return errFailedTargets
	}
	return nil
}

// inOrder yields f of each element, in their order. As many of them are in
// work as there are processors, and not many more wait to be taken.
func inOrder[T, R any](list []T, f func(T) R) iter.Seq[R] {
	return func(yield func(R) bool) {
		workers := min(runtime.GOMAXPROCS(0), len(list))
		results := make([]chan R, len(list))
		for i := range results {
			results[i] = make(chan R, 1)
		}
		// What has been begun and was not taken yet: a slow reader slows the work.
		ahead := make(chan struct{}, 4*workers)
		var next atomic.Int64
		var all sync.WaitGroup
		done := make(chan struct{})
		defer all.Wait()
		defer close(done)
		for range workers {
			all.Go(func() {
				for {
					select {
					case ahead <- struct{}{}:
					case <-done:
						return
					}
					i := int(next.Add(1)) - 1
					if i >= len(list) {
						return
					}
					results[i] <- f(list[i])
				}
			})
		}
		for _, r := range results {
			v := <-r
			<-ahead
			if !yield(v) {
				return
			}
		}
	}
}

// onTarget looks the key up for one target.
func (s *search) onTarget(ctx context.Context, t *inventory.Target) *found {
	r := &event.Result{Target: t, Action: event.Lookup, Value: &ordered.Map{}}
	f := &found{result: r}
	if ctx.Err() != nil {
		r.Err = event.Skipped()
		return f
	}
	ctx, cancel := program.Limited(ctx, s.app.timeout())
	defer cancel()
	begin := time.Now()
	v, ex, err := s.asTarget(ctx, t, f)
	r.Elapsed = time.Since(begin)
	json := s.app.format().IsJSON()
	if ex != nil && !json {
		r.Value.Set("_output", ex.String())
	}
	if err != nil {
		// Bolt's own word for this; nothing was done that has an object.
		r.Action = "action"
		r.Err = s.failure(ctx, err)
	} else {
		r.Object = s.key
		if !s.options {
			s.set(ctx, r, "value", v)
		}
	}
	if ex != nil && json {
		s.set(ctx, r, "explanation", ex.Root().Data())
	}
	return f
}

// set adds a member to a result. If the member cannot be written, the result fails.
func (s *search) set(ctx context.Context, r *event.Result, name string, v value.Value) {
	d, err := s.data(v)
	if err != nil {
		r.Err = cmp.Or(r.Err, s.failure(ctx, err))
		return
	}
	r.Value.Set(name, d)
}

func (s *search) asTarget(ctx context.Context, t *inventory.Target, f *found) (value.Value, *hiera.Explanation, error) {
	data, err := t.Data(ctx)
	if err != nil {
		return nil, nil, err
	}
	of := environment.Target{Name: t.Name, Facts: inventory.RevealMap(data.Facts), Vars: inventory.RevealMap(data.Vars), Given: s.given}
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

// isFact reports whether a variable, as a path has it, is meant for a fact.
func isFact(name string) bool {
	root, _, _ := strings.Cut(strings.TrimPrefix(name, "::"), ".")
	return root == "facts" || slices.Contains(factNames, root)
}

// factNames are the facts that paths of hierarchies use without facts before
// them: those of every machine, and the old names of their parts.
var factNames = strings.Fields(`
	architecture clientcert domain fqdn hardwaremodel hostname identity ipaddress is_virtual kernel kernelmajversion kernelrelease
	kernelversion lsbdistcodename lsbdistid macaddress networking operatingsystem operatingsystemmajrelease
	operatingsystemrelease os osfamily processors timezone virtual`)

// tell says what a lookup had to say.
func (s *search) tell(f *found) {
	for _, text := range f.odd.Overridden {
		s.warn("variable_overridden", text)
	}
	if f.bare {
		s.bare = append(s.bare, f.result.Target.SafeName())
	}
	for _, err := range f.odd.Refused {
		s.refused[err.Error()] = append(s.refused[err.Error()], f.result.Target.SafeName())
	}
	var said []string
	for _, l := range f.logs {
		if text := program.TextOf(l); l.Kind != "" || !s.warned[text] {
			s.log(l)
			said = append(said, text)
		}
	}
	// What functions of the hierarchy say counts once, however many targets they
	// say it for; but all of what they say for one of these.
	for _, text := range said {
		s.warned[text] = true
	}
}

// tellRefused warns of the inventory's variables that programs cannot name,
// once for all targets that have one.
func (s *search) tellRefused() {
	for _, what := range slices.Sorted(maps.Keys(s.refused)) {
		s.warn("variable_refused", fmt.Sprintf("A variable that %s has for %s is left out: %s", s.app.inventorySource(), nodeset.Fold(s.refused[what]), what))
	}
}

// tellBare warns of targets that get less specific data than they should.
func (s *search) tellBare() {
	if s.bare == nil {
		return
	}
	targets := "target"
	if len(s.bare) > 1 {
		targets = "targets"
	}
	s.warn("lookup_no_facts", fmt.Sprintf("%s has no facts for %d %s (%s): levels of the hierarchy that need facts are left out.",
		s.app.inventorySource(), len(s.bare), targets, nodeset.Fold(s.bare)))
}

// hintUnlisted tells of targets that are not in the inventory, though there is
// one: as any name can be a target's, a slip in a name is no error.
func (a *app) hintUnlisted(targets []*inventory.Target, known map[string]bool) {
	if len(known) == 0 {
		return
	}
	var names []string
	for _, t := range targets {
		if !known[t.Name] {
			names = append(names, t.SafeName())
		}
	}
	if names != nil {
		fmt.Fprintf(a.console, "hint for %s: not in %s, so nothing but the name is known\n",
			safetext.TerminalString(nodeset.Fold(names)), safetext.TerminalString(a.inventorySource()))
	}
}

// evaluation returns what a lookup for a node is made in. log gets what is said.
func (s *search) evaluation(n environment.Node, log func(eval.Log)) *environment.Evaluation {
	n.Log = log
	return s.env.Evaluation(n)
}

// find looks the key up. The explanation is nil unless one is wanted; it is
// there after an error, too.
func (s *search) find(ctx context.Context, x *environment.Evaluation) (value.Value, *hiera.Explanation, error) {
	var ex *hiera.Explanation
	if s.explain {
		ex = &hiera.Explanation{OnlyOptions: s.options}
	}
	v, err := x.Lookup(ctx, hiera.Request{Names: []string{s.key}, Explain: ex})
	return v, ex, err
}

// log passes on what the lookup, or a function of the hierarchy, says.
func (s *search) log(l eval.Log) {
	if l.Kind != "" {
		s.warn(l.Kind, program.TextOf(l))
		return
	}
	s.app.log.Log(context.Background(), program.Severity(l.Level), program.TextOf(l))
}

// warn warns of what may be so for every target, once.
func (s *search) warn(id, text string) {
	if !s.warned[text] {
		s.warned[text] = true
		s.app.logs.Warn(id, text)
	}
}

// failure is the failure of a lookup for a target, as Bolt words it. ctx was
// the lookup's.
func (s *search) failure(ctx context.Context, err error) *event.Error {
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
	return &event.Error{Kind: "puppetlabs.tasks/exception-error", Code: "EXCEPTION", Msg: msg, Details: details,
		Class: event.ClassFailed, Command: true, Hint: s.hint(err)}
}

// mistake is an error of a lookup, or of a function of the hierarchy, in words
// and as details: class, kind, file, line, column and stack, as far as they are
// known. For people the stack is among the words.
func (s *search) mistake(ctx context.Context, err error) (msg string, details *ordered.Map) {
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
			explained.Msg = s.app.explain(ctx, x)
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
		if !s.app.format().IsJSON() {
			msg += "\n  from " + frame
		}
	}
	details.Set("stack", list)
	return msg, details
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
