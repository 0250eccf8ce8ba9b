package eval_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// TestReadGetsVariables checks that Env.Read gets each read of a variable of
// the top scope, with the keys that are applied immediately.
func TestReadGetsVariables(t *testing.T) {
	for _, c := range []struct{ program, want string }{
		{"$x = 1 $x", "x x"},
		{"$facts['a']['b']", "facts.a.b"},
		{"$facts['a']['b']['c']", "facts.a.b"}, // b is a string
		{"$facts['a', 'n']", "facts"},
		{"$facts[1]", "facts"},
		{"$facts[$facts['n']]", "facts.n facts.b"},
		{"[$facts]", "facts"},
		{"\"${facts['a']} ${::n}\"", "facts.a n"},
		{"[1].each |$x| { $facts['n'] }", "facts.n"},
		{"function f($x) { $facts['n'] } f($facts['a'])", "facts.a facts.n"},
		{"function f($facts_of) { $facts_of['n'] } f({})", ""},
		{"$none", "none"},
		{"$facts['none']['b']", "facts.none"},
		{"[$x, $y] = [1, 2]", "x y"},
	} {
		var reads []string
		facts := value.NewHash(
			value.Entry{Key: value.String("a"), Value: value.NewHash(value.Entry{Key: value.String("b"), Value: value.String("text")})},
			value.Entry{Key: value.String("n"), Value: value.String("b")},
		)
		env := newEnv()
		env.Facts, env.Variables = facts, facts
		env.Read = func(name string, path []string) {
			reads = append(reads, strings.Join(append([]string{name}, path...), "."))
		}
		p, err := syntax.Parse(syntax.NewFile("p.pp", c.program), syntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		eval.New(env).Run(context.Background(), p, nil) // errors are part of it
		if got := strings.Join(reads, " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.program, got, c.want)
		}
	}
}

// TestReadGetsLookupsOfScope checks that lookups from outside of the language
// are recorded, too.
func TestReadGetsLookupsOfScope(t *testing.T) {
	var reads []string
	facts := value.NewHash(value.Entry{Key: value.String("a"), Value: value.NewHash()})
	in := eval.New(eval.Env{Facts: facts, Read: func(name string, path []string) {
		reads = append(reads, name+" "+strings.Join(path, "."))
	}})
	s := in.Top()
	s.Lookup("facts")
	s.LookupPath("::facts", value.String("a"), value.String("b"), value.String("c"))
	s.LookupPath("facts", value.Int(1))
	s.LookupPath("none", value.String("a"))
	for range s.All() {
		break
	}
	if err := s.Set("set", value.Int(1)); err != nil {
		t.Fatal(err)
	}
	if want := []string{"facts ", "facts a.b", "facts ", "none ", " ", "set "}; !slices.Equal(reads, want) {
		t.Errorf("got %q, want %q", reads, want)
	}
}
