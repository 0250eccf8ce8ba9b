package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"bolt/apply"
	"bolt/apply/bundle"
	"bolt/apply/frame"
	"bolt/apply/inotify"
	"bolt/apply/report"
	"bolt/apply/runlog"
	"bolt/apply/watch"
	"bolt/catalog"
)

// A watch keeps the catalog applied until bolt leaves. Its sources of events are watched before the first run reads anything, so an
// event during a run leads to another check. Each check holds the lock of the node while it works, and not between checks, so that
// other runs can work. A check that changes something has a journal of its own, named RUN-N.

const (
	// maxSilence is how long a watch goes on without a frame of bolt. Bolt sends an Alive much more often.
	maxSilence = 90 * time.Second
	// busyPause is the pause before a check that another run has prevented.
	busyPause = 500 * time.Millisecond
	// freshen is how often the directory of contents gets a new time, so that no other run removes it as stale.
	freshen = time.Hour
	// maxEvery is the longest time between two checks of a resource with a limit.
	maxEvery = 10 * 365 * 24 * time.Hour
)

// Watch applies a catalog, and then each resource again whose state may have changed, until the input ends. It returns the exit code
// of the helper.
func (m *Machine) Watch(ctx context.Context, q *Request, in io.Reader, out io.Writer) int {
	s := m.answer(out, q.Run, q.Node)
	defer s.close()
	done, err := m.attach(ctx, q, in, s)
	if err != nil {
		s.message(frame.TypeDone, &frame.Done{Refused: refusal(err)})
		return ExitRefused
	}
	s.message(frame.TypeDone, done)
	if done.Error != "" {
		return ExitFailed
	}
	return ExitOK
}

// attach is Watch behind the Hello. An error means that nothing was changed.
func (m *Machine) attach(ctx context.Context, q *Request, in io.Reader, s *sender) (*frame.Done, error) {
	if err := runlog.CheckID(q.Run); err != nil {
		return nil, &refused{frame.KindInput, err}
	}
	dir, err := runlog.Open(m.Dir)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(dir.Make(catalogsName), dir.Make(incomingName), dir.Make(incomingName+"/"+q.Run), dir.Make(backupsName), dir.Make(stateName)); err != nil {
		return nil, err
	}
	files, err := inotify.New()
	if err != nil {
		return nil, err
	}
	a := &attached{
		m: m, q: q, s: s, dir: dir, store: bundle.NewStore(dir.Path(incomingName, q.Run)), files: files, loop: watch.New(),
		catalogs: make(chan *pack, 1), contents: make(chan *pack), gone: make(chan struct{}), superseded: make(chan struct{}), byPath: make(map[inotify.Path][]catalog.Ref), wrong: make(map[catalog.Ref]report.Status),
		sent: make(map[catalog.Ref]apply.Sent),
	}
	defer (&run{dir: dir, q: q}).clean()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer files.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.stop = a.fresh().stopper(a.gone)
	defer a.stop.end()
	go a.listen(in) // it ends with the process: a read of the input cannot be interrupted
	if err := a.begin(ctx); err != nil {
		return nil, err
	}
	wg.Go(func() {
		if err := files.Run(a.touch); err != nil {
			a.warn("Files are not watched any more, so they are checked once a minute: %v", err)
			a.mu.Lock()
			lists := slices.Collect(maps.Values(a.byPath))
			a.mu.Unlock()
			a.poll(lists...)
		}
	})
	return a.keep(ctx), nil
}

// An attached is a watch.
type attached struct {
	m                  *Machine
	q                  *Request
	s                  *sender
	dir                *runlog.Dir
	store              *bundle.Store
	files              *inotify.Watcher
	loop               *watch.Loop
	stop               *stopper
	catalogs, contents chan *pack    // the inputs that bolt has sent: a catalog, or contents only
	gone               chan struct{} // closed when bolt has left

	run, aimed *run // the run of the catalog, and the run whose sources of events are watched
	number     int  // of the last check
	// wrong are the resources that failed or were skipped at their last check.
	wrong map[catalog.Ref]report.Status
	sent  map[catalog.Ref]apply.Sent // of all checks

	changed []catalog.Ref // in the last check

	storing  sync.Mutex // guards store
	fetching sync.Mutex // held while a content is requested

	mu         sync.Mutex    // guards the following
	newest     *pack         // the catalog that has come and is not applied yet; nil for none
	superseded chan struct{} // see supersede
	byPath     map[inotify.Path][]catalog.Ref
	all        []catalog.Ref
	polled     map[catalog.Ref]bool
	due        time.Time                    // of polled
	allDue     time.Time                    // of all
	own        map[catalog.Ref]*period      // of resources with a time of their own
	once       map[catalog.Ref]bool         // are not checked again
	limits     map[catalog.Ref]watch.Budget // of resources with a limit of their own
	tickers    []*ticker
}

// A period is the time between two checks of a resource.
type period struct {
	every time.Duration
	due   time.Time
}

// A pack is an input of bolt.
type pack struct {
	run *run // with the input
	err error
}

// listen reads the input until bolt leaves. Bolt that is silent for long has left, too.
func (a *attached) listen(in io.Reader) {
	silent := time.AfterFunc(maxSilence, a.leave)
	defer a.leave()
	defer silent.Stop()
	frames := frame.NewReader(in)
	for {
		t, body, err := frames.Next()
		if err != nil {
			return
		}
		silent.Reset(maxSilence)
		switch t {
		case frame.TypeAlive:
			continue
		case frame.TypeNewer:
			a.supersede(nil)
		case frame.TypePack:
			p := &pack{run: a.fresh()}
			a.storing.Lock()
			p.err = p.run.receive(bytes.NewReader(body))
			a.storing.Unlock()
			if p.run.text != nil {
				a.supersede(p)
				select {
				case <-a.catalogs: // only the newest matters
				default:
				}
				a.catalogs <- p // nothing else sends
				continue
			}
			select {
			case a.contents <- p:
			case <-a.stop.stop:
				return
			}
		default:
			return // it is not bolt
		}
	}
}

// supersede ends the retries of the check that runs, because a newer catalog has come, or will come after the check (nil). A retry without
// a limit would keep it waiting.
func (a *attached) supersede(p *pack) {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.superseded:
	default:
		close(a.superseded)
	}
	if p != nil {
		a.newest = p
	}
}

// accept notes that a pack is now applied. If it is the newest catalog, the next check can retry.
func (a *attached) accept(p *pack) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.newest == p {
		a.newest, a.superseded = nil, make(chan struct{})
	}
}

// leave notes that bolt has left.
func (a *attached) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.gone:
	default:
		close(a.gone)
	}
}

// fresh returns a run without a catalog.
func (a *attached) fresh() *run { return &run{m: a.m, q: a.q, s: a.s, dir: a.dir, store: a.store} }

// begin waits for the catalog, and applies it. An error means that nothing was changed.
func (a *attached) begin(ctx context.Context) error {
	var first *pack
	select {
	case <-a.stop.stop:
		return errLeft
	case first = <-a.catalogs:
		a.accept(first)
	case first = <-a.contents: // the machine has the catalog
	}
	r, err := a.complete(first)
	if err != nil {
		return err
	}
	a.run = r
	done, err := a.check(ctx, nil)
	if err == nil {
		a.report(done, true)
	}
	return err
}

// errLeft is the error of a watch whose controller left before it sent all data.
var errLeft = &refused{frame.KindInput, errors.New("bolt left before it sent the catalog and its contents")}

// complete returns a run with a catalog. It requests the data that is missing.
func (a *attached) complete(p *pack) (*run, error) {
	r := p.run
	for {
		if p.err != nil {
			return nil, p.err
		}
		if p.run.text != nil {
			r = p.run
		}
		a.storing.Lock()
		need, err := r.find()
		a.storing.Unlock()
		if err != nil || need == nil {
			return r, err
		}
		if err := a.s.message(frame.TypeNeed, need); err != nil {
			return nil, &refused{frame.KindInput, fmt.Errorf("the list of missing contents: %w", err)}
		}
		select {
		case <-a.stop.stop:
			return nil, errLeft
		case p = <-a.catalogs:
			a.accept(p)
		case p = <-a.contents:
		}
	}
}

// keep checks resources until bolt leaves.
func (a *attached) keep(ctx context.Context) *frame.Done {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-a.stop.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	done := &frame.Done{}
	fresh := time.Now()
	a.loop.Poll = func(now time.Time) ([]catalog.Ref, time.Duration) {
		if now.Sub(fresh) > freshen {
			_ = os.Chtimes(a.dir.Path(incomingName, a.q.Run), now, now) // only for the clean-up of other runs
			fresh = now
		}
		refs, next := a.overdue(now)
		more, sooner := a.ticks(now)
		return append(refs, more...), min(next, sooner)
	}
	a.loop.Budget = func(ref catalog.Ref) watch.Budget {
		a.mu.Lock()
		defer a.mu.Unlock()
		if own, is := a.limits[ref]; is {
			return own
		}
		return watch.Checks
	}
	a.loop.Every = func() []catalog.Ref {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.all
	}
	a.loop.Slowed = func(ref catalog.Ref) {
		a.run.log(ref, report.Warning, fmt.Sprintf("It was changed %d times in a short time. Another program may change it back. From now on, it is put right once in %v at most.", watch.Changes.Burst, watch.Changes.Every))
	}
	a.loop.Check = func(_ context.Context, refs map[catalog.Ref]bool) watch.Outcome {
		done, err := a.check(context.WithoutCancel(ctx), refs)
		if err != nil {
			if _, busy := errors.AsType[*runlog.BusyError](err); !busy {
				a.warn("The resources could not be checked: %v", err)
			}
			return watch.Outcome{Again: refs, After: busyPause}
		}
		a.report(done, false)
		return watch.Outcome{Changed: a.changed}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case p := <-a.catalogs:
				a.loop.Call(ctx, func(ctx context.Context) { a.edit(ctx, p) })
			}
		}
	})
	a.loop.Run(ctx)
	wg.Wait()
	done.Stopped = a.stop.reason
	if done.Stopped == frame.StopLeft {
		done.Stopped = ""
	}
	return done
}

// edit replaces the catalog by a newer catalog, and applies the resources that differ. If that cannot be applied, the catalog before it stays.
func (a *attached) edit(ctx context.Context, p *pack) {
	before := a.run
	a.accept(p)
	q := *a.q
	q.Catalog, p.run.q = sumOf(p.run.text), &q
	r, err := a.complete(p)
	if errors.Is(err, errLeft) {
		return
	}
	var done *frame.Done
	if err == nil && bundle.HasSecrets(r.catalog) {
		q.Catalog = ""
	}
	for err == nil {
		refs := differing(before.catalog, r.catalog)
		a.mu.Lock()
		for ref, status := range a.wrong { // perhaps only for lack of a further attempt
			if status == report.Failed && !a.once[ref] {
				refs[ref] = true
			}
		}
		a.mu.Unlock()
		a.run = r
		done, err = a.check(context.WithoutCancel(ctx), refs)
		if _, busy := errors.AsType[*runlog.BusyError](err); !busy {
			break
		}
		select { // another run works
		case <-ctx.Done():
			return
		case <-time.After(busyPause):
			err = nil
		}
	}
	if err != nil {
		a.run = before
		a.s.message(frame.TypeRound, &frame.Round{First: true, Done: frame.Done{Refused: refusal(err)}})
		return
	}
	a.mu.Lock()
	maps.DeleteFunc(a.wrong, func(ref catalog.Ref, _ report.Status) bool { return r.catalog.Find(ref) == nil })
	a.mu.Unlock()
	a.report(done, true)
}

// differing returns the resources of a catalog that the previous catalog does not have, or has with other parameters. It also
// returns resources that depend on all resources of a type.
func differing(before, now *catalog.Catalog) map[catalog.Ref]bool {
	refs := make(map[catalog.Ref]bool)
	for _, r := range now.Resources() {
		old := before.Find(r.Ref)
		if old == nil || r.Type == "Concat_file" || r.Type == "Resources" || !same(before, old, now, r) {
			refs[r.Ref] = true
		}
	}
	return refs
}

// same reports whether two catalogs have the same resource.
func same(before *catalog.Catalog, old *catalog.Resource, now *catalog.Catalog, r *catalog.Resource) bool {
	text := func(c *catalog.Catalog, r *catalog.Resource) string {
		out, err := json.Marshal([]any{r.Params, r.Tags, r.Virtual, c.Files[catalog.FileKey(r.Ref)], c.Trees[r.Title]})
		if err != nil {
			return "" // it was read from JSON
		}
		return string(out)
	}
	return text(before, old) == text(now, r)
}

// overdue returns the resources that must be checked now because of their time, and the time until the next check. Resources without
// events, and resources that failed or were skipped, are checked each minute. All resources are checked each half hour. A resource
// with an interval of its own is checked at this interval.
func (a *attached) overdue(now time.Time) (refs []catalog.Ref, next time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.due.IsZero():
		a.due = now.Add(watch.DefaultPoll)
	case !now.Before(a.due):
		a.due = now.Add(watch.DefaultPoll)
		refs = slices.Collect(maps.Keys(a.polled))
		for ref := range a.wrong {
			if !a.once[ref] {
				refs = append(refs, ref)
			}
		}
	}
	switch {
	case a.allDue.IsZero():
		a.allDue = now.Add(watch.AllPoll)
	case !now.Before(a.allDue):
		a.allDue = now.Add(watch.AllPoll)
		refs = append(refs, a.all...)
	}
	next = min(a.due.Sub(now), a.allDue.Sub(now))
	for ref, p := range a.own {
		if !now.Before(p.due) {
			p.due = now.Add(p.every)
			refs = append(refs, ref)
		}
		next = min(next, p.due.Sub(now))
	}
	return refs, next
}

// A ticker lets resources be checked at intervals.
type ticker struct {
	every time.Duration
	next  time.Time
	refs  []catalog.Ref
}

// ticks returns the resources whose interval has passed, and the time until the next one. An interval that was missed counts once.
func (a *attached) ticks(now time.Time) (refs []catalog.Ref, next time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	next = watch.DefaultPoll
	for _, t := range a.tickers {
		if !t.next.After(now) {
			refs = append(refs, t.refs...)
			t.next = now.Add(t.every)
		}
		next = min(next, t.next.Sub(now))
	}
	return refs, next
}

// touch takes changes of files.
func (a *attached) touch(c inotify.Change) {
	if c.All {
		a.loop.TouchAll()
	}
	var refs []catalog.Ref
	a.mu.Lock()
	for _, p := range c.Paths {
		refs = append(refs, a.byPath[p]...)
	}
	byPath := a.byPath
	a.mu.Unlock()
	a.loop.Touch(refs...)
	for p, err := range c.Lost {
		a.poll(byPath[p])
		a.warn("%s cannot be watched any more, so its resources are checked once a minute: %v", p.Name, err)
	}
}

// poll lets resources be checked from time to time.
func (a *attached) poll(lists ...[]catalog.Ref) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, refs := range lists {
		for _, ref := range refs {
			a.polled[ref] = true
		}
	}
}

// check applies resources; nil for all. An error means that nothing was changed.
func (a *attached) check(ctx context.Context, refs map[catalog.Ref]bool) (*frame.Done, error) {
	a.number++
	a.mu.Lock()
	t := &turn{id: a.q.Run, only: refs, sent: a.sent, superseded: a.superseded}
	a.mu.Unlock()
	if refs != nil {
		refs = maps.Clone(refs) // around adds to it
		t.only = refs
		t.id, t.late = fmt.Sprintf("%s-%d", a.q.Run, a.number), true
		t.failed = a.around(refs)
	}
	if a.run != a.aimed {
		t.prepared = a.aim
	}
	waiting, end := a.m.heeding(ctx)
	lock, err := a.dir.Lock(waiting, frame.Holder{Run: t.id, Node: a.q.Node, By: a.q.by(), PID: os.Getpid(), Start: time.Now(), Watch: true})
	end()
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	if err := lock.Fence(a.q.Node, a.q.Seq); err != nil {
		return nil, err
	}
	a.run.lock, a.changed = lock, nil
	parents, changed := make(map[catalog.Ref]catalog.Ref), make(map[catalog.Ref]bool)
	a.run.ended = func(r *report.Result) {
		// A generated resource counts as its parent. The result of the parent comes first.
		ref := r.Ref
		if r.Generated {
			if ref = r.Parent; parents[ref] != (catalog.Ref{}) {
				ref = parents[ref]
			}
			parents[r.Ref] = ref
		}
		if (r.Status == report.Changed || r.Status == report.Failed) && !changed[ref] {
			changed[ref] = true
			a.changed = append(a.changed, ref)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		switch {
		case r.Status == report.Failed:
			a.wrong[ref] = r.Status
		case r.Generated:
		case r.Status == report.Skipped:
			a.wrong[ref] = r.Status
		default:
			delete(a.wrong, ref)
		}
	}
	a.run.content = a.content
	a.s.size.Store(0)
	done, err := a.run.work(ctx, a.stop, t)
	a.mu.Lock()
	if a.newest == nil && a.superseded == t.superseded { // what was announced does not concern the next check
		a.superseded = make(chan struct{})
	}
	a.mu.Unlock()
	return done, err
}

// around adds all resources that were skipped to a check of a resource that failed, and returns the resources that count as failed without
// a check.
func (a *attached) around(refs map[catalog.Ref]bool) map[catalog.Ref]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	again := false
	for ref := range refs {
		again = again || a.wrong[ref] == report.Failed
	}
	failed := make(map[catalog.Ref]bool)
	for ref, status := range a.wrong {
		switch {
		case again:
			refs[ref] = true
		case status == report.Failed:
			failed[ref] = true
		}
	}
	return failed
}

// report sends the end of a check. A check without results has none.
func (a *attached) report(done *frame.Done, first bool) {
	if n := done.Counts; !first && n.Changed+n.Failed+n.Noop+n.Skipped == 0 && done.Error == "" {
		return
	}
	round := &frame.Round{Done: *done, First: first}
	if a.s.message(frame.TypeRound, round) != nil {
		a.run.shorten(&round.Done)
		a.s.message(frame.TypeRound, round)
	}
}

// aim watches the sources of the resources of a catalog.
func (a *attached) aim(ctx context.Context, applied *apply.Run) {
	a.aimed = a.run
	byPath, polled := make(map[inotify.Path][]catalog.Ref), make(map[catalog.Ref]bool)
	var paths []inotify.Path
	var all []catalog.Ref
	own, once, limits := make(map[catalog.Ref]*period), make(map[catalog.Ref]bool), make(map[catalog.Ref]watch.Budget)
	var tickers []*ticker
	for _, w := range applied.Watched(ctx) {
		if w.Once {
			once[w.Ref] = true
			continue
		}
		all = append(all, w.Ref)
		if w.Limit > 0 {
			limits[w.Ref] = watch.Budget{Burst: w.Burst, Every: time.Duration(min(float64(time.Second)/w.Limit, float64(maxEvery)))}
		}
		if w.Poll > 0 {
			own[w.Ref] = &period{w.Poll, time.Now().Add(w.Poll)}
			continue
		}
		if w.Scheduled {
			polled[w.Ref] = true
		}
		for _, source := range w.Watches {
			if source.Every > 0 {
				tickers = append(tickers, &ticker{source.Every, time.Now().Add(source.Every), w.After})
				continue
			}
			if source.Path == "" {
				polled[w.Ref] = true
				continue
			}
			p := inotify.Path{Name: filepath.Clean(source.Path), Tree: source.Tree}
			if byPath[p] == nil {
				paths = append(paths, p)
			}
			byPath[p] = append(byPath[p], w.Ref)
		}
	}
	a.mu.Lock()
	a.byPath, a.all, a.polled, a.own, a.once, a.limits, a.tickers = byPath, all, polled, own, once, limits, tickers
	a.mu.Unlock()
	a.loop.Repoll()
	lost := a.files.Set(paths)
	for p, err := range lost {
		a.poll(byPath[p])
		for _, ref := range byPath[p] {
			a.run.log(ref, report.Warning, fmt.Sprintf("%s cannot be watched, so the resource is checked once a minute: %v", p.Name, err))
		}
	}
}

// warn sends a warning that is not about one resource.
func (a *attached) warn(format string, args ...any) {
	a.s.log(&report.Log{Level: report.Warning, Message: fmt.Sprintf(format, args...), Time: time.Now()})
}

// content opens a content of the catalog. It requests a content that was in its place when the watch began.
func (a *attached) content(sum string) (io.ReadCloser, error) {
	open := func() (io.ReadCloser, error) {
		a.storing.Lock()
		defer a.storing.Unlock()
		return a.store.Open(sum)
	}
	r, err := open()
	if !errors.Is(err, fs.ErrNotExist) || !bundle.IsSum(sum) {
		return r, err
	}
	a.fetching.Lock()
	defer a.fetching.Unlock()
	if r, err := open(); !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if err := a.s.message(frame.TypeNeed, &frame.Need{Contents: []string{sum}}); err != nil {
		return nil, err
	}
	select {
	case <-a.stop.stop:
		return nil, errLeft
	case p := <-a.contents:
		if p.err != nil {
			return nil, p.err
		}
		return open()
	}
}
