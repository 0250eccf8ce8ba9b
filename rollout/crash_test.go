package rollout

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestCrash kills the driver at each append, once before the append and once after it. The next
// driver must bring the nodes to the same states, and must change no node twice.
func TestCrash(t *testing.T) {
	for name, tt := range map[string]struct {
		text  string
		n     int
		rates rates
		end   Phase
	}{
		"parallel": {
			"strategy: {waves: [{count: 1}, {percent: 30, soak: 5m}, {rest: true}], concurrency: {max: 5}, failures: {percent: 100}, node: {retries: 3, retry_on: [unreachable, lost, failed], healthy_for: 20s}}",
			20, rates{failed: 0.2, unreachable: 0.2, lost: 0.1, slow: 0.1}, Succeeded,
		},
		"gates and hooks": {
			"strategy: {waves: [{count: 2, approve: [ann]}, {rest: true}], concurrency: {max: 4}, failures: {percent: 100}}\n" +
				"gates: [{name: a, at: [node, wave, before], command: x, count: 2}, {name: b, at: [background], command: x, interval: 1m}]\n" +
				"hooks: {before_node: a, after_node: b}",
			12, rates{failed: 0.2}, Succeeded,
		},
		"abort": {
			"strategy: {waves: [{count: 2}, {rest: true}], concurrency: {max: 1}, failures: {count: 1}, on_failure: abort}\norder: [name]\nhooks: {before_node: a, after_node: b}",
			12, rates{failed: 0.4}, Failed,
		},
		"rollback": {
			"strategy: {waves: [{count: 4}, {rest: true}], concurrency: {max: 1}, failures: {count: 1}, on_failure: rollback}\norder: [name]",
			12, rates{failed: 0.3}, RolledBack,
		},
		"preview": {
			"strategy: {noop_first: {all: true}, concurrency: {max: 3}, failures: {percent: 100}}\nwindows: [{days: tue, from: 13:00, to: 13:01, at_close: pause}]",
			8, rates{}, Succeeded,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(crashAt int, early bool) *sim {
				rng := rand.New(rand.NewPCG(5, 5))
				s := newSim(t, create(t, read(t, tt.text), nodes(tt.n, rng)), newFleet(5, tt.rates), true)
				s.crashAt, s.early = crashAt, early
				s.drive()
				if err := s.model.last(s.state); err != nil {
					t.Fatalf("crash at %d: %v", crashAt, err)
				}
				for name, k := range s.fleet.done {
					if k > 1 {
						t.Fatalf("crash at %d: %s was changed %d times", crashAt, name, k)
					}
				}
				return s
			}
			calm := run(0, false)
			if phase, reason := calm.state.Phase(); phase != tt.end {
				t.Fatalf("the rollout is %s: %s", phase, reason)
			}
			want := ending(calm)
			for k := 2; k <= calm.appends; k++ {
				for _, early := range []bool{false, true} {
					s := run(k, early)
					if s.crashed != 1 {
						t.Fatalf("%d crashes at append %d of %d", s.crashed, k, calm.appends)
					}
					if got := ending(s); got != want {
						t.Fatalf("a crash at append %d (early %v) changes the end\n got %s\nwant %s", k, early, got, want)
					}
				}
			}
			t.Logf("%d appends, %d events", calm.appends, calm.events)
		})
	}
}

// ending is how a rollout has ended, for each node.
func ending(s *sim) string {
	phase, _ := s.state.Phase()
	text := string(phase)
	for i := range s.state.nodes {
		n := &s.state.nodes[i]
		text += fmt.Sprintf(" %s:%s:%s:%v", s.state.created.Nodes[i].Name, n.state, n.outcome, n.changed)
	}
	return text
}
