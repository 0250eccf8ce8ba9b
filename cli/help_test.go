package cli

import "testing"

func TestParseText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Text{
		"Short\n\nLong, and\nmore.\n\nAnd more.\n\nExamples\n  a b\n  a c\n": {Short: "Short", Long: "Long, and\nmore.\n\nAnd more.", Examples: "  a b\n  a c"},
		"Short\n\nLong.\n\nExamples\n  a b\n\nNote\nOptions are accepted.\n": {Short: "Short", Long: "Long.", Examples: "  a b", Note: "Options are accepted."},
	} {
		if got := ParseText(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
