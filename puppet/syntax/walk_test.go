package syntax

import "testing"

func TestExtent(t *testing.T) {
	for _, text := range []string{
		"1", "-1", "!$a", "*$a", "'x'", `"a ${b} c"`, `"${a}"`, `"${f($a)}"`, "undef", "default", "abc", "A::B", "A[1]", "$a", "(1)", "((1) + (2))",
		"1 + 2", "1 + 2 * -3", "$a and !$b", "$a =~ /x/", "$a['x']", "$a[1][2]", "[1, [2]]", "[]", "{}", "{'a' => {'b' => 1}}",
		"f()", "f(1)", "f(a => 1)", "f(1) |$x| { $x }", "$a.f", "$a.f()", "$a.f(1).g", "$a.f |$x| { $x }", "$a.f(1) |$x| { $x }.g", "A('x')", "$a.f[0]",
		"$a ? { 1 => 2 }", "$a ? { 1 => 2, default => [3] }", "if $a { 1 } else { 2 }", "if $a { 1 } elsif $b { 2 }", "unless $a { 1 } else { 2 }", "unless $a { 1 }", "case $a { 1: { 2 } default: { 3 } }",
		"A[B['x'], Optional[C]]", "1 in [1]", "$a != 1 ? { true => 1, default => 2 }",
	} {
		program, err := Parse(NewFile("", "$v = "+text+" # end\n"), Options{Tasks: true})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		at := Extent(program.Body.Exprs[0].(*Assign).Y)
		if got := program.File.Src[at.Off:at.End()]; got != text {
			t.Errorf("the extent of %q is %q", text, got)
		}
	}
	program, err := Parse(NewFile("", "$v = f(@(END), 1)\n  text\n  | END\n$w = 1\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := Extent(program.Body.Exprs[0].(*Assign).Y)
	if got := program.File.Src[at.Off:at.End()]; got != "f(@(END), 1)" {
		t.Errorf("the extent of a call with a heredoc is %q", got)
	}
}
