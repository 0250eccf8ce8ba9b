package safetext

import (
	"strings"
	"testing"
)

func TestMessage(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "no room: 3 left", "no room: 3 left"},
		{"letters of all kinds", "kein Platz für 名前", "kein Platz für 名前"},
		{"lines", " one\r\ntwo\tthree \n", "one two three"},
		{"escapes", "\x1b[31mred\x9b\u009bx\x00\x7f", "[31mredx"},
		{"direction marks", "a\u202eb\u2066c\ufeff", "abc"},
		{"no UTF-8", "a\xff\xfeb", "ab"},
		{"long", strings.Repeat("x", 2*maxMessage), strings.Repeat("x", maxMessage) + " …"},
		{"cut inside a letter", strings.Repeat("x", maxMessage-1) + "é" + "yy", strings.Repeat("x", maxMessage-1) + " …"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Message(c.in); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"one":                               "one",
		"refused\n  Check the port.\n":      "refused. Check the port.",
		"two values:\na\n\nb;\nand no more": "two values: a. b; and no more",
	} {
		if got := OneLine(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
