package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bolt/rollout"
	"bolt/store"
	"bolt/store/files"
)

// counted counts the logs that are read.
type counted struct {
	store.Store
	loads []string
}

func (c *counted) Events(ctx context.Context, log string, after store.Revision) iter.Seq2[store.Event, error] {
	c.loads = append(c.loads, strings.TrimPrefix(log, prefix))
	return c.Store.Events(ctx, log, after)
}

// place is a store in a directory, and its rollouts.
type place struct {
	*Ledger
	dir    string
	store  *counted
	warned []string
}

func placeIn(t *testing.T, dir string) *place {
	t.Helper()
	s, err := files.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &place{dir: dir, store: &counted{Store: s}}
	p.Ledger = In(p.store)
	p.Warn = func(id string, damage error) { p.warned = append(p.warned, id+" "+damage.Error()) }
	return p
}

func (p *place) log(id string) string { return filepath.Join(p.dir, "logs", "rollouts", id+".jsonl") }

func (p *place) summary(id string) string {
	return filepath.Join(p.dir, "summaries", "rollouts", id+".jsonl")
}

// end makes a rollout of nodes and brings it to its end: a node whose name begins with "bad" fails. There is no summary yet.
func (p *place) end(t *testing.T, id string, nodes ...string) *rollout.State {
	t.Helper()
	if err := p.Create(t.Context(), created(t, id, nodes...), "ann"); err != nil {
		t.Fatal(err)
	}
	s, err := p.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	add := func(e rollout.Event) {
		t.Helper()
		r := rollout.Record{Revision: s.Revision() + 1, Time: time.Now(), Event: e}
		if err := s.Apply(r); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Append(t.Context(), id, r.Revision-1, 0, e); err != nil {
			t.Fatal(err)
		}
	}
	add(&rollout.DriverStarted{Session: "s"})
	for !s.Ended() {
		due, _ := rollout.Step(s, time.Now())
		for _, e := range due {
			add(e)
		}
		for _, e := range due {
			started, is := e.(*rollout.NodeStarted)
			if !is {
				continue
			}
			outcome := rollout.OutcomeDone
			if strings.HasPrefix(started.Node, "bad") {
				outcome = rollout.OutcomeFailed
			}
			add(&rollout.NodeFinished{Node: started.Node, Run: started.Run, Outcome: outcome})
		}
		if paused, _ := s.Paused(); paused && len(due) == 0 {
			add(&rollout.AbortRequested{Mode: rollout.Drain, By: "ann"})
		}
	}
	return s
}

// change replaces a text in a file.
func change(t *testing.T, path, old, new string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(old)) {
		t.Fatalf("%s has no %s", path, old)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(old), []byte(new), 1), 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	early = "20260101-000000-web"
	mid   = "20260102-000000-web"
	late  = "20260103-000000-web"
)

// TestSummaries checks that the answers from summaries are those from the logs, and that ended logs are not read.
func TestSummaries(t *testing.T) {
	p := placeIn(t, t.TempDir())
	states := []*rollout.State{p.end(t, early, "a", "b", "bad1"), p.end(t, mid, "b", "bad2"), p.end(t, late, "c")}
	if err := os.RemoveAll(filepath.Join(p.dir, "summaries")); err != nil {
		t.Fatal(err)
	}
	nodes := []string{"a", "b", "c", "bad1", "bad2", "new"}
	answers := func() (history []Summary, last map[string]Last, since string) {
		t.Helper()
		p.store.loads = nil
		for e, err := range p.Entries(t.Context(), []string{early, mid, late}) {
			if err != nil || !e.Ended() {
				t.Fatalf("%+v, %v", e, err)
			}
			e.Start, e.Summary.Last = e.Start.UTC(), time.Time{} // the times of the log are a little later
			history = append(history, e.Summary)
		}
		last, err := p.Last(t.Context(), nodes)
		if err != nil {
			t.Fatal(err)
		}
		id, node, err := p.Since(t.Context(), states[0])
		if err != nil {
			t.Fatal(err)
		}
		return history, last, id + " " + node
	}
	history, last, since := answers()
	if len(p.store.loads) == 0 || len(last) != 5 || since != mid+" b" || !slices.ContainsFunc(history, func(s Summary) bool { return s.State == rollout.Aborted && s.Nodes == 3 }) {
		t.Errorf("%v, %v, %s", history, last, since)
	}
	for _, s := range states {
		if err := p.Summarize(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	history2, last2, since2 := answers()
	if len(p.store.loads) > 0 {
		t.Errorf("the logs of %v were read", p.store.loads)
	}
	if !slices.Equal(history, history2) || !maps.Equal(last, last2) || since != since2 {
		t.Errorf("%v, %v, %s\n%v, %v, %s", history, last, since, history2, last2, since2)
	}
}

// TestMissingSummary: the driver died between the end and the summary. The next rollout stores the summary.
func TestMissingSummary(t *testing.T) {
	p := placeIn(t, t.TempDir())
	p.end(t, early, "a")
	if _, err := os.Stat(p.summary(early)); err == nil {
		t.Fatal("there is a summary")
	}
	for i, id := range []string{mid, late} {
		p.store.loads = nil
		if err := p.Create(t.Context(), created(t, id, fmt.Sprint(i)), "ann"); err != nil {
			t.Fatal(err)
		}
		if read := slices.Contains(p.store.loads, early); read != (i == 0) {
			t.Errorf("%s: %v were read", id, p.store.loads)
		}
	}
	// Another event, such as the request for a rollback, makes it void. So does an edit.
	change(t, p.summary(early), `"state":"succeeded"`, `"state":"running"`)
	if err := p.Create(t.Context(), created(t, "20260104-000000-web", "b"), "ann"); err != nil {
		t.Error(err)
	}
	if _, err := p.Command(t.Context(), early, func(*rollout.State) (rollout.Event, error) { return &rollout.RollbackRequested{By: "ann"}, nil }); err != nil {
		t.Fatal(err)
	}
	err := p.Create(t.Context(), created(t, "20260104-000000-web", "a"), "ann")
	if busy, is := errors.AsType[*BusyError](err); !is || busy.Others[0] != (Other{early, "a", rollout.RollingBack}) {
		t.Errorf("%v", err)
	}
}

// TestDamagedLogs: a damaged log is an error only where it matters, with its file and its line.
func TestDamagedLogs(t *testing.T) {
	p := placeIn(t, t.TempDir())
	p.end(t, early, "a", "b")
	wrong := func(err error, texts ...string) {
		t.Helper()
		for _, text := range append(texts, p.log(early)+":") {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%v, not %s", err, text)
			}
		}
	}
	last := func(nodes ...string) error { _, err := p.Last(t.Context(), nodes); return err }
	since := func(node string) error {
		s := new(rollout.State)
		if err := s.Apply(rollout.Record{Revision: 1, Time: time.Now(), Event: created(t, "20251231-000000-web", node)}); err != nil {
			t.Fatal(err)
		}
		_, _, err := p.Since(t.Context(), s)
		return err
	}

	// The nodes of the rollout are known, but not its end.
	change(t, p.log(early), "driver_started", "driver_stopped")
	wrong(p.Create(t.Context(), created(t, mid, "x", "b"), "ann"), "the end of rollout "+early+" is not known, and it has the node b", ":2:")
	wrong(last("x", "a"), "the node a", ":2:")
	wrong(since("b"), "the node b")
	if len(p.warned) > 0 {
		t.Errorf("%q", p.warned)
	}
	for _, err := range []error{p.Create(t.Context(), created(t, mid, "x"), "ann"), last("x", "y"), since("y")} {
		if err != nil {
			t.Error(err)
		}
	}
	if len(slices.Compact(p.warned)) != 1 || !strings.Contains(p.warned[0], early+" "+p.log(early)+":2: ") {
		t.Errorf("%q", p.warned)
	}

	// Neither is known.
	change(t, p.log(early), `"created"`, `"creates"`)
	wrong(p.Create(t.Context(), created(t, late, "y"), "ann"), "the end and the nodes of rollout "+early, ":1:")
	wrong(last("y"), ":1:")
	if _, err := p.Load(t.Context(), early); err == nil {
		t.Error("the damage is not an error of the rollout itself")
	}
}

// TestDamagedEnded: damage in the log of a rollout that is known to have ended hinders nothing.
func TestDamagedEnded(t *testing.T) {
	p := placeIn(t, t.TempDir())
	if err := p.Summarize(t.Context(), p.end(t, early, "a", "bad1")); err != nil {
		t.Fatal(err)
	}
	change(t, p.log(early), `"created"`, `"creates"`)
	if err := p.Create(t.Context(), created(t, mid, "a"), "ann"); err != nil {
		t.Error(err)
	}
	last, err := placeIn(t, p.dir).Last(t.Context(), []string{"a", "bad1"})
	if err != nil || last["a"] != (Last{"r2", "c2", true}) || last["bad1"] != (Last{"r1", "c1", false}) {
		t.Errorf("%v, %v", last, err)
	}
	if len(p.warned) > 0 {
		t.Errorf("%q", p.warned)
	}
}
