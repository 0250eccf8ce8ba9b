package shell

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

const testToken = "bolt%00112233445566778899aabbccddeeff"

// scanAll scans text in pieces of n bytes and returns a description of the
// result.
func scanAll(s interface {
	scan([]byte, func(piece))
	end(func(piece))
}, text string, n int) string {
	var out strings.Builder
	plain := false
	emit := func(p piece) {
		switch {
		case p.mark == noMark && !plain:
			out.WriteString("<" + string(p.text))
		case p.mark == noMark:
			out.Write(p.text)
		default:
			if plain {
				out.WriteString(">")
			}
			fmt.Fprintf(&out, "{%c%s}", p.mark, p.text)
		}
		plain = p.mark == noMark
	}
	for len(text) > 0 {
		k := min(n, len(text))
		s.scan([]byte(text[:k]), emit)
		text = text[k:]
	}
	s.end(emit)
	if plain {
		out.WriteString(">")
	}
	return out.String()
}

func TestScanner(t *testing.T) {
	tok := testToken
	for _, c := range []struct {
		name, in, want string
		begun          bool
	}{
		{name: "empty"},
		{name: "plain", in: "hello\n", want: "<hello\n>"},
		{name: "half a token at the end", in: "a " + tok[:20], want: "<a " + tok[:20] + ">"},
		{name: "token without a kind at the end", in: tok, want: "<" + tok + ">"},
		{name: "prompt, began, text", in: tok + "?" + tok + "!\nout", want: "{?}{!}<out>"},
		{name: "line end of a terminal", in: tok + "!\r\nout", want: "{!}<out>"},
		{name: "no line end", in: tok + "!out", want: "{!}<out>"},
		{name: "lone carriage return", in: tok + "!\rout", want: "{!}<\rout>"},
		{name: "text around", in: "lecture\n" + tok + "?\nSorry, try again.\n" + tok + "?", want: "<lecture\n>{?}<\nSorry, try again.\n>{?}"},
		{name: "step", in: "x" + tok + "#mkdir no\nway" + tok + ".\nrest", want: "<x>{#mkdir no\nway}<rest>"},
		{name: "step cut short", in: tok + "#mkdir no", want: "{#mkdir no}"},
		{name: "token in a step", in: tok + "#a " + tok + "?b" + tok + ".", want: "{#a " + tok + "?b}"},
		{name: "unknown kind", in: tok + "~" + tok + "!", want: "<" + tok + "~>{!}"},
		{name: "token twice", in: tok[:10] + tok + "!", want: "<" + tok[:10] + ">{!}"},
		{name: "after began", in: tok + "!\n" + tok + "?\n" + tok + "!\n", want: "{!}<" + tok + "?\n>{!}"},
		{name: "begun before", in: tok + "?" + tok + "#clean x" + tok + ".\n", begun: true, want: "<" + tok + "?>{#clean x}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for n := 1; n <= len(c.in)+1; n++ {
				if got := scanAll(&scanner{token: []byte(tok), begun: c.begun}, c.in, n); got != c.want {
					t.Fatalf("in pieces of %d: got %q, want %q", n, got, c.want)
				}
			}
		})
	}
}

func TestScannerBoundsAStep(t *testing.T) {
	s := &scanner{token: []byte(testToken)}
	var kept int
	s.scan([]byte(testToken+"#write "), func(piece) {})
	for range 1000 {
		s.scan(bytes.Repeat([]byte("x"), 1000), func(piece) { t.Error("a step that has not ended was told") })
		if len(s.pend)+len(s.step) > maxStepText+len(testToken) {
			t.Fatalf("%d bytes are held", len(s.pend)+len(s.step))
		}
	}
	s.scan([]byte(testToken+"."), func(p piece) { kept = len(p.text) })
	if kept != maxStepText {
		t.Errorf("got %d bytes of the step", kept)
	}
}

func TestCutter(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"plain", "<plain>"},
		{"a `cutme`x", "<a `e`x>"},
		{"`cut", "<`cut>"},
		{"`cutm", "<`>"},
		{"`cut`cutme`cutme'", "<`cut`e`e'>"},
	} {
		for n := 1; n <= len(c.in)+1; n++ {
			got := scanAll(&cutter{text: []byte("`cutm"), keep: 1}, c.in, n)
			if got != c.want {
				t.Errorf("%q in pieces of %d: got %q, want %q", c.in, n, got, c.want)
			}
		}
	}
}

func FuzzScanner(f *testing.F) {
	tok := testToken
	f.Add([]byte("plain"), 3)
	f.Add([]byte("a"+tok+"?"+tok+"!\r\nb"+tok+"#mkdir x"+tok+".\n"), 1)
	f.Add([]byte(tok[:30]+tok+"#"+tok+"#"+tok), 7)
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		n = max(1, min(n, len(in)))
		whole := scanAll(&scanner{token: []byte(tok)}, string(in), len(in)+1)
		if parts := scanAll(&scanner{token: []byte(tok)}, string(in), n); parts != whole {
			t.Errorf("in pieces of %d: %q, whole: %q", n, parts, whole)
		}
		if !bytes.Contains(in, []byte(tok)) {
			var out []byte
			s := &scanner{token: []byte(tok)}
			collect := func(p piece) { out = append(out, p.text...) }
			s.scan(in, collect)
			s.end(collect)
			if !bytes.Equal(out, in) {
				t.Errorf("got %q, want %q", out, in)
			}
		}
	})
}
