package rollouts

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bolt/internal/ptytest"
	"bolt/output/fullscreen"
	"bolt/output/layout"
	"bolt/output/watch"
	"bolt/rollout"
	"bolt/rollout/ledger"
	"bolt/rollout/strategy"
	"bolt/store"
	"bolt/store/files"
)

// A watched is a rollout that a test drives, and the terminal on which it is watched.
type watched struct {
	t     *testing.T
	store *files.Store
	dir   string
	state *rollout.State
	runs  map[string]string
	p     *ptytest.Terminal
	out   bytes.Buffer
	end   chan error // of the command
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	dir := t.TempDir()
	s, err := files.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	st, err := strategy.Read([]byte("rollout: web\norder: [name]\nstrategy: {waves: [{name: canary, count: 1}, {rest: true}]}"), "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := rollout.New(rollout.Spec{Rollout: "20261127-141811-web", Release: "new", Strategy: *st, Nodes: []rollout.Node{
		{Name: "web1", Release: "new", Catalog: "c2", Previous: "old", PreviousCatalog: "c1"}, {Name: "web2", Release: "new", Catalog: "c2"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{t: t, store: s, dir: dir, state: new(rollout.State), runs: make(map[string]string), p: ptytest.New(t), end: make(chan error, 1)}
	w.do(c, &rollout.DriverStarted{Session: "a", Holder: "ann@desk"})
	return w
}

// do appends events, and what is due then.
func (w *watched) do(events ...rollout.Event) {
	w.t.Helper()
	before := w.state.Revision()
	for _, e := range events {
		if err := w.state.Apply(rollout.Record{Revision: w.state.Revision() + 1, Time: time.Now(), Event: e}); err != nil {
			w.t.Fatal(err)
		}
	}
	due, _, err := rollout.Decide(w.state, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	events = append(events, due...)
	for _, e := range events {
		if e, is := e.(*rollout.NodeStarted); is {
			w.runs[e.Node] = e.Run
		}
	}
	if _, err := ledger.In(w.store).Append(w.t.Context(), w.state.Created().Rollout, before, 0, events...); err != nil {
		w.t.Fatal(err)
	}
}

// watch starts the command.
func (w *watched) watch(ctx context.Context) {
	v := &Invocation{
		Out: &w.out, Console: &w.out, Format: layout.Human, State: w.dir,
		Fullscreen: func(ctx context.Context) (*fullscreen.Screen, error) {
			return fullscreen.Open(ctx, w.p.Slave, w.p.Slave, true)
		},
	}
	go func() { w.end <- v.Watch(ctx, &WatchOptions{}) }()
}

func (w *watched) sees(text string) {
	w.t.Helper()
	w.p.Wait(w.t, text, func(s *ptytest.Screen) bool { return s.Alternate && strings.Contains(s.String(), text) })
}

// left waits for the end of the command, and checks the terminal.
func (w *watched) left() error {
	w.t.Helper()
	err := <-w.end
	w.p.Wait(w.t, "the first screen", func(s *ptytest.Screen) bool { return s.Writes > 0 && !s.Alternate })
	if err := w.p.Restored(w.t); err != nil {
		w.t.Error(err)
	}
	return err
}

// TestWatchEnd checks that the view stays at the end of a rollout if a person reads the list.
func TestWatchEnd(t *testing.T) {
	for name, key := range map[string]string{"nothing": "", "failed nodes": "f"} {
		t.Run(name, func(t *testing.T) {
			w := newWatched(t)
			w.watch(t.Context())
			w.sees("web1  ")
			if w.p.Type(t, key); key != "" {
				w.sees("Failed nodes")
			}
			w.do(&rollout.AbortRequested{Mode: rollout.Drain, By: "ann", Reason: "enough"})
			w.sees("aborting: aborted by ann: enough")
			w.do(&rollout.NodeFinished{Node: "web1", Run: w.runs["web1"], Outcome: rollout.OutcomeDone})
			if key != "" {
				w.sees("The rollout has ended.  q leave")
				w.p.Type(t, "q")
			}
			if err := w.left(); err != nil {
				t.Error(err)
			}
			if text := w.out.String(); !strings.Contains(text, "Rollout 20261127-141811-web: aborted: aborted by ann: enough\n") || !strings.Contains(text, "web2  cancelled") {
				t.Errorf("after leaving, bolt printed:\n%s", text)
			}
		})
	}
}

// TestWatchEnded checks that the state of a rollout that has ended is only printed.
func TestWatchEnded(t *testing.T) {
	w := newWatched(t)
	w.do(&rollout.AbortRequested{Mode: rollout.Drain, By: "ann"})
	w.do(&rollout.NodeFinished{Node: "web1", Run: w.runs["web1"], Outcome: rollout.OutcomeDone})
	w.watch(t.Context())
	if err := <-w.end; err != nil || !strings.Contains(w.out.String(), "Rollout 20261127-141811-web: aborted") {
		t.Errorf("%v\n%s", err, w.out.String())
	}
}

// TestWatchRollback watches a rollout and its rollback.
func TestWatchRollback(t *testing.T) {
	w := newWatched(t)
	w.watch(t.Context())
	w.do(&rollout.NodeFinished{Node: "web1", Run: w.runs["web1"], Outcome: rollout.OutcomeDone, Changed: true})
	w.do(&rollout.NodeFinished{Node: "web2", Run: w.runs["web2"], Outcome: rollout.OutcomeFailed, Reason: "broken"})
	w.do(&rollout.RollbackRequested{By: "ann", Reason: "broken"})
	w.sees("rolling_back: ")
	name, _ := w.state.Rollback()
	c, _, err := rollout.NewRollback(w.state, name, "")
	if err != nil {
		t.Fatal(err)
	}
	back := *w
	back.state = new(rollout.State)
	back.do(c, &rollout.DriverStarted{Session: "b", Holder: "ann@desk"})
	w.sees("rollback 1 rest running")
	w.sees("rollback: web1: started")
	if next := goesOn(back.state); next != "bolt rollout resume "+w.state.Created().Rollout {
		t.Errorf("the rollback goes on with %s", next)
	}
	back.do(&rollout.NodeFinished{Node: "web1", Run: w.runs["web1"], Outcome: rollout.OutcomeDone, Changed: true})
	w.do(&rollout.RollbackFinished{Rollout: name, State: rollout.Succeeded, Nodes: []string{"web1"}})
	if err := w.left(); err != nil || !strings.Contains(w.out.String(), "rolled_back") {
		t.Errorf("%v\n%s", err, w.out.String())
	}
}

// TestWatchDamaged edits the log while it is watched.
func TestWatchDamaged(t *testing.T) {
	w := newWatched(t)
	w.watch(t.Context())
	w.sees("web1  ")
	file := filepath.Join(w.dir, "logs", "rollouts", "20261127-141811-web.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file+".new", append(bytes.Replace(text, []byte("ann@desk"), []byte("ben@desk"), 1), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	err = w.left()
	if damaged, is := errors.AsType[*store.DamagedError](err); !is || damaged.Line != 2 || damaged.File != file {
		t.Errorf("the command ended with %v", err)
	}
}

// TestWatchStopped stops the command.
func TestWatchStopped(t *testing.T) {
	w := newWatched(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.watch(ctx)
	w.sees("web1  ")
	cancel()
	if err := w.left(); err != nil || !strings.Contains(w.out.String(), "Rollout 20261127-141811-web: running: wave 1 of 2: canary. Nodes: 1 pending, 1 sending") {
		t.Errorf("%v\n%s", err, w.out.String())
	}
}

// TestWatchPanic checks that a panic of the goroutine that reads the log restores the terminal.
func TestWatchPanic(t *testing.T) {
	w := newWatched(t)
	v := &watcher{book: &book{store: w.store}, id: w.state.Created().Rollout, tellers: make(map[string]*teller), followed: make(map[string]bool), arrivals: make(chan arrival, 1)}
	v.view = watch.New(v.id, v.tell)
	if err := v.view.Apply(v.id, rollout.Record{Revision: 1, Time: time.Now(), Event: w.state.Created()}); err != nil {
		t.Fatal(err)
	}
	v.arrivals <- arrival{panicked: "a mistake"}
	go func() {
		defer func() {
			if p := recover(); p != "a mistake" {
				t.Errorf("the panic is %v", p)
			}
			w.end <- nil
		}()
		_ = v.show(t.Context(), func(ctx context.Context) (*fullscreen.Screen, error) {
			return fullscreen.Open(ctx, w.p.Slave, w.p.Slave, true)
		})
	}()
	_ = w.left()
}
