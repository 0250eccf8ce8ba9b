package audit

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// graph returns bodies with one part each. next returns the numbers of the bodies that a body uses.
func graph(n int, next func(i int) []int) []*body {
	list := make([]*body, n)
	for i := range list {
		list[i] = &body{key: key{sort: sortClass}, parts: []found{{part: &Part{}}}}
	}
	for i, b := range list {
		for _, d := range next(i) {
			b.deps = append(b.deps, list[d])
		}
	}
	return list
}

// A body has the parts of all bodies that can be reached from it, whatever the cycles.
func TestReach(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 1 + rnd.IntN(70)
		most := 1 + rnd.IntN(3)
		list := graph(n, func(int) (next []int) {
			for range rnd.IntN(most + 1) {
				next = append(next, rnd.IntN(n))
			}
			return next
		})
		r := newReach()
		for _, b := range list {
			want := map[*body]bool{b: true}
			for queue := []*body{b}; len(queue) > 0; queue = queue[1:] {
				for _, d := range queue[0].deps {
					if !want[d] {
						want[d] = true
						queue = append(queue, d)
					}
				}
			}
			got := make(map[*Part]bool)
			for n := range r.of(b).all() {
				got[r.parts[n]] = true
			}
			parts := make(map[*Part]bool)
			for b := range want {
				parts[b.parts[0].part] = true
			}
			if !maps.Equal(got, parts) {
				t.Fatalf("%d parts, want %d", len(got), len(parts))
			}
		}
	}
}

// The bodies of a large cycle share one set, and a report reads each body once.
func TestReachOfLargeCycle(t *testing.T) {
	const n = 100_000
	list := graph(n, func(i int) []int { return []int{(i + 1) % n, (i + 7) % n} })
	one := &Part{Need: Impossible}
	for _, b := range list {
		b.parts[0].part = one
	}
	r := &Result{order: list}
	report := r.Report()
	if len(report.Units) != n || report.Reasons[0].Units != n || !slices.Equal(report.Units[n-1].Reasons, []int{0}) {
		t.Error(len(report.Units), report.Reasons[0].Units)
	}
}
