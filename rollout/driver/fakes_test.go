package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/rollout"
	"bolt/rollout/gate"
	"bolt/rollout/ledger"
	"bolt/rollout/strategy"
	"bolt/store"
)

// memory is a store.Logs in memory, for the clock of a test.
type memory struct {
	mu      sync.Mutex
	logs    map[string][]store.Event
	leases  map[string]*lease
	fences  map[string]store.Fence
	grown   chan struct{} // closed at the next append
	appends int
	// before is called with the number of each append. Its error is that of the append; kept tells that the events are
	// recorded all the same.
	before func(n int) (err error, kept bool)
	// renewal returns the error of the renewal of a lease; nil lets all be renewed.
	renewal func(name string) error
}

func newMemory() *memory {
	return &memory{logs: make(map[string][]store.Event), leases: make(map[string]*lease), fences: make(map[string]store.Fence), grown: make(chan struct{})}
}

func (m *memory) Events(_ context.Context, log string, after store.Revision) iter.Seq2[store.Event, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := slices.Clone(m.logs[log][min(int(after), len(m.logs[log])):])
	return func(yield func(store.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (m *memory) Append(_ context.Context, log string, after store.Revision, fence store.Fence, data ...json.RawMessage) (store.Revision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if have := store.Revision(len(m.logs[log])); have != after {
		return 0, &store.ConflictError{Log: log, Have: have}
	}
	if fence != 0 && fence < m.fences[log] {
		return 0, &store.FencedError{Log: log, Have: m.fences[log]}
	}
	m.appends++
	var err error
	kept := true
	if m.before != nil {
		if err, kept = m.before(m.appends); err != nil && !kept {
			return 0, err
		}
	}
	m.fences[log] = max(fence, m.fences[log])
	for _, d := range data {
		m.logs[log] = append(m.logs[log], store.Event{Revision: store.Revision(len(m.logs[log]) + 1), Time: time.Now().UTC(), Fence: fence, Data: d})
	}
	close(m.grown)
	m.grown = make(chan struct{})
	return store.Revision(len(m.logs[log])), err
}

func (m *memory) Watch(ctx context.Context, log string, after store.Revision) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		for {
			m.mu.Lock()
			events, grown := slices.Clone(m.logs[log][after:]), m.grown
			m.mu.Unlock()
			for _, e := range events {
				after = e.Revision
				if !yield(e, nil) {
					return
				}
			}
			select {
			case <-grown:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (m *memory) Names(_ context.Context, prefix string) (names []string, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.logs {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (m *memory) Drop(_ context.Context, log string, at store.Revision) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if have := store.Revision(len(m.logs[log])); have != at {
		return &store.ConflictError{Log: log, Have: have}
	}
	delete(m.logs, log)
	return nil
}

type lease struct {
	m     *memory
	name  string
	by    string
	fence store.Fence
	until time.Time
}

func (m *memory) Held(_ context.Context, name string) (*store.HeldError, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.leases[name]; l != nil && time.Now().Before(l.until) {
		return &store.HeldError{Name: name, Holder: l.by, Until: l.until}, nil
	}
	return nil, nil
}

func (m *memory) Lease(_ context.Context, name, holder string, ttl time.Duration) (store.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := &lease{m: m, name: name, by: holder, fence: 1, until: time.Now().Add(ttl)}
	if old := m.leases[name]; old != nil {
		if time.Now().Before(old.until) {
			return nil, &store.HeldError{Name: name, Holder: old.by, Until: old.until}
		}
		l.fence = old.fence + 1
	}
	m.leases[name] = l
	return l, nil
}

func (l *lease) Fence() store.Fence { return l.fence }

func (l *lease) Renew(_ context.Context, ttl time.Duration) error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.m.renewal != nil {
		if err := l.m.renewal(l.name); err != nil {
			return err
		}
	}
	if now := l.m.leases[l.name]; now != l {
		return &store.HeldError{Name: l.name, Holder: now.by, Until: now.until}
	}
	l.until = time.Now().Add(ttl)
	return nil
}

func (l *lease) Release(context.Context) error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.m.leases[l.name] == l {
		l.until = time.Now()
	}
	return nil
}

// nodes is a fake fleet: it remembers runs as machines do, also those whose driver has died.
type nodes struct {
	mu      sync.Mutex
	runs    map[string]*Result // nil in work
	inWork  map[string]string
	applied map[string][]string // releases that a node got, in order
	hooks   map[string]int
	// result returns the outcome of a run; nil is done.
	result  func(r *Run) rollout.Outcome
	measure func(m *Measurement) gate.Outcome
	hook    func(h *Hook) error
	reason  string // of results
	takes   time.Duration
	errs    []error
}

func newNodes() *nodes {
	return &nodes{runs: make(map[string]*Result), inWork: make(map[string]string), applied: make(map[string][]string), hooks: make(map[string]int), takes: 3 * time.Second}
}

func (f *nodes) Apply(ctx context.Context, r *Run) Result {
	f.mu.Lock()
	if _, twice := f.runs[r.ID]; twice || f.inWork[r.Node.Name] != "" {
		f.errs = append(f.errs, fmt.Errorf("run %s of %s: begun twice, or the node has another one", r.ID, r.Node.Name))
	}
	f.runs[r.ID], f.inWork[r.Node.Name] = nil, r.ID
	f.mu.Unlock()
	r.Began()
	out := Result{Outcome: rollout.OutcomeDone, Reason: f.reason}
	if f.result != nil {
		out.Outcome = f.result(r)
	}
	select {
	case <-time.After(f.takes):
	case <-ctx.Done():
		out.Outcome = rollout.OutcomeCancelled
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.inWork, r.Node.Name)
	if out.Outcome == rollout.OutcomeDone || out.Outcome == rollout.OutcomeFailed {
		out.Changed, out.Changes = true, 1
	}
	if out.Outcome == rollout.OutcomeDone && !r.Noop {
		out.Catalog = r.Node.Catalog
		f.applied[r.Node.Name] = append(f.applied[r.Node.Name], r.Node.Release)
	}
	f.runs[r.ID] = &out
	return out
}

func (f *nodes) Ask(_ context.Context, r *Run) Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	out, known := f.runs[r.ID]
	switch {
	case !known:
		return Result{Outcome: rollout.OutcomeAbsent}
	case out == nil:
		return Result{Outcome: rollout.OutcomeLost, Reason: "it still runs"}
	}
	return *out
}

func (f *nodes) Hook(_ context.Context, h *Hook) error {
	if f.hook != nil {
		return f.hook(h)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hooks[h.Node.Name+" "+h.Spec.Command]++
	return nil
}

func (f *nodes) Measure(_ context.Context, m *Measurement) (gate.Outcome, any, string) {
	if f.measure != nil {
		return f.measure(m), nil, ""
	}
	return gate.Successful, int64(1), ""
}

// begin makes a rollout of n nodes that have release r1, to r2.
func begin(t *testing.T, m *memory, text string, n int) {
	t.Helper()
	s, err := strategy.Read([]byte(text), "strategy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec := rollout.Spec{Rollout: id, Release: "r2", Sequence: 2, Strategy: *s, Author: "ann"}
	for i := range n {
		spec.Nodes = append(spec.Nodes, rollout.Node{Name: fmt.Sprintf("n%02d", i), Release: "r2", Catalog: fmt.Sprintf("c2-%d", i), Previous: "r1", PreviousCatalog: fmt.Sprintf("c1-%d", i)})
	}
	created, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.In(m).Create(t.Context(), created, "ann"); err != nil {
		t.Fatal(err)
	}
}

const id = "20260901-100000-web"

var sessions struct {
	sync.Mutex
	n int
}

func drive(ctx context.Context, m store.Logs, f *nodes, change ...func(*Options)) (*End, error) {
	sessions.Lock()
	sessions.n++
	session := fmt.Sprintf("s%d", sessions.n)
	sessions.Unlock()
	o := Options{Logs: m, Rollout: id, Session: session, Holder: "ann@here " + session, User: "ann", Fleet: f, Checks: f, Pause: true}
	for _, c := range change {
		c(&o)
	}
	return Drive(ctx, o)
}

// ending is how a rollout has ended, for each node.
func ending(t *testing.T, m *memory) string {
	t.Helper()
	s, err := ledger.In(m).Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	st := s.Status()
	lines := []string{string(st.State)}
	for name, n := range st.Nodes {
		lines = append(lines, fmt.Sprintf("%s %s %s", name, n.State, n.Release))
	}
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n")
}

var errDisk = errors.New("no space left on device")

// logText returns the events of the rollout.
func logText(m *memory) string {
	var b strings.Builder
	for _, e := range m.logs[ledger.Log(id)] {
		b.Write(e.Data)
		b.WriteByte('\n')
	}
	return b.String()
}
