package syntax

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// reprint fails if the output of the printer does not parse to the same tree,
// or if printing that tree gives a different output.
func reprint(t *testing.T, prog *Program, parse func(*File, Options) (*Program, error), o Options) {
	t.Helper()
	want := dumpText(t, prog, PN)
	var out bytes.Buffer
	if err := Print(&out, prog); err != nil {
		t.Fatal(err)
	}
	again, err := parse(NewFile("printed", out.String()), o)
	if err != nil {
		t.Fatalf("printed text has errors: %v\n%s\nof:\n%s", err, out.String(), prog.File.Src)
	}
	if got := dumpText(t, again, PN); got != want {
		t.Fatalf("printed text has another tree:\n%s\ngot  %s\nwant %s\nof:\n%s", out.String(), got, want, prog.File.Src)
	}
	var second bytes.Buffer
	if err := Print(&second, again); err != nil {
		t.Fatal(err)
	}
	if second.String() != out.String() {
		t.Fatalf("printing is not stable:\n%s\nthen:\n%s", out.String(), second.String())
	}
}

func dumpText(t testing.TB, prog *Program, format Format) string {
	t.Helper()
	var b bytes.Buffer
	if err := Dump(&b, prog, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func fuzz(f *testing.F, parse func(*File, Options) (*Program, error)) {
	f.Fuzz(func(t *testing.T, src string, tasks bool) {
		o := Options{Tasks: tasks}
		file := NewFile("fuzz.pp", src)
		prog, err := parse(file, o)
		end := uint32(len(src))
		Walk(prog.Body, func(n Node) bool {
			if n != nil && (n.At().Off > end || n.At().End() > end) {
				t.Fatalf("%T at %v is outside of the text, which has %d bytes", n, n.At(), end)
			}
			return n != nil
		})
		dumpText(t, prog, JSON)
		dumpText(t, prog, Tree)
		if err == nil {
			if utf8.ValidString(src) && !hasCorner(prog) {
				reprint(t, prog, parse, o)
			}
			return
		}
		last := -1
		for _, e := range err.(Errors) {
			if int(e.Span.Off) <= last {
				t.Fatalf("errors are not in the order of the text: %v", err)
			}
			last = int(e.Span.Off)
			if e.Kind == "" || e.Msg == "" {
				t.Fatalf("an error without kind or text: %v", err)
			}
			_ = e.Excerpt()
		}
	})
}

// hasCorner reports whether a program contains a heredoc inside the text of a
// heredoc. The printer can change such a program, because the inner text can be
// part of the outer one.
func hasCorner(prog *Program) bool {
	found := false
	inside := 0
	var stack []bool
	Walk(prog.Body, func(n Node) bool {
		if n == nil {
			if stack[len(stack)-1] {
				inside--
			}
			stack = stack[:len(stack)-1]
			return false
		}
		_, heredoc := n.(*Heredoc)
		if heredoc {
			if inside > 0 {
				found = true
			}
			inside++
		}
		stack = append(stack, heredoc)
		return true
	})
	return found
}

func FuzzParse(f *testing.F) {
	for _, c := range corpusFiles(f) {
		f.Add(c.src, true)
	}
	for _, c := range recordedCases(f) {
		if !c.EPP {
			f.Add(c.Src, c.Tasks)
		}
	}
	fuzz(f, Parse)
}

func FuzzParseTemplate(f *testing.F) {
	for _, c := range recordedCases(f) {
		if c.EPP {
			f.Add(c.Src, c.Tasks)
		}
	}
	fuzz(f, ParseTemplate)
}
