package stdlib

import (
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

func FuzzShellSplit(f *testing.F) {
	for _, s := range []string{"", "a b", "a 'b c'", `a "b\"c" d\ e`, "'", `"\`, "\\\n", " a\t\nb "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words, ok := ShellSplit(s)
		if !ok || !utf8.ValidString(s) {
			return
		}
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = shellEscape(w)
		}
		again, ok := ShellSplit(strings.Join(quoted, " "))
		if !ok || strings.Join(again, "\x00") != strings.Join(words, "\x00") {
			t.Errorf("%q: %q, and written and read again %q", s, words, again)
		}
	})
}

// FuzzYAML parses the output with another program.
func FuzzYAML(f *testing.F) {
	for _, s := range []string{"", "a", "a: b", "- x\n- y", " a\nb\n\n", "1.5", "yes", "\u2028x", "long text with words that has to be folded somewhere behind the eightieth column of it", "#", "a\tb", "'\"", "<<"} {
		f.Add(s, 0, 2)
		f.Add(s, 20, 4)
	}
	f.Add(" 0000000000000000000 0", 20, -1)
	f.Fuzz(func(t *testing.T, s string, width, indent int) {
		if !utf8.ValidString(s) || strings.ContainsAny(s, "\u0085\u2028\u2029\ufeff") {
			return // YAML 1.1 and 1.2 do not agree on these
		}
		in := eval.New(testEnv(t, Options{}))
		options := value.NewHash(value.Entry{Key: value.String("line_width"), Value: value.Int(width)}, value.Entry{Key: value.String("indentation"), Value: value.Int(indent)})
		v := value.NewHash(value.Entry{Key: value.String("k"), Value: value.NewArray(value.String(s), value.Int(1))})
		out, err := in.Call(t.Context(), "stdlib::to_yaml", v, options)
		if err != nil {
			t.Fatal(err)
		}
		var back struct{ K []yaml.Node }
		if err := yaml.Unmarshal([]byte(out.(value.String)), &back); err != nil {
			t.Fatalf("%q is written as %q: %v", s, out, err)
		}
		if len(back.K) == 2 && (strings.HasPrefix(s, " ") || strings.Contains(s, "\n ")) {
			// libyaml also folds lines that begin with a space. Parsers treat
			// them as two lines.
			if oneLine := strings.NewReplacer("\n", " "); oneLine.Replace(back.K[0].Value) == oneLine.Replace(s) {
				return
			}
		}
		if len(back.K) != 2 || back.K[0].Value != s || back.K[1].Value != "1" {
			t.Errorf("%q is written as %q and read as %q", s, out, back.K[0].Value)
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{"[1, 2]", `{"a": "/* x */"} // y`, "/*", "/", `"\"//"`, "[1 /*x*/]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		plain, err := value.FromJSON([]byte(s))
		v, also := value.FromRubyJSON([]byte(s))
		if err == nil && (also != nil || !value.Same(plain, v)) {
			t.Errorf("%q: without comments it is %v, %v", s, v, also)
		}
	})
}

// FuzzTexts checks that the functions that parse small strings do not panic and
// always end.
func FuzzTexts(f *testing.F) {
	for _, s := range []string{"4.5 kB", "1e400", "0x1.8p1", "a-z", "^\\-", "zz9.z", "::1/64", "[::1%eth0]", "1...5", "1-", "a.\"b.c\".d", "YWJj=", "u@h", "2020-01-01T1:00:00", "/a//b.c/", "\x8a"} {
		f.Add(s)
	}
	rules := newYAMLRules()()
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 64 {
			return // each long text that is new in something, the fuzzer spends a minute on shortening
		}
		sizeOf(s)
		rubyFloat(s)
		rubyInteger(s)
		leadingDigits(s)
		splitRange(s)
		placesOf(s)
		parseIP(s)
		laxBase64(s)
		isDomain(s)
		isEmail(s)
		extname(s)
		basename(s, ".*")
		swapcase(s)
		rules.style(s)
		formOf(s)
		bcryptSalt(s)
		if s != "" {
			if dirname(s) == "" {
				t.Errorf("%q is in no folder", s)
			}
		}
		if set, err := parseCharset(s); err == nil {
			set.has('a')
		}
		for _, part := range factPath(s) {
			if part == "" {
				t.Errorf("%q has an empty part", s)
			}
		}
		if next := successor(s); s != "" && utf8.ValidString(s) && next == s {
			t.Errorf("%q is its own successor", s)
		}
	})
}
