package yaml

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestSyntaxErrorPositionAndHint(t *testing.T) {
	for _, c := range []struct{ text, place, hint string }{
		{"groups:\n  - name: web\n   targets: [a]\n", "3:4", "the list items (-) around this line begin in column 3 (line 2), and it begins in column 4"},
		{"groups:\n  - name: web\n    targets: [a\n    vars: {x: 1}\n", "4:9", "Close the [ of line 3, column 14"},
		{"groups:\n  - name: web\n    targets:\n    - a\n\t- b\n", "5:1", "Indent with spaces"},
		{"groups:\n  - name: web: x\n", "2:14", "put it in quotes"},
		{"config:\n  ssh:\n    user: \"x\n  a: b\n", "3:11", "Close the quote of line 3, column 11"},
		{"x: 'abc\n\ny: 1\n", "1:4", "Close the quote of line 1, column 4"},
		{"a: 1\nb: *x\n", "2:4", "* begins an alias"},
		{"a: 1\n b: 2\n", "2:3", "this line continues the value of the line before it"},
		{"a: [1, 2\n", "1:4", "Close the [ of line 1, column 4"},
		{"a: x\nb: [\n", "2:4", "Close the bracket of line 2, column 4"},
		{"a: [b, {c: ]\n", "1:12", ""},
		{"a: [[1], {}, [\n", "1:14", "Close the bracket of line 1, column 14"},
		{"a: {b: 1\nc: 2\n", "2:2", "Close the { of line 1, column 4"},
		{"- a\nb: c\n", "2:1", "a key cannot be between the items of a list"},
		{"a: 1\n- b\n", "2:1", "a list item (-) cannot be between the keys"},
		{"a: @b\n", "1:4", "cannot begin with @"},
		{"a: %{b}\n", "1:4", "cannot begin with %"},
		{"key: value\nkey2\nkey3: x\n", "2:1", "a colon and a space after a key"},
		{"a: 1\nb:2\nc: 3\n", "2:1", `Write a space after the colon: "b: …"`},
		{"x:\n  a:1\n  # n\n\n  b: 2\n", "5:3", `Write a space after the colon: "a: …"`},
		{"a:\n\tb: c\n", "2:1", "Indent with spaces"},
		{"a: {b: c}}\n", "1:10", "Remove the }"},
		{"a:\n  b: 1\n c: 2\n", "3:2", "the keys around this line begin in column 1 (line 1), and it begins in column 2"},
		{"---\n name: harbor\nmodules: []\n", "3:1", "the value ended before this line"},
		{"a: 'it's'\n", "1:8", "The value ends at the quote"},
		{"ä: \"é\" é\n", "1:8", "The value ends at the quote"},
		{"a: \"b\"#c\n", "1:7", "a space before #"},
		{"a: \"\\q\"\n", "1:5", `\ begins an escape`},
		{"a: b\nc: \xff\n", "2:4", "Save the file as UTF-8"},
		{"a: b\nc: \x00\n", "2:4", ""},
		{"a: b\r\nc: d: e\r\n", "2:5", "put it in quotes"},
		{strings.Repeat("a: b\n", 5000) + "}\n", "5001:1", "Remove the }"},
	} {
		_, err := DecodeData([]byte(c.text), "f")
		e, is := errors.AsType[*Error](err)
		if !is {
			t.Errorf("%.40q: got %v", c.text, err)
			continue
		}
		if got := fmt.Sprintf("%d:%d", e.Line, e.Column); got != c.place || !strings.Contains(e.Hint, c.hint) || c.hint == "" && e.Hint != "" {
			t.Errorf("%.40q: got %s %q, want %s %q", c.text, got, e.Hint, c.place, c.hint)
		}
	}
}

func TestExcerpt(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\n b: 2\n":                   " b: 2\n  ^",
		"a:\n\tb: \"é\" é: 2\n":           "\tb: \"é\" é: 2\n^",
		"ä: é: x\r\n":                     "ä: é: x\n    ^",
		"x: \u202e\u2066 b: c\n":          "x:  b: c\n     ^",
		"user: ann\npassword: x y: z\n":   "password: …\n          ^",
		"{api_token: 'a' b}\n":            "{api_token: …\n            ^",
		"a: " + strings.Repeat("b: ", 90): "a: b: b: b: b: b: b:…\n    ^",
		"a: b\nc: 2026-01-01 \n":          "c: 2026-01-01 \n   ^",
		"a: &x {b: 1}\nc: *x\n":           "c: *x\n   ^",
	} {
		_, err := Decode([]byte(text), "f")
		e, is := errors.AsType[*Error](err)
		if !is {
			t.Errorf("%.40q: got %v", text, err)
			continue
		}
		if got := e.Excerpt(20); got != want {
			t.Errorf("%.40q: got\n%s\nwant\n%s", text, got, want)
		}
	}
	if got := (&Error{Problem: "too many lines"}).Excerpt(20); got != "" {
		t.Errorf("got %q for an error without a position", got)
	}
}
