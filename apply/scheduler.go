package apply

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
)

// The scheduler is one goroutine, that of Apply. It takes steps from a queue in the order of the catalog,
// gives attempts to workers, and handles their results. Workers never look at the graph.

// A scheduler applies a run.
type scheduler struct {
	*Run
	sink    func(*report.Result)
	queue   queue // steps that wait for nothing but their turn
	open    []int // for each index of an item, the number of its steps that are not done
	low     int   // the lowest index with such steps
	serial  []int // the indexes of items that are not Parallel, rising; done ones are removed
	busy    int   // attempts that run
	alone   bool  // one of them is not Parallel
	work    chan []*attempt
	results chan []*attempt
	stopped bool
	// superseded is set if no resource gets a further attempt.
	superseded bool
	delayed    []*step               // wait for their next attempts, by time
	semas      map[string]*semaphore // by ID
	summary    Summary
	seq        int
}

// Apply applies the catalog. It calls sink from one goroutine at a time, with the result of each resource as soon as
// that is known. If ctx ends, programs end, also in the middle of a resource; Options.Stop lets them finish. The
// error is that of ctx. Apply is called once.
func (r *Run) Apply(ctx context.Context, sink func(*report.Result)) (*Summary, error) {
	s := &scheduler{Run: r, sink: sink}
	s.number()
	for _, ref := range r.o.Refreshes {
		if st := r.byRef[ref]; st != nil {
			st.refreshes++
			st.owed = true
		}
	}
	workers := r.o.Workers
	s.work, s.results = make(chan []*attempt), make(chan []*attempt, workers)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for batch := range s.work {
				attemptAll(ctx, batch)
				s.results <- batch
			}
		})
	}
	defer wg.Wait()
	defer close(s.work)
	for _, st := range r.steps {
		if st.waits == 0 {
			s.push(st)
		}
	}
	for {
		s.start(ctx)
		if s.busy == 0 && len(s.delayed) == 0 {
			break
		}
		s.wait(ctx)
	}
	return &s.summary, ctx.Err()
}

// wait takes the next event.
func (s *scheduler) wait(ctx context.Context) {
	var due <-chan time.Time
	var cancelled <-chan struct{}
	if len(s.delayed) > 0 {
		timer := time.NewTimer(time.Until(s.delayed[0].tries.at))
		defer timer.Stop()
		due, cancelled = timer.C, ctx.Done()
	}
	select {
	case batch := <-s.results:
		s.finish(ctx, batch)
	case <-s.o.Stop:
		s.stop()
	case <-s.o.Superseded:
		s.superseded, s.o.Superseded = true, nil
		s.abandon()
	case <-due:
		s.wake()
	case <-cancelled:
		s.abandon()
	}
}

// number gives the items their places in the order of application.
func (s *scheduler) number() {
	for _, st := range s.steps {
		if st.item == nil {
			continue
		}
		st.index = len(s.open)
		s.open = append(s.open, 1)
		if !st.parallel {
			s.serial = append(s.serial, st.index)
		}
	}
}

func (s *scheduler) stop() {
	s.stopped, s.o.Stop, s.summary.Stopped = true, nil, true
	s.abandon()
}

func (s *scheduler) push(st *step) {
	heap.Push(&s.queue, st)
}

// start gives out all steps whose turn it is.
func (s *scheduler) start(ctx context.Context) {
	for s.queue.Len() > 0 {
		if s.o.Stop != nil {
			select {
			case <-s.o.Stop:
				s.stop()
			default:
			}
		}
		st := s.queue[0]
		if st.item == nil {
			heap.Pop(&s.queue)
			s.pass(st)
			continue
		}
		if !s.wanted(st) {
			heap.Pop(&s.queue)
			s.ignore(st)
			continue
		}
		if reason := s.skip(ctx, st); reason != "" {
			heap.Pop(&s.queue)
			if st.tries.last != nil {
				s.conclude(st.last(reason))
			} else {
				s.end(st, skipped(s.Run, st, reason))
			}
			s.yield(st)
			continue
		}
		if a := s.receive(st); a != nil {
			heap.Pop(&s.queue)
			s.signal(a)
			s.end(st, &a.result)
			s.yield(st)
			continue
		}
		if !s.turn(st) {
			return
		}
		heap.Pop(&s.queue)
		if lacks := s.lacking(st, nil); lacks != nil {
			s.park(st, lacks)
			continue
		}
		held := s.take(st, nil)
		batch := []*attempt{s.begin(st)}
		batch[0].held = held
		if !st.parallel {
			s.alone = true
			batch = s.collect(ctx, batch)
		}
		s.busy++
		s.work <- batch
	}
}

// turn reports whether an item that waits for no relation may start now.
func (s *scheduler) turn(st *step) bool {
	switch {
	case s.alone || s.busy >= s.o.Workers:
		return false
	case !st.parallel:
		return s.busy == 0 && (st.free || s.low == st.index)
	case st.free:
		return true
	}
	return len(s.serial) == 0 || st.index <= s.serial[0]
}

// begin makes the attempt of a step.
func (s *scheduler) begin(st *step) *attempt {
	a := newAttempt(s.Run, st)
	a.refresh = st.refreshes > 0
	a.owes = s.owes(st)
	a.resume()
	return a
}

// collect adds the items that follow at once and that their type can apply together with the first one.
func (s *scheduler) collect(ctx context.Context, batch []*attempt) []*attempt {
	first := batch[0].s
	if first.group != nil {
		return s.gather(ctx, batch)
	}
	_, reads := first.typ.(resource.Reader)
	_, does := first.typ.(resource.Doer)
	if !reads && !does || !does && first.meta.Timeout > 0 || first.parent != nil || first.meta.NoGroup {
		return batch
	}
	last := first
	for s.queue.Len() > 0 {
		next := s.queue[0]
		if next.item == nil {
			heap.Pop(&s.queue)
			s.pass(next)
			continue
		}
		if !s.wanted(next) {
			heap.Pop(&s.queue)
			s.ignore(next)
			continue
		}
		if !s.adjacent(last.index, next.index) || next.typ != first.typ || next.parent != nil || next.group != nil || next.meta.NoGroup ||
			next.meta.Timeout != first.meta.Timeout || s.skip(ctx, next) != "" || s.receive(next) != nil || s.lacking(next, batch[0].held) != nil {
			break
		}
		heap.Pop(&s.queue)
		batch[0].held = s.take(next, batch[0].held)
		batch = append(batch, s.begin(next))
		last = next
	}
	return batch
}

// adjacent reports whether all items between two are done.
func (s *scheduler) adjacent(a, b int) bool {
	for i := a + 1; i < b; i++ {
		if s.open[i] > 0 {
			return false
		}
	}
	return true
}

// wanted reports whether Options.Only has a step, its refresh is due, or it receives something new. A generated resource is wanted with its generator.
func (s *scheduler) wanted(st *step) bool {
	return s.o.Only == nil || st.parent != nil || s.o.Only[st.ref] || st.refreshes > 0 || st.wouldRefresh > 0 || st.woken
}

// ignore goes past a step that is not wanted.
func (s *scheduler) ignore(st *step) {
	st.sent = s.o.Sent[st.ref]
	s.close(st)
	s.leave(st, s.o.Failed[st.ref])
}

// skip returns the reason for which a step is not looked at; "" if it is.
func (s *scheduler) skip(ctx context.Context, st *step) string {
	switch {
	case s.stopped:
		return "the run was stopped before its turn"
	case ctx.Err() != nil:
		return "the run was cancelled before its turn"
	case s.superseded && st.tries.last != nil:
		return "a newer catalog has come"
	case s.excluded(st) != "":
		return s.excluded(st)
	case !st.due(s.Run):
		return fmt.Sprintf("its schedule %q does not let it be applied now", st.meta.schedule)
	case st.broken:
		return fmt.Sprintf("it depends on %s, which failed", st.cause)
	case st.meta.Hidden:
		return "it is hidden"
	}
	return st.notSent()
}

// attemptAll is the work of a worker. All items of a batch have the same type.
func attemptAll(ctx context.Context, batch []*attempt) {
	ctx, end := limited(ctx, batch)
	defer end()
	for _, a := range batch {
		a.generate(ctx)
	}
	readAll(ctx, batch)
	for _, a := range batch {
		a.audit(ctx)
	}
	var works []*attempt
	for _, a := range batch {
		if a.plan() {
			works = append(works, a)
		}
	}
	doAll(ctx, works)
	for _, a := range batch {
		a.compare()
		a.finish(ctx)
		a.overran(ctx)
	}
}

func readAll(ctx context.Context, batch []*attempt) {
	reader, is := batch[0].s.typ.(resource.Reader)
	if !is {
		for _, a := range batch {
			a.read(ctx)
		}
		return
	}
	items := make([]resource.Item, len(batch))
	for i, a := range batch {
		items[i] = a.s.item
	}
	errs, err := together(len(items), func() []error { return reader.ReadAll(ctx, batch[0].host, items) })
	for i, a := range batch {
		if e := cmp.Or(err, errs[i]); e != nil {
			a.fail("", e)
		}
	}
}

func doAll(ctx context.Context, batch []*attempt) {
	if len(batch) == 0 {
		return
	}
	doer, is := batch[0].s.typ.(resource.Doer)
	if !is {
		for _, a := range batch {
			a.do(ctx)
		}
		return
	}
	works := make([]resource.Work, len(batch))
	for i, a := range batch {
		works[i] = resource.Work{Item: a.s.item, Changes: a.planned}
	}
	errs, err := together(len(works), func() []error { return doer.DoAll(ctx, batch[0].host, works) })
	for i, a := range batch {
		a.did(cmp.Or(err, errs[i]))
	}
}

// together calls a function for several items. A panic, or a wrong number of results, is the error of all.
func together(n int, f func() []error) (errs []error, err error) {
	defer func() {
		if p := recover(); p != nil {
			errs, err = make([]error, n), fmt.Errorf("internal error: %v", p)
		}
	}()
	errs = f()
	if len(errs) != n {
		return make([]error, n), fmt.Errorf("internal error: %d results for %d resources", len(errs), n)
	}
	return errs, nil
}

// finish takes the attempts that a worker returns.
func (s *scheduler) finish(ctx context.Context, batch []*attempt) {
	s.busy--
	if !batch[0].s.parallel {
		s.alone = false
	}
	s.release(batch[0].held)
	for _, a := range batch {
		if !s.again(ctx, a) {
			s.conclude(a)
		}
	}
}

// conclude ends a step with its last attempt.
func (s *scheduler) conclude(a *attempt) {
	st := a.s
	a.whole()
	if len(a.children) > 0 && !a.failed() {
		s.adopt(st, a.children)
	}
	if a.found != nil {
		if s.summary.Audited == nil {
			s.summary.Audited = make(map[catalog.Ref]map[string]string)
		}
		s.summary.Audited[st.ref] = a.found
	}
	s.send(a)
	s.signal(a)
	s.end(st, &a.result)
}

// signal passes the changes of a step to the steps after it.
func (s *scheduler) signal(a *attempt) {
	st := a.s
	changed, would := 0, 0
	if !a.failed() {
		for _, e := range a.result.Events {
			switch {
			case e.Name == "refresh":
			case e.Outcome == report.Success, e.Outcome == report.Audit:
				changed++
			case e.Outcome == report.NoopOut:
				would++
			}
		}
	}
	if a.refreshed {
		changed++
	}
	if _, is := st.item.(resource.Refresher); is && (st.wouldRefresh > 0 && st.refreshes == 0 || st.refreshes > 0 && st.noop(&s.o)) {
		would++ // a refresh that noop prevents
		st.wouldSend = true
		s.host.Logf(st.ref, report.Notice, "would be refreshed, because a resource that notifies it would change or has changed")
	}
	st.handled = true
	if a.owed {
		for _, to := range a.owes {
			to.owed = true
		}
	}
	s.refresh(st, changed, would)
}

// refresh counts changes for the steps that are refreshed by them.
func (s *scheduler) refresh(st *step, changed, would int) {
	for _, l := range st.after {
		if l.refresh {
			l.to.refreshes += changed
			l.to.wouldRefresh += would
		}
	}
}

// pass goes through a container or past a passive resource.
func (s *scheduler) pass(st *step) {
	if !st.broken {
		s.refresh(st, st.refreshes, st.wouldRefresh)
	}
	s.leave(st, false)
}

// close counts a step as done in the order of the items.
func (s *scheduler) close(st *step) {
	s.open[st.index]--
	for s.low < len(s.open) && s.open[s.low] == 0 {
		s.low++
	}
	for len(s.serial) > 0 && s.serial[0] < s.low {
		s.serial = s.serial[1:]
	}
}

// end records the result of a resource.
func (s *scheduler) end(st *step, r *report.Result) {
	st.status = r.Status
	s.close(st)
	if st.meta.schedule != "" && r.Status != report.Skipped {
		s.summary.Checked = append(s.summary.Checked, st.ref)
	}
	// If a stop prevents a refresh, the next run does it. If a resource is skipped for another reason, its refresh is lost, as in Puppet.
	if st.owed && s.o.Paid != nil && (st.handled || !s.stopped) {
		s.o.Paid(st.ref)
	}
	s.sink(r)
	s.leave(st, r.Status == report.Failed)
}

// leave makes the steps after this one ready that wait for nothing else.
func (s *scheduler) leave(st *step, failed bool) {
	for _, l := range st.after {
		switch {
		case failed:
			l.to.broken, l.to.cause = true, st.ref
		case st.broken && !st.gate && !l.to.broken:
			l.to.broken, l.to.cause = true, st.cause
		}
		if l.to.waits--; l.to.waits == 0 {
			s.push(l.to)
		}
	}
}

// owes returns the steps that a change of a step refreshes, also through containers.
func (s *scheduler) owes(st *step) (steps []*step) {
	if s.o.Owe == nil {
		return nil
	}
	seen := make(map[*step]bool)
	var walk func(*step)
	walk = func(from *step) {
		for _, l := range from.after {
			if !l.refresh || seen[l.to] {
				continue
			}
			seen[l.to] = true
			if l.to.item == nil {
				walk(l.to)
			} else if _, is := l.to.item.(resource.Refresher); is {
				steps = append(steps, l.to)
			}
		}
	}
	walk(st)
	return steps
}

// adopt adds the resources that a step generated. They come after it, and before all that comes after it. A
// file comes after the generated directory that it is in, unless the generator has put it before the directory.
func (s *scheduler) adopt(st *step, children []*resource.Resource) {
	end := &step{ref: st.ref, index: -1, after: st.after, waits: 1}
	st.after = []link{{end, true}}
	made := make(map[catalog.Ref]*step)
	var steps []*step
	for _, r := range children {
		key := keyOf(r.Ref, r.Params)
		if s.byKey[key] || s.byRef[r.Ref] != nil {
			continue // the catalog, or another generator, has it
		}
		r.Tags = append(slices.Clone(st.resource.Tags), strings.ToLower(r.Type))
		if !utf8.ValidString(r.Title) {
			r.Title = legible(r.Title)
		}
		child := &step{ref: r.Ref, resource: r, parent: st, index: st.index, waits: 1, after: []link{{end, true}}}
		s.seq++
		child.seq = s.seq
		s.byKey[key], made[key] = true, child
		end.waits++
		s.open[st.index]++
		s.conceal(child)
		child.prepare(&s.o)
		steps = append(steps, child)
	}
	for _, child := range steps {
		above := nearest(child, made, st)
		if above != st && above.seq > child.seq {
			child.after = append(child.after, link{above, false})
			above.waits++
			above = st
		}
		above.after = append(above.after, link{child, false})
	}
}

// legible returns a title for one that is not UTF-8, such as that of a file. The bytes that are wrong would become the same character
// on their way to the controller, and two resources must not have one title. No clean path begins like it.
func legible(title string) string {
	quoted := strconv.Quote(title)
	return "//" + strings.TrimLeft(quoted[1:len(quoted)-1], "/")
}

// nearest returns the generated directory that a generated file is in, or else the generator.
func nearest(child *step, made map[catalog.Ref]*step, generator *step) *step {
	key := keyOf(child.ref, child.resource.Params)
	if key.Type != "File" {
		return generator
	}
	for dir := path.Dir(key.Title); len(dir) > 1; dir = path.Dir(dir) {
		if above := made[catalog.Ref{Type: "File", Title: dir}]; above != nil {
			return above
		}
	}
	return generator
}

// prepare makes the item of a generated resource. A mistake in it is the failure of the resource, which then has no type: a Reader or
// a Doer takes only items that it has made itself.
func (s *step) prepare(o *Options) {
	typ := o.Types[s.ref.Type]
	if typ == nil {
		s.item = broken{fmt.Errorf("bolt cannot apply resources of the type %s", s.ref.Type)}
		return
	}
	item, err := typ.New(s.resource)
	if err == nil {
		err = s.readMeta()
	}
	if err != nil {
		s.item = broken{err}
		return
	}
	s.adopt(typ, item)
}

// broken is the item of a resource that cannot be applied.
type broken struct{ err error }

func (b broken) Read(context.Context, *resource.Host) error                 { return b.err }
func (b broken) Plan() ([]resource.Change, error)                           { return nil, b.err }
func (b broken) Do(context.Context, *resource.Host, *resource.Change) error { return b.err }

// A queue is a heap of steps by their place in the order of application.
type queue []*step

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].index != q[j].index {
		return q[i].index < q[j].index
	}
	return q[i].seq < q[j].seq
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(*step)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
