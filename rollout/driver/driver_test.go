package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bolt/rollout"
	"bolt/rollout/gate"
	"bolt/rollout/ledger"
	"bolt/store"
)

// TestCrash kills the driver at each append, before the events are recorded and after that. The next driver must bring
// the nodes to the same states, and must apply nothing twice.
func TestCrash(t *testing.T) {
	bad := func(names ...string) func(*Run) rollout.Outcome {
		return func(r *Run) rollout.Outcome {
			if r.Node.Release == "r2" && slices.Contains(names, r.Node.Name) {
				return rollout.OutcomeFailed
			}
			return rollout.OutcomeDone
		}
	}
	for name, c := range map[string]struct {
		text   string
		result func(*Run) rollout.Outcome
		end    rollout.Phase
	}{
		"waves":    {"strategy: {waves: [{count: 1}, {percent: 50, soak: 5m}, {rest: true}], concurrency: {max: 3}, node: {healthy_for: 10s}}", nil, rollout.Succeeded},
		"gates":    {"strategy: {waves: [{count: 1}, {rest: true}]}\ngates: [{name: a, at: [node, wave, before], command: x, count: 2}]\nhooks: {before_node: {command: drain}, after_node: {command: undrain}}", nil, rollout.Succeeded},
		"abort":    {"strategy: {waves: [{count: 1}, {rest: true}], concurrency: {max: 1}, on_failure: abort}\norder: [name]", bad("n02"), rollout.Failed},
		"governor": {"strategy: {waves: [{count: 2}, {rest: true}], concurrency: {max: 3, governor: {name: site, max: 2}}}", nil, rollout.Succeeded},
		"rollback": {"strategy: {waves: [{count: 1}, {rest: true}], concurrency: {max: 1}, on_failure: rollback}\norder: [name]", bad("n02"), rollout.RolledBack},
	} {
		t.Run(name, func(t *testing.T) {
			// one returns the end of the rollout and the number of appends, if the driver dies at an append.
			one := func(crash int, kept bool) (end string, appends int) {
				synctest.Test(t, func(t *testing.T) {
					m, f := newMemory(), newNodes()
					f.result = c.result
					begin(t, m, c.text, 5)
					first := m.appends
					m.before = func(n int) (error, bool) {
						if n == first+crash {
							return errDisk, kept
						}
						return nil, true
					}
					last, err := drive(t.Context(), m, f)
					if crash > 0 {
						if !errors.Is(err, errDisk) && last == nil {
							t.Fatalf("crash at append %d: %v", crash, err)
						}
						m.before = nil
						last, err = drive(t.Context(), m, f)
					}
					if err != nil || last.Phase != c.end {
						t.Fatalf("crash at append %d: %+v, %v", crash, last, err)
					}
					for node, got := range f.applied {
						if !slices.Equal(got, slices.Compact(slices.Clone(got))) {
							t.Errorf("crash at append %d: %s got %s", crash, node, got)
						}
					}
					if f.errs != nil {
						t.Errorf("crash at append %d: %v", crash, errors.Join(f.errs...))
					}
					end, appends = ending(t, m), m.appends-first
				})
				return end, appends
			}
			want, appends := one(0, false)
			for k := 1; k <= appends; k++ {
				for _, kept := range []bool{false, true} {
					if got, _ := one(k, kept); got != want {
						t.Fatalf("a crash at append %d (recorded: %v) changes the end\n got %s\nwant %s", k, kept, got, want)
					}
				}
			}
			t.Logf("%d appends", appends)
		})
	}
}

// TestAppends counts the appends for each node.
func TestAppends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := newMemory(), newNodes()
		begin(t, m, "strategy: {concurrency: {max: 1}}", 40)
		if end, err := drive(t.Context(), m, f); err != nil || end.Phase != rollout.Succeeded {
			t.Fatalf("%+v, %v", end, err)
		}
		if most := 2*40 + 5; m.appends > most {
			t.Errorf("%d appends", m.appends)
		}
	})
}

func TestTwoDrivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := newMemory(), newNodes()
		begin(t, m, "strategy: {concurrency: {max: 1}}", 4)
		done := make(chan error)
		go func() {
			_, err := drive(t.Context(), m, f)
			done <- err
		}()
		time.Sleep(time.Second)
		_, err := drive(t.Context(), m, f)
		if held, is := errors.AsType[*store.HeldError](err); !is || !strings.HasPrefix(held.Holder, "ann@here") {
			t.Errorf("the second driver: %v", err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if f.errs != nil {
			t.Error(f.errs)
		}
	})
}

// TestTakenOver lets another process take the lease over, as if this one had been suspended for longer than its lease.
func TestTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := newMemory(), newNodes()
		f.takes = 5 * time.Minute
		begin(t, m, "strategy: {concurrency: {max: 1}}", 2)
		done := make(chan error)
		go func() {
			_, err := drive(t.Context(), m, f)
			done <- err
		}()
		time.Sleep(time.Second)
		m.mu.Lock()
		m.leases[ledger.Log(id)].until = time.Now()
		m.mu.Unlock()
		l, err := m.Lease(t.Context(), ledger.Log(id), "bob", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		err = <-done
		if held, is := errors.AsType[*store.HeldError](err); !is || held.Holder != "bob" {
			t.Errorf("%v", err)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if end, err := drive(t.Context(), m, f); err != nil || end.Phase != rollout.Succeeded || f.errs != nil {
			t.Errorf("%+v, %v, %v", end, err, f.errs)
		}
	})
}

// TestCommands lets another process append commands while the driver runs.
func TestCommands(t *testing.T) {
	command := func(t *testing.T, m *memory, e rollout.Event) {
		t.Helper()
		if _, err := ledger.In(m).Command(t.Context(), id, func(s *rollout.State) (rollout.Event, error) {
			if a, is := e.(*rollout.Approved); is {
				a.Release, a.Strategy = s.Created().Release, s.Created().StrategyDigest
			}
			return e, nil
		}); err != nil {
			t.Error(err)
		}
	}
	t.Run("pause", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, f := newMemory(), newNodes()
			begin(t, m, "strategy: {concurrency: {max: 1}}", 3)
			go func() {
				time.Sleep(time.Second)
				command(t, m, &rollout.Paused{By: "bob", Reason: "lunch"})
			}()
			end, err := drive(t.Context(), m, f)
			if err != nil || end.Phase != rollout.PausedPhase || !strings.Contains(end.Reason, "lunch") || len(f.applied) != 1 {
				t.Fatalf("%+v, %v, %v", end, err, f.applied)
			}
			command(t, m, &rollout.Resumed{By: "bob"})
			if end, err = drive(t.Context(), m, f); err != nil || end.Phase != rollout.Succeeded {
				t.Fatalf("%+v, %v", end, err)
			}
		})
	})
	t.Run("abort", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, f := newMemory(), newNodes()
			f.takes = time.Hour
			begin(t, m, "strategy: {concurrency: {max: 2}, node: {timeout: 2h}}", 3)
			go func() {
				time.Sleep(time.Second)
				command(t, m, &rollout.AbortRequested{Mode: rollout.Cancel, By: "bob"})
			}()
			start := time.Now()
			end, err := drive(t.Context(), m, f)
			if err != nil || end.Phase != rollout.Aborted || time.Since(start) > time.Minute {
				t.Fatalf("%+v, %v after %v", end, err, time.Since(start))
			}
		})
	})
	t.Run("abort in a preview", func(t *testing.T) {
		for _, mode := range []rollout.AbortMode{rollout.Drain, rollout.Cancel} {
			synctest.Test(t, func(t *testing.T) {
				m, f := newMemory(), newNodes()
				f.takes = time.Hour
				begin(t, m, "strategy: {noop_first: {all: true}, concurrency: {max: 2}, node: {timeout: 2h}}", 3)
				go func() {
					time.Sleep(time.Second)
					command(t, m, &rollout.AbortRequested{Mode: mode, By: "bob"})
				}()
				start := time.Now()
				end, err := drive(t.Context(), m, f, func(o *Options) { o.Warn = func(_, text string) { t.Errorf("warning: %s", text) } })
				if err != nil || end.Phase != rollout.Aborted || time.Since(start) > time.Minute {
					t.Fatalf("%s: %+v, %v after %v", mode, end, err, time.Since(start))
				}
			})
		}
	})
	t.Run("approve", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, f := newMemory(), newNodes()
			begin(t, m, "strategy: {waves: [{count: 1}, {rest: true, approve: [bob]}]}", 3)
			end, err := drive(t.Context(), m, f)
			if err != nil || end.Phase != rollout.AwaitingApproval || len(f.applied) != 1 {
				t.Fatalf("%+v, %v", end, err)
			}
			go func() {
				time.Sleep(time.Minute)
				command(t, m, &rollout.Approved{By: "bob", Wave: 2})
			}()
			if end, err = drive(t.Context(), m, f, func(o *Options) { o.Wait = true }); err != nil || end.Phase != rollout.Succeeded {
				t.Fatalf("%+v, %v", end, err)
			}
		})
	})
}

// TestDiskFull lets each append fail from one on. Nothing is begun that is not recorded.
func TestDiskFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := newMemory(), newNodes()
		begin(t, m, "strategy: {concurrency: {max: 2}}", 6)
		m.before = func(n int) (error, bool) {
			if n > 3 {
				return errDisk, false
			}
			return nil, true
		}
		if _, err := drive(t.Context(), m, f); !errors.Is(err, errDisk) {
			t.Fatal(err)
		}
		recorded := 0
		for _, e := range m.logs[ledger.Log(id)] {
			if strings.Contains(string(e.Data), `"node_started"`) {
				recorded++
			}
		}
		if len(f.runs) != recorded {
			t.Errorf("%d runs, and %d are recorded", len(f.runs), recorded)
		}
		m.before = nil
		if end, err := drive(t.Context(), m, f); err != nil || end.Phase != rollout.Succeeded || len(f.runs) != 6 {
			t.Errorf("%+v, %v, %d runs", end, err, len(f.runs))
		}
	})
}

// TestStop ends the context of a driver.
func TestStop(t *testing.T) {
	for _, pause := range []bool{true, false} {
		t.Run(fmt.Sprint(pause), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, f := newMemory(), newNodes()
				begin(t, m, "strategy: {concurrency: {max: 1}}", 3)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				end, err := drive(ctx, m, f, func(o *Options) { o.Pause = pause })
				if err != nil || !end.Stopped || len(f.applied) != 1 || len(f.inWork) != 0 {
					t.Fatalf("%+v, %v, %v", end, err, f.applied)
				}
				if want := rollout.PausedPhase; pause && end.Phase != want || !pause && end.Phase == want {
					t.Errorf("the rollout is %s", end.Phase)
				}
				if pause {
					if end, err := drive(t.Context(), m, f); err != nil || end.Phase != rollout.PausedPhase || len(f.applied) != 1 {
						t.Errorf("a paused rollout goes on: %+v, %v", end, err)
					}
					return
				}
				if end, err := drive(t.Context(), m, f); err != nil || end.Phase != rollout.Succeeded {
					t.Errorf("%+v, %v", end, err)
				}
			})
		})
	}
}

// TestAdvance drives a rollout in pieces, as a timer does.
func TestAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := newMemory(), newNodes()
		begin(t, m, "strategy: {waves: [{count: 1, soak: 10m}, {rest: true}]}", 3)
		once := func(o *Options) { o.Once = true }
		end, err := drive(t.Context(), m, f, once)
		if err != nil || end.Phase != rollout.Soaking || time.Until(end.Next) < 9*time.Minute {
			t.Fatalf("%+v, %v", end, err)
		}
		before := m.appends
		if end, err = drive(t.Context(), m, f, once); err != nil || end.Phase != rollout.Soaking || len(f.applied) != 1 || m.appends != before {
			t.Fatalf("%+v, %v, %d appends", end, err, m.appends-before)
		}
		time.Sleep(11 * time.Minute)
		if end, err = drive(t.Context(), m, f, once); err != nil || end.Phase != rollout.Succeeded {
			t.Fatalf("%+v, %v", end, err)
		}
	})
}

// TestTimeout bounds a run that hangs.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := newMemory(), newNodes()
		f.takes = time.Hour
		begin(t, m, "strategy: {node: {timeout: 1m}}", 1)
		end, err := drive(t.Context(), m, f)
		if err != nil || end.Phase != rollout.PausedPhase {
			t.Fatalf("%+v, %v", end, err)
		}
		if got := ending(t, m); !strings.Contains(got, "n00 timeout") {
			t.Error(got)
		}
	})
}

// TestLate distinguishes a run that exceeded its time from one that a person has stopped.
func TestLate(t *testing.T) {
	for _, c := range []struct {
		cause     error
		got, want rollout.Outcome
	}{
		{errLate, rollout.OutcomeCancelled, rollout.OutcomeTimeout},
		{errLate, rollout.OutcomeLost, rollout.OutcomeTimeout},
		{errLate, rollout.OutcomeDone, rollout.OutcomeDone},
		{errLate, rollout.OutcomeAbsent, rollout.OutcomeAbsent},
		{errStop, rollout.OutcomeCancelled, rollout.OutcomeCancelled},
		{nil, rollout.OutcomeLost, rollout.OutcomeLost},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if c.cause != nil {
			cancel(c.cause)
		}
		if out := late(ctx, Result{Outcome: c.got, Changed: true}); out.Outcome != c.want || !out.Changed {
			t.Errorf("%v, %s: %+v", c.cause, c.got, out)
		}
		cancel(nil)
	}
}

// TestGates lets gates fail and stay without a result.
func TestGates(t *testing.T) {
	for outcome, want := range map[gate.Outcome]rollout.Phase{gate.Failed: rollout.RolledBack, gate.Error: rollout.PausedPhase, gate.Inconclusive: rollout.PausedPhase} {
		synctest.Test(t, func(t *testing.T) {
			m, f := newMemory(), newNodes()
			f.measure = func(*Measurement) gate.Outcome { return outcome }
			begin(t, m, "strategy: {waves: [{count: 1}, {rest: true}], on_failure: rollback}\ngates: [{name: a, at: [wave], command: x}]", 3)
			end, err := drive(t.Context(), m, f)
			if err != nil || end.Phase != want || len(f.applied) != 1 {
				t.Errorf("%s: %+v, %v, %v", outcome, end, err, f.applied)
			}
		})
	}
}

// TestPanics lets a hook and a gate panic. The rollout must go on and be recorded.
func TestPanics(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"hook": {"hooks: {before_node: {command: x}}\nstrategy: {failures: {count: 0}}", "the hook before_node failed: internal error: bad"},
		"gate": {"gates: [{name: a, at: [wave], command: x}]", "internal error: bad"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, f := newMemory(), newNodes()
			f.hook = func(*Hook) error { panic("bad") }
			f.measure = func(*Measurement) gate.Outcome { panic("bad") }
			begin(t, m, c.text, 1)
			end, err := drive(t.Context(), m, f)
			if err != nil || end.Phase != rollout.PausedPhase || !strings.Contains(logText(m), c.want) {
				t.Errorf("%s: %+v, %v\n%s", name, end, err, logText(m))
			}
		})
	}
}

// TestLongReason bounds the text of a node in the log.
func TestLongReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := newMemory(), newNodes()
		f.reason = strings.Repeat("long\x1b[2J ", 1<<20)
		f.result = func(*Run) rollout.Outcome { return rollout.OutcomeFailed }
		begin(t, m, "strategy: {failures: {count: 0}}", 1)
		end, err := drive(t.Context(), m, f)
		if got := logText(m); err != nil || end.Phase != rollout.PausedPhase || len(got) > 32<<10 || strings.Contains(got, `\u001b`) {
			t.Errorf("%+v, %v, %d bytes in the log", end, err, len(got))
		}
	})
}
