package nodeset

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func seq(format string, from, to int) []string {
	var names []string
	for i := from; i <= to; i++ {
		names = append(names, fmt.Sprintf(format, i))
	}
	return names
}

func TestFold(t *testing.T) {
	tests := []struct {
		name  string
		names []string
		want  string
	}{
		{"none", nil, ""},
		{"one", []string{"web01"}, "web01"},
		{"no numbers", []string{"db", "app"}, "db,app"},
		{"padded", seq("web%02d", 1, 12), "web[01-12]"},
		{"natural", seq("web%d", 8, 11), "web[8-11]"},
		{"padded over its width", seq("n%02d", 98, 101), "n[98-101]"},
		{"with others", append(seq("web%02d", 1, 12), "db1"), "web[01-12],db1"},
		{"domain", seq("web%02d.example.com", 1, 12), "web[01-12].example.com"},
		{"gaps", []string{"n1", "n3", "n4", "n5", "n9"}, "n[1,3-5,9]"},
		{"unsorted", []string{"n5", "db", "n3", "n4"}, "n[3-5],db"},
		{"twice", []string{"n1", "n1", "n2"}, "n[1-2]"},
		{"two widths", []string{"n1", "n01", "n001", "n2"}, "n[1-2],n01,n001"},
		{"natural fits padding", []string{"n08", "n09", "n10", "n100"}, "n[08-10,100]"},
		{"too short for the padding", []string{"n9", "n08", "n10"}, "n9,n[08,10]"},
		{"two numbers, last varies", append(seq("r1n%d", 1, 3), seq("r2n%d", 1, 3)...), "r1n[1-3],r2n[1-3]"},
		{"two numbers, first varies", []string{"r1n7", "r2n7", "r3n7"}, "r[1-3]n7"},
		{"number in the domain", []string{"web1.dc2.example", "web2.dc2.example"}, "web[1-2].dc2.example"},
		{"addresses", []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}, "10.0.0.[1-3]"},
		{"zeros", []string{"n0", "n00", "n1"}, "n[0-1],n00"},
		{"users", []string{"ssh://u1@h", "ssh://u2@h", "ssh://u2@h2", "ssh://u2@h3"}, "ssh://u1@h,ssh://u2@h,ssh://u2@h[2-3]"},
		{"only digits", []string{"1", "2", "3"}, "[1-3]"},
		{"long digits are text", []string{"i1234567890123456789", "i1234567890123456790"}, "i1234567890123456789,i1234567890123456790"},
		{"brackets stay", []string{"ssh://[::1]", "ssh://[::2]"}, "ssh://[::1],ssh://[::2]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Fold(tt.names)
			if got != tt.want {
				t.Errorf("Fold = %q, want %q", got, tt.want)
			}
			sameSet(t, tt.names, got)
		})
	}
}

// sameSet checks that folded expands to the set of names, without repeats.
func sameSet(t *testing.T, names []string, folded string) {
	t.Helper()
	back := expand(t, folded)
	set := make(map[string]bool)
	for _, n := range names {
		set[n] = true
	}
	want := slices.Sorted(maps.Keys(set))
	slices.Sort(back)
	if !slices.Equal(back, want) {
		t.Errorf("%q expands to %q, want %q", folded, back, want)
	}
}

// TestContains finds each name in its folded words, and finds no similar name.
func TestContains(t *testing.T) {
	for range 200 {
		var names []string
		set := make(map[string]bool)
		for range 1 + rand.IntN(20) {
			n := fmt.Sprintf("%s%0*d%s", []string{"", "a", "b1-"}[rand.IntN(3)], 1+rand.IntN(3), rand.IntN(120), []string{"", ".x", ".2"}[rand.IntN(3)])
			names, set[n] = append(names, n), true
		}
		folded := Fold(names)
		for i := range 120 {
			for _, before := range []string{"", "a", "b1-"} {
				for _, after := range []string{"", ".x", ".2"} {
					for width := 1; width <= 3; width++ {
						if n := fmt.Sprintf("%s%0*d%s", before, width, i, after); Contains(folded, n) != set[n] {
							t.Fatalf("%q contains %q: %v", folded, n, !set[n])
						}
					}
				}
			}
		}
	}
	for _, folded := range []string{"", "a[", "a[1-", "a]", "a[1-2", "a[x-y]", "a[99999999999999999999]", ","} {
		if Contains(folded, "a1") || Contains(folded, "") {
			t.Errorf("%q contains a1", folded)
		}
	}
}

// expand returns the names that folded words stand for.
func expand(t *testing.T, folded string) []string {
	t.Helper()
	var names []string
	for _, w := range words(folded) {
		set, ok, err := Parse(w)
		if err != nil {
			t.Fatalf("%q has the word %q: %v", folded, w, err)
		}
		if !ok {
			names = append(names, w)
			continue
		}
		names = append(names, set.Names()...)
	}
	return names
}

// words splits at commas outside of brackets.
func words(folded string) []string {
	inside := false
	return strings.FieldsFunc(folded, func(r rune) bool {
		if r == '[' || r == ']' {
			inside = r == '['
		}
		return r == ',' && !inside
	})
}

// TestRoundTrip folds random names and expands the result of Fold again.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	formats := []string{"web%d", "web%02d", "web%03d.example.com", "r%[2]dn%[1]d", "%d", "%02d%02[2]d", "db", "x%[2]d-%[1]d-%[2]d"}
	for range 500 {
		var names []string
		for range r.IntN(60) {
			f := formats[r.IntN(len(formats))]
			name, _, _ := strings.Cut(fmt.Sprintf(f, r.IntN(120), r.IntN(3)), "%!")
			names = append(names, name)
		}
		sameSet(t, names, Fold(names))
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("web01 web02 db1")
	f.Add("n9 n08 n10 n010 r1n2 r2n2")
	f.Add("[::1] é1 é2 \xff1")
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "[],;") { // stays as it is, or is not a name
			Fold(strings.Fields(s))
			return
		}
		names := strings.Fields(s)
		folded := Fold(names)
		sameSet(t, names, folded)
	})
}

func BenchmarkFold25000(b *testing.B) {
	names := seq("web%05d.example.com", 1, 25000)
	for b.Loop() {
		if got := Fold(names); got != "web[00001-25000].example.com" {
			b.Fatal(got)
		}
	}
}
