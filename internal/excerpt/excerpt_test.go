package excerpt

import (
	"strings"
	"testing"

	"bolt/internal/columns"
)

// TestOf checks that the caret is below its character on a terminal, whatever the width of the
// characters before it.
func TestOf(t *testing.T) {
	for _, tt := range []struct {
		name      string
		line      string
		character int
		width     int
		want      string
	}{
		{"the first character", "abc", 1, 80, "abc\n^"},
		{"ASCII", "a: b: c", 5, 80, "a: b: c\n    ^"},
		{"after the end", "abc", 9, 80, "abc\n   ^"},
		{"tabs", "\ta\tb", 4, 80, "\ta\tb\n\t \t^"},
		{"wide characters", "東京: [", 5, 80, "東京: [\n      ^"},
		{"an emoji", "🚀x", 2, 80, "🚀x\n  ^"},
		{"a combining character", "e\u0301x", 3, 80, "e\u0301x\n ^"},
		{"a long line", "0123456789", 6, 4, "…3456…\n   ^"},
		{"the begin of a long line", "0123456789", 1, 4, "0123…\n^"},
		{"the end of a long line", "0123456789", 10, 4, "…6789\n    ^"},
		{"a long line of wide characters", "東京東京東京", 4, 6, "…京東京…\n     ^"},
		{"an odd width", "東京東京", 3, 5, "…京東…\n   ^"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Of(tt.line, tt.character, tt.width); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestBegin(t *testing.T) {
	for _, tt := range []struct {
		line  string
		width int
		want  string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"東京", 3, "東…"}, {"東京", 4, "東京"}} {
		if got := Begin(tt.line, tt.width); got != tt.want {
			t.Errorf("%q in %d columns is %q, want %q", tt.line, tt.width, got, tt.want)
		}
	}
}

func FuzzOf(f *testing.F) {
	f.Add("a: 東京\t[", 3, 10)
	f.Add("e\u0301\u200d🚀", 2, 1)
	f.Fuzz(func(t *testing.T, line string, character, width int) {
		if character < 1 || width < 1 || strings.Contains(line, "\n") {
			return
		}
		shown, caret, _ := strings.Cut(Of(line, character, width), "\n")
		if n := columns.Count(strings.Trim(shown, "…")); n > width {
			t.Errorf("%q has %d columns, more than %d", shown, n, width)
		}
		if columns.Count(caret) > columns.Count(shown)+1 {
			t.Errorf("the caret %q is beyond %q", caret, shown)
		}
	})
}
