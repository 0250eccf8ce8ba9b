package eval_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

func builtinEnv() eval.Env {
	env := newEnv()
	env.Library = eval.NewLibrary(nil, builtin.Functions(builtin.Options{})...)
	env.Builder = &recorder{params: map[string]*value.Hash{}}
	return env
}

// TestNextBreakReturn compares values and kinds of errors with those of Puppet
// 8.
func TestNextBreakReturn(t *testing.T) {
	for src, want := range map[string]string{
		`inline_epp('<%= return(1) %>')`:                            "1",
		`inline_epp('a<% return() %>b')`:                            "",
		`inline_epp('<% | $a | %><%= $a %>', {a => 1, b => undef})`: "1",
		`inline_epp('<% | $a | %><%= $b %>', {a => 1, b => undef})`: "unknown-variable",
		`inline_epp('<% | $a = 2 | %><%= $a %>', {a => undef})`:     "2",
		`inline_epp('a<% next("x") %>b')`:                           "x",
		`inline_epp('a<% next() %>b')`:                              "type-mismatch",
		`inline_epp('a<% break() %>b')`:                             "illegal-break",
		`Timespan(1) + 1e300`:                                       "overflow",
		`1e300 - Timespan(0)`:                                       "overflow",
		`Timestamp(0) + 1e300`:                                      "overflow",
		`Timestamp(0) - 1e300`:                                      "overflow",
		`Timespan(1) * 9223372036854775808.0`:                       "overflow",
		`notify { 'a': message => [1].reverse_each }`:               "type-mismatch",
		`notify { 'a': message => {a => [[1].reverse_each]} }`:      "type-mismatch",
		`notify { 'a': * => {message => [1].reverse_each} }`:        "type-mismatch",
		`Notify <| message == [a] |>`:                               "bad-query",
		`Notify <| message == {a => 1} |>`:                          "bad-query",
		`Notify <| message == upcase('a') |>`:                       "bad-query",
		`Notify <| message == Integer |>`:                           "bad-query",
		`Notify <| message == -1 |>`:                                "bad-query",
		`defined('::')`:                                             "true",
		`defined('::main')`:                                         "false",
		`[1].step(1).step(1).map |$x| { $x }`:                       "[1]",
		`Integer[1, 5000].reduce([1]) |$m, $x| { $m.step(1) }`:      "too-deep",
		`*[1, 2]`: "[1, 2]",
	} {
		v, err := run(t, builtinEnv(), src)
		got := ""
		if err != nil {
			got = eval.AsError(err).Kind
		} else {
			got = value.ToString(v)
		}
		if got != want {
			t.Errorf("%s\n got %s (%v), want %s", src, got, err, want)
		}
	}
}

// TestJumpsOutOfBodies checks that a jump out of the body of a node or a define
// is an error with a position.
func TestJumpsOutOfBodies(t *testing.T) {
	for src, want := range map[string]string{
		"node default {\n  return() }": "illegal-return",
		"node default {\n  next() }":   "illegal-next",
		"node default {\n  break() }":  "illegal-break",
		"define d() {\n  break() }":    "illegal-break",
		"class c() {\n  break() }":     "illegal-break",
		"class c() {\n  return() }":    "",
		"define d() {\n  next() }":     "",
	} {
		p, err := syntax.Parse(syntax.NewFile("test.pp", src), syntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		in := eval.New(builtinEnv())
		_, err = in.Site(context.Background(), nil).Body(eval.Definitions(p, "")[0], in.NewScope(eval.ScopeOptions{Kind: eval.DefineScope, Parent: in.Top()}))
		switch e, is := err.(*eval.Error); {
		case want == "" && err == nil:
		case !is || e.Kind != want || e.Pos.Line != 2:
			t.Errorf("%s\n got %v, want %s", src, err, want)
		}
	}
}

// TestManyElementsTakeLinearTime checks that operations on many elements do not
// take quadratic time.
func TestManyElementsTakeLinearTime(t *testing.T) {
	var locals, attrs, refs strings.Builder
	locals.WriteString("function f() {\n")
	for i := range 30000 {
		fmt.Fprintf(&locals, "$v%d = %d\n", i, i)
		fmt.Fprintf(&attrs, "a%d => 1,\n", i)
		fmt.Fprintf(&refs, "Notify['n%d'],\n", i)
	}
	for name, src := range map[string]string{
		"locals":   locals.String() + "$v0 }\nf()",
		"attrs":    "notify { 'a':\n" + attrs.String() + "}",
		"defaults": "notify { default:\n" + attrs.String() + ";\n'a':\n" + attrs.String() + "}",
		"relation": "[" + refs.String() + "] -> Notify['a']",
	} {
		begin := time.Now()
		if _, err := run(t, builtinEnv(), src); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := time.Since(begin); d > time.Minute {
			t.Errorf("%s took %v", name, d)
		}
	}
}

// TestMatchesBelongToRun checks that matches of regular expressions are not
// shared between runs.
func TestMatchesBelongToRun(t *testing.T) {
	in := eval.New(builtinEnv())
	var group sync.WaitGroup
	for i := range 4 {
		src := fmt.Sprintf(`Integer[1, 200].each |$x| { if 'a%d' =~ /a(.)/ { if $1 != '%d' { fail($1) } } } if 'a%d' =~ /./ { $0 }`, i, i, i)
		p, err := syntax.Parse(syntax.NewFile("test.pp", src), syntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			if _, err := in.Run(context.Background(), p, nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// A fixedLoader has the definitions of a program.
type fixedLoader map[string]*eval.Definition

func (l fixedLoader) Load(_ context.Context, kind eval.Kind, name string) (*eval.Definition, error) {
	if d := l[name]; d != nil && d.Kind == kind {
		return d, nil
	}
	return nil, nil
}

// TestSharedLibrary checks that Interps with their own definitions can
// alternate in the code of one Library, which uses the definitions of each.
func TestSharedLibrary(t *testing.T) {
	p, err := syntax.Parse(syntax.NewFile("lib.pp", `function lib() { [own()].map |Own $x| { helper($x) } } function helper(Own $x) >> Own { $x }`), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	loader := fixedLoader{}
	for _, d := range eval.Definitions(p, "") {
		loader[d.Name] = d
	}
	env := newEnv()
	env.Library = eval.NewLibrary(loader, builtin.Functions(builtin.Options{})...)
	for range 2 {
		for src, want := range map[string]string{
			`type Own = Integer function own() { 1 } lib()`:  "[1]",
			`type Own = String function own() { 'a' } lib()`: "[a]",
		} {
			v, err := run(t, env, src)
			if err != nil || value.ToString(v) != want {
				t.Errorf("%s\n got %v, %v", src, v, err)
			}
		}
	}
}

// TestWrappedErrorKeepsPosition checks that a wrapped error keeps its position
// and the text around it.
func TestWrappedErrorKeepsPosition(t *testing.T) {
	env := newEnv()
	env.Library = eval.NewLibrary(nil, &eval.Function{Name: "wrap", Signatures: []eval.Signature{{Block: "Callable[0, 0]", Run: func(c *eval.Call) (value.Value, error) {
		_, err := c.Yield()
		return nil, fmt.Errorf("outside: %w", err)
	}}}})
	_, err := run(t, env, "wrap() || {\n  $unknown }")
	e, is := err.(*eval.Error)
	if !is || e.Kind != "unknown-variable" || e.Pos.Line != 2 || e.Msg != "outside: unknown variable $unknown" || len(e.Stack) < 2 {
		t.Errorf("got %#v", err)
	}
	if got := eval.AsError(fmt.Errorf("more: %w", err)); got.Msg != "more: outside: unknown variable $unknown" || got.Pos.Line != 2 {
		t.Errorf("got %v", got)
	}
}
