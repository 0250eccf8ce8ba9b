package syntax

import (
	"strings"
	"testing"
)

func TestInline(t *testing.T) {
	drop := func(x Expr) (string, bool) {
		v, is := x.(*Var)
		return "it", is && v.Name == "drop"
	}
	for src, want := range map[string]string{
		"$a + 1":                         "$a + 1",
		"f(\n  'x',\n  $drop,\n)":        "f('x', it)",
		"$l.map |$x| {\n  g($x)\n 1}":    "$l.map |$x| { g($x); 1 }",
		"f(@(E))\n  two\n  lines\n  | E": `f("two\nlines\n")`,
		`"a ${drop[1]} ${b}"`:            `"a ${drop[1]} ${b}"`,
		`"${$drop + 1}"`:                 `"${it + 1}"`,
		"case $a { 1: { f() } }":         "case $a { 1: { f() } }",
	} {
		prog, err := Parse(NewFile("", src), Options{Tasks: true})
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		if got := Inline(prog.Body.Exprs[0], drop); got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
}

// TestInlineIsBounded writes a very long expression.
func TestInlineIsBounded(t *testing.T) {
	src := "[" + strings.Repeat("'abc', [", 500) + strings.Repeat("]", 501)
	src += " + [" + strings.Repeat("'abc',\n", 10000) + "]"
	prog, err := Parse(NewFile("", src), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := Inline(prog.Body.Exprs[0], func(Expr) (string, bool) { return "", false })
	if len(got) > 2*maxInline || !strings.Contains(got, "…") {
		t.Errorf("%d bytes: …%s", len(got), got[len(got)-40:])
	}
}
