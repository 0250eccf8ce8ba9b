package executor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bolt/event"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/internal/spelling"
	"bolt/inventory"
	"bolt/plans/journal"
	"bolt/puppet/eval"
	"bolt/puppet/value"
	"bolt/run"
	"bolt/transport"
)

// options are the options of a function that acts on targets: the keys of its last argument that
// begin with an underscore.
type options struct {
	catch       bool
	noop        bool
	runAs       string
	description string
	env         []string
	timeout     time.Duration
	concurrency int
	rolling     run.Rolling
	puppetdb    string       // the instance that an apply block queries; "" for the default
	rest        *ordered.Map // the other keys
}

// parseOptions reads the options that the function has. It warns about others, as Puppet Bolt does.
func (x *Executor) parseOptions(c *eval.Call, h *value.Hash) (*options, error) {
	o := &options{timeout: x.o.Timeout, concurrency: x.o.Concurrency, rest: &ordered.Map{}}
	if h == nil {
		return o, nil
	}
	names := optionsOf(c.Name)
	for k, v := range h.All() {
		key, _ := k.(value.String)
		name, ours := strings.CutPrefix(string(key), "_")
		if !ours {
			d, err := plain("'"+string(key)+"'", v)
			if err != nil {
				return nil, err
			}
			o.rest.Set(string(key), d)
			continue
		}
		if !slices.Contains(names, name) {
			x.unknownOption(c, name, names)
			continue
		}
		ok := true
		switch name {
		case "catch_errors":
			o.catch = value.Truthy(v)
		case "noop":
			o.noop = value.Truthy(v)
		case "run_as":
			var s value.String
			if s, ok = v.(value.String); ok {
				o.runAs = string(s)
			} else if value.IsUndef(v) {
				ok = true
			}
		case "required_modules": // only for Puppet Bolt, which copies modules
		case "puppetdb":
			var s value.String
			s, ok = v.(value.String)
			o.puppetdb, ok = string(s), ok || value.IsUndef(v)
		case "description":
			if s, is := v.(value.String); is {
				o.description = string(s)
			}
		case "env_vars":
			env, err := environmentOf(v)
			if err != nil {
				return nil, err
			}
			o.env = env
		case "timeout":
			if o.timeout, ok = seconds(v); !ok || o.timeout <= 0 {
				return nil, failf("bolt/validation-error", "Option 'timeout' must be a positive number of seconds, got %s", value.Inspect(v))
			}
		case "concurrency":
			n, is := v.(value.Int)
			if !is || n < 1 {
				return nil, failf("bolt/validation-error", "Option 'concurrency' must be a positive Integer, got %s", value.Inspect(v))
			}
			o.concurrency = min(int(n), x.o.Concurrency)
		default:
			if err := rollingOption(&o.rolling, name, v); err != nil {
				return nil, err
			}
		}
		if !ok {
			return nil, failf("bolt/validation-error", "Option '%s' cannot be %s", name, value.Inspect(v))
		}
	}
	return o, checkRolling(&o.rolling)
}

// optionsOf returns the names of the options of a function.
func optionsOf(function string) []string {
	names := []string{"catch_errors", "description"}
	switch function {
	case "wait":
		return names[:1]
	case "run_plan":
		return append(names, "run_as")
	}
	names = append(names, "concurrency", "serial", "max_failures", "pause")
	switch function {
	case "wait_until_available":
		return names
	case "apply":
		names = append(names, "noop", "required_modules", "puppetdb")
	case "apply_prep":
		names = append(names, "required_modules")
	case "run_command", "run_script":
		names = append(names, "env_vars")
	case "run_task", "run_task_with":
		names = append(names, "noop")
	}
	return append(names, "run_as", "timeout")
}

// unknownOption warns that the function does not have an option, and suggests a similar name.
func (x *Executor) unknownOption(c *eval.Call, name string, names []string) {
	text := fmt.Sprintf("The function %s has no option '_%s'; bolt ignores it.", c.Name, name)
	if near := spelling.Near(name, names); near != "" {
		text += " Did you mean _" + near + "?"
	}
	if at := c.Position(); at.File != "" {
		text += fmt.Sprintf(" (file: %s, line: %d)", at.File, at.Line)
	}
	x.warn(c.Context(), "plan_function_options", text)
}

func seconds(v value.Value) (time.Duration, bool) {
	switch v := v.(type) {
	case value.Int:
		return time.Duration(v) * time.Second, v < 1<<32
	case value.Float:
		return time.Duration(float64(v) * float64(time.Second)), v < 1<<32
	}
	return 0, false
}

// environmentOf returns a hash as environment variables. Values that are not strings become JSON.
func environmentOf(v value.Value) ([]string, error) {
	h, ok := v.(*value.Hash)
	if !ok {
		return nil, failf("bolt/validation-error", "Option 'env_vars' must be a hash")
	}
	var env []string
	for k, v := range h.All() {
		name, ok := k.(value.String)
		if !ok {
			return nil, failf("bolt/validation-error", "Keys for option 'env_vars' must be strings: %s", value.Inspect(k))
		}
		if hides(v) && !transport.Exportable(string(name)) {
			return nil, failf("bolt/validation-error", "The environment variable '%s' is Sensitive, but its value would be visible in the process list, because shells cannot export this name. "+
				"Use a name of letters, digits and underscores that shells do not use themselves.", name)
		}
		d, err := plain("the variable '"+string(name)+"' of option 'env_vars'", v)
		if err != nil {
			return nil, err
		}
		env = append(env, string(name)+"="+textOf(d))
	}
	return env, nil
}

// An act is one call of a function that acts on targets.
type act struct {
	function string // "run_command"
	object   string // as the plan names it, for the error
	action   string // "command"
	about    string // for the description: "command 'id'"
	targets  []*inventory.Target
	do       run.Action // nil if each target has its own
	each     map[*inventory.Target]run.Action
	failed   map[*inventory.Target]*event.Result // targets that fail before the action begins
	prepare  func() error                        // runs on this machine before the first target; may be nil
	marks    []any                               // distinguish the action in addition to its arguments: data without secrets
	// ask returns an action that queries targets for the outcome of a step that had begun there.
	// The results of the action are the results of the step, with Applied set, or errors with the
	// answer of the target. ask is called with each step. If it is nil, targets cannot be queried.
	ask      func(*journal.Step) run.Action
	harmless bool // the action may be done twice
	brief    bool // users see only its begin and its end
	// failure returns the failure, and the ResultSet in its details. If it is nil, the failure
	// contains the number of failed targets.
	failure func(results []value.Value) (*Failure, *value.Object)
}

// do runs an act and returns its ResultSet, or raises its failure.
func (x *Executor) do(c *eval.Call, a *act, description value.Value, o *options) (value.Value, error) {
	f := flowOf(&c.Site)
	at := c.Position()
	step := &event.Step{Description: a.about, Targets: a.targets, Quiet: f.quiet, Brief: a.brief, File: at.File, Line: at.Line,
		Function: a.function, Object: a.object, Secrets: secretNames(c.Args), RunAs: cmp.Or(o.runAs, f.runAs), Noop: o.noop}
	if a.do != nil {
		step.Do = a.do
	}
	if s, ok := description.(value.String); ok && s != "" {
		step.Description = string(s)
	} else if o.description != "" {
		step.Description = o.description
	}
	if len(a.targets) == 0 {
		return x.set(nil), nil
	}
	if err := x.ending(); err != nil {
		return nil, err
	}
	recorded, err := x.record(c, a, o, step.Description)
	if err != nil {
		return nil, err
	}
	if a.prepare != nil && !recorded.Begun() {
		if err := a.prepare(); err != nil {
			return nil, err
		}
	}
	step.Recorded = recorded.Done()
	byTarget := make(map[*inventory.Target]*event.Result, len(a.targets))
	x.apart(func() { err = x.roll(c, a, step, o, recorded, byTarget) })
	if err != nil {
		return nil, err
	}
	if err := context.Cause(c.Context()); err != nil {
		return nil, err
	}
	results := make([]value.Value, len(a.targets))
	failures, skipped := 0, 0
	for i, t := range byTransport(c.Context(), a.targets) {
		r := byTarget[t]
		results[i] = x.result(r)
		switch {
		case r.OK():
		case r.NotBegun():
			skipped++
		default:
			failures++
		}
	}
	raised := failures+skipped > 0 && !o.catch
	if !step.Recorded {
		if err := recorded.End(raised); err != nil {
			return nil, err
		}
	}
	set := x.set(results)
	if !raised {
		return set, nil
	}
	e := failf("bolt/run-failure", "%s '%s' failed on %s", a.function, a.object, count(failures, "target"))
	if skipped > 0 {
		e.Msg += fmt.Sprintf(", and did not begin on %d", skipped)
	}
	if a.failure != nil {
		e, set = a.failure(results)
	}
	e.Details = value.NewHash(
		value.Entry{Key: value.String("action"), Value: value.String(a.function)},
		value.Entry{Key: value.String("object"), Value: textOrUndef(a.object)},
		value.Entry{Key: value.String("result_set"), Value: set})
	e.step, e.acted = recorded.Place(), true
	return nil, e
}

// byTransport orders targets as Bolt orders their results: targets of the same transport follow
// each other, in the order in which the transports first occur.
func byTransport(ctx context.Context, targets []*inventory.Target) []*inventory.Target {
	place := make(map[string]int)
	places := make(map[*inventory.Target]int, len(targets))
	for _, t := range targets {
		name := ""
		if d, err := t.Data(ctx); err == nil { // an error is the target's result
			name = d.Transport
		}
		if _, known := place[name]; !known {
			place[name] = len(place)
		}
		places[t] = place[name]
	}
	if len(place) < 2 {
		return targets
	}
	ordered := slices.Clone(targets)
	slices.SortStableFunc(ordered, func(a, b *inventory.Target) int { return cmp.Compare(places[a], places[b]) })
	return ordered
}

// roll runs an act on its targets, batch after batch, and records the result of each target.
// Targets with a recorded result are skipped. An error is an error of the journal, or means that
// the step must not begin; then some targets may have no result.
func (x *Executor) roll(c *eval.Call, a *act, step *event.Step, o *options, recorded *journal.Step, byTarget map[*inventory.Target]*event.Result) (err error) {
	runner := run.New(x.o.Dialer, run.Options{Concurrency: o.concurrency, Slots: x.slots, Spill: x.spill, RunAs: step.RunAs, Timeout: o.timeout, Stream: x.o.Stream, Log: x.o.Log})
	at := x.place(c)
	began := time.Now()
	failures, skipped := 0, 0
	tell := func(e event.Event) error {
		step.Quiet = step.Quiet || x.blocks.hush.Load()
		return x.emit(c.Context(), event.OfStep(e, step))
	}
	_ = x.emit(c.Context(), event.StepBegin{Step: step}) // an error stops the run
	defer func() {
		_ = tell(event.StepEnd{Failures: failures, NotBegun: skipped, Elapsed: time.Since(began)})
	}()
	note := func(r *event.Result) error {
		byTarget[r.Target] = r
		if text := r.Truncated("--stream or --format ndjson"); text != "" && !x.o.Stream {
			x.warn(c.Context(), "truncated_output", text)
		}
		switch {
		case r.OK():
		case r.NotBegun():
			skipped++
		default:
			failures++
		}
		return tell(event.TargetEnd{Result: r})
	}
	// record writes a result to the journal. After an error, the running targets of a batch
	// continue.
	record := func(r *event.Result) {
		located(r, at.File, at.Line)
		err = cmp.Or(err, recorded.Event(c.Context(), event.TargetEnd{Result: r}))
	}
	ofBatch := event.Func(func(ctx context.Context, e event.Event) error {
		switch e := e.(type) {
		case event.TargetBegin:
			if err := recorded.Event(ctx, e); err != nil {
				return err
			}
		case event.TargetEnd:
			e.Result.Output.Retain() // until the end of the run
			if e.Result.NotBegun() {
				located(e.Result, at.File, at.Line)
			} else {
				record(e.Result)
			}
			return note(e.Result)
		}
		return tell(e)
	})
	lost := o.rolling.Roll(c.Context(), a.targets, func(targets []*inventory.Target) (run.Batch, error) {
		if err != nil {
			return run.Batch{}, err
		}
		before := failures
		var batch []*inventory.Target
		for _, t := range targets {
			if r := a.failed[t]; r != nil {
				record(r)
				_ = note(r)
				continue
			}
			r, lost := recorded.Result(t)
			if lost != nil {
				return run.Batch{}, lost
			}
			if r == nil {
				batch = append(batch, t)
				continue
			}
			located(r, at.File, at.Line)
			_ = note(r)
		}
		if len(batch) == 0 {
			return run.Batch{Failures: failures - before}, nil
		}
		begin := event.BatchBegin{Step: step, Targets: batch}
		if err := x.emit(c.Context(), begin); err != nil {
			return run.Batch{}, err
		}
		if err := recorded.Event(c.Context(), begin); err != nil {
			return run.Batch{}, err
		}
		action := a.do
		if action == nil {
			action = &several{a.each[batch[0]], a.each}
		}
		_ = runner.Run(c.Context(), action, batch, ofBatch) // an error has stopped the run
		return run.Batch{Failures: failures - before, Worked: true}, nil
	}, func(t *inventory.Target, e *event.Error) {
		r := &event.Result{Target: t, Action: a.action, Err: e}
		record(r)
		_ = note(r)
	})
	return cmp.Or(lost, err)
}

// secretNames returns the keys of the last argument, without their underscores, whose values
// contain something sensitive.
func secretNames(args []value.Value) []string {
	if len(args) == 0 {
		return nil
	}
	h, ok := args[len(args)-1].(*value.Hash)
	if !ok {
		return nil
	}
	var names []string
	for k, v := range h.All() {
		if hides(v) {
			names = append(names, strings.TrimPrefix(value.ToString(k), "_"))
		}
	}
	return names
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// located adds the position in the plan to the error of a result. It does not change an error that
// a task returned with details.
func located(r *event.Result, file string, line int) {
	if r.Err == nil || r.Err.Given != nil && !r.Err.Bare || file == "" {
		return
	}
	details := ordered.Of("file", file, "line", int64(line))
	for k, v := range r.Err.Details.All() {
		details.Set(k, v)
	}
	e := *r.Err
	e.Details = details
	if e.Given != nil {
		e.Given = e.Given.Clone()
		e.Given.Set("details", details)
	}
	r.Err = &e
}

// several is an action that has a different action for each target. All of them are of one kind and
// have the same properties.
type several struct {
	run.Action
	each map[*inventory.Target]run.Action
}

func (s *several) OnDevices() bool {
	a, ok := s.Action.(run.DeviceAction)
	return ok && a.OnDevices()
}

func (s *several) Here() bool {
	a, ok := s.Action.(run.LocalAction)
	return ok && a.Here()
}

func (s *several) Do(ctx context.Context, site *run.Site) error {
	return s.each[site.Target].Do(ctx, site)
}

// jsonText returns data as JSON on several lines, for people.
func jsonText(v any) string {
	var b strings.Builder
	if err := safejson.WriteIndented(&b, v); err != nil {
		return fmt.Sprint(v)
	}
	return b.String()
}
