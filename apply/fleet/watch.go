package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"bolt/apply/frame"
	"bolt/apply/remote"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/run"
	"bolt/transport"
)

// A Watch is the action of attachment catalogs applied. On each target, it stays connected until the context ends. If a connection is lost,
// it connects again, as often as needed, and applies the whole catalog again. So nothing is missed that happened meanwhile.
type Watch struct {
	*Apply
	Delivery *Delivery
	// Edits has newer code to compile; nil for none.
	Edits *Edits
	// Settling ends the watch; nil for none.
	Settling *Settling
}

// Lasts implements run.LastingAction.
func (w *Watch) Lasts() bool { return true }

// The first and the longest pause before a new connection.
const (
	firstPause = time.Second
	mostPause  = 30 * time.Second
)

// ErrSettled is the cause of the end of a watch by Settling.
var ErrSettled = errors.New("no target changed anything for some time")

// Do keeps the catalog of one target applied.
func (w *Watch) Do(ctx context.Context, site *run.Site) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	place := w.Settling.join(func() { cancel(ErrSettled) })
	defer place.leave()
	if w.Delivery.Puppet != nil {
		p, err := w.Delivery.Puppet(ctx, site.Target)
		if err != nil {
			return err
		}
		if p != nil {
			return fmt.Errorf("%s has the feature %s, but --watch needs bolt's engine. Use --engine bolt, or leave the target out", site.Target.SafeName(), FeaturePuppet)
		}
	}
	compile, edited := w.Edits.now(w.Compile)
	c, err := w.catalog(ctx, site, compile)
	if err != nil {
		return w.uncompiled(ctx, site, err)
	}
	for _, take := range w.Compiled {
		if err := take(ctx, site.Target, c); err != nil {
			return err
		}
	}
	k := &attachment{Watch: w, site: site, catalog: c, place: place, last: make(map[catalog.Ref]*report.Result), lost: make(chan struct{}, 1)}
	err = k.keep(ctx, edited)
	if ctx.Err() != nil {
		err = nil // the user, or Settling, has ended it
	}
	if k.first {
		w.result(site, k.catalog, k.sum())
	}
	return err
}

// An attachment is a watch of one target.
type attachment struct {
	*Watch
	site  *run.Site
	place *seat

	mu      sync.Mutex // guards the following
	catalog *catalog.Catalog
	sent    *catalog.Catalog // a newer catalog that the target has not applied yet; nil for none
	first   bool             // a first run has ended
	start   time.Time
	round   *report.Run // the check in work
	changes int
	last    map[catalog.Ref]*report.Result // of resources of the catalog, and of some that they generate
	others  int                            // the results in last of generated resources

	lost chan struct{} // has one entry after a connection was lost
}

// The most results of generated resources that an attachment keeps, and the most messages of a check.
const (
	mostOthers = 1 << 14
	mostLogs   = 10000
)

// keep connects again and again. It returns an error if the target cannot be watched.
func (k *attachment) keep(ctx context.Context, edited <-chan struct{}) error {
	k.start = time.Now()
	conn := k.site.Conn
	next := make(chan *remote.Job)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if k.Edits != nil {
		wg.Go(func() { k.edit(ctx, edited, next) })
	}
	pause := firstPause
	for {
		attached := false
		k.mu.Lock()
		k.round = nil
		job := k.job(ctx, k.catalog)
		k.mu.Unlock()
		err := remote.Watch(ctx, conn, k.Delivery.Target(k.site), job, next, func(r *remote.Round) {
			attached, pause = true, firstPause
			k.ended(ctx, r)
		})
		if conn != k.site.Conn {
			conn.Close()
		}
		if ctx.Err() != nil || !k.first && !attached || !again(err) {
			return err
		}
		k.place.lost()
		select {
		case k.lost <- struct{}{}:
		default:
		}
		k.site.Log(ctx, "warn", fmt.Sprintf("%s: the connection was lost. bolt connects again. (%v)", k.site.Target.SafeName(), err))
		for conn = nil; conn == nil; {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
			}
			pause = min(2*pause, mostPause)
			if conn, err = k.site.Reconnect(ctx); err != nil && !again(err) {
				return err
			}
		}
		k.site.Log(ctx, "info", fmt.Sprintf("%s: connected again.", k.site.Target.SafeName()))
	}
}

// again reports whether a watch can go on after an error, on a new connection.
func again(err error) bool {
	if r, is := errors.AsType[*remote.RefusedError](err); is {
		return r.Kind == frame.KindBusy || r.Kind == frame.KindTwice // of a run that has not ended yet
	}
	switch transport.ClassOf(err) {
	case transport.ClassLost, transport.ClassConnect, transport.ClassThrottled, transport.ClassTimeout, transport.ClassResolve:
		return true
	}
	return false
}

// job returns the job of a catalog.
func (k *attachment) job(ctx context.Context, c *catalog.Catalog) *remote.Job {
	d := k.Delivery
	return &remote.Job{
		Catalog: c, Node: c.Name, Sema: d.Sema, Open: d.Open, By: d.By, Noop: d.Noop, Diffs: d.Diffs, Tags: d.Tags, SkipTags: d.SkipTags,
		Result: func(r *report.Result) { k.took(ctx, r) },
		Log: func(l *report.Log) {
			k.mu.Lock()
			if run := k.begun(); len(run.Logs) < mostLogs {
				run.Logs = append(run.Logs, *l)
			}
			k.mu.Unlock()
			if l.Level == report.Warning || l.Level == report.Err {
				level := map[report.Level]string{report.Warning: "warn", report.Err: "error"}[l.Level]
				text := l.Message
				if l.Ref != "" {
					text = l.Ref + ": " + text
				}
				k.site.Log(ctx, level, k.site.Target.SafeName()+": "+text)
			}
		},
	}
}

// begun returns the check in work.
func (k *attachment) begun() *report.Run {
	if k.round == nil {
		k.round = &report.Run{ID: transport.NewPrivateName(), Noop: k.Noop, Start: time.Now()}
	}
	return k.round
}

// took takes the result of a resource.
func (k *attachment) took(ctx context.Context, r *report.Result) {
	k.mu.Lock()
	if r.Start.IsZero() {
		r.Start = time.Now()
	}
	run := k.begun()
	run.Results = append(run.Results, r)
	before := k.last[r.Ref]
	c := k.catalog
	if k.sent != nil && c.Find(r.Ref) == nil {
		c = k.sent
	}
	if r.Generated && before == nil {
		if k.others++; k.others > mostOthers {
			maps.DeleteFunc(k.last, func(_ catalog.Ref, r *report.Result) bool { return r.Generated })
			k.others = 1
		}
	}
	k.last[r.Ref] = r
	if r.Status == report.Changed {
		k.changes++
	}
	k.mu.Unlock()
	// The same failure, or the same skip, is shown once.
	if r.Silent() || before != nil && before.Status == r.Status && (r.Status == report.Skipped || r.Status == report.Failed && before.Failure() == r.Failure()) {
		return
	}
	shown := resourceOf(c, r)
	shown.At = time.Now()
	k.site.Resource(ctx, &shown)
}

// ended takes the end of a check.
func (k *attachment) ended(ctx context.Context, r *remote.Round) {
	k.mu.Lock()
	if r.Proposed != nil {
		if !r.Refused {
			k.catalog = r.Proposed.Catalog
		}
		if k.sent == r.Proposed.Catalog {
			k.sent = nil
		}
	}
	run, c := k.begun(), k.catalog
	k.round, k.first = nil, true
	k.mu.Unlock()
	k.place.checked(r.Counts.Changed > 0)
	run.Took, run.Stopped = time.Since(run.Start), r.Stopped != ""
	if r.Error != "" {
		run.Logs = append(run.Logs, report.Log{Level: report.Err, Message: r.Error, Time: time.Now()})
		k.site.Log(ctx, "error", k.site.Target.SafeName()+": "+r.Error)
	}
	if len(run.Results) == 0 {
		return
	}
	for _, take := range k.Report {
		if err := take(ctx, k.site.Target, c, run); err != nil {
			k.site.Log(ctx, "error", k.site.Target.SafeName()+": "+err.Error())
		}
	}
}

// sum returns the last result of each resource.
func (k *attachment) sum() *report.Run {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := &report.Run{ID: transport.NewPrivateName(), Noop: k.Noop, Start: k.start, Took: time.Since(k.start)}
	for _, r := range k.catalog.Resources() {
		if last := k.last[r.Ref]; last != nil {
			out.Results = append(out.Results, last)
		}
	}
	return out
}

// edit compiles the catalog again whenever the code has changed. It sends a catalog again if the connection was lost before the
// target had applied it.
func (k *attachment) edit(ctx context.Context, edited <-chan struct{}, next chan<- *remote.Job) {
	var job *remote.Job
	for {
		var send chan<- *remote.Job
		if job != nil {
			send = next
		}
		select {
		case <-ctx.Done():
			return
		case send <- job:
			k.mu.Lock()
			k.sent = job.Catalog
			k.mu.Unlock()
			job = nil
		case <-k.lost:
			k.mu.Lock()
			if job == nil && k.sent != nil {
				job = k.job(ctx, k.sent)
			}
			k.mu.Unlock()
		case <-edited:
			var compile CompileFunc
			compile, edited = k.Edits.now(k.Compile)
			c, err := k.Apply.catalog(ctx, k.site, compile)
			switch {
			case err == nil:
				job = k.job(ctx, c)
			case ctx.Err() == nil:
				k.site.Log(ctx, "error", fmt.Sprintf("%s: the new code does not compile, so the old catalog stays: %v", k.site.Target.SafeName(), err))
			}
		}
	}
}

// A CompileFunc makes the catalog of a target, as Apply.Compile does.
type CompileFunc = func(ctx context.Context, t *inventory.Target, facts *ordered.Map, partial bool) (*catalog.Catalog, error)

// Edits has the newest code of a watch. A nil Edits has none.
type Edits struct {
	mu      sync.Mutex
	compile CompileFunc
	changed chan struct{} // closed when compile is replaced
}

// NewEdits returns Edits without newer code.
func NewEdits() *Edits { return &Edits{changed: make(chan struct{})} }

// Replace sets the code that all targets get now.
func (e *Edits) Replace(compile CompileFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.compile = compile
	close(e.changed)
	e.changed = make(chan struct{})
}

// now returns the newest code, and first if the code has not changed. The channel is closed when there is newer code.
func (e *Edits) now(first CompileFunc) (CompileFunc, <-chan struct{}) {
	if e == nil {
		return first, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.compile != nil {
		first = e.compile
	}
	return first, e.changed
}

// Settling ends a watch when no target has changed anything for some time. All targets must be attached then, or have
// failed for good. A nil Settling never ends it.
type Settling struct {
	after time.Duration

	mu     sync.Mutex
	wanted int // targets that have not joined yet
	seats  map[*seat]bool
	timer  *time.Timer
	over   bool
}

// NewSettling returns a Settling for a number of targets.
func NewSettling(after time.Duration, targets int) *Settling {
	return &Settling{after: after, wanted: targets, seats: make(map[*seat]bool)}
}

// A seat is the part of one target in a Settling.
type seat struct {
	s        *Settling
	end      func()
	attached bool
}

// join adds a target. end ends its watch.
func (s *Settling) join(end func()) *seat {
	p := &seat{s: s, end: end}
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wanted--
		s.seats[p] = true
		s.reset()
	}
	return p
}

// reset starts the time again, if all targets are attached.
func (s *Settling) reset() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if s.wanted > 0 || s.over {
		return
	}
	for p := range s.seats {
		if !p.attached {
			return
		}
	}
	s.timer = time.AfterFunc(s.after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.over = true
		for p := range s.seats {
			p.end()
		}
	})
}

// checked notes the end of a check.
func (p *seat) checked(changed bool) {
	p.change(func() bool {
		if p.attached && !changed {
			return false
		}
		p.attached = true
		return true
	})
}

// lost notes that the target is not connected.
func (p *seat) lost() {
	p.change(func() bool { p.attached = false; return true })
}

// leave removes the target.
func (p *seat) leave() {
	p.change(func() bool { delete(p.s.seats, p); return true })
}

func (p *seat) change(f func() bool) {
	if p.s == nil {
		return
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if f() {
		p.s.reset()
	}
}
