package rollout

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"bolt/rollout/strategy"
)

func read(t testing.TB, text string) strategy.Strategy {
	t.Helper()
	s, err := strategy.Read([]byte(text), "strategy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return *s
}

func create(t testing.TB, st strategy.Strategy, list []Node) *Created {
	t.Helper()
	st.Targets.Empty = strategy.SucceedEmpty
	c, err := New(Spec{Rollout: "r1", Release: "new", Strategy: st, Nodes: list, Author: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// random returns a random strategy for n nodes.
func random(rng *rand.Rand, n int) string {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	var waves string
	for range rng.IntN(4) {
		waves += pick("{count: 1, soak: 30m}", "{count: 3}", "{percent: 10}", "{percent: 0.5, soak: 1h}", "{group: canaries}", "{percent: 33, approve: [ann, bob]}", "{where: 'facts.tier == \"low\"'}") + ", "
	}
	waves += pick("{rest: true}", "{rest: true, soak: 10m}", "{ramp: {start: 1, factor: 2, max: 50}}", "{ramp: {start: 5, factor: 1.5}}", fmt.Sprintf("{ramp: {start: %d, factor: 3}}", 1+n/10))
	rules := "waves: [" + waves + "]"
	rules += ", concurrency: " + pick("{max: 1}", "{max: 10}", "{max: 50}", "{max: 50, per: {facts.rack: 2}}", "{max: 10, governor: {name: site-wide, max: 7}}", "{max: 20, per: {facts.rack: 5, facts.zone: 9}}")
	rules += ", failures: " + pick("{count: 0}", "{count: 3, strict: false}", "{count: 5, percent: 5, consecutive: 3}", "{percent: 10, scope: wave}", "{percent: 20, scope: rollout, strict: false}", "{consecutive: 2}", "{}")
	rules += ", on_failure: " + pick("pause", "abort", "rollback")
	rules += ", node: " + pick("{}", "{retries: 2, retry_on: [connect, lost, timeout], timeout: 5m}", "{healthy_for: 60s}", "{retries: 1, healthy_for: 5s, retry_on: [gate, failed]}")
	if rng.IntN(3) == 0 {
		rules += ", progress_deadline: " + pick("1m", "30m")
	}
	if rng.IntN(3) == 0 {
		rules += ", max_unavailable: " + pick("5%", "20", "1")
	}
	if rng.IntN(6) == 0 {
		rules += ", noop_first: {all: true}"
	}
	if rng.IntN(4) == 0 {
		rules += ", counts_as_failure: [failed, gate]"
	}
	text := "strategy: {" + rules + "}\n"
	text += "order: " + pick("[name]", "[unhealthy_first, stable_hash]", "[random(7)]", "[fact(zone), name]") + "\n"
	if rng.IntN(3) == 0 {
		text += "strata: facts.zone\n"
	}
	switch rng.IntN(4) {
	case 0:
		text += "gates: [{name: a, at: [node], command: x, count: 2, interval: 3s}, {name: b, at: [wave, before], command: x}]\n"
	case 1:
		text += "gates: [{name: a, at: [background], command: x, failure_limit: 50}, {name: b, at: [node, wave], command: x, error_limit: 2, failure_limit: 1}]\n"
	}
	if rng.IntN(3) == 0 {
		text += "windows: [{days: mon-thu, from: 09:00, to: 16:00, tz: Europe/Berlin, at_close: " + pick("pause", "finish_wave") + "}]\n"
	}
	if rng.IntN(3) == 0 {
		text += "hooks: {before_node: lb::drain, after_node: lb::undrain}\n"
	}
	return text
}

func membership(rng *rand.Rand, st *strategy.Strategy, list []Node) {
	for i := range list {
		for w := range st.Rules.Waves {
			if rng.IntN(4) == 0 {
				list[i].Steps = append(list[i].Steps, w+1)
			}
		}
	}
}

// simulate drives a random strategy over n nodes.
func simulate(t testing.TB, seed uint64, n int) *sim {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	text := random(rng, n)
	st := read(t, text)
	list := nodes(n, rng)
	membership(rng, &st, list)
	f := newFleet(seed, rates{})
	if rng.IntN(4) > 0 {
		f.rates = rates{failed: 0.02, unreachable: 0.02, lost: 0.01, timeout: 0.005, drifted: 0.003, slow: 0.05, gateFailed: 0.01, gateError: 0.01, hookFailed: 0.01}
	}
	crashes := n <= 1000 && rng.IntN(3) == 0
	s := newSim(t, create(t, st, list), f, crashes)
	if crashes {
		s.often = 0.004
	}
	if rng.IntN(4) == 0 {
		s.jumps = 0.02
	}
	if rng.IntN(3) == 0 && n > 0 {
		s.meddle = 0.02
	}
	s.resumes = rng.IntN(30)
	s.drive()
	if err := s.model.last(s.state); err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, text)
	}
	for name, k := range f.done {
		if k != 1 && s.model.ended[name] == NodeDone && len(st.GatesAt("node")) == 0 {
			t.Fatalf("seed %d: %s was changed %d times", seed, name, k)
		}
	}
	return s
}

// TestSimulation drives random strategies over fleets with failures. All rules are checked after
// each event. BOLT_SIMULATE=1000 drives 1,000 seeds over 10,000 nodes.
func TestSimulation(t *testing.T) {
	seeds, n := 100, 120
	if text := os.Getenv("BOLT_SIMULATE"); text != "" {
		var err error
		if seeds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		n = 10_000
	}
	ends := make(map[Phase]int)
	for seed := range seeds {
		size := n
		if seed%5 == 0 && n < 1000 {
			size = seed % 7
		}
		s := simulate(t, uint64(seed), size)
		phase, _ := s.state.Phase()
		ends[phase]++
		if n >= 10_000 && seed%50 == 49 {
			t.Logf("%d rollouts ended as %v", seed+1, ends)
		}
	}
	t.Logf("%d rollouts ended as %v", seeds, ends)
	for _, p := range []Phase{Succeeded, Failed, Aborted, RolledBack} {
		if ends[p] == 0 && seeds >= 100 {
			t.Errorf("no rollout is %s", p)
		}
	}
}

// TestWaves: the waves of each strategy are a partition of the nodes, in the order of
// the strategy, and the same again.
func TestWaves(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 1000} {
		for seed := range uint64(40) {
			rng := rand.New(rand.NewPCG(seed, 2))
			text := random(rng, n)
			st := read(t, text)
			list := nodes(n, rng)
			membership(rng, &st, list)
			c := create(t, st, list)
			again := create(t, st, shuffled(rng, list))
			seen := make(map[int]bool)
			place := make(map[int]int)
			for k, i := range ordered(&st, c.Nodes) {
				place[i] = k
			}
			for w, wave := range c.Waves {
				if len(wave.Nodes) == 0 {
					t.Fatalf("wave %d is empty\n%s", w+1, text)
				}
				for k, i := range wave.Nodes {
					if seen[i] {
						t.Fatalf("node %d is in two waves\n%s", i, text)
					}
					seen[i] = true
					if k > 0 && place[wave.Nodes[k-1]] > place[i] {
						t.Fatalf("wave %d is not in order\n%s", w+1, text)
					}
					if st.Strata != "" && c.Nodes[i].Facts[st.Strata] != wave.Stratum {
						t.Fatalf("wave %d has two strata\n%s", w+1, text)
					}
				}
				if !slices.Equal(wave.Nodes, again.Waves[w].Nodes) || wave.Name != again.Waves[w].Name {
					t.Fatalf("wave %d is another one the second time\n%s", w+1, text)
				}
			}
			if len(seen) != n {
				t.Fatalf("%d of %d nodes are in a wave\n%s", len(seen), n, text)
			}
		}
	}
}

func shuffled(rng *rand.Rand, list []Node) []Node {
	list = slices.Clone(list)
	rng.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	return list
}

func TestOrder(t *testing.T) {
	list := []Node{
		{Name: "a", Facts: map[strategy.Fact]string{"facts.zone": "2"}},
		{Name: "b", Facts: map[strategy.Fact]string{"facts.zone": "1"}, Unhealthy: true},
		{Name: "c", Facts: map[strategy.Fact]string{"facts.zone": "2"}, Unhealthy: true},
		{Name: "d"},
	}
	for _, tt := range []struct{ order, want string }{
		{"name", "abcd"},
		{"unhealthy_first", "bcad"},
		{"fact(zone)", "dbac"},
		{"fact(zone), unhealthy_first", "dbca"},
		{"stable_hash", "dcba"},
		{"random(1)", "cabd"},
		{"random(2)", "adbc"},
	} {
		c := create(t, read(t, "order: ["+tt.order+"]"), shuffled(rand.New(rand.NewPCG(1, 1)), list))
		got := ""
		for _, i := range c.Waves[0].Nodes {
			got += c.Nodes[i].Name
		}
		if got != tt.want {
			t.Errorf("%s: the order is %s, want %s", tt.order, got, tt.want)
		}
	}
}

func TestWaveSizes(t *testing.T) {
	for _, tt := range []struct {
		n     int
		waves string
		want  []int
	}{
		{0, "{count: 1}, {percent: 10}, {rest: true}", nil},
		{1, "{percent: 10}, {rest: true}", []int{1}},
		{2, "{percent: 10}, {percent: 10}, {rest: true}", []int{1, 1}},
		{3, "{count: 1}, {percent: 10}, {rest: true}", []int{1, 1, 1}},
		{1000, "{count: 1}, {percent: 10}, {percent: 0.15}, {rest: true}", []int{1, 100, 2, 897}},
		{100, "{ramp: {start: 1, factor: 2, max: 20}}", []int{1, 2, 4, 8, 16, 20, 20, 20, 9}},
		{10, "{ramp: {start: 2, factor: 1.5}}", []int{2, 3, 5}},
	} {
		c := create(t, read(t, "strategy: {waves: ["+tt.waves+"]}"), nodes(tt.n, rand.New(rand.NewPCG(1, 1))))
		var sizes []int
		for _, w := range c.Waves {
			sizes = append(sizes, len(w.Nodes))
		}
		if !slices.Equal(sizes, tt.want) {
			t.Errorf("%d nodes, %s: the waves have %v nodes, want %v", tt.n, tt.waves, sizes, tt.want)
		}
	}
}

// BenchmarkRollout10000 measures a rollout of 10,000 nodes.
func BenchmarkRollout10000(b *testing.B) {
	for range b.N {
		rng := rand.New(rand.NewPCG(3, 3))
		st := read(b, "strategy: {waves: [{count: 1}, {percent: 10}, {rest: true}], concurrency: {max: 200, per: {facts.rack: 10}}, failures: {percent: 20}, node: {healthy_for: 10s}}\ngates: [{name: a, at: [node, wave], command: x}]\n")
		list := nodes(10_000, rng)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		begin := time.Now()
		f := newFleet(3, rates{failed: 0.02, lost: 0.01, slow: 0.05})
		c := create(b, st, list)
		s := newSim(b, c, f, false)
		s.model.c.Strategy.Rules.Parallel.Per = nil // the check of the model is quadratic
		s.drive()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(time.Since(begin).Seconds(), "s/rollout")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
		b.ReportMetric(float64(s.events), "events")
		b.ReportMetric(float64(s.appends), "appends")
		runtime.KeepAlive(s)
	}
}

// BenchmarkLoad10000 reads the log of a rollout of 10,000 nodes, and makes its status.
func BenchmarkLoad10000(b *testing.B) {
	st := read(b, "strategy: {waves: [{count: 1}, {percent: 10}, {rest: true}], concurrency: {max: 200}, failures: {percent: 20}}")
	s := newSim(b, create(b, st, nodes(10_000, rand.New(rand.NewPCG(3, 3)))), newFleet(3, rates{failed: 0.02}), true)
	s.drive()
	size := 0
	for _, data := range s.log {
		size += len(data)
	}
	b.ReportMetric(float64(len(s.log)), "events")
	b.ReportMetric(float64(size)/1e6, "MB")
	for b.Loop() {
		s.reload()
		if len(s.state.Status().Nodes) != 10_000 {
			b.Fatal("nodes are missing")
		}
	}
}
