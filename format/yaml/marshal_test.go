package yaml

import (
	"strings"
	"testing"

	"bolt/format/ordered"
)

func TestMarshal(t *testing.T) {
	long := strings.Repeat("word ", 30) + "end"
	tests := []struct {
		name string
		in   any
		want string
	}{
		{"scalars", ordered.Of("s", "text", "i", int64(22), "f", 1.5, "t", true, "u", nil), "s: text\ni: 22\nf: 1.5\nt: true\nu:\n"},
		{"whole number beyond 64 bits", ordered.Of("k", whole("-123456789012345678901234567890")), "k: -123456789012345678901234567890\n"},
		{"empty collections", ordered.Of("m", &ordered.Map{}, "l", []any{}), "m: {}\nl: []\n"},
		{"list below a key", ordered.Of("g", []any{"web", "all"}, "x", int64(1)), "g:\n- web\n- all\nx: 1\n"},
		{"nested maps", ordered.Of("a", ordered.Of("x", ordered.Of("z", int64(1))), "b", int64(2)), "a:\n  x:\n    z: 1\nb: 2\n"},
		{"map in list", ordered.Of("l", []any{ordered.Of("a", int64(1), "b", ordered.Of("c", int64(2))), "s"}), "l:\n- a: 1\n  b:\n    c: 2\n- s\n"},
		{"list in list", ordered.Of("l", []any{[]any{"a", "b"}, []any{}, "c"}), "l:\n- - a\n  - b\n- []\n- c\n"},
		{"list in map in list", ordered.Of("l", []any{ordered.Of("k", []any{"a"})}), "l:\n- k:\n  - a\n"},
		{"strings of Go", ordered.Of("l", []string{"a", "b"}), "l:\n- a\n- b\n"},
		{"key y", ordered.Of("y", int64(2)), "\"y\": 2\n"},
		{"key with dot", ordered.Of(".rb", "/usr/bin/ruby"), "\".rb\": \"/usr/bin/ruby\"\n"},
		{"key like a boolean", ordered.Of("yes", int64(1)), "'yes': 1\n"},
		{"number as text", ordered.Of("a", "22", "b", "1.5", "c", "010", "d", "0.8.1", "e", "1:30"), "a: '22'\nb: '1.5'\nc: '010'\nd: '0.8.1'\ne: '1:30'\n"},
		{"boolean as text", ordered.Of("a", "true", "b", "null", "c", "~"), "a: 'true'\nb: 'null'\nc: \"~\"\n"},
		{"date as text", ordered.Of("a", "2024-01-02"), "a: '2024-01-02'\n"},
		{"empty text", ordered.Of("a", ""), "a: ''\n"},
		{"uri", ordered.Of("uri", "ssh://cargo@127.0.1.22:2210"), "uri: ssh://cargo@127.0.1.22:2210\n"},
		{"address", ordered.Of("uri", "127.0.1.3"), "uri: 127.0.1.3\n"},
		{"symbol as text", ordered.Of("a", ":x"), "a: \":x\"\n"},
		{"colon space", ordered.Of("a", "b: c"), "a: 'b: c'\n"},
		{"hash", ordered.Of("a", "b #c"), "a: 'b #c'\n"},
		{"quotes", ordered.Of("a", `"quoted"`, "b", "it's"), "a: '\"quoted\"'\nb: it's\n"},
		{"leading dash", ordered.Of("a", "-x", "b", "- x"), "a: \"-x\"\nb: \"- x\"\n"},
		{"control", ordered.Of("a", "x\x1b[0m\ty"), "a: \"x\\e[0m\\ty\"\n"},
		{"unicode", ordered.Of("a", "größe"), "a: größe\n"},
		{"lines", ordered.Of("a", "one\ntwo\n", "b", "one\ntwo", "c", int64(1)), "a: |\n  one\n  two\nb: |-\n  one\n  two\nc: 1\n"},
		{"one line with newline", ordered.Of("a", "one\n", "b", int64(1)), "a: 'one\n\n  '\nb: 1\n"},
		{"long", ordered.Of("a", long), "a: " + strings.Repeat("word ", 15) + "word\n  " + strings.Repeat("word ", 14) + "end\n"},
		{"float forms", ordered.Of("a", 100.0, "b", 1e20, "c", 1e-5), "a: 100.0\nb: 1.0e+20\nc: 1.0e-05\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(Marshal(tt.in)); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
