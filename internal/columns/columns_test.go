package columns

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text    string
		columns int
		want    string
	}{
		{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"äöü", 2, "äö"}, {"東京", 3, "東"}, {"東京", 4, "東京"}, {"a", 0, ""}, {"a", -1, ""},
		{"e\u0301a", 1, "e\u0301"}, {"e\u0301a", 2, "e\u0301a"}, {"🚀a", 2, "🚀"}, {"ｆｕ", 3, "ｆ"}, {"한국", 2, "한"},
	} {
		if got := Cut(tt.text, tt.columns); got != tt.want {
			t.Errorf("%q in %d columns is %q, want %q", tt.text, tt.columns, got, tt.want)
		}
	}
}

func TestPad(t *testing.T) {
	for text, want := range map[string]string{"ab": "ab  ", "東": "東  ", "東京": "東京", "abcde": "abcde"} {
		if got := Pad(text, 4); got != want {
			t.Errorf("%q padded is %q, want %q", text, got, want)
		}
	}
}

func TestRow(t *testing.T) {
	for _, tt := range []struct {
		text    string
		columns int
		want    string
	}{
		{"a\nb\t c\r\n", 10, "a b c"},
		{"\x1b[2Ja\x1b]0;evil\x07b\u202e", 10, "ab"},
		{"caf\xe9", 10, `caf\xE9`},
		{"connection refused", 10, "connectio…"},
		{"a very long", 8, "a very…"},
		{"東京都", 4, "東…"},
		{"東京都", 1, "…"},
		{"東京", 0, ""},
	} {
		if got := Row(tt.text, tt.columns); got != tt.want {
			t.Errorf("%q on a row of %d columns is %q, want %q", tt.text, tt.columns, got, tt.want)
		}
	}
}

func FuzzRow(f *testing.F) {
	for _, s := range []string{"abc", "\x1b[31mred\n\r\x00", "東京" + strings.Repeat("\u0301", 99), "\xf0\x9d\x84", strings.Repeat("東", 99)} {
		f.Add(s, 5)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		n %= 500
		row := Row(s, n)
		if !utf8.ValidString(row) || strings.ContainsFunc(row, func(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }) {
			t.Errorf("%q is not safe", row)
		}
		if Count(row) > max(n, 0) {
			t.Errorf("%q has %d columns, which is more than %d", row, Count(row), n)
		}
	})
}
