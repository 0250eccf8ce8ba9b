package choose

import (
	"fmt"
	"slices"
	"testing"

	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/transport/all"
)

// TestSampleDependsOnSeedAndNames checks that a sample depends on the seed and
// the names, and not on the order of the targets.
func TestSampleDependsOnSeedAndNames(t *testing.T) {
	var list []any
	for i := range 200 {
		list = append(list, fmt.Sprintf("web%d", i))
	}
	inv, err := inventory.New(t.Context(), ordered.Of("targets", list), inventory.Options{Transports: all.Tables(all.List())})
	if err != nil {
		t.Fatal(err)
	}
	names := func(targets []*inventory.Target) []string {
		var names []string
		for _, t := range targets {
			names = append(names, t.Name)
		}
		slices.Sort(names)
		return names
	}
	all := inv.AllTargets()
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	small, large := names(sample(all, 10, "x")), names(sample(all, 20, "x"))
	if got := names(sample(backwards, 10, "x")); !slices.Equal(got, small) {
		t.Errorf("of another order: %q, want %q", got, small)
	}
	for _, n := range small {
		if !slices.Contains(large, n) {
			t.Errorf("%s is in the smaller sample and not in the larger one", n)
		}
	}
	fewer := slices.DeleteFunc(slices.Clone(all), func(t *inventory.Target) bool { return t.Name == small[3] })
	common := 0
	for _, n := range names(sample(fewer, 10, "x")) {
		if slices.Contains(small, n) {
			common++
		}
	}
	if common != 9 {
		t.Errorf("without one of 10 targets of a sample %d of them are in it, want the other 9", common)
	}
	// Every target has its turn: over many seeds none is left out or preferred.
	count := make(map[string]int)
	for seed := range 500 {
		got := sample(all, 20, fmt.Sprint(seed))
		if !slices.IsSortedFunc(got, func(a, b *inventory.Target) int { return slices.Index(all, a) - slices.Index(all, b) }) {
			t.Fatal("a sample is not in the order of the targets")
		}
		for _, target := range got {
			count[target.Name]++
		}
	}
	for _, target := range all {
		if n := count[target.Name]; n < 20 || n > 90 { // 50 are expected, and 7 is the deviation
			t.Errorf("%s was chosen %d times", target.Name, n)
		}
	}
}

func TestLimitSize(t *testing.T) {
	for _, tt := range []struct {
		limit  string
		of     int
		leaves int
	}{
		{"5", 10, 5}, {"50", 10, 10}, {"10%", 10, 1}, {"11%", 10, 2}, {"1%", 3, 1}, {"1%", 0, 0}, {"100%", 7, 7}, {"33%", 3, 1}, {"34%", 3, 2},
	} {
		l, ok := ParseLimit(tt.limit)
		if !ok {
			t.Fatal(tt.limit)
		}
		if got := l.of(tt.of); got != tt.leaves {
			t.Errorf("%s of %d: %d, want %d", tt.limit, tt.of, got, tt.leaves)
		}
	}
}

func TestParseLimitRefuses(t *testing.T) {
	for _, text := range []string{"", "0", "0%", "101%", "-1", "x", "5%%"} {
		if l, ok := ParseLimit(text); ok {
			t.Errorf("%q is %v", text, l)
		}
	}
}
