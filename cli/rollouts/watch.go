package rollouts

import (
	"context"
	"sync"
	"time"

	"bolt/cli"
	"bolt/internal/safetext"
	"bolt/output/fullscreen"
	"bolt/output/layout"
	"bolt/output/watch"
	"bolt/rollout"
	"bolt/rollout/ledger"
	"bolt/store"
)

// WatchOptions are those of rollout watch.
type WatchOptions struct {
	RolloutOptions
	plain bool
}

// Bind reads the flags and arguments.
func (o *WatchOptions) Bind(b *cli.Binder) {
	o.RolloutOptions.Bind(b)
	b.Switch("plain", &o.plain)
}

// Watch carries out rollout watch. On a terminal, it shows the rollout on the whole terminal until the rollout has ended or the user
// leaves, and then prints the state. Otherwise it prints lines. Neither changes the rollout.
func (v *Invocation) Watch(ctx context.Context, o *WatchOptions) error {
	if o.plain || v.Fullscreen == nil || v.Format != layout.Human {
		return v.watchLines(ctx, &o.RolloutOptions)
	}
	b, id, _, err := v.find(ctx, &o.RolloutOptions)
	if err != nil {
		return err
	}
	w := &watcher{book: b, id: id, tellers: make(map[string]*teller), followed: make(map[string]bool), arrivals: make(chan arrival, 1024)}
	w.view = watch.New(id, w.tell)
	records, err := b.load(ctx, id)
	if err != nil {
		return failed(err)
	}
	for _, r := range records {
		if err := w.view.Apply(id, r); err != nil {
			return failed(err)
		}
	}
	s := w.view.State()
	if !s.Ended() {
		if err := w.show(ctx, v.Fullscreen); err != nil {
			return err
		}
	}
	if s.Ended() {
		return v.printStatus(s, "")
	}
	phase, reason := s.Phase()
	return v.printSum(s, phase, reason)
}

// A watcher shows a rollout on a terminal.
type watcher struct {
	*book
	id       string
	view     *watch.View
	tellers  map[string]*teller // by rollout
	followed map[string]bool    // rollouts whose logs are watched
	arrivals chan arrival
	work     sync.WaitGroup

	screen *fullscreen.Screen
	look   watch.Look
	page   int // visible rows of the list of nodes
}

// An arrival is the next event of a log, or the end of watching it.
type arrival struct {
	id       string
	record   rollout.Record
	err      error
	panicked any
}

// tell describes an event for the view.
func (w *watcher) tell(s *rollout.State, e rollout.Event) (text, style string) {
	id := s.Created().Rollout
	t := w.tellers[id]
	if t == nil {
		t = tellerOf(s)
		w.tellers[id] = t
	}
	text = t.describe(e)
	if !important(e) {
		return "", ""
	}
	if id != w.id {
		text = "rollback: " + text
	}
	return safetext.OneLine(text), colorOf(e)
}

// Times of the view.
const (
	clockTick = time.Second           // between two frames while clocks run
	gather    = 40 * time.Millisecond // from an event to its frame, which shows the events in between as well
)

// show shows the view until the rollout has ended, the user leaves or ctx ends. If the list of nodes has been scrolled when
// the rollout ends, somebody reads it, so the view stays.
func (w *watcher) show(ctx context.Context, open func(context.Context) (*fullscreen.Screen, error)) error {
	screen, err := open(ctx)
	if err != nil {
		return failed(err)
	}
	w.screen = screen
	ctx, cancel := context.WithCancel(ctx)
	defer w.work.Wait()
	defer cancel()
	defer screen.Close() // before anything that can wait
	w.look.What = what(w.view.State().Created())
	w.follow(ctx, w.id, w.view.Revision())
	w.followRollback(ctx)
	w.findDriver(ctx)
	if err := w.draw(); err != nil {
		return err
	}
	tick := time.NewTicker(clockTick)
	defer tick.Stop()
	var due <-chan time.Time // the time of a frame for events
	for {
		select {
		case <-ctx.Done():
			return nil
		case a := <-w.arrivals:
			if err := w.arrive(ctx, a); err != nil {
				return err
			}
			if w.view.State().Ended() && w.look.Scroll == 0 && !w.look.Failed {
				return nil
			}
			if due == nil {
				due = time.After(gather)
			}
		case <-due:
			due = nil
			if err := w.draw(); err != nil {
				return err
			}
		case <-tick.C:
			if !w.findDriver(ctx) && !w.view.Clocks() {
				continue
			}
			if err := w.draw(); err != nil {
				return err
			}
		case k := <-screen.Keys:
			leave, err := w.press(k)
			if leave || err != nil {
				return err
			}
			if err := w.draw(); err != nil {
				return err
			}
		}
	}
}

// follow sends the events of a log after a revision to arrivals, until ctx ends.
func (w *watcher) follow(ctx context.Context, id string, after uint64) {
	w.followed[id] = true
	send := func(a arrival) bool {
		select {
		case w.arrivals <- a:
			return true
		case <-ctx.Done():
			return false
		}
	}
	w.work.Go(func() {
		defer func() { // the panic must reach the goroutine that restores the terminal
			if p := recover(); p != nil {
				send(arrival{panicked: p})
			}
		}()
		for e, err := range w.store.Watch(ctx, ledger.Log(id), store.Revision(after)) {
			a := arrival{id: id, err: err}
			if err == nil {
				a.record, a.err = ledger.Decode(e)
			}
			if !send(a) || a.err != nil {
				return
			}
		}
	})
}

// followRollback follows the rollback of the rollout, if there is one and it has not ended.
func (w *watcher) followRollback(ctx context.Context) {
	if id, after := w.view.Rollback(); id != "" && !w.followed[id] {
		w.follow(ctx, id, after)
	}
}

func (w *watcher) arrive(ctx context.Context, a arrival) error {
	if a.panicked != nil {
		panic(a.panicked)
	}
	if a.err != nil {
		return failed(a.err)
	}
	if err := w.view.Apply(a.id, a.record); err != nil {
		return failed(err)
	}
	switch a.record.Event.(type) {
	case *rollout.DriverStarted, *rollout.DriverStopped:
		w.findDriver(ctx)
	case *rollout.RollbackStarted:
		w.followRollback(ctx)
	}
	return nil
}

// findDriver finds the process that drives the rollout, and reports whether it is another one than before. If the lease
// cannot be read, the one before is still shown.
func (w *watcher) findDriver(ctx context.Context) (changed bool) {
	by, err := w.driver(ctx, w.id)
	if err != nil {
		return false
	}
	changed = by != w.look.Driver
	w.look.Driver = by
	return changed
}

func (w *watcher) draw() error {
	w.look.Width, w.look.Height = w.screen.Size()
	w.look.Next = goesOn(w.view.State())
	f := w.view.Frame(time.Now(), w.look)
	w.look.Scroll, w.page = f.Scroll, f.Page
	return failed(w.screen.Draw(f.Lines))
}

// press reacts to a key, and reports whether the user leaves.
func (w *watcher) press(k fullscreen.Key) (leave bool, err error) {
	const far = 1 << 30 // more than there are nodes; Frame corrects it
	switch k {
	case 'q', 'Q', fullscreen.Interrupt, fullscreen.Gone:
		return true, nil
	case fullscreen.Redraw:
		return false, failed(w.screen.Refresh())
	case 'f':
		w.look.Failed, w.look.Scroll = !w.look.Failed, 0
	case 'j', fullscreen.Down:
		w.look.Scroll++
	case 'k', fullscreen.Up:
		w.look.Scroll--
	case ' ', fullscreen.PageDown:
		w.look.Scroll += max(w.page, 1)
	case 'b', fullscreen.PageUp:
		w.look.Scroll -= max(w.page, 1)
	case 'g', fullscreen.Home:
		w.look.Scroll = 0
	case 'G', fullscreen.End:
		w.look.Scroll = far
	}
	return false, nil
}
