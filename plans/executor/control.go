package executor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

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
	began := time.Now()
	if err := x.entered(p); err != nil {
		return nil, err
	}
	x.observe(func(o Observer) { o.PlanStarted(p.Name) })
	defer func() { x.observe(func(o Observer) { o.PlanFinished(p.Name, time.Since(began)) }) }()
	if err := accepts(s, p, params); err != nil {
		return nil, err
	}
	f := *flowOf(s)
	f.plan = call
	f.futures = &futures{}
	f.inside = nil
	v, err := s.With(x.enter(s.Context(), &f)).Plan(d, params)
	if left := f.futures.join(x); left != nil && (err == nil || x.final(left) && !x.final(err)) {
		err = left
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// accepts tells all that is wrong with the parameters of a plan at once.
func accepts(s *eval.Site, p *plans.Plan, params *value.Hash) error {
	var wrong []string
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
	for k := range params.All() {
		if name := value.ToString(k); p.Parameter(name) == nil {
			wrong = append(wrong, fmt.Sprintf("has no parameter named '%s'", name))
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

// typeHere is the type of a parameter as a running plan reads it. The plan's
// description was read without the types that only running plans have, as Target.
func typeHere(s *eval.Site, q *plans.Parameter) value.Type {
	if t, err := s.ParseType(q.Shown()); err == nil {
		return t
	}
	return q.Type
}

// futures are what a plan runs in the background.
type futures struct {
	mu  sync.Mutex
	all []*future
}

// A future is a block that runs in the background.
type future struct {
	name  string
	done  chan struct{}
	value value.Value // once done
	err   error
	asked bool // somebody has waited for it
}

func (f *future) state() string {
	select {
	case <-f.done:
		if f.err != nil {
			return "error"
		}
		return "done"
	default:
		return "running"
	}
}

func (f *futures) add(one *future) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, one)
}

func (f *futures) list() []*future {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.all)
}

// join waits for all, and tells of errors that nobody has asked for. It returns
// one that nothing catches, or that some were stopped.
func (f *futures) join(x *Executor) (left error) {
	for _, one := range f.list() {
		x.apart(func() { <-one.done })
		switch {
		case x.final(one.err):
			left = one.err
		case one.err != nil && x.ctx.Err() != nil:
			left = cmp.Or(left, context.Cause(x.ctx))
		case one.err != nil && !one.asked:
			failure := x.failure(one.err)
			text := fmt.Sprintf("Error in future '%s': %s", one.name, failure.Msg)
			if place := failure.Place(); !strings.HasSuffix(text, place) {
				text += " " + place
			}
			x.warn("errored_futures", text)
		}
	}
	return left
}

// start runs a block in a goroutine of its own, which gets the turn when it comes.
func (x *Executor) start(c *eval.Call, name string, at *place, args ...value.Value) *future {
	one := &future{name: name, done: make(chan struct{})}
	b, err := x.beginBranch(&c.Site)
	if err != nil {
		one.err = err
		close(one.done)
		return one
	}
	f := *flowOf(&c.Site)
	f.inside, f.place, f.branch = one, at, b
	fork := c.Fork(x.enter(c.Context(), &f))
	mine := x.turn.ask()
	go func() {
		<-mine
		defer x.turn.give()
		x.in(at.prefix)
		defer close(one.done)
		defer x.endBranch(b)
		one.value, one.err = blockValue(fork.Yield(args...))
	}()
	return one
}

// blockValue is what a block that stands for itself came to: return() ends it.
func blockValue(v value.Value, err error) (value.Value, error) {
	if w, ok := eval.Returned(err); ok {
		return w, nil
	}
	if eval.IsBreak(err) {
		return value.Undef{}, nil
	}
	return v, err
}

func futureOf(v value.Value) *future {
	f, _ := v.(*value.Object).Payload().(*future)
	return f
}

// controlling are the functions that control a plan.
func controlling() []*eval.Function {
	return []*eval.Function{
		{Name: "run_plan", Doc: "Runs another plan and returns what it returns.", Signatures: []eval.Signature{
			{Params: "String $plan, Hash[String, Any] $arguments = {}", Run: func(c *eval.Call) (value.Value, error) { return runPlan(c, nil, c.Arg(1)) }},
			{Params: "String $plan, Optional[TargetSpec] $targets, Hash[String, Any] $arguments = {}", Run: func(c *eval.Call) (value.Value, error) { return runPlan(c, c.Arg(1), c.Arg(2)) }},
		}},
		{Name: "fail_plan", Doc: "Ends the plan with an error.", Signatures: []eval.Signature{
			{Params: "String[1] $msg, Optional[String[1]] $kind = undef, Optional[Hash[String[1], Any]] $details = undef, Optional[String[1]] $issue_code = undef", Run: func(c *eval.Call) (value.Value, error) {
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
			{Params: "Error $error", Run: func(c *eval.Call) (value.Value, error) { return nil, of(&c.Site).again(c.Args[0].(*value.Object)) }},
		}},
		{Name: "catch_errors", Doc: "Returns what the block returns, or the error that ended it.", Signatures: []eval.Signature{{
			Params: "Optional[Array[String[1]]] $kinds = undef", Block: "Callable[0, 0]", Run: func(c *eval.Call) (value.Value, error) {
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
		{Name: "parallelize", Doc: "Calls the block with each element, with all of them at once, and returns what the calls return.", Signatures: []eval.Signature{{
			Params: "Array $list", Block: "Callable[1, 1]", Run: parallelize}}},
		{Name: "background", Doc: "Runs the block beside what follows, and returns a Future of it.", Signatures: []eval.Signature{{
			Params: "Optional[String[1]] $name = undef", Block: "Callable[0, 0]", Run: func(c *eval.Call) (value.Value, error) {
				x, f := of(&c.Site), flowOf(&c.Site)
				name := fmt.Sprint(len(f.futures.list()) + 1)
				if s, ok := c.Arg(0).(value.String); ok {
					name = string(s)
				}
				one := x.start(c, name, f.place.branch(f.place.next(), 1))
				f.futures.add(one)
				return x.o.Language.types.future.Wrap(one), nil
			}}}},
		{Name: "wait", Doc: "Waits for futures, all of the plan if none are given, and returns what they return.", Signatures: []eval.Signature{
			{Params: "Variant[Future, Array[Future]] $futures, Optional[Numeric] $timeout = undef, Hash[String[1], Any] $options = {}", Run: func(c *eval.Call) (value.Value, error) {
				return wait(c, c.Args[0], c.Arg(1), c.Arg(2))
			}},
			{Params: "Variant[Future, Array[Future]] $futures, Hash[String[1], Any] $options", Run: func(c *eval.Call) (value.Value, error) { return wait(c, c.Args[0], nil, c.Arg(1)) }},
			{Params: "Optional[Numeric] $timeout = undef, Hash[String[1], Any] $options = {}", Run: func(c *eval.Call) (value.Value, error) { return wait(c, nil, c.Arg(0), c.Arg(1)) }},
			{Params: "Hash[String[1], Any] $options", Run: func(c *eval.Call) (value.Value, error) { return wait(c, nil, nil, c.Arg(0)) }},
		}},
		member("Future", "state", "", func(c *eval.Call) (value.Value, error) {
			one := futureOf(c.Args[0])
			state, err := of(&c.Site).effect(c, nil, false, func() (any, error) { return one.state(), nil })
			return mustValue(state), err
		}),
		{Name: "without_default_logging", Doc: "Runs the block without showing the actions in it.", Signatures: []eval.Signature{{
			Block: "Callable[0, 0]", Run: func(c *eval.Call) (value.Value, error) {
				f := *flowOf(&c.Site)
				f.quiet = true
				return of(&c.Site).within(c, &f, func(c *eval.Call) (value.Value, error) { return c.Yield() })
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
		{Name: "ctrl::do_until", Doc: "Calls the block until what it returns is true, and returns that.", Signatures: []eval.Signature{{
			Params: "Hash[String[1], Any] $options = {}", Block: "Callable[0, 0]", Run: doUntil}}},
	}
}

// pause waits without the turn.
func (x *Executor) pause(ctx context.Context, d time.Duration) (err error) {
	x.apart(func() { err = sleep(ctx, d) })
	return err
}

// sleep waits; the error is that of ctx.
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

// runPlan is run_plan. Targets that are given beside the arguments go to the
// plan's parameter for targets.
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
			return nil, failf("bolt/invalid-plan-argument", "The targets that run_plan takes beside the plan's name stand for its parameter '%s', which must not be among the arguments then", which)
		}
		if to == "" {
			to = "nodes"
		}
		params.Put(value.String(to), targets)
	}
	f := *flowOf(&c.Site)
	if o.runAs != "" {
		f.runAs = o.runAs
	}
	v, err := x.within(c, &f, func(c *eval.Call) (value.Value, error) { return x.plan(&c.Site, p, params.Build()) })
	if err != nil && o.catch {
		if f, ok := caught(err); ok {
			return x.errorValue(f, err), nil
		}
	}
	return v, err
}

func parallelize(c *eval.Call) (value.Value, error) {
	x := of(&c.Site)
	list := c.Args[0].(*value.Array)
	branches := make([]*future, list.Len())
	here := flowOf(&c.Site).place
	at := here.next()
	for i, e := range list.All() {
		branches[i] = x.start(c, "", here.branch(at, i+1), e)
	}
	x.apart(func() {
		for _, b := range branches {
			<-b.done
		}
	})
	if err := context.Cause(c.Context()); err != nil {
		return nil, err
	}
	results := make([]value.Value, len(branches))
	var failed []Branch
	for i, b := range branches {
		if b.err == nil {
			results[i] = b.value
			continue
		}
		if x.final(b.err) {
			return nil, b.err
		}
		results[i] = x.branchError(b.err)
		failed = append(failed, Branch{fmt.Sprintf("branch %d of %d", i+1, len(branches)), x.failure(b.err)})
	}
	if failed == nil {
		return value.NewArray(results...), nil
	}
	return nil, parallelFailure("parallelize", results, failed)
}

// parallelFailure is the error of an action on several branches, some of which
// have failed.
func parallelFailure(action string, results []value.Value, failed []Branch) *Failure {
	var indices []value.Value
	for i, r := range results {
		if e, is := r.(*value.Object); is && e.Type() == value.ErrorType() {
			indices = append(indices, value.Int(i))
		}
	}
	f := failf("bolt/parallel-failure", "parallel block failed on %s", count(len(indices), "target"))
	f.Branches = failed
	f.Details = value.NewHash(
		value.Entry{Key: value.String("action"), Value: value.String(action)},
		value.Entry{Key: value.String("failed_indices"), Value: value.NewArray(indices...)},
		value.Entry{Key: value.String("results"), Value: value.NewArray(results...)})
	return f
}

// branchError is the error of a branch as a value of the language.
func (x *Executor) branchError(err error) *value.Object {
	own, is := caught(err)
	if !is {
		own = x.failure(err)
	}
	return x.errorValue(own, err)
}

func wait(c *eval.Call, which, timeout, options value.Value) (value.Value, error) {
	x, f := of(&c.Site), flowOf(&c.Site)
	hash, _ := options.(*value.Hash)
	o, err := x.parseOptions(c, hash)
	if err != nil {
		return nil, err
	}
	var all []*future
	switch w := which.(type) {
	case *value.Object:
		all = []*future{futureOf(w)}
	case *value.Array:
		for _, e := range w.All() {
			all = append(all, futureOf(e))
		}
	default:
		all = f.futures.list()
	}
	if f.inside != nil && slices.Contains(all, f.inside) {
		return nil, failf("bolt/infinite-wait", "A block in the background cannot wait for itself.")
	}
	late, err := x.late(c, all, timeout)
	if err != nil {
		return nil, err
	}
	results := make([]value.Value, len(all))
	var first error
	var failed []Branch
	for i, one := range all {
		one.asked = true
		var err error
		if !late[i] {
			x.apart(func() { one.within(c.Context(), nil) })
			if err := context.Cause(c.Context()); err != nil {
				return nil, err
			}
			err = one.err
		} else {
			err = failf("bolt/future-timeout-error", "Future '%s' timed out after %s seconds.", one.name, value.ToString(timeout))
		}
		if err == nil {
			results[i] = one.value
			continue
		}
		if x.final(err) {
			return nil, err
		}
		if first == nil {
			first = err
		}
		results[i] = x.branchError(err)
		failed = append(failed, Branch{fmt.Sprintf("future '%s'", one.name), x.failure(err)})
	}
	switch {
	case first == nil || o.catch:
		return value.NewArray(results...), nil
	case len(all) == 1:
		return nil, first
	}
	return nil, parallelFailure("wait", results, failed)
}

// within waits for a future until late, and reports whether it is done.
func (f *future) within(ctx context.Context, late <-chan time.Time) bool {
	select {
	case <-f.done:
		return true
	default:
	}
	select {
	case <-f.done:
		return true
	case <-late:
	case <-ctx.Done():
	}
	return false
}

// late waits for futures as long as a timeout says, and tells for each whether it
// was not done by then, now or when the run was begun.
func (x *Executor) late(c *eval.Call, all []*future, timeout value.Value) ([]bool, error) {
	late := make([]bool, len(all))
	if timeout == nil || value.IsUndef(timeout) {
		return late, nil
	}
	d, ok := seconds(timeout)
	if !ok || d < 0 {
		return nil, failf("bolt/validation-error", "wait cannot wait for %s seconds", value.Inspect(timeout))
	}
	v, err := x.effect(c, len(all), false, func() (any, error) {
		over := time.NewTimer(d)
		defer over.Stop()
		told := make([]any, len(all))
		x.apart(func() {
			ended := over.C
			for i, f := range all {
				done := f.within(c.Context(), ended)
				if told[i] = !done; !done {
					ended = closed() // for all others, too
				}
			}
		})
		return told, context.Cause(c.Context())
	})
	list, _ := v.([]any)
	for i := range min(len(list), len(late)) {
		late[i], _ = list[i].(bool)
	}
	return late, err
}

// closed is a time that has come.
func closed() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}
