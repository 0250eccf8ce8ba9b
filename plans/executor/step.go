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

// options are those of a function that acts on targets: the keys of its last
// argument that begin with an underscore.
type options struct {
	catch       bool
	noop        bool
	runAs       string
	description string
	env         []string
	timeout     time.Duration
	concurrency int
	rolling     run.Rolling
	rest        *ordered.Map // the other keys
}

// parseOptions reads those that the function has. Others are a warning, as in
// Puppet Bolt.
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

// optionsOf are the options that a function has.
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
	case "run_command", "run_script":
		names = append(names, "env_vars")
	case "run_task", "run_task_with":
		names = append(names, "noop")
	}
	return append(names, "run_as", "timeout")
}

// unknownOption says that an option does nothing, and which of a function's names
// may be meant.
func (x *Executor) unknownOption(c *eval.Call, name string, names []string) {
	text := fmt.Sprintf("The function %s has no option '_%s'; it is passed over.", c.Name, name)
	if near := spelling.Near(name, names); near != "" {
		text += " Did you mean _" + near + "?"
	}
	if at := c.Position(); at.File != "" {
		text += fmt.Sprintf(" (file: %s, line: %d)", at.File, at.Line)
	}
	x.warn("plan_function_options", text)
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

// environmentOf is a hash as environment variables: what is no text is JSON.
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

func (x *Executor) warn(id, text string) {
	if x.o.Warn != nil {
		x.o.Warn(id, text)
	}
}

// An act is what one call of a function does on targets.
type act struct {
	function string // "run_command"
	object   string // as the plan names it: of the error
	action   string // "command"
	about    string // of the description: "command 'id'"
	targets  []*inventory.Target
	do       run.Action // nil where each target has its own
	each     map[*inventory.Target]run.Action
	failed   map[*inventory.Target]*event.Result // known to fail before anything is done
	prepare  func() error                        // on this machine, before the first target; nil: nothing
	marks    []any                               // what makes it another action beside its arguments: data without secrets
}

// do carries out an act and returns its ResultSet, or raises the failure of what
// has failed.
func (x *Executor) do(c *eval.Call, a *act, description value.Value, o *options) (value.Value, error) {
	f := flowOf(&c.Site)
	step := &Step{Description: a.about, Targets: a.targets, Quiet: f.quiet, At: c.Position(),
		Function: a.function, Object: a.object, Action: a.do, Secrets: secretNames(c.Args), RunAs: cmp.Or(o.runAs, f.runAs), Noop: o.noop}
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
		e.Msg += fmt.Sprintf(", and was not begun on %d", skipped)
	}
	e.Details = value.NewHash(
		value.Entry{Key: value.String("action"), Value: value.String(a.function)},
		value.Entry{Key: value.String("object"), Value: value.String(a.object)},
		value.Entry{Key: value.String("result_set"), Value: set})
	e.step, e.acted = recorded.Place(), true
	return nil, e
}

// byTransport orders targets as Bolt orders their results: the targets of one
// transport stand together, in the order in which the transports first occur.
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

// roll carries out an act on its targets, batch after batch, and notes what it
// came to on each. What was recorded is not done again. The error is that of the
// journal: then targets may be without a result.
func (x *Executor) roll(c *eval.Call, a *act, step *Step, o *options, recorded *journal.Step, byTarget map[*inventory.Target]*event.Result) (err error) {
	runner := run.New(x.o.Dialer, run.Options{Concurrency: o.concurrency, Slots: x.slots, Spill: x.spill, RunAs: step.RunAs, Timeout: o.timeout, Stream: x.o.Stream, Log: x.o.Log,
		Begin: recorded.Began})
	at := x.place(c)
	began := time.Now()
	failures, skipped := 0, 0
	x.observe(func(o Observer) { o.StepStarted(step) })
	defer func() {
		x.observe(func(o Observer) {
			step.Quiet = step.Quiet || x.blocks.hush.Load()
			o.StepFinished(step, failures, skipped, time.Since(began))
		})
	}()
	known := make(map[*inventory.Target]bool) // what is not to be recorded
	var begun bool
	var done []*event.Result // in this run
	end := func([]*event.Result) {}
	defer func() { end(done) }()
	note := func(e run.Event) {
		if e.Kind == run.Finished {
			located(e.Result, at.File, at.Line)
			byTarget[e.Target] = e.Result
			if text := e.Result.Truncated("--stream or --format ndjson"); text != "" && !x.o.Stream {
				x.warn("truncated_output", text)
			}
			switch {
			case e.Result.OK():
			case e.Result.NotBegun():
				skipped++
			default:
				failures++
			}
			if !known[e.Target] && !cut(c.Context(), e.Result) {
				err = cmp.Or(err, recorded.Finished(e.Result))
			}
		}
		x.observe(func(o Observer) {
			step.Quiet = step.Quiet || x.blocks.hush.Load()
			o.Target(step, e)
		})
	}
	lost := o.rolling.Roll(c.Context(), a.targets, func(targets []*inventory.Target) (run.Batch, error) {
		if err != nil {
			return run.Batch{}, err
		}
		before := failures
		var batch []*inventory.Target
		for _, t := range targets {
			r := a.failed[t]
			if r == nil {
				var lost error
				if r, lost = recorded.Result(t); lost != nil {
					return run.Batch{}, lost
				}
				known[t] = r != nil
			}
			if r != nil {
				note(run.Event{Kind: run.Finished, Target: t, Result: r})
			} else {
				batch = append(batch, t)
			}
		}
		if len(batch) == 0 {
			return run.Batch{Failures: failures - before}, nil
		}
		if !begun {
			var lost error
			if end, lost = x.audited(c.Context(), step); lost != nil {
				return run.Batch{}, lost
			}
			begun = true
		}
		if err := recorded.Go(batch); err != nil {
			return run.Batch{}, err
		}
		action := a.do
		if action == nil {
			action = &several{a.each[batch[0]], a.each}
		}
		runner.Run(c.Context(), action, batch, func(e run.Event) {
			if e.Kind == run.Finished && e.Result.NotBegun() {
				known[e.Target] = true // the action did not start on it
			}
			if e.Kind == run.Finished {
				done = append(done, e.Result)
			}
			note(e)
		})
		return run.Batch{Failures: failures - before, Worked: true}, nil
	}, func(t *inventory.Target, e *event.Error) {
		note(run.Event{Kind: run.Finished, Target: t, Result: &event.Result{Target: t, Action: a.action, Err: e}})
	})
	return cmp.Or(lost, err)
}

// audited tells Options.Audit that a step is about to be begun.
func (x *Executor) audited(ctx context.Context, s *Step) (end func([]*event.Result), err error) {
	if x.o.Audit == nil {
		return func([]*event.Result) {}, nil
	}
	if end, err = x.o.Audit(ctx, s); err != nil {
		return func([]*event.Result) {}, err
	}
	return end, nil
}

// secretNames are the keys of the last argument, without their underscores, whose
// values hide something.
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

// located notes in the error of a result where the plan asked for it. An error that
// a task gave with details stays as it is.
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

// several is an action that is another for each target, all of one kind: what
// one says of itself, the others do.
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

// jsonText is data as JSON for people, on several lines.
func jsonText(v any) string {
	var b strings.Builder
	if err := safejson.WriteIndented(&b, v); err != nil {
		return fmt.Sprint(v)
	}
	return b.String()
}
