package pattern

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, test := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "abc", true}, {"?", "", false}, {"?", "a", true},
		{"a*", "abc", true}, {"*c", "abc", true}, {"a*c", "abc", true}, {"a*b", "abc", false}, {"*b*", "abc", true},
		{"a**c", "ac", true}, {"*a*a*", "aba", true}, {"*a*a*a", "aba", false}, {"[ab]", "a", false}, {"[ab]", "[ab]", true},
		{strings.Repeat("a*", 60) + "b", strings.Repeat("a", 4000), false}, // must not take exponential time
	} {
		if got := Match(test.pattern, test.s); got != test.want {
			t.Errorf("Match(%.20q, %.20q) = %v", test.pattern, test.s, got)
		}
	}
}
