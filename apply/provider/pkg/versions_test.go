package pkg

import (
	"testing"
)

// Each list is in order.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name     string
		compare  func(a, b string) int
		versions []string
	}{
		{"debian", compareDebian, []string{"0.9", "1.0~~", "1.0~~a", "1.0~", "1.0", "1.0-1", "1.0-1+b1", "1.0-2~bpo1", "1.0-2", "1.0-10", "1.0a", "1.0+git", "1.0.1", "1.10", "1:0.1", "2:0"}},
		{"rpm", compareRPM, []string{"1.0~rc1-1", "1.0-0.1", "1.0-1", "1.0-1.el9", "1.0-2", "1.0-10", "1.0^git1-1", "1.0a-1", "1.0.1-1", "1.10-1", "1:0.1-1", "2:0-1"}},
		{"dotted", compareDotted, []string{"1.0.dev1", "1.0a1", "1.0b2", "1.0rc1", "1.0", "1.0.post1", "1.0.1", "1.2", "1.10", "2.0.0"}},
	} {
		for i, a := range c.versions {
			for j, b := range c.versions {
				got := c.compare(a, b)
				if got < 0 != (i < j) || got > 0 != (i > j) {
					t.Errorf("%s: %s compared with %s is %d", c.name, a, b, got)
				}
			}
		}
	}
	for _, c := range []struct {
		compare func(a, b string) int
		a, b    string
	}{
		{compareDebian, "0:1.0", "1.0"}, {compareDebian, "1.0", "1.0-0"}, {compareDebian, "01.0", "1.00"},
		{wantedRPM, "1.0", "1.0-3.el9"}, {wantedRPM, "1.0-3", "2:1.0-3"}, {wantedRPM, "0:1.0", "1.0-1"}, {wantedRPM, "1.0", "2:1.0-1"}, {compareRPM, "1_0-1", "1.0-1"},
		{compareDotted, "1.0", "1.0.0"}, {compareDotted, "v1", "1"},
	} {
		if got := c.compare(c.a, c.b); got != 0 {
			t.Errorf("%s compared with %s is %d", c.a, c.b, got)
		}
	}
}

func TestRange(t *testing.T) {
	for _, c := range []struct {
		text, in, out string
	}{
		{">1.0", "1.1", "1.0"}, {">=1.0", "1.0", "0.9"}, {"<2:1", "1:5", "2:1"}, {"<=1.0-2", "1.0-2", "1.0-3"}, {">1.0 <=2.0", "2.0", "2.1"}, {">1.0  <2.0", "1.5", "1.0"},
	} {
		r := parseRange(c.text)
		if !r.include(c.in, compareDebian) || r.include(c.out, compareDebian) {
			t.Errorf("%q: %s is %v, %s is %v", c.text, c.in, r.include(c.in, compareDebian), c.out, r.include(c.out, compareDebian))
		}
	}
	for _, text := range []string{"1.0", "=1.0", "==1", "~>1.0", "> 1.0", ">1 <2 <3", ""} {
		if r := parseRange(text); r != nil {
			t.Errorf("%q is the range %v", text, r)
		}
	}
	if got := parseRange(">=1 <3").best([]string{"0.9", "2.1", "3", "2.10", "1"}, compareDebian); got != "2.10" {
		t.Errorf("best = %s", got)
	}
}
