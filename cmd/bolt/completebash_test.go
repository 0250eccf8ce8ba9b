package main

import (
	"slices"
	"testing"
)

// breaks is the default of $COMP_WORDBREAKS.
const breaks = " \t\n\"'@><=;|&(:"

func TestBashWords(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		line  string
		words []string
		last  bashWord
	}{
		{"bolt ", []string{"bolt"}, bashWord{}},
		{"bolt comm", []string{"bolt"}, bashWord{text: "comm"}},
		{`bolt 'a b' "c \"d\" \e" f\ g `, []string{"bolt", "a b", `c "d" \e`, "f g"}, bashWord{}},
		{`bolt '' x`, []string{"bolt", ""}, bashWord{text: "x"}},
		{"bolt 'web,!d", []string{"bolt"}, bashWord{text: "web,!d", quote: '\''}},
		{`bolt a"b c`, []string{"bolt"}, bashWord{text: "ab c", start: 1, quote: '"'}},
		{"bolt 'a b'c", []string{"bolt"}, bashWord{text: "a bc", quote: '\'', close: true}},
		{"bolt --x=y", []string{"bolt"}, bashWord{text: "--x=y", start: 4}},
		{`bolt a\=b`, []string{"bolt"}, bashWord{text: "a=b"}},
		{"bolt 'a:b", []string{"bolt"}, bashWord{text: "a:b", quote: '\''}},
		{"bolt a >f", []string{"bolt", "a"}, bashWord{text: "f"}},
	} {
		words, last := bashWords(k.line, breaks)
		if !slices.Equal(words, k.words) || last != k.last {
			t.Errorf("%q: %q, %+v, want %q, %+v", k.line, words, last, k.words, k.last)
		}
	}
}

// FuzzBashWords divides lines, and puts the last word back.
func FuzzBashWords(f *testing.F) {
	f.Add(`bolt command run 'a b' "c$d`)
	f.Add(`x \`)
	f.Add(`bolt 'a'b=c`)
	f.Fuzz(func(t *testing.T, line string) {
		_, last := bashWords(line, breaks)
		if last.start > len(last.text) {
			t.Fatalf("%q: %+v", line, last)
		}
		last.insert(last.text + "x")
		bashCompletions([]string{last.text, last.text + "y\tabout", "z"}, last, "63", "80")
	})
}

func TestCompleteWhere(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string][]string{
		"":                         {"name", "uri", "host", "alias", "transport", "groups", "features", "facts.", "vars."},
		"f":                        {"features", "facts."},
		"not (f":                   {"not (features", "not (facts."},
		`name == `:                 nil,
		`name == "a`:               nil,
		`name == "a" `:             {`name == "a" and`, `name == "a" or`, `name == "a" in`},
		`name == "a" and v`:        {`name == "a" and vars.`},
		`"web" in `:                {`"web" in groups`, `"web" in features`, `"web" in alias`},
		"facts.o":                  nil,
		`facts.is_virtual o`:       {`facts.is_virtual or`},
		`name in ["a", `:           nil,
		`name == "say \"f" and ho`: {`name == "say \"f" and host`},
	} {
		if got := completeWhere(prefix); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", prefix, got, want)
		}
	}
}
