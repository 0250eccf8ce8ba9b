package glob

import "testing"

func TestFile(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		dots, want    bool
	}{
		{"*.bak", "a.bak", false, true},
		{"*.bak", ".a.bak", false, false},
		{"*.bak", ".a.bak", true, true},
		{".*", ".a", false, true},
		{`\.a`, ".a", false, true},
		{"?a", ".a", false, false},
		{"[!a]x", "bx", false, true},
		{"[!a]x", "ax", false, false},
		{"[^a]x", "bx", false, true},
		{`[\!a]x`, "!x", false, true},
		{`\[!a]`, "[!a]", false, true},
		{"[a", "[a", false, false},
		{"A*", "ab", false, false},
		{"{a,b}", "a", false, false},
		{"*", "\xff\n", false, true},
		{"", "a", false, false},
	} {
		if got := File(c.pattern, c.name, c.dots); got != c.want {
			t.Errorf("File(%q, %q, %v) = %v", c.pattern, c.name, c.dots, got)
		}
	}
}
