package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"bolt/apply"
	"bolt/apply/backup"
	"bolt/apply/bundle"
	"bolt/apply/frame"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/apply/runlog"
	"bolt/catalog"
	"bolt/internal/atomicfile"
)

// The directories in the state directory that only this package uses.
const (
	catalogsName = "catalogs"
	incomingName = "incoming"
	backupsName  = "backups"
	// stateName is for the types of resources (resource.Host.State).
	stateName = "resources"
)

const (
	keepCatalogs = 5
	// staleIncoming is the age of contents whose run never came.
	staleIncoming = 24 * time.Hour
)

// apply is Apply behind the Hello. An error means that nothing was changed.
func (m *Machine) apply(ctx context.Context, q *Request, in io.Reader, s *sender) (int, error) {
	if err := runlog.CheckID(q.Run); err != nil {
		return 0, &refused{frame.KindInput, err}
	}
	dir, err := runlog.Open(m.Dir)
	if err != nil {
		return 0, err
	}
	waiting, end := m.heeding(ctx)
	lock, err := dir.Lock(waiting, frame.Holder{Run: q.Run, Node: q.Node, By: q.by(), PID: os.Getpid(), Start: time.Now()})
	end()
	if err != nil {
		return 0, err
	}
	defer lock.Unlock()
	if err := lock.Fence(q.Node, q.Seq); err != nil {
		return 0, err
	}
	if err := errors.Join(dir.Make(catalogsName), dir.Make(incomingName), dir.Make(incomingName+"/"+q.Run), dir.Make(backupsName), dir.Make(stateName)); err != nil {
		return 0, err
	}
	r := &run{m: m, q: q, s: s, dir: dir, lock: lock, store: bundle.NewStore(dir.Path(incomingName, q.Run))}
	need, err := r.load(in)
	if need != nil { // large contents may come as files, so their directory stays
		if err := s.message(frame.TypeNeed, need); err != nil {
			return 0, &refused{frame.KindInput, fmt.Errorf("the list of missing contents: %w", err)}
		}
		return ExitNeed, nil
	}
	defer r.clean()
	if err != nil {
		return 0, err
	}
	if q.Engine == EnginePuppet {
		return r.puppet(ctx)
	}
	return r.apply(ctx)
}

// heeding returns a context that ends when the run is not wanted any more. end ends its goroutine.
func (m *Machine) heeding(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-m.Lost:
			cancel()
		case <-m.Signal:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		<-done
	}
}

// A run is an application of a catalog.
type run struct {
	m     *Machine
	q     *Request
	s     *sender
	dir   *runlog.Dir
	lock  *runlog.Lock
	store *bundle.Store

	text    []byte // of the catalog, if it was sent
	offer   *frame.Offer
	catalog *catalog.Catalog

	journal   *runlog.Journal
	begun     func() error                            // opens the journal, once
	ended     func(*report.Result)                    // of a watch; it can be nil
	content   func(sum string) (io.ReadCloser, error) // of a watch; nil for the content of store
	inherited map[catalog.Ref]bool                    // refreshes that earlier runs left; true if this run leaves them, too
	counts    frame.Counts
	drift     string   // frame.Done.Drift
	warned    sync.Map // resources about which there were warnings
}

// receive reads the input.
func (r *run) receive(in io.Reader) error {
	wrong := func(err error) error {
		if _, disk := errors.AsType[*fs.PathError](err); disk {
			return err
		}
		return &refused{frame.KindInput, fmt.Errorf("the input of the helper: %w", err)}
	}
	frames, err := frame.Unpack(in)
	if err != nil {
		return wrong(err)
	}
	if frames == nil {
		return nil
	}
	for {
		t, body, err := frames.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return wrong(err)
		}
		switch t {
		case frame.TypeOffer:
			r.offer = new(frame.Offer)
			err = frame.Decode(t, body, r.offer)
		case frame.TypeCatalog:
			r.text = slices.Clone(body)
		case frame.TypeContent:
			var sum string
			var data []byte
			if sum, data, err = frame.ParseContent(body); err == nil {
				err = r.store.Put(sum, data)
			}
		default:
			err = fmt.Errorf("a frame of type %v", t)
		}
		if err != nil {
			return wrong(err)
		}
	}
}

// load reads the input, and finds the catalog. If data is missing to apply it, load returns a Need, otherwise nil.
func (r *run) load(in io.Reader) (*frame.Need, error) {
	if err := r.receive(in); err != nil {
		return nil, err
	}
	return r.find()
}

// find finds the catalog, and returns the missing inputs, nil if it has all of them.
func (r *run) find() (*frame.Need, error) {
	text := r.text
	switch {
	case text == nil:
		text = r.cached()
	case r.q.Catalog != "" && sumOf(text) != r.q.Catalog:
		return nil, &refused{frame.KindInput, errors.New("the catalog arrived with another digest")}
	}
	var missing []string
	if r.lacksPlugins() {
		missing = append(missing, r.q.Plugins)
	}
	if text == nil {
		need := &frame.Need{Catalog: true, Contents: missing}
		if r.offer != nil {
			for _, c := range r.offer.Contents {
				if bundle.IsSum(c.Sum) && r.lacks(c.Sum, c.Path) {
					need.Contents = append(need.Contents, c.Sum)
				}
			}
		}
		return need, nil
	}
	c, err := catalog.Parse(text)
	if err != nil {
		return nil, &refused{frame.KindCatalog, fmt.Errorf("the catalog: %w", err)}
	}
	if c.Name != r.q.Node {
		return nil, &refused{frame.KindCatalog, fmt.Errorf("the catalog is for the node %q, and this node is %q", c.Name, r.q.Node)}
	}
	r.catalog = c
	if r.text != nil && r.q.Catalog != "" && !bundle.HasSecrets(c) {
		if err := r.keep(); err != nil {
			return nil, err
		}
	}
	seen := make(map[string]bool)
	for _, c := range bundle.Contents(c) {
		if !seen[c.Sum] && r.lacks(c.Sum, c.Path) {
			missing = append(missing, c.Sum)
			seen[c.Sum] = true
		}
	}
	if missing == nil {
		return nil, nil
	}
	return &frame.Need{Contents: missing}, nil
}

func (r *run) lacks(sum, path string) bool { return !r.store.Has(sum) && !bundle.InPlace(path, sum) }

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// cached returns the catalog that the request names, nil if it is not there.
func (r *run) cached() []byte {
	if !bundle.IsSum(r.q.Catalog) {
		return nil
	}
	path := r.dir.Path(catalogsName, r.q.Catalog)
	text, err := os.ReadFile(path)
	if err != nil || sumOf(text) != r.q.Catalog {
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // a catalog that is in use stays the longest
	return text
}

// keep stores the catalog for the next run.
func (r *run) keep() error {
	if err := atomicfile.WriteUnsynced(r.dir.Path(catalogsName, r.q.Catalog), r.text, 0o600); err != nil {
		return err
	}
	return r.dir.Prune(catalogsName, "*", keepCatalogs)
}

// clean removes the contents of this run, and those of runs that never came.
func (r *run) clean() {
	r.dir.Stopped(r.q.Run)
	_ = os.RemoveAll(r.dir.Path(incomingName, r.q.Run)) // what stays is removed by a later run
	entries, err := os.ReadDir(r.dir.Path(incomingName))
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleIncoming {
			_ = os.RemoveAll(r.dir.Path(incomingName, e.Name()))
		}
	}
}

// apply applies the catalog.
func (r *run) apply(ctx context.Context) (int, error) {
	w := r.stopper(nil)
	defer w.end()
	done, err := r.work(ctx, w, &turn{id: r.q.Run})
	if err != nil {
		return 0, err
	}
	return r.last(done), nil
}

// last sends the end of the run, and returns the exit code.
func (r *run) last(done *frame.Done) int {
	if r.s.message(frame.TypeDone, done) != nil { // the journal has all of it
		r.shorten(done)
		r.s.message(frame.TypeDone, done)
	}
	return r.code(done)
}

// A turn is one application of a catalog.
type turn struct {
	id string // of the journal
	// only, failed and sent are fields of apply.Options.
	only, failed map[catalog.Ref]bool
	sent         map[catalog.Ref]apply.Sent
	// superseded is that of apply.Options.
	superseded <-chan struct{}
	// late is set if there is a journal only when something changes.
	late bool
	// prepared gets the run before it begins; it can be nil.
	prepared func(context.Context, *apply.Run)
}

// work applies the catalog, or a part of it, and gives the lock back. An error means that nothing was changed.
func (r *run) work(ctx context.Context, w *stopper, t *turn) (*frame.Done, error) {
	checked, err := r.dir.Checked()
	if err != nil {
		return nil, err
	}
	audited, err := r.dir.Audited()
	if err != nil {
		return nil, err
	}
	owed, err := r.lock.Owed(r.q.Node)
	if err != nil {
		return nil, err
	}
	h := r.host()
	backups := backup.New(r.dir.Path(backupsName), time.Now)
	h.Backup = func(path string) error { return backups.Keep(ctx, path) }
	r.journal, r.begun = nil, sync.OnceValue(func() error { return r.begin(ctx, t.id) })
	o := apply.Options{
		Types: r.m.types(), Noop: r.q.Noop, Tags: r.q.Tags, SkipTags: r.q.SkipTags, Workers: r.q.Workers, Sema: r.q.Sema, Stop: w.stop, Superseded: t.superseded, Only: t.only, Failed: t.failed, Sent: t.sent,
		Changing: func(ref catalog.Ref) {
			if r.begun() == nil {
				r.journal.Changing(ref)
			}
		},
		Owe: func(refs []catalog.Ref) error {
			if err := r.begun(); err != nil {
				return err
			}
			return r.journal.Owe(refs)
		},
		Paid: func(ref catalog.Ref) {
			if r.begun() == nil {
				r.journal.Paid(ref)
			}
		},
		Checked: func(ref catalog.Ref) time.Time { return checked[ref.String()] },
		Audited: func(ref catalog.Ref) map[string]string { return audited[ref.String()].Values },
	}
	if !r.q.Noop {
		o.Refreshes = owed
		for _, ref := range owed {
			if t.only != nil {
				t.only[ref] = true
			}
		}
	}
	applied, err := apply.Prepare(r.catalog, h, o)
	if err != nil {
		return nil, &refused{frame.KindCatalog, err}
	}
	if t.prepared != nil {
		t.prepared(ctx, applied)
	}
	if !t.late || len(owed) > 0 {
		if err := r.begun(); err != nil {
			return nil, err
		}
	}
	r.counts, r.inherited = frame.Counts{}, make(map[catalog.Ref]bool)
	for _, ref := range owed {
		r.inherited[ref] = r.q.Noop
	}
	summary, err := applied.Apply(ctx, r.result)
	done := &frame.Done{Counts: r.counts}
	if err != nil {
		done.Error = err.Error()
	}
	if summary.Stopped {
		done.Stopped = w.reason
	}
	if r.journal != nil {
		done.Owed = r.owed(summary.Stopped || err != nil, owed)
	}
	if !r.q.Noop && r.counts.Changed+r.counts.Failed > 0 {
		_ = backups.Prune() // a later run does it
	}
	err = r.dir.SetAudited(audited, summary.Audited, time.Now())
	if !r.q.Noop {
		err = errors.Join(err, r.dir.SetChecked(checked, summary.Checked, time.Now()))
	}
	r.end(done, err)
	return done, nil
}

// host returns this machine with the settings of the run.
func (r *run) host() *resource.Host {
	h := resource.NewHost()
	h.Content, h.Env, h.Diffs, h.Log, h.Run = r.store.Open, r.m.Env, r.q.Diffs, r.log, r.runner()
	h.State = r.dir.Path(stateName)
	if r.content != nil {
		h.Content = r.content
	}
	return h
}

// begin opens the journal.
func (r *run) begin(ctx context.Context, id string) (err error) {
	start := runlog.Start{
		Run: id, Node: r.q.Node, By: r.q.by(), Catalog: r.q.Catalog, Seq: r.q.Seq, Noop: r.q.Noop, Boot: r.m.boot(),
		Release: r.q.Release, Expected: r.q.Expected,
	}
	if r.q.Noop && r.q.Expected != "" {
		err := r.lock.Drift(&start)
		if _, is := errors.AsType[*runlog.DriftError](err); is {
			r.drift = err.Error()
		} else if err != nil {
			return err
		}
	}
	r.journal, err = r.lock.Begin(ctx, start, time.Now())
	return err
}

// end ends the journal, and gives the lock back. err is set if the journal is not complete.
func (r *run) end(done *frame.Done, err error) {
	done.Drift = r.drift
	if r.journal != nil {
		err = errors.Join(err, r.journal.Done(done, time.Now()))
	}
	if err != nil && done.Error == "" {
		done.Error = "The journal of the run is incomplete: " + err.Error()
	}
	// When bolt hears of the end, the next run can begin.
	_ = r.lock.Unlock() // it ends with the process
}

// shorten makes the end of a run fit in a frame.
func (r *run) shorten(done *frame.Done) {
	done.Owed, done.Error = nil, done.Error[:min(len(done.Error), maxMessages)]
}

// code returns the exit code for the end of a run.
func (r *run) code(done *frame.Done) int {
	if done.Counts.Failed > 0 || done.Error != "" || done.Stopped != "" {
		return ExitFailed
	}
	return ExitOK
}

// owed returns the refreshes that the next run inherits.
func (r *run) owed(early bool, inherited []catalog.Ref) (list []string) {
	if early {
		inherited = r.journal.Owed()
	}
	// After a whole run, a refresh that was not carried out is lost, as in Puppet.
	for _, ref := range inherited {
		if early || r.inherited[ref] {
			list = append(list, ref.String())
		}
	}
	return list
}

// result takes the result of a resource.
func (r *run) result(res *report.Result) {
	if !res.Generated {
		*r.counts.Of(res.Status)++
	}
	if _, owed := r.inherited[res.Ref]; owed && res.Status == report.Skipped {
		r.inherited[res.Ref] = true
	}
	if res.Status != report.Unchanged && res.Status != report.Skipped && r.begun() == nil {
		r.journal.Ended(res)
	}
	if r.ended != nil {
		r.ended(res)
	}
	_, warned := r.warned.Load(res.Ref)
	if !res.Silent() || res.Generated && warned {
		r.s.result(frame.FromReport(res))
	}
}

func (r *run) log(ref catalog.Ref, level report.Level, text string) {
	if level == report.Warning || level == report.Err {
		r.warned.Store(ref, true)
	}
	r.s.log(&report.Log{Ref: ref.String(), Level: level, Message: text, Time: time.Now()})
}

// A stopper ends a run when its reader has gone, after a signal, or when its end is requested.
type stopper struct {
	stop   chan struct{} // closed when the run must end
	reason frame.Stop    // set before stop is closed
	over   chan struct{}
	done   chan struct{}
}

// look is how often a run looks for a request to stop it.
const look = 500 * time.Millisecond

// stopper starts it. gone is closed when bolt has left a watch; nil for other runs.
func (r *run) stopper(gone <-chan struct{}) *stopper {
	w := &stopper{stop: make(chan struct{}), over: make(chan struct{}), done: make(chan struct{})}
	end := func(reason frame.Stop) {
		w.reason = reason
		close(w.stop)
	}
	if r.dir.Stopping(r.q.Run) { // before the first resource
		end(frame.StopAsked)
		close(w.done)
		return w
	}
	var lost, stalled, signal <-chan struct{}
	if !r.q.Continue {
		lost, stalled, signal = r.m.Lost, r.s.stalled, r.m.Signal
	}
	go func() {
		defer close(w.done)
		t := time.NewTicker(look)
		defer t.Stop()
		for {
			select {
			case <-lost:
				end(frame.StopLost)
			case <-stalled:
				end(frame.StopLost)
			case <-signal:
				end(frame.StopSignal)
			case <-gone:
				end(frame.StopLeft)
			case <-t.C:
				if !r.dir.Stopping(r.q.Run) {
					continue
				}
				end(frame.StopAsked)
			case <-w.over:
			}
			return
		}
	}()
	return w
}

func (w *stopper) end() {
	close(w.over)
	<-w.done
}

// runner runs programs of types. A program that must not be interrupted runs under a guard, which has the lock.
func (r *run) runner() func(context.Context, *resource.Command) (*resource.Output, error) {
	if r.m.Guard == nil {
		return resource.Exec
	}
	return func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		if !c.Session {
			return resource.Exec(ctx, c)
		}
		return guarded(ctx, r.m.Guard, r.lock.File(), c)
	}
}
