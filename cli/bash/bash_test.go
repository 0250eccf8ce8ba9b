package bash

import (
	"slices"
	"testing"
)

// breaks is the default of $COMP_WORDBREAKS.
const breaks = " \t\n\"'@><=;|&(:"

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		line  string
		words []string
		last  Word
	}{
		{"bolt ", []string{"bolt"}, Word{}},
		{"bolt comm", []string{"bolt"}, Word{Text: "comm"}},
		{`bolt 'a b' "c \"d\" \e" f\ g `, []string{"bolt", "a b", `c "d" \e`, "f g"}, Word{}},
		{`bolt '' x`, []string{"bolt", ""}, Word{Text: "x"}},
		{"bolt 'web,!d", []string{"bolt"}, Word{Text: "web,!d", quote: '\''}},
		{`bolt a"b c`, []string{"bolt"}, Word{Text: "ab c", start: 1, quote: '"'}},
		{"bolt 'a b'c", []string{"bolt"}, Word{Text: "a bc", quote: '\'', close: true}},
		{"bolt --x=y", []string{"bolt"}, Word{Text: "--x=y", start: 4}},
		{`bolt a\=b`, []string{"bolt"}, Word{Text: "a=b"}},
		{"bolt 'a:b", []string{"bolt"}, Word{Text: "a:b", quote: '\''}},
		{"bolt a >f", []string{"bolt", "a"}, Word{Text: "f"}},
	} {
		words, last := Split(k.line, breaks)
		if !slices.Equal(words, k.words) || last != k.last {
			t.Errorf("%q: %q, %+v, want %q, %+v", k.line, words, last, k.words, k.last)
		}
	}
}

// FuzzSplit splits lines, and joins the last word again.
func FuzzSplit(f *testing.F) {
	f.Add(`bolt command run 'a b' "c$d`)
	f.Add(`x \`)
	f.Add(`bolt 'a'b=c`)
	f.Fuzz(func(t *testing.T, line string) {
		_, last := Split(line, breaks)
		if last.start > len(last.Text) {
			t.Fatalf("%q: %+v", line, last)
		}
		last.insert(last.Text + "x")
		Completions([]string{last.Text, last.Text + "y\tabout", "z"}, last, "63", "80")
	})
}
