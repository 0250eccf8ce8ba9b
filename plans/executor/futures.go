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

// futures are the background blocks of one call of a plan.
type futures struct{ all []*future }

// A future is a block that runs concurrently with others. Only the goroutine that has
// the turn uses its fields, except that any goroutine can wait for done, and can read
// value and err when done is closed.
type future struct {
	id    value.Value // its name, or its number
	name  string
	done  chan struct{}
	value value.Value
	err   error
	ended int      // its number in the order in which the futures ended; 0 while it runs
	late  *Failure // the error of a future that wait timed out; otherwise nil
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

// came returns the error of a future that has ended, or nil.
func (f *future) came() error {
	if f.late != nil {
		return f.late
	}
	return f.err
}

// String returns the form of a future in text and in data.
func (f *future) String() string { return fmt.Sprintf("Future '%s'", f.name) }

func futureText(o *value.Object) string { return futureOf(o).String() }

func futureData(o *value.Object) (value.Value, error) { return value.String(futureText(o)), nil }

func futureOf(v value.Value) *future {
	f, _ := v.(*value.Object).Payload().(*future)
	return f
}

// alive reports whether a future is running.
func (f *futures) alive() bool {
	return slices.ContainsFunc(f.all, func(one *future) bool { return one.state() == "running" })
}

// inOrder returns the running futures in the order in which they started, then the other
// futures in the order in which they ended.
func (f *futures) inOrder() []*future {
	list := slices.Clone(f.all)
	slices.SortStableFunc(list, func(a, b *future) int {
		return cmp.Compare(a.ended, b.ended) // 0 for a running future
	})
	return list
}

// blocks are the concurrent blocks of a run of a plan.
type blocks struct {
	numbers int // the last number of a future; the plan of the run has the first number
	ended   int // the number of futures that have ended
	running []*future
	left    error // an error of an ended block that is an error of the whole run
	// over is the error that ended the run while blocks were running: the failure of its
	// plan, or an error of the language in a block, which no function catches. The run
	// starts nothing more. hush is set with it: the run prints nothing more.
	over error
	hush atomic.Bool
}

// ending returns the error that ends the run even if the plan catches errors, or nil.
func (x *Executor) ending() error {
	if x.endless != nil {
		return x.endless
	}
	return x.blocks.over
}

// finish ends the run with an error, unless the run has already ended.
func (x *Executor) finish(err error) {
	if x.ending() == nil {
		x.blocks.over = err
		x.blocks.hush.Store(true)
	}
}

// start runs a block in a new goroutine, which waits for its turn. wait() in the block
// waits for the futures of group. group is nil in parallelize, where wait() without
// futures is an error.
func (x *Executor) start(c *eval.Call, name string, at *place, group *futures, args ...value.Value) *future {
	x.blocks.numbers++
	one := &future{name: name, id: value.String(name), done: make(chan struct{})}
	if name == "" {
		one.name, one.id = fmt.Sprint(x.blocks.numbers), value.Int(x.blocks.numbers)
	}
	b, err := x.beginBranch(&c.Site)
	if err != nil {
		one.err = err
		x.ended(c.Context(), one)
		close(one.done)
		return one
	}
	f := *flowOf(&c.Site)
	f.inside, f.place, f.branch, f.futures = one, at, b, group
	// The block can run longer than the block that started it, but not longer than the run.
	ctx, end := context.WithCancelCause(context.WithoutCancel(c.Context()))
	x.branches.add(one, end)
	one.end = end
	fork := c.Fork(ctx, &f)
	x.blocks.running = append(x.blocks.running, one)
	mine := x.turn.ask()
	go func() {
		<-mine
		defer x.turn.give()
		x.in(at.prefix)
		defer close(one.done)
		defer end(nil)
		defer x.branches.remove(one)
		defer x.endBranch(b)
		if one.err = x.ending(); one.err == nil {
			one.value, one.err = x.blockValue(fork, args)
		}
		x.ended(ctx, one)
	}()
	return one
}

// blockValue runs a block and returns its value. return() in the block ends the block.
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

// isPlanResult reports whether plans and blocks may return a value.
func (x *Executor) isPlanResult(s *eval.Site, v value.Value) bool {
	if x.planResult == nil {
		t, err := s.ParseType("Boltlib::PlanResult")
		if err != nil {
			return true // cannot happen: the executor defines this type
		}
		x.planResult = t
	}
	return value.Instance(x.planResult, v)
}

// ended records that a block has ended, and handles its error.
func (x *Executor) ended(ctx context.Context, one *future) {
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
	case x.branches.over() != nil:
		x.blocks.left = cmp.Or(x.blocks.left, x.branches.over())
	case plain && x.ending() != nil: // the run has ended and prints nothing more
	case plain:
		failure := x.failure(err)
		text := fmt.Sprintf("Error in future '%s': %s", one.name, failure.Msg)
		if place := failure.Place(); !strings.HasSuffix(text, place) {
			text += " " + place
		}
		x.warn(ctx, "errored_futures", text)
	default:
		x.finish(err)
	}
}

// join waits for all blocks of the run. It returns the error that ended the run, or
// nil.
func (x *Executor) join() error {
	for len(x.blocks.running) > 0 {
		one := x.blocks.running[0]
		x.apart(func() { <-one.done })
	}
	return cmp.Or(x.blocks.over, x.blocks.left)
}

// waitSignatures returns the signatures of the plan function wait.
func waitSignatures() []eval.Signature {
	const which, timeout, options = "Variant[Future, Array[Future]] $futures", "Variant[Integer[0], Float[0.0]] $timeout", "Hash[String[1], Any] $options = {}"
	return []eval.Signature{
		{Params: which + ", " + options, Run: func(c *eval.Call) (value.Value, error) { return wait(c, c.Args[0], nil, c.Arg(1)) }},
		{Params: options, Run: func(c *eval.Call) (value.Value, error) { return waitForAll(c, nil, c.Arg(0)) }},
		{Params: timeout + ", " + options, Run: func(c *eval.Call) (value.Value, error) { return waitForAll(c, c.Args[0], c.Arg(1)) }},
		{Params: which + ", " + timeout + ", " + options, Run: func(c *eval.Call) (value.Value, error) { return wait(c, c.Args[0], c.Args[1], c.Arg(2)) }},
	}
}

// wait is the plan function wait with futures.
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

// waitForAll is the plan function wait without futures. It waits for the futures of the
// plan, including futures that start in the meantime. If all futures ended before the
// call, it returns no results.
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

// waitCatches returns the value of _catch_errors, the only option of wait, and warns
// about other options.
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
		x.warn(c.Context(), "plan_function_options", fmt.Sprintf("The wait() function call in %s#L%d received unknown options [%s]. Removing unknown options and continuing...",
			at.File, at.Line, strings.Join(unknown, ", ")))
	}
	return catch
}

// await waits for futures and returns their values. If the timeout expires, await ends
// the futures that are still running.
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

// giveUp ends a future that timed out.
func (x *Executor) giveUp(one *future, timeout value.Value) {
	if one.ended > 0 || one.late != nil {
		return // it has already ended
	}
	one.late = failf("bolt/future-timeout-error", "Future '%s' timed out after %s seconds.", one.name, value.ToString(timeout))
	one.late.Details = value.NewHash(value.Entry{Key: value.String("future"), Value: one.id})
	one.end(one.late)
}

// within waits for a future until late sends or ctx ends, and reports whether the future
// is done.
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

// late waits for futures until the timeout expires, and reports for each future whether
// it timed out. A resumed run reports the futures that timed out in the first run.
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
					ended = closed() // the timeout has also expired for the other futures
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

// closed returns a timer channel that has expired.
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

// parallelFailure returns the error of branches of which at least one has failed.
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

// branchError returns the error of a branch as a value of the language.
func (x *Executor) branchError(err error) *value.Object {
	own, is := caught(err)
	if !is {
		own = x.failure(err)
	}
	return x.errorValue(own, err)
}
