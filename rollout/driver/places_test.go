package driver

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bolt/rollout"
	"bolt/rollout/ledger"
	"bolt/rollout/strategy"
)

// counted counts the runs of several rollouts that are in work at the same time.
type counted struct {
	*nodes
	mu        *sync.Mutex
	now, most *int
}

func (c counted) Apply(ctx context.Context, r *Run) Result {
	c.mu.Lock()
	*c.now++
	*c.most = max(*c.most, *c.now)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		*c.now--
		c.mu.Unlock()
	}()
	return c.nodes.Apply(ctx, r)
}

// governed makes a rollout of 12 nodes.
func governed(t *testing.T, m *memory, name, text string) string {
	t.Helper()
	s, err := strategy.Read([]byte(text), "strategy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec := rollout.Spec{Rollout: "20260901-100000-" + name, Release: "r2", Sequence: 2, Strategy: *s}
	for i := range 12 {
		spec.Nodes = append(spec.Nodes, rollout.Node{Name: fmt.Sprintf("%s%02d", name, i), Release: "r2", Catalog: "c2", Previous: "r1", PreviousCatalog: "c1"})
	}
	c, err := rollout.New(spec)
	if err == nil {
		err = ledger.In(m).Create(t.Context(), c, "ann")
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.Rollout
}

const governedText = "strategy: {waves: [{count: 4, soak: 1m}, {rest: true}], concurrency: {max: 3, governor: {name: site, max: 4}}, progress_deadline: 30s}"

// TestGovernor drives three rollouts with one governor. Their runs together never exceed it, and each rollout gets to its end.
// One of them is stopped and resumed in the middle.
func TestGovernor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		var mu sync.Mutex
		var now, most int
		var wg sync.WaitGroup
		for i, name := range []string{"web", "db", "mail"} {
			id := governed(t, m, name, strings.Replace(governedText, "max: 3,", fmt.Sprintf("max: %d,", i+2), 1))
			f := counted{newNodes(), &mu, &now, &most}
			f.takes = time.Duration(i+3) * time.Second
			wg.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				change := func(o *Options) { o.Rollout, o.Fleet, o.Pause = id, f, false }
				if i == 0 {
					time.AfterFunc(70*time.Second, cancel)
				}
				end, err := drive(ctx, m, f.nodes, change)
				if i == 0 && err == nil && end.Stopped {
					end, err = drive(t.Context(), m, f.nodes, change)
				}
				if err != nil || end.Phase != rollout.Succeeded {
					t.Errorf("%s: %+v, %v", name, end, err)
				}
			})
		}
		wg.Wait()
		if most != 4 {
			t.Errorf("%d runs at the same time", most)
		}
		for name, l := range m.leases {
			if time.Now().Before(l.until) {
				t.Errorf("%s is still leased by %s", name, l.by)
			}
		}
	})
}

// TestGovernorKilled lets a rollout wait for the places of a driver that was killed. The leases end after their time.
func TestGovernorKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := newMemory(), newNodes()
		id := governed(t, m, "web", governedText)
		for i := range 4 {
			if _, err := m.Lease(t.Context(), fmt.Sprintf("governors/site/%d", i+1), "killed", leaseTime); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		change := func(o *Options) { o.Rollout = id }
		// A timer does what is due, and does not wait for places.
		end, err := drive(t.Context(), m, f, change, func(o *Options) { o.Once = true })
		if err != nil || end.Phase != rollout.Running || !strings.HasSuffix(end.Reason, "waits for a place of the governor site") || time.Since(begun) > time.Second {
			t.Errorf("%+v, %v after %v", end, err, time.Since(begun))
		}
		done := make(chan error)
		go func() {
			end, err := drive(t.Context(), m, f, change)
			if err == nil && end.Phase != rollout.Succeeded {
				err = fmt.Errorf("%+v", end)
			}
			done <- err
		}()
		time.Sleep(leaseTime - time.Second) // longer than the progress deadline
		s, err := ledger.In(m).Load(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if phase, reason := s.Phase(); phase != rollout.Running || !strings.Contains(reason, "waits for a place") {
			t.Errorf("%s: %s", phase, reason)
		}
		if err := <-done; err != nil || len(f.runs) != 12 || time.Since(begun) < leaseTime {
			t.Errorf("%d runs after %v, %v", len(f.runs), time.Since(begun), err)
		}
	})
}

// TestGovernorLost lets another driver take places whose leases have ended, as after a suspend of the machine.
func TestGovernorLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := newMemory(), newNodes()
		id := governed(t, m, "web", strings.TrimSuffix(governedText, ", progress_deadline: 30s}")+"}")
		f.takes = 2 * leaseTime
		var taken atomic.Bool
		go func() {
			time.Sleep(10 * time.Second)
			for i := range 2 {
				name := fmt.Sprintf("governors/site/%d", i+1)
				m.mu.Lock()
				m.leases[name].until = time.Now()
				m.mu.Unlock()
				if _, err := m.Lease(t.Context(), name, "other", time.Hour); err != nil {
					t.Error(err)
				}
			}
			taken.Store(true)
		}()
		end, err := drive(t.Context(), m, f, func(o *Options) { o.Rollout = id }, func(o *Options) {
			o.Events = func(_ string, records []rollout.Record) {
				f.mu.Lock()
				defer f.mu.Unlock()
				for _, r := range records {
					if _, is := r.Event.(*rollout.NodeStarted); is && taken.Load() && len(f.inWork) >= 2 {
						t.Errorf("a run starts beside %d others", len(f.inWork))
					}
				}
			}
		})
		if err != nil || end.Phase != rollout.Succeeded || !taken.Load() {
			t.Errorf("%+v, %v", end, err)
		}
	})
}

// TestGovernorNotRenewed lets another driver take places whose leases have ended, because they could not be renewed.
func TestGovernorNotRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := newMemory(), newNodes()
		id := governed(t, m, "web", strings.TrimSuffix(governedText, ", progress_deadline: 30s}")+"}")
		f.takes = 2 * leaseTime
		m.renewal = func(name string) error {
			if strings.HasPrefix(name, "governors/") {
				return errDisk
			}
			return nil
		}
		var taken atomic.Bool
		go func() {
			time.Sleep(leaseTime + time.Second)
			for i := range 3 {
				if _, err := m.Lease(t.Context(), fmt.Sprintf("governors/site/%d", i+1), "other", time.Hour); err != nil {
					t.Error(err)
				}
			}
			taken.Store(true)
		}()
		inWork := 0
		end, err := drive(t.Context(), m, f, func(o *Options) { o.Rollout = id }, func(o *Options) {
			o.Events = func(_ string, records []rollout.Record) {
				for _, r := range records {
					switch r.Event.(type) {
					case *rollout.NodeStarted:
						if inWork++; taken.Load() && inWork > 1 {
							t.Errorf("%d runs are in work", inWork)
						}
					case *rollout.NodeEnded:
						inWork--
					}
				}
			}
		})
		if err != nil || end.Phase != rollout.Succeeded || !taken.Load() {
			t.Errorf("%+v, %v", end, err)
		}
	})
}
