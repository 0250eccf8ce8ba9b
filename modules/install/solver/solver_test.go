package solver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bolt/puppet/semver"
)

// A shelf is a Source: modules with their versions, and what each needs.
type shelf map[string][]Candidate

func (s shelf) Candidates(_ context.Context, module string) ([]Candidate, error) {
	if module == "x/broken" {
		return nil, errors.New("broken")
	}
	return s[strings.ToLower(module)], nil
}

// shelve reads lines "owner/name version: owner/name range, …".
func shelve(t testing.TB, text string) shelf {
	t.Helper()
	s := shelf{}
	for line := range strings.Lines(text) {
		head, needs, _ := strings.Cut(strings.TrimSpace(line), ":")
		if head == "" {
			continue
		}
		fixed := strings.HasSuffix(head, "!")
		module, version, _ := strings.Cut(strings.TrimSuffix(head, "!"), " ")
		c := Candidate{Module: module, Fixed: fixed}
		if version != "" {
			v, err := semver.Parse(version)
			if err != nil {
				t.Fatal(err)
			}
			c.Version = v
		}
		c.Requires = wants(t, needs)
		s[module] = append(s[module], c)
	}
	return s
}

func wants(t testing.TB, text string) []Demand {
	t.Helper()
	var list []Demand
	for part := range strings.SplitSeq(text, ",") {
		module, r, _ := strings.Cut(strings.TrimSpace(part), " ")
		if module == "" {
			continue
		}
		parsed, err := ParseRange(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, Demand{module, parsed})
	}
	return list
}

func names(list []Candidate) string {
	var words []string
	for _, c := range list {
		words = append(words, describe(&c))
	}
	return strings.Join(words, ", ")
}

func TestSolve(t *testing.T) {
	tests := []struct{ name, shelf, wants, prefer, want string }{
		{"newest", "a/a 1.0.0\na/a 2.0.0\na/a 10.0.0", "a/a", "", "a/a 10.0.0"},
		{"no pre-releases", "a/a 1.0.0\na/a 2.0.0-rc.1", "a/a", "", "a/a 1.0.0"},
		{"pre-release by name", "a/a 1.0.0\na/a 2.0.0-rc.1", "a/a >= 2.0.0-rc.1", "", "a/a 2.0.0-rc.1"},
		{"x-range", "a/a 1.0.0\na/a 1.9.0\na/a 2.0.0", "a/a 1.x", "", "a/a 1.9.0"},
		{"pessimistic", "a/a 1.2.0\na/a 1.2.9\na/a 1.3.0", "a/a ~> 1.2.0", "", "a/a 1.2.9"},
		{"dependencies", "a/a 1.0.0: b/b >= 1.0.0 < 2.0.0\nb/b 1.5.0: c/c\nb/b 2.0.0\nc/c 1.0.0", "a/a", "", "a/a 1.0.0, b/b 1.5.0, c/c 1.0.0"},
		{"order of the project", "a/a 1.0.0\nb/b 1.0.0\nc/c 1.0.0", "c/c, a/a, b/b", "", "c/c 1.0.0, a/a 1.0.0, b/b 1.0.0"},
		{"circle", "a/a 1.0.0: b/b 1.x\nb/b 1.0.0: a/a 1.x", "a/a", "", "a/a 1.0.0, b/b 1.0.0"},
		{"older because of another", "a/a 2.0.0: c/c 2.x\na/a 1.0.0: c/c 1.x\nb/b 1.0.0: c/c 1.x\nc/c 1.0.0\nc/c 2.0.0", "a/a, b/b", "", "a/a 1.0.0, b/b 1.0.0, c/c 1.0.0"},
		{"older because of a missing one", "a/a 2.0.0: no/no\na/a 1.0.0", "a/a", "", "a/a 1.0.0"},
		{"fixed of another owner", "a/a 1.0.0: b/c 1.x\nme/c 1.0.0!\nb/c 1.0.0", "a/a, me/c", "", "a/a 1.0.0, me/c 1.0.0"},
		{"without a number", "a/a 1.0.0: me/c 7.x\nme/c!", "a/a, me/c", "", "a/a 1.0.0, me/c"},
		{"letters do not matter", "a/a 1.0.0: B/b\nb/b 1.0.0", "A/a, b/b", "", "a/a 1.0.0, b/b 1.0.0"},
		{"what is there stays", "a/a 1.0.0: c/c\na/a 2.0.0: c/c\nb/b 1.0.0: c/c >= 2.0.0\nb/b 0.9.0: c/c\nc/c 1.0.0\nc/c 2.0.0", "a/a, b/b", "a 1.0.0, c 1.0.0", "a/a 1.0.0, b/b 0.9.0, c/c 1.0.0"},
		{"what is there gives way", "a/a 1.0.0: c/c 1.x\na/a 2.0.0: c/c 2.x\nb/b 1.0.0: c/c >= 2.0.0\nc/c 1.0.0\nc/c 2.0.0", "a/a, b/b", "a 1.0.0, c 1.0.0", "a/a 2.0.0, b/b 1.0.0, c/c 2.0.0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			source := shelve(t, tt.shelf)
			if list := source["me/c"]; list != nil {
				source["b/c"] = list // as a source does for what the project has chosen
			}
			prefer := map[string]string{}
			for part := range strings.SplitSeq(tt.prefer, ", ") {
				if name, version, ok := strings.Cut(part, " "); ok {
					prefer[name] = version
				}
			}
			got, err := Solve(t.Context(), wants(t, tt.wants), source, Options{Prefer: prefer})
			if err != nil || names(got) != tt.want {
				t.Errorf("got %s, %v, want %s", names(got), err, tt.want)
			}
		})
	}
}

func TestConflicts(t *testing.T) {
	tests := []struct{ name, shelf, wants, want string }{
		{"chain", "a/a 1.2.0: b/b >= 2.0.0\nb/b 1.0.0\nb/b 2.0.0", "a/a, b/b 1.x",
			"no version of b/b is right for all:\n  the project wants b/b 1.x\n  the project wants a/a\n  a/a 1.2.0 needs b/b >= 2.0.0\n  of b/b there are 2.0.0, 1.0.0"},
		{"longer chain", "a/a 1.0.0: m/m\nm/m 3.0.0: b/b >= 2.0.0\nb/b 1.0.0\nb/b 2.0.0", "b/b 1.x, a/a",
			"no version of b/b is right for all:\n  the project wants b/b 1.x\n  the project wants a/a\n  a/a 1.0.0 needs m/m\n  m/m 3.0.0 needs b/b >= 2.0.0\n  of b/b there are 2.0.0, 1.0.0"},
		{"two dependencies", "a/a 1.0.0: c/c 1.x\nb/b 1.0.0: c/c 2.x\nc/c 1.0.0\nc/c 2.0.0", "a/a, b/b",
			"no version of c/c is right for all:\n  the project wants a/a\n  a/a 1.0.0 needs c/c 1.x\n  the project wants b/b\n  b/b 1.0.0 needs c/c 2.x\n  of c/c there are 2.0.0, 1.0.0"},
		{"unknown", "", "no/no", "module no/no does not exist:\n  the project wants no/no"},
		{"unknown dependency", "a/a 1.0.0: no/no", "a/a", "module no/no does not exist:\n  the project wants a/a\n  a/a 1.0.0 needs no/no"},
		{"no such version", "a/a 1.0.0", "a/a 2.x", "no version of a/a is right:\n  the project wants a/a 2.x\n  of a/a there is 1.0.0"},
		{"two owners", "a/x 1.0.0\nb/x 1.0.0\nc/c 1.0.0: b/x", "a/x, c/c",
			"modules of different owners are called x, and only one can be installed:\n  the project wants a/x\n  the project wants c/c\n  c/c 1.0.0 needs b/x"},
		{"another version of itself", "a/a 1.0.0: a/a 2.x", "a/a", "a/a 1.0.0 needs a/a 2.x, which is another version of itself"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Solve(t.Context(), wants(t, tt.wants), shelve(t, tt.shelf), Options{})
			if !IsConflict(err) || err.Error() != tt.want {
				t.Errorf("error %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestSourceFails(t *testing.T) {
	_, err := Solve(t.Context(), wants(t, "a/a, x/broken"), shelve(t, "a/a 1.0.0"), Options{})
	if err == nil || err.Error() != "broken" || IsConflict(err) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if _, err := Solve(ctx, wants(t, "a/a"), shelve(t, "a/a 1.0.0"), Options{}); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

// TestAgainstAll compares with a search of all combinations: there is an
// answer where there is one, and it is right.
func TestAgainstAll(t *testing.T) {
	solved := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var text strings.Builder
		modules := 2 + rng.IntN(4)
		for m := range modules {
			for v := range 1 + rng.IntN(3) {
				fmt.Fprintf(&text, "o/m%d %d.0.0:", m, v+1)
				for d := range modules {
					if d != m && rng.IntN(3) == 0 {
						fmt.Fprintf(&text, " o/m%d %s %d.0.0,", d, []string{">=", "<=", "<", ""}[rng.IntN(4)], 1+rng.IntN(3))
					}
				}
				text.WriteString("\n")
			}
		}
		source := shelve(t, text.String())
		list := wants(t, "o/m0, o/m1")
		got, err := Solve(t.Context(), list, source, Options{})
		if err != nil && !IsConflict(err) {
			t.Fatal(err)
		}
		want := solvable(source, list, modules)
		if (err == nil) != want {
			t.Fatalf("seed %d: %v, there is an answer: %v\n%s", seed, err, want, &text)
		}
		if err != nil {
			if strings.Contains(err.Error(), "steps") || err.Error() == "" {
				t.Fatal(err)
			}
			continue
		}
		solved++
		chosen := map[string]Candidate{}
		for _, c := range got {
			chosen[c.Module] = c
		}
		all := list
		for _, c := range got {
			all = append(all, c.Requires...)
		}
		for _, d := range all {
			if c, ok := chosen[d.Module]; !ok || !d.Range.Includes(c.Version) {
				t.Fatalf("seed %d: %s does not have %s\n%s", seed, names(got), demanded(d), &text)
			}
		}
		needed := map[string]bool{}
		for _, d := range all {
			needed[d.Module] = true
		}
		if len(needed) != len(got) {
			t.Fatalf("seed %d: %s has more than is needed\n%s", seed, names(got), &text)
		}
	}
	if solved < 500 || solved > 2900 {
		t.Errorf("%d of 3000 have an answer: the test shows little", solved)
	}
}

func solvable(source shelf, list []Demand, modules int) bool {
	chosen := make([]*Candidate, modules)
	var try func(m int) bool
	try = func(m int) bool {
		if m == modules {
			all := append([]Demand{}, list...)
			for _, c := range chosen {
				if c != nil {
					all = append(all, c.Requires...)
				}
			}
			for _, d := range all {
				var n int
				fmt.Sscanf(d.Module, "o/m%d", &n)
				if chosen[n] == nil || !d.Range.Includes(chosen[n].Version) {
					return false
				}
			}
			return true
		}
		chosen[m] = nil
		if try(m + 1) {
			return true
		}
		versions := source[fmt.Sprintf("o/m%d", m)]
		for i := range versions {
			chosen[m] = &versions[i]
			if try(m + 1) {
				return true
			}
		}
		chosen[m] = nil
		return false
	}
	return try(0)
}

// BenchmarkSolve is a project of 60 modules with 50 versions each.
func BenchmarkSolve(b *testing.B) {
	var text, list strings.Builder
	for m := range 60 {
		for v := range 50 {
			fmt.Fprintf(&text, "o/m%d %d.0.0: o/m%d >= %d.0.0, o/m%d >= 1.0.0\n", m, v+1, (m*7+3)%60, v/2+1, (m+1)%60)
		}
		fmt.Fprintf(&list, "o/m%d,", m)
	}
	source, demands := shelve(b, text.String()), wants(b, list.String())
	for b.Loop() {
		if _, err := Solve(b.Context(), demands, source, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
