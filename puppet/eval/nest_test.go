package eval_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
)

// nests are ways to nest expressions.
var nests = []struct{ name, open, close string }{
	{"list", "[", "]"},
	{"hash", "{a => ", "}"},
	{"key", "{", " => 1}"},
	{"paren", "(", ")"},
	{"not", "!(", ")"},
	{"neg", "-(", " + 1)"},
	{"splat", "[*", "]"},
	{"sum", "1 + (", ")"},
	{"left", "(", " + 1)"},
	{"and", "true and (", ")"},
	{"or", "false or (", ")"},
	{"equal", "1 == (", ")"},
	{"less", "1 < (", ")"},
	{"match", "'a' =~ (", ")"},
	{"in", "1 in [", "]"},
	{"index", "[1][", "]"},
	{"indexed", "[", "][0]"},
	{"type", "Array[", "]"},
	{"if", "[if (", ") { 1 }]"},
	{"then", "[if true {", "}]"},
	{"else", "[if false { } else {", "}]"},
	{"unless", "[unless false {", "}]"},
	{"case", "[case (", ") { default: { 1 } }]"},
	{"option", "[case 1 { ", ": { 1 } }]"},
	{"branch", "[case 1 { 1: {", "} }]"},
	{"selector", "(", ") ? { default => 1 }"},
	{"selected", "1 ? { 1 => ", "}"},
	{"text", `"a${`, `}"`},
	{"assign", "$x = [", "]"},
	{"call", "g(", ")"},
	{"native", "String(", ")"},
	{"method", "(", ").g"},
	{"chain", "", ".g"},
	{"lambda", "[1].each |$x| {", "}"},
	{"with", "with(1) |$x| {", "}"},
	{"default", "[with() |$x = [", "]| { $x }]"},
	{"template", "inline_epp('<%= ", " %>')"},
	{"resource", "[notify { ", ": }]"},
	{"attribute", "[notify { a: message => ", "}]"},
	{"defaults", "[Notify { message => ", "}]"},
	{"override", "[Notify['a'] { message => ", "}]"},
	{"collector", "[Notify <| title == 'a' |> { message => ", "}]"},
	{"query", "Notify <| title == [1][", "] |>"},
	{"relation", "Notify['a'] -> [", "]"},
	{"new", "Integer.new(", ")"},
}

// TestDeepNestingIsAnError nests each kind of expression as deep as the parser
// allows, in functions with infinite recursion. The result must be an error and
// must not end the process.
func TestDeepNestingIsAnError(t *testing.T) {
	env := newEnv()
	env.Library = eval.NewLibrary(nil, builtin.Functions(builtin.Options{})...)
	env.Builder = &recorder{}
	for _, n := range nests {
		deepest := 0
		for _, levels := range []int{900, 450, 220, 60, 3} {
			if deepest > 0 && levels > 3 {
				continue
			}
			if n.name == "template" {
				levels = 1 // there would be quotes in quotes
			}
			src := "function g(*$x) { $x }\nfunction f($n) { " + strings.Repeat(n.open, levels) + "f($n + 1)" + strings.Repeat(n.close, levels) + " }\nf(1)"
			p, err := syntax.Parse(syntax.NewFile("nest.pp", src), syntax.Options{})
			if err != nil && levels > 60 {
				continue // what is deeper cannot be written
			}
			if err != nil {
				t.Fatalf("%s: %v", n.name, err)
			}
			deepest = max(deepest, levels)
			_, err = eval.New(env).Run(context.Background(), p, nil)
			if e, is := errors.AsType[*eval.Error](err); !is || e.Kind != "too-deep" {
				t.Errorf("%s, %d levels: %v", n.name, levels, err)
			}
		}
	}
}

// TestCallsCanBeDeep checks that the limit of nested calls is high enough.
func TestCallsCanBeDeep(t *testing.T) {
	env := newEnv()
	env.Library = eval.NewLibrary(nil, builtin.Functions(builtin.Options{})...)
	for _, src := range []string{
		`function f($n) { if $n == 0 { 0 } else { 1 + f($n - 1) } } f(9990)`,
		`function f($n) { if $n == 0 { 0 } else { [1].map |$x| { $x + f($n - 1) }[0] } } f(3300)`,
	} {
		if _, err := run(t, env, src); err != nil {
			t.Errorf("%s: %v", src, err)
		}
	}
}
