package reach

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bolt/apply/fleet"
	"bolt/apply/frame"
	"bolt/apply/remote/helpertest"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/rollout"
	"bolt/rollout/driver"
	"bolt/run"
	"bolt/transport"
	"bolt/transport/all"
)

// A machine answers questions about a run.
type machine struct {
	states []frame.State // of the next answers; the last one stays. "" is no answer
	asked  []bool        // whether the question was to stop the run
	last   time.Time     // of the last question
}

func (m *machine) Dial(context.Context, transport.Dest) (transport.Conn, error) { return m, nil }

func (m *machine) Run(_ context.Context, c *transport.Cmd) (transport.Status, error) {
	m.asked, m.last = append(m.asked, slices.Contains(c.Argv, "--stop")), time.Now()
	state := m.states[0]
	m.states = m.states[min(1, len(m.states)-1):]
	if state == "" {
		return transport.Status{}, &transport.Error{Class: transport.ClassConnect, Msg: "no route"}
	}
	fate := &frame.Fate{State: state}
	if state == frame.StateEnded {
		fate.Done = &frame.Done{Stopped: frame.StopAsked, Counts: frame.Counts{Changed: 1, Skipped: 2}}
	}
	w := frame.NewWriter(c.Stdout)
	return transport.Status{}, errors.Join(w.Greet("x"), w.Message(frame.TypeHello, &frame.Hello{Protocol: frame.Protocol, Run: "x"}), w.Message(frame.TypeFate, fate))
}

func (m *machine) Put(context.Context, transport.Tree, string, transport.FileOptions) error {
	return nil
}
func (m *machine) Get(context.Context, string, string, transport.FileOptions) error { return nil }
func (m *machine) Close() error                                                     { return nil }

// TestStop ends runs of earlier drivers whose context ends.
func TestStop(t *testing.T) {
	for name, c := range map[string]struct {
		states []frame.State
		want   driver.Result
		stops  int
		within time.Duration
	}{
		"at once": {[]frame.State{"running", "ended"}, driver.Result{Outcome: rollout.OutcomeCancelled, Changed: true, Changes: 1,
			Reason: "the run was stopped there: 1 changed, 0 unchanged, 0 failed, 2 skipped"}, 1, time.Minute},
		"after some time": {[]frame.State{"running", "running", "running", "ended"}, driver.Result{Outcome: rollout.OutcomeCancelled, Changed: true, Changes: 1,
			Reason: "the run was stopped there: 1 changed, 0 unchanged, 0 failed, 2 skipped"}, 3, time.Minute},
		"too long": {[]frame.State{"running"}, driver.Result{Outcome: rollout.OutcomeLost, Changed: true,
			Reason: "The run still goes on there, and ends after the resource in work"}, 30, farewell},
		"then silent": {[]frame.State{"running", "running", ""}, driver.Result{Outcome: rollout.OutcomeLost, Changed: true,
			Reason: "The run still goes on there, and ends after the resource in work"}, 30, farewell},
		"never begun": {[]frame.State{"running", "unknown"}, driver.Result{Outcome: rollout.OutcomeAbsent}, 1, time.Minute},
		"interrupted": {[]frame.State{"running", "interrupted"}, driver.Result{Outcome: rollout.OutcomeLost, Changed: true, Reason: "the run was interrupted there"}, 1, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			inv, err := inventory.New(t.Context(), ordered.Of("targets", []any{"n"}), inventory.Options{Transports: all.Tables(all.List())})
			if err != nil {
				t.Fatal(err)
			}
			targets, err := inv.Targets(t.Context(), []string{"n"})
			if err != nil {
				t.Fatal(err)
			}
			m := &machine{states: c.states}
			f := New(Options{
				Runner: run.New(m, run.Options{}), Delivery: fleet.Delivery{Helpers: helpertest.Of(t, map[string][]byte{"linux-amd64": nil})},
				Target: func(context.Context, string) (*inventory.Target, error) { return targets[0], nil },
			})
			ctx, cancel := context.WithCancel(t.Context())
			result := make(chan driver.Result)
			go func() {
				result <- f.Ask(ctx, &driver.Run{Rollout: &rollout.Created{}, Node: rollout.Node{Name: "n"}, ID: "x"})
			}()
			synctest.Wait()
			cancel()
			begin := time.Now()
			got := <-result
			stops := m.asked[1:]
			if got != c.want || m.asked[0] || len(stops) < c.stops || slices.Contains(stops, false) || m.last.Sub(begin) > c.within {
				t.Errorf("%s: %+v after %d requests, %v", name, got, len(stops), m.last.Sub(begin))
			}
			if strings.Contains(got.Reason, "no route") {
				t.Errorf("%s: %s", name, got.Reason)
			}
		})
	}
}

// TestOutlast checks when the context of a run ends that is stopped.
func TestOutlast(t *testing.T) {
	silent := errors.New("no answer")
	for name, c := range map[string]struct {
		stop error
		want time.Duration
	}{"the machine has the request": {nil, linger}, "the machine does not answer": {silent, 0}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			requests := 0
			longer, end := outlast(ctx, func(context.Context) error {
				requests++
				return c.stop
			})
			defer end()
			synctest.Wait()
			if requests != 0 || longer.Err() != nil {
				t.Errorf("%s: stopped too early", name)
			}
			cancel()
			begin := time.Now()
			<-longer.Done()
			if took := time.Since(begin); took != c.want || requests != 1 {
				t.Errorf("%s: it ended after %v and %d requests", name, took, requests)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // a run that has ended is not stopped
		ctx, cancel := context.WithCancel(t.Context())
		_, end := outlast(ctx, func(context.Context) error {
			t.Error("it was stopped")
			return nil
		})
		end()
		cancel()
		synctest.Wait()
	})
}
