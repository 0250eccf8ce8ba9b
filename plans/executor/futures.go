package executor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// futures are what one call of a plan runs in the background.
type futures struct{ all []*future }

// A future is a block that runs beside others. Whoever has the turn has its fields,
// but for done, and for value and err once that is closed.
type future struct {
	id    value.Value // its name, or its number
	name  string
	done  chan struct{}
	value value.Value
	err   error
	ended int      // in which order it ended; 0 while it runs
	late  *Failure // wait has lost its patience; then it has ended in this error
	end   context.CancelCauseFunc
}

func (f *future) state() string {
	switch {
	case f.late != nil:
		return "error"
	case f.ended == 0:
		return "running"
	case f.err != nil:
		return "error"
	}
	return "done"
}

// came is the error of a future that has ended, nil for none.
func (f *future) came() error {
	if f.late != nil {
		return f.late
	}
	return f.err
}

// String is what a future is in text and in data.
func (f *future) String() string { return fmt.Sprintf("Future '%s'", f.name) }

func futureText(o *value.Object) string { return futureOf(o).String() }

func futureData(o *value.Object) value.Value { return value.String(futureText(o)) }

func futureOf(v value.Value) *future {
	f, _ := v.(*value.Object).Payload().(*future)
	return f
}

// alive reports whether one of them has not ended.
func (f *futures) alive() bool {
	return slices.ContainsFunc(f.all, func(one *future) bool { return one.state() == "running" })
}

// inOrder are those that run, in the order of beginning, and those that have ended,
// in the order of ending.
func (f *futures) inOrder() []*future {
	list := slices.Clone(f.all)
	slices.SortStableFunc(list, func(a, b *future) int {
		return cmp.Compare(a.ended, b.ended) // those that run have 0
	})
	return list
}

// blocks are the blocks that run beside others in a run of a plan.
type blocks struct {
	numbers int // of futures; the plan of the run has the first
	ended   int
	running []*future
	left    error // of those that have ended: what they say about the run itself
	// over is what has ended the run while blocks were at work: the failure of its
	// plan, or an error of the language in a block, which nothing catches. Nothing is
	// begun any more. hush is set with it: nothing is shown any more.
	over error
	hush atomic.Bool
}

// ending is what ends the run, whatever catches errors; nil if nothing does.
func (x *Executor) ending() error {
	if x.endless != nil {
		return x.endless
	}
	return x.blocks.over
}

// finish ends the run with an error, unless something else has.
func (x *Executor) finish(err error) {
	if x.ending() == nil {
		x.blocks.over = err
		x.blocks.hush.Store(true)
	}
}

// start runs a block in a goroutine of its own, which gets the turn when it comes.
// group is what wait() in it waits for; nil within parallelize, where that cannot be.
func (x *Executor) start(c *eval.Call, name string, at *place, group *futures, args ...value.Value) *future {
	x.blocks.numbers++
	one := &future{name: name, id: value.String(name), done: make(chan struct{})}
	if name == "" {
		one.name, one.id = fmt.Sprint(x.blocks.numbers), value.Int(x.blocks.numbers)
	}
	b, err := x.beginBranch(&c.Site)
	if err != nil {
		one.err = err
		x.ended(one)
		close(one.done)
		return one
	}
	f := *flowOf(&c.Site)
	f.inside, f.place, f.branch, f.futures = one, at, b, group
	// The block outlives the one that begins it, but not the run.
	ctx, end := context.WithCancelCause(context.WithoutCancel(c.Context()))
	stop := context.AfterFunc(x.ctx, func() { end(context.Cause(x.ctx)) })
	one.end = end
	fork := c.Fork(x.enter(ctx, &f))
	x.blocks.running = append(x.blocks.running, one)
	mine := x.turn.ask()
	go func() {
		<-mine
		defer x.turn.give()
		x.in(at.prefix)
		defer close(one.done)
		defer end(nil)
		defer stop()
		defer x.endBranch(b)
		if one.err = x.ending(); one.err == nil {
			one.value, one.err = x.blockValue(fork, args)
		}
		x.ended(one)
	}()
	return one
}

// blockValue is what a block that stands for itself came to: return() ends it.
func (x *Executor) blockValue(fork *eval.Call, args []value.Value) (value.Value, error) {
	v, err := fork.Yield(args...)
	if w, ok := eval.Returned(err); ok {
		v, err = w, nil
	}
	if eval.IsBreak(err) {
		v, err = value.Undef{}, nil
	}
	if err != nil || x.isPlanResult(&fork.Site, v) {
		return v, err
	}
	f := failf("bolt/invalid-plan-result", "Background block returned an invalid result: %s", shownResult(v))
	at := fork.Position()
	f.Details = value.NewHash(
		value.Entry{Key: value.String("file"), Value: value.String(at.File)},
		value.Entry{Key: value.String("line"), Value: value.Int(at.Line)},
		value.Entry{Key: value.String("result_string"), Value: value.String(shownResult(v))})
	x.finish(f)
	return nil, f
}

// isPlanResult reports whether a value is one that plans and blocks may return.
func (x *Executor) isPlanResult(s *eval.Site, v value.Value) bool {
	if x.planResult == nil {
		t, err := s.ParseType("Boltlib::PlanResult")
		if err != nil {
			return true // it is the executor's own type
		}
		x.planResult = t
	}
	return value.Instance(x.planResult, v)
}

// ended notes that a block has ended, and what follows from its error.
func (x *Executor) ended(one *future) {
	x.blocks.ended++
	one.ended = x.blocks.ended
	x.blocks.running = slices.DeleteFunc(x.blocks.running, func(f *future) bool { return f == one })
	err := one.came()
	if err == nil {
		return
	}
	plain := catchable(err)
	switch {
	case x.final(err):
		x.blocks.left = err
	case x.ctx.Err() != nil:
		x.blocks.left = cmp.Or(x.blocks.left, context.Cause(x.ctx))
	case plain && x.ending() != nil: // nobody hears of it any more
	case plain:
		failure := x.failure(err)
		text := fmt.Sprintf("Error in future '%s': %s", one.name, failure.Msg)
		if place := failure.Place(); !strings.HasSuffix(text, place) {
			text += " " + place
		}
		x.warn("errored_futures", text)
	default:
		x.finish(err)
	}
}

// join waits for all blocks of the run. The error is that of the run, if one of them
// says something about it.
func (x *Executor) join() error {
	for len(x.blocks.running) > 0 {
		one := x.blocks.running[0]
		x.apart(func() { <-one.done })
	}
	return cmp.Or(x.blocks.over, x.blocks.left)
}

// waitSignatures are those of wait.
func waitSignatures() []eval.Signature {
	const which, timeout, options = "Variant[Future, Array[Future]] $futures", "Variant[Integer[0], Float[0.0]] $timeout", "Hash[String[1], Any] $options = {}"
	return []eval.Signature{
		{Params: which + ", " + options, Run: func(c *eval.Call) (value.Value, error) { return wait(c, c.Args[0], nil, c.Arg(1)) }},
		{Params: options, Run: func(c *eval.Call) (value.Value, error) { return waitForAll(c, nil, c.Arg(0)) }},
		{Params: timeout + ", " + options, Run: func(c *eval.Call) (value.Value, error) { return waitForAll(c, c.Args[0], c.Arg(1)) }},
		{Params: which + ", " + timeout + ", " + options, Run: func(c *eval.Call) (value.Value, error) { return wait(c, c.Args[0], c.Args[1], c.Arg(2)) }},
	}
}

// wait is wait with futures.
func wait(c *eval.Call, which, timeout, options value.Value) (value.Value, error) {
	catch := of(&c.Site).waitCatches(c, options)
	var all []*future
	switch w := which.(type) {
	case *value.Object:
		all = []*future{futureOf(w)}
	case *value.Array:
		for _, e := range w.All() {
			all = append(all, futureOf(e))
		}
	}
	return of(&c.Site).await(c, all, timeout, catch)
}

// waitForAll is wait without futures: it waits for those of the plan, also for those
// that begin meanwhile. If all have ended before, there are no results.
func waitForAll(c *eval.Call, timeout, options value.Value) (value.Value, error) {
	x, f := of(&c.Site), flowOf(&c.Site)
	catch := x.waitCatches(c, options)
	var results value.Value = value.NewArray()
	if f.futures == nil || f.inside != nil && slices.Contains(f.futures.all, f.inside) {
		return nil, failf("bolt/infinite-wait", "The wait() function cannot be called with no arguments inside a background block in the same plan.")
	}
	for f.futures.alive() {
		var err error
		if results, err = x.await(c, f.futures.inOrder(), timeout, catch); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// waitCatches reads the one option of wait.
func (x *Executor) waitCatches(c *eval.Call, options value.Value) (catch bool) {
	h, _ := options.(*value.Hash)
	if h == nil {
		return false
	}
	var unknown []string
	for k, v := range h.All() {
		if name := value.ToString(k); name != "_catch_errors" {
			unknown = append(unknown, fmt.Sprintf("%q", name))
		} else {
			catch = value.Truthy(v)
		}
	}
	if unknown != nil {
		at := c.Position()
		x.warn("plan_function_options", fmt.Sprintf("The wait() function call in %s#L%d received unknown options [%s]. Removing unknown options and continuing...",
			at.File, at.Line, strings.Join(unknown, ", ")))
	}
	return catch
}

// await waits for futures and returns what they return. One that has not ended when
// the timeout is over is ended.
func (x *Executor) await(c *eval.Call, all []*future, timeout value.Value, catch bool) (value.Value, error) {
	late, err := x.late(c, all, timeout)
	if err != nil {
		return nil, err
	}
	for i, one := range all {
		if late[i] {
			x.giveUp(one, timeout)
			continue
		}
		if one.late == nil {
			x.apart(func() { one.within(c.Context(), nil) })
		}
		if err := context.Cause(c.Context()); err != nil {
			return nil, err
		}
	}
	if err := x.ending(); err != nil {
		return nil, err
	}
	results := make([]value.Value, len(all))
	var failed []Branch
	for i, one := range all {
		err := one.came()
		if err == nil {
			results[i] = one.value
			continue
		}
		if x.final(err) {
			return nil, err
		}
		results[i] = x.branchError(err)
		failed = append(failed, Branch{fmt.Sprintf("future '%s'", one.name), x.failure(err)})
	}
	if failed == nil || catch {
		return value.NewArray(results...), nil
	}
	return nil, parallelFailure(results, failed)
}

// giveUp ends a future that was not done in time.
func (x *Executor) giveUp(one *future, timeout value.Value) {
	if one.ended > 0 || one.late != nil {
		return // it has ended meanwhile
	}
	one.late = failf("bolt/future-timeout-error", "Future '%s' timed out after %s seconds.", one.name, value.ToString(timeout))
	one.late.Details = value.NewHash(value.Entry{Key: value.String("future"), Value: one.id})
	one.end(one.late)
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
	if timeout == nil {
		return late, nil
	}
	d, ok := seconds(timeout)
	if !ok {
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

func parallelize(c *eval.Call) (value.Value, error) {
	x := of(&c.Site)
	list := c.Args[0].(*value.Array)
	branches := make([]*future, list.Len())
	here := flowOf(&c.Site).place
	at := here.next()
	for i, e := range list.All() {
		branches[i] = x.start(c, "", here.branch(at, i+1), nil, e)
	}
	x.apart(func() {
		for _, b := range branches {
			<-b.done
		}
	})
	if err := context.Cause(c.Context()); err != nil {
		return nil, err
	}
	if err := x.ending(); err != nil {
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
	return nil, parallelFailure(results, failed)
}

// parallelFailure is the error of several branches, some of which have failed.
func parallelFailure(results []value.Value, failed []Branch) *Failure {
	var indices []value.Value
	for i, r := range results {
		if e, is := r.(*value.Object); is && e.Type() == value.ErrorType() {
			indices = append(indices, value.Int(i))
		}
	}
	f := failf("bolt/parallel-failure", "parallel block failed on %s", count(len(indices), "target"))
	f.Branches = failed
	f.Details = value.NewHash(
		value.Entry{Key: value.String("action"), Value: value.String("parallelize")},
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
