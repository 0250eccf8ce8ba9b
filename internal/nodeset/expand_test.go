package nodeset

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		word string
		want string // names, by blanks
		wide bool
	}{
		{"web[1-3]", "web1 web2 web3", false},
		{"web[01-03].example.com", "web01.example.com web02.example.com web03.example.com", true},
		{"web[8-11]", "web8 web9 web10 web11", true},
		{"n[098-101]", "n098 n099 n100 n101", true},
		{"n[98-101]", "n98 n99 n100 n101", true},
		{"n[1,3-4,10]", "n1 n3 n4 n10", true},
		{"n[1,1]", "n1 n1", false},
		{"n[0-8/4]", "n0 n4 n8", false},
		{"n[00-09/5]", "n00 n05", true},
		{"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2", false},
		{"[1-2]", "1 2", false},
		{"n[7]", "n7", false},
		{"ssh://n[1-2]:22", "ssh://n1:22 ssh://n2:22", false},
	} {
		set, ok, err := Parse(tt.word)
		if err != nil || !ok {
			t.Errorf("%s: %v, %v", tt.word, ok, err)
			continue
		}
		if got := set.Names(); !slices.Equal(got, strings.Fields(tt.want)) || set.Wide() != tt.wide {
			t.Errorf("%s: got %q, wide %v", tt.word, got, set.Wide())
		}
	}
}

func TestParseIgnoresOrdinaryNames(t *testing.T) {
	for _, word := range []string{"", "web1", "web[a-c]", "web[^1-3]", "web[!1]", "[::1]", "ssh://[::1]:22", "web[1-3", "web1]", "web]1[2-3]", "web[]", "web[-]", "web[1-3]]", "web[[1-3]"} {
		if _, ok, err := Parse(word); ok || err != nil {
			t.Errorf("%s: %v, %v", word, ok, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for word, want := range map[string]string{
		"n[3-1]":                     "the range 3-1 ends before it begins",
		"n[-3]":                      "the range -3 is not a number, or two with a dash between",
		"n[1-]":                      "the range 1- is not a number, or two with a dash between",
		"n[1,]":                      "one of its ranges is empty",
		"n[1-2-3]":                   "the range 1-2-3 is not a number, or two with a dash between",
		"n[1/2]":                     "the range 1/2 has a step and no end",
		"n[1-9/0]":                   "the range 1-9/0 has a step of 0",
		"n[1-9/]":                    "the range 1-9/ is not a number, or two with a dash between",
		"n[1-010]":                   "the numbers of the range 1-010 are not padded alike",
		"n[1-100001]":                "its ranges stand for more than 100000 names",
		"n[1-1000]m[1-1000]":         "its ranges stand for more than 100000 names",
		"n[1-60000,1-60000]":         "its ranges stand for more than 100000 names",
		"n[0-999999999999999999]":    "its ranges stand for more than 100000 names",
		"n[0-18446744073709551615]":  "the range 0-18446744073709551615 is not a number, or two with a dash between",
		"n[3-1]m[1-999999999999999]": "the range 3-1 ends before it begins",
	} {
		if _, ok, err := Parse(word); !ok || err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v", word, ok, err)
		}
	}
}

// TestLimitCountsNames checks that the limit is on the names, not on the
// ranges.
func TestLimitCountsNames(t *testing.T) {
	set, ok, err := Parse("n[1-1000]m[0-99]")
	if err != nil || !ok || len(set.Names()) != maxNames {
		t.Fatal(ok, err)
	}
}

// FuzzParse checks that a word in the notation stands for as many names as its
// size, and for no more than the limit.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"web[01-12,20].x[1-3/2]", "[1-9]", "n[9-1]", "[::1]", "n[00-99][0-9]", "n[1-999999999999999999]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		set, ok, err := Parse(s)
		if err != nil || !ok {
			return
		}
		names := set.Names()
		if len(names) == 0 || len(names) > maxNames || len(names) != set.size {
			t.Fatalf("%q: %d names of %d", s, len(names), set.size)
		}
		for _, n := range []string{names[0], names[len(names)-1]} {
			if strings.ContainsAny(n, "[]") {
				t.Fatalf("%q stands for %q", s, n)
			}
		}
	})
}
