package safetext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// A filter is the common interface of all three filters.
type filter interface {
	io.Writer
	Flush() error
}

func apply(t testing.TB, make func(io.Writer) filter, pieces ...string) string {
	t.Helper()
	var b bytes.Buffer
	f := make(&b)
	for _, p := range pieces {
		if n, err := io.WriteString(f, p); err != nil || n != len(p) {
			t.Fatalf("Write(%q) = %d, %v", p, n, err)
		}
	}
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// eachByte splits s so that every boundary is tested.
func eachByte(s string) []string {
	var out []string
	for i := range len(s) {
		out = append(out, s[i:i+1])
	}
	return out
}

func utf8Filter(w io.Writer) filter  { return NewUTF8(w) }
func jsonFilter(w io.Writer) filter  { return NewJSONString(w) }
func plainFilter(w io.Writer) filter { return NewTerminal(w, false) }
func colorFilter(w io.Writer) filter { return NewTerminal(w, true) }

func TestFilters(t *testing.T) {
	tests := []struct {
		name   string
		filter func(io.Writer) filter
		in     string
		want   string
	}{
		{"ascii", utf8Filter, "plain\n", "plain\n"},
		{"umlaut", utf8Filter, "héllo €𝄞", "héllo €𝄞"},
		{"latin1", utf8Filter, "caf\xe9 \xff", `caf\xE9 \xFF`},
		{"half a sequence, then text", utf8Filter, "\xe2\x82a", `\xE2\x82a`},
		{"half a sequence at the end", utf8Filter, "x\xf0\x9d\x84", `x\xF0\x9D\x84`},
		{"surrogate", utf8Filter, "\xed\xa0\x80", `\xED\xA0\x80`},
		{"overlong", utf8Filter, "\xc0\xaf", `\xC0\xAF`},
		{"replacement character itself", utf8Filter, "\ufffd", "\ufffd"},
		{"sequence broken by another", utf8Filter, "\xe2\xc3\xa9", `\xE2é`},
		{"control characters stay", utf8Filter, "\x1b[31m\r\x00", "\x1b[31m\r\x00"},

		{"json quotes", jsonFilter, `a "b" \ /`, `a \"b\" \\ /`},
		{"json controls", jsonFilter, "\b\f\n\r\t\x00\x1b\x7f", "\\b\\f\\n\\r\\t\\u0000\\u001b\\u007f"},
		{"json no html escapes", jsonFilter, "<&>\u2028", `<&>\u2028`},
		{"json invalid", jsonFilter, "caf\xe9", `caf\\xE9`},

		{"terminal text", colorFilter, "a\tb\nc é\n", "a\tb\nc é\n"},
		{"colour passes", colorFilter, "\x1b[1;31mred\x1b[0m.", "\x1b[1;31mred\x1b[0m."},
		{"colour is switched off", colorFilter, "\x1b[38:5:7mred", "\x1b[38:5:7mred\x1b[0m"},
		{"colour over lines", colorFilter, "\x1b[31ma\nb\n\nc\x1b[m\n", "\x1b[31ma\x1b[0m\n\x1b[31mb\x1b[0m\n\n\x1b[31mc\x1b[m\n"},
		{"colour ends in the next line", colorFilter, "\x1b[31ma\n\x1b[0mb", "\x1b[31ma\x1b[0m\nb"},
		{"colour added in the next line", colorFilter, "\x1b[1ma\n\x1b[31mb", "\x1b[1ma\x1b[0m\n\x1b[1m\x1b[31mb\x1b[0m"},
		{"colour and nothing after", colorFilter, "\x1b[31ma\n", "\x1b[31ma\x1b[0m\n"},
		{"colour unwanted", plainFilter, "\x1b[31mred\x1b[0m", "red"},
		{"cursor", colorFilter, "a\x1b[2J\x1b[1;1Hb\x1b[?25l", "ab"},
		{"query", colorFilter, "a\x1b[6n\x1b[cb\x1b[>0qc", "abc"},
		{"private m is no colour", colorFilter, "a\x1b[>4;2mb", "ab"},
		{"title by BEL", colorFilter, "a\x1b]0;evil\x07b", "ab"},
		{"title by ST", colorFilter, "a\x1b]0;evil é\x1b\\b", "ab"},
		{"device control", colorFilter, "a\x1bP1$r0m\x1b\\b", "ab"},
		{"string never closed", colorFilter, "a\x1b]0;evil\nb", "a\nb"},
		{"sequence never closed", colorFilter, "a\x1b[1;\nb", "a\nb"},
		{"charset", colorFilter, "a\x1b(0b\x1bcd", "abd"},
		{"eight-bit controls", colorFilter, "a\u009b31mb\u0085c", "a31mbc"},
		{"sequence broken by text", colorFilter, "a\x1b[1éb\x1béc", "aébéc"},
		{"bell and backspace", colorFilter, "a\a\bb\x7f\x00", "ab"},
		{"crlf", colorFilter, "a\r\nb\r\n", "a\nb\n"},
		{"progress bar", colorFilter, "10%\r20%\rdone\n", "10%\n20%\ndone\n"},
		{"two returns", colorFilter, "a\r\r\nb", "a\n\nb"},
		{"terminal invalid", colorFilter, "caf\xe9", `caf\xE9`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := apply(t, tt.filter, tt.in); got != tt.want {
				t.Errorf("in one piece: %q, want %q", got, tt.want)
			}
			if got := apply(t, tt.filter, eachByte(tt.in)...); got != tt.want {
				t.Errorf("byte by byte: %q, want %q", got, tt.want)
			}
		})
	}
}

// deceptive lists all characters for which isDeceptive is true.
const deceptive = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

func TestDeceptive(t *testing.T) {
	for _, r := range deceptive {
		if got := TerminalString("a" + string(r) + "b"); got != "ab" {
			t.Errorf("%U on a terminal: %q", r, got)
		}
		if got, want := apply(t, jsonFilter, string(r)), fmt.Sprintf(`\u%04x`, r); got != want {
			t.Errorf("%U in JSON: %s, want %s", r, got, want)
		}
	}
	const good = "\u00a0é\u0600\u200d\u200b\u2027\u2030\u2065\u206a\u3000ش"
	if got := TerminalString(good); got != good {
		t.Errorf("on a terminal: %q, want %q", got, good)
	}
	if got := apply(t, jsonFilter, good); got != good {
		t.Errorf("in JSON: %q, want %q", got, good)
	}
	if got, want := apply(t, jsonFilter, "\x7f\u0080\u009f"), `\u007f\u0080\u009f`; got != want {
		t.Errorf("in JSON: %s, want %s", got, want)
	}
}

func TestWriteErrorsPassThrough(t *testing.T) {
	for name, make := range map[string]func(io.Writer) filter{"utf8": utf8Filter, "json": jsonFilter, "terminal": colorFilter} {
		t.Run(name, func(t *testing.T) {
			r, w := io.Pipe()
			r.Close()
			if _, err := io.WriteString(make(w), "text \xff \x1b[31m"); err != io.ErrClosedPipe {
				t.Errorf("error is %v, want %v", err, io.ErrClosedPipe)
			}
		})
	}
}

// FuzzFilters checks, for any bytes in any two pieces, that the result is valid
// UTF-8, does not depend on the cut, and contains no forbidden character.
func FuzzFilters(f *testing.F) {
	for _, s := range []string{"caf\xe9", "\x1b[31mred\n\x1b]0;t\x07\r\r\n", "é€𝄞\xf0\x9d", "\x1b[38;5;1m\n\n\x1b[0;1mx", "\u009b1m\x1b\x1b[mé", "a\u202eb\u061c\u2069\u2028\x1b\u200f[m\x7f\u2022ت"} {
		f.Add([]byte(s), 2)
	}
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		if cut < 0 || cut > len(in) {
			cut = len(in) / 2
		}
		s := string(in)
		for name, make := range map[string]func(io.Writer) filter{"utf8": utf8Filter, "json": jsonFilter, "plain": plainFilter, "color": colorFilter} {
			whole := apply(t, make, s)
			if parts := apply(t, make, s[:cut], s[cut:]); parts != whole {
				t.Fatalf("%s: cut at %d: %q, whole: %q", name, cut, parts, whole)
			}
			if !utf8.ValidString(whole) {
				t.Fatalf("%s: %q is no UTF-8", name, whole)
			}
			switch name {
			case "json":
				var back string
				if err := json.Unmarshal([]byte(`"`+whole+`"`), &back); err != nil || back != String(s) {
					t.Fatalf("json: %q reads as %q, %v", whole, back, err)
				}
				if TerminalString(whole) != whole {
					t.Fatalf("json: %q is not safe on a terminal", whole)
				}
			case "plain":
				if i := strings.IndexFunc(whole, func(r rune) bool {
					return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || isDeceptive(r)
				}); i >= 0 {
					t.Fatalf("plain: %q has a control character at %d", whole, i)
				}
			case "color":
				if plain := apply(t, plainFilter, whole); plain != apply(t, plainFilter, s) {
					t.Fatalf("color: text %q differs from plain", plain)
				}
			}
		}
	})
}

func BenchmarkFilters(b *testing.B) {
	line := []byte("2030-01-02 03:04:05 héllo: a line of a log, with a \"quoted\" word and \x1b[31mcolour\x1b[0m\n")
	chunk := bytes.Repeat(line, 32<<10/len(line))
	for name, make := range map[string]func(io.Writer) filter{"utf8": utf8Filter, "json": jsonFilter, "terminal": colorFilter} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(chunk)))
			f := make(io.Discard)
			for b.Loop() {
				if _, err := f.Write(chunk); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
