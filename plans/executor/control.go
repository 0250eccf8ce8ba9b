package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bolt/event"
	"bolt/format/valuedata"
	"bolt/internal/lazyregexp"
	"bolt/plans"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// plan calls a plan with parameters.
func (x *Executor) plan(s *eval.Site, p *plans.Plan, params *value.Hash) (value.Value, error) {
	call, err := x.beginPlan(s, p.Name)
	if err != nil {
		return nil, err
	}
	d, err := s.Find(eval.KindPlan, p.Name)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, failf(plans.UnknownPlan, "Could not find a plan named '%s'.", p.Name)
	}
	if err := x.resolveParams(s, p, params); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := x.entered(s.Context(), p); err != nil {
		return nil, err
	}
	quiet := flowOf(s).quiet
	_ = x.emit(s.Context(), event.PlanBegin{Plan: p.Name, Quiet: quiet}) // an error stops the run
	defer func() {
		quiet := quiet || x.blocks.hush.Load()
		_ = x.emit(s.Context(), event.PlanEnd{Plan: p.Name, Quiet: quiet, Elapsed: time.Since(began)})
	}()
	if err := accepts(s, p, params); err != nil {
		if first := s.PlanDefaults(d, params); first != nil {
			return nil, unset(first)
		}
		return nil, err
	}
	if err := x.foresee(s, p, d); err != nil {
		return nil, err
	}
	f := *flowOf(s)
	f.plan = call
	f.futures = &futures{}
	f.inside = nil
	f.yaml = p.YAML
	v, err := s.With(s.Context(), &f).Plan(d, params)
	if err != nil && p.YAML != nil {
		return nil, x.ofYAML(s.Context(), p.YAML, err)
	}
	if err != nil {
		return nil, unset(err)
	}
	if !x.isPlanResult(s, v) {
		shown := shownResult(v)
		e := failf("bolt/invalid-plan-result", "Plan %s returned an invalid result: %s", p.Name, shown)
		e.Details = value.NewHash(
			value.Entry{Key: value.String("plan_name"), Value: value.String(p.Name)},
			value.Entry{Key: value.String("result_string"), Value: value.String(shown)})
		return nil, e
	}
	return v, nil
}

var targetSpec = lazyregexp.New(`\bTargetSpec\b`)

// resolveParams resolves the targets of parameters for targets, so that an unusable
// target is an error before the plan starts.
func (x *Executor) resolveParams(s *eval.Site, p *plans.Plan, params *value.Hash) error {
	for k, v := range params.All() {
		q := p.Parameter(value.ToString(k))
		if q == nil || !targetSpec().MatchString(q.TypeText) {
			continue
		}
		if _, err := x.resolve(s, v); err != nil {
			return err
		}
	}
	return nil
}

// unset sets Bolt's kind for the error of a default that reads a parameter without a
// value. It returns other errors unchanged.
func unset(err error) error {
	if e, ok := errors.AsType[*eval.UnsetParameter](err); ok {
		return failf(palError, "%s", e.Error())
	}
	return err
}

// accepts returns an error that contains all problems with the parameters of a plan.
func accepts(s *eval.Site, p *plans.Plan, params *value.Hash) error {
	var wrong []string
	for k := range params.All() {
		if name := value.ToString(k); p.Parameter(name) == nil {
			wrong = append(wrong, fmt.Sprintf("has no parameter named '%s'", name))
		}
	}
	for i := range p.Parameters {
		q := &p.Parameters[i]
		v, given := params.GetString(q.Name)
		switch {
		case !given || value.IsUndef(v) && q.HasDefault:
			if !q.HasDefault {
				wrong = append(wrong, fmt.Sprintf("expects a value for parameter '%s'", q.Name))
			}
		default:
			if t := typeHere(s, q); !value.Instance(t, v) {
				wrong = append(wrong, value.Mismatch(fmt.Sprintf("parameter '%s'", q.Name), t, v))
			}
		}
	}
	if wrong == nil {
		return nil
	}
	f := failf(palError, "%s: %s", p.Name, wrong[0])
	if len(wrong) > 1 {
		f.Msg = p.Name + ":\n  " + strings.Join(wrong, "\n  ")
	}
	f.Hint = p.Advice(params)
	return f
}

// typeHere returns the type of a parameter as a running plan reads it. The plan's
// description was read without the types that only running plans have, such as
// Target.
func typeHere(s *eval.Site, q *plans.Parameter) value.Type {
	if t, err := s.ParseType(q.Shown()); err == nil {
		return t
	}
	return q.Type
}

// controlling returns the functions that control a plan.
func controlling() []*eval.Function {
	return []*eval.Function{
		{Name: "run_plan", Doc: "Runs another plan and returns its value.", Signatures: []eval.Signature{
			{Params: "String $plan, Hash[String, Any] $arguments = {}", Run: func(c *eval.Call) (value.Value, error) { return runPlan(c, nil, c.Arg(1)) }},
			{Params: "String $plan, Optional[TargetSpec] $targets, Hash[String, Any] $arguments = {}", Run: func(c *eval.Call) (value.Value, error) { return runPlan(c, c.Arg(1), c.Arg(2)) }},
		}},
		{Name: "fail_plan", Doc: "Ends the plan with an error.", Signatures: []eval.Signature{
			{Params: "String[1] $msg, String[1] $kind = 'bolt/plan-failure', Hash[String[1], Any] $details = {}, String[1] $issue_code = 'none'", Run: func(c *eval.Call) (value.Value, error) {
				f := failf("bolt/plan-failure", "%s", string(c.Args[0].(value.String)))
				if s, ok := c.Arg(1).(value.String); ok {
					f.Kind = string(s)
				}
				if h, ok := c.Arg(2).(*value.Hash); ok {
					f.Details = h
				}
				if s, ok := c.Arg(3).(value.String); ok {
					f.Code = string(s)
				}
				return nil, f
			}},
			{Params: "Error $error", Run: func(c *eval.Call) (value.Value, error) {
				f := of(&c.Site).again(c.Args[0].(*value.Object))
				f.Kind = cmp.Or(f.Kind, "bolt/plan-failure")
				return nil, f
			}},
		}},
		{Name: "catch_errors", Doc: "Returns the value of the block, or the error that ended it.", Signatures: []eval.Signature{{
			Params: "Array[String[1]] $kinds = []", Block: "Callable[0, 0]", Run: func(c *eval.Call) (value.Value, error) {
				v, err := c.Yield()
				if err == nil || eval.IsJump(err) {
					return v, err
				}
				f, ok := caught(err)
				if !ok {
					return nil, err
				}
				if kinds, is := c.Arg(0).(*value.Array); is && !slices.Contains(kinds.Elems(), value.Value(value.String(f.Kind))) {
					return nil, err
				}
				return of(&c.Site).errorValue(f, err), nil
			}}}},
		{Name: "parallelize", Doc: "Calls the block with all elements concurrently, and returns the values of the calls.", Signatures: []eval.Signature{{
			Params: "Array $list", Block: "Callable[1, 1]", Run: parallelize}}},
		{Name: "background", Doc: "Runs the block concurrently with the rest of the plan, and returns a Future.", Signatures: []eval.Signature{{
			Params: "String[1] $name = 'future'", Block: "Callable[0, 0]", Run: func(c *eval.Call) (value.Value, error) {
				x, f := of(&c.Site), flowOf(&c.Site)
				name, _ := c.Arg(0).(value.String)
				one := x.start(c, string(name), f.place.branch(f.place.next(), 1), f.futures)
				if f.futures != nil {
					f.futures.all = append(f.futures.all, one)
				}
				return x.o.Language.types.future.Wrap(one), nil
			}}}},
		{Name: "wait", Doc: "Waits for futures (without arguments, for all futures of the plan), and returns their values.", Signatures: waitSignatures()},
		member("Future", "state", "", func(c *eval.Call) (value.Value, error) {
			one := futureOf(c.Args[0])
			state, err := of(&c.Site).effect(c, nil, false, func() (any, error) { return one.state(), nil })
			if err != nil {
				return nil, err
			}
			return valuedata.Of(state)
		}),
		{Name: "without_default_logging", Doc: "Runs the block without showing the actions in it.", Signatures: []eval.Signature{{
			Block: "Callable[0, 0]", Run: func(c *eval.Call) (value.Value, error) {
				f := *flowOf(&c.Site)
				f.quiet = true
				return within(c, &f, func(c *eval.Call) (value.Value, error) { return c.Yield() })
			}}}},
		{Name: "ctrl::sleep", Doc: "Waits a number of seconds.", Signatures: []eval.Signature{{
			Params: "Numeric $seconds", Run: func(c *eval.Call) (value.Value, error) {
				d, ok := seconds(c.Args[0])
				if !ok || d < 0 {
					return nil, failf("bolt/validation-error", "ctrl::sleep cannot wait %s seconds", value.Inspect(c.Args[0]))
				}
				x := of(&c.Site)
				_, err := x.effect(c, d.String(), false, func() (any, error) { return nil, x.pause(c.Context(), d) })
				return value.Undef{}, err
			}}}},
		{Name: "ctrl::do_until", Doc: "Calls the block until it returns a true value, and returns that value.", Signatures: []eval.Signature{{
			Params: "Hash[String[1], Any] $options = {}", Block: "Callable[0, 0]", Run: doUntil}}},
	}
}

// pause sleeps without holding the turn.
func (x *Executor) pause(ctx context.Context, d time.Duration) (err error) {
	x.apart(func() { err = sleep(ctx, d) })
	return err
}

// sleep waits for d; the error is ctx's.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func doUntil(c *eval.Call) (value.Value, error) {
	x := of(&c.Site)
	limit, interval := 0, time.Duration(0)
	if h, ok := c.Arg(0).(*value.Hash); ok {
		if v, ok := h.GetString("limit"); ok {
			n, is := v.(value.Int)
			if !is || n < 0 {
				return nil, failf("bolt/validation-error", "Option 'limit' of ctrl::do_until must be a number of calls, got %s", value.Inspect(v))
			}
			limit = int(n)
		}
		if v, ok := h.GetString("interval"); ok {
			if interval, ok = seconds(v); !ok || interval < 0 {
				return nil, failf("bolt/validation-error", "Option 'interval' of ctrl::do_until must be a number of seconds, got %s", value.Inspect(v))
			}
		}
	}
	here := flowOf(&c.Site).place
	for n := 1; ; n++ {
		here.replayed = false
		v, err := c.Yield()
		if err != nil || value.Truthy(v) || n == limit {
			return v, err
		}
		if err := c.Step(1); err != nil {
			return nil, err
		}
		if here.replayed {
			continue
		}
		if err := x.pause(c.Context(), interval); err != nil {
			return nil, err
		}
	}
}

// runPlan implements run_plan. Targets that are passed in addition to the arguments
// are the value of the plan's parameter for targets.
func runPlan(c *eval.Call, targets, arguments value.Value) (value.Value, error) {
	x := of(&c.Site)
	name := strings.TrimPrefix(string(c.Args[0].(value.String)), "::")
	p := x.plans[name]
	if p == nil {
		var err error
		if p, err = x.o.Plans.Find(c.Context(), name); err != nil {
			return nil, err
		}
		x.plans[name] = p
	}
	given, _ := arguments.(*value.Hash)
	o, err := x.parseOptions(c, given)
	if err != nil {
		return nil, err
	}
	var params value.HashBuilder
	if given != nil {
		for k, v := range given.All() {
			if key, _ := k.(value.String); !strings.HasPrefix(string(key), "_") {
				params.Put(k, v)
			}
		}
	}
	if targets != nil && !value.IsUndef(targets) {
		to, both := p.TargetsParameter()
		if _, twice := params.Get(value.String(to)); both || twice {
			which := to
			if both {
				which = "nodes' and 'targets"
			}
			return nil, failf("bolt/invalid-plan-argument", "The targets of run_plan are the value of the plan's parameter '%s'. If targets are passed, the arguments must not contain that parameter", which)
		}
		if to == "" {
			to = "nodes"
		}
		params.Put(value.String(to), targets)
	}
	f := *flowOf(&c.Site)
	f.from = x.place(c)
	if o.runAs != "" {
		f.runAs = o.runAs
	}
	v, err := within(c, &f, func(c *eval.Call) (value.Value, error) { return x.plan(&c.Site, p, params.Build()) })
	if err != nil && o.catch {
		if f, ok := caught(err); ok {
			return x.errorValue(f, err), nil
		}
	}
	return v, err
}
