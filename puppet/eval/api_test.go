package eval_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// within runs a Go function at a position of a program.
func within(t *testing.T, env eval.Env, src string, f func(c *eval.Call) (value.Value, error)) (value.Value, error) {
	t.Helper()
	env.Library = eval.NewLibrary(nil, append(functions(), &eval.Function{Name: "here", Signatures: []eval.Signature{{
		Params: "Any *$args", Block: "Optional[Callable]", Run: f,
	}}})...)
	return run(t, env, src)
}

func TestScopeHasVariablesAndSettings(t *testing.T) {
	env := newEnv()
	env.Variables = args("environment", value.String("production"))
	env.Settings = args("confdir", value.String("/etc"))
	_, err := within(t, env, "$top = 1 $hidden = 2 with(3) |$x| { $hidden = 4 with(5) |$y| { here() } }", func(c *eval.Call) (value.Value, error) {
		for name, want := range map[string]value.Value{
			"x": value.Int(3), "y": value.Int(5), "hidden": value.Int(4), "top": value.Int(1), "::hidden": value.Int(2),
			"environment": value.String("production"), "settings::confdir": value.String("/etc"), "none": nil, "a::b": nil,
		} {
			if v, ok := c.Scope.Lookup(name); v != want || ok != (want != nil) {
				t.Errorf("$%s is %v, %v", name, v, ok)
			}
		}
		all := maps.Collect(c.Scope.All())
		if all["hidden"] != value.Int(4) || all["top"] != value.Int(1) || all["y"] != value.Int(5) || all["facts"] == nil {
			t.Errorf("got %v", all)
		}
		if names := slices.Sorted(maps.Keys(all)); !slices.Equal(names, []string{"environment", "facts", "hidden", "top", "trusted", "x", "y"}) {
			t.Errorf("got %v", names)
		}
		if err := c.Scope.Set("top", value.Int(9)); err == nil {
			t.Error("$top was set twice")
		}
		return nil, c.Scope.Set("more", value.Int(9))
	})
	if err != nil {
		t.Error(err)
	}
}

func TestBlock(t *testing.T) {
	for src, want := range map[string]string{
		"here() |Integer $a, $b = 1, *$c| >> String { 'x' }": "[a b c] 1 -1 Callable[[Integer, Any, Any, 1], String]",
		"here() |$a, $b| { }":                                "[a b] 2 2 Callable[Any, Any, 2, 2]",
		"here() || { }":                                      "[] 0 0 Callable[0, 0]",
		"here() |Array[Integer, 1, 2] *$a| { }":              "[a] 1 2 Callable[Integer, 1, 2]",
	} {
		var got string
		_, err := within(t, newEnv(), src, func(c *eval.Call) (value.Value, error) {
			lo, hi := c.Block.Arity()
			typ, err := c.Block.Type(&c.Site)
			if err == nil {
				got = fmt.Sprintf("%v %d %d %s", c.Block.Params(), lo, hi, value.TypeString(typ))
			}
			return nil, err
		})
		if err != nil || got != want {
			t.Errorf("%s\n got %s, %v\nwant %s", src, got, err, want)
		}
	}
	v, err := within(t, newEnv(), "here()", func(c *eval.Call) (value.Value, error) {
		sum := eval.NewBlock(2, 2, func(args []value.Value) (value.Value, error) {
			return args[0].(value.Int) + args[1].(value.Int), nil
		})
		return c.Call("reduce", sum, value.NewArray(value.Int(1), value.Int(2), value.Int(3)))
	})
	if err != nil || v != value.Int(6) {
		t.Errorf("got %v, %v", v, err)
	}
}

func TestSite(t *testing.T) {
	env := newEnv()
	env.Limits.Size = 1600
	_, err := within(t, env, "\n  here()", func(c *eval.Call) (value.Value, error) {
		if p := c.Position(); p.Line != 2 || p.Column != 3 || c.Context() == nil || c.Tasks() {
			t.Errorf("got %v", p)
		}
		if e := c.Errorf("kind", "text %d", 1); e.Kind != "kind" || e.Error() != "test.pp:2:3: text 1" || len(e.Stack) != 1 {
			t.Errorf("got %+v", e)
		}
		if c.Size(1600) != nil || c.Size(1601) == nil || c.Elements(100) != nil || c.Elements(101) == nil || c.Step(1) != nil {
			t.Error("limits")
		}
		if err := c.Warn("odd", "odd"); err == nil {
			t.Error("strict is error")
		}
		typ, err := c.ParseType("Array[Integer, 1]")
		if err != nil || value.TypeString(typ) != "Array[Integer, 1]" {
			t.Errorf("got %v, %v", typ, err)
		}
		for _, bad := range []string{"1", "Array[", "$x", "Nowhere", "notice('x')", ""} {
			var e *eval.Error
			if _, err := c.ParseType(bad); !errors.As(err, &e) || e.Pos.Line != 2 {
				t.Errorf("%q: got %v", bad, err)
			}
		}
		if yes, err := c.HasResourceType("::File"); !yes || err != nil {
			t.Error("file is a type of resources")
		}
		if yes, err := c.Declared("file", "x"); yes || err != nil {
			t.Error("nothing is declared")
		}
		d, err := c.Find(eval.KindFunction, "::Notice")
		if d == nil || err != nil || d.Function == nil {
			t.Errorf("got %v, %v", d, err)
		}
		_, err = c.Call("nowhere", nil)
		return nil, err
	})
	var e *eval.Error
	if !errors.As(err, &e) || e.Kind != "unknown-function" || e.Pos.Line != 2 {
		t.Errorf("got %v", err)
	}
}

// TestErrorsOfFunctions checks that an error of a function has the position of
// its call, unless it already has a position.
func TestErrorsOfFunctions(t *testing.T) {
	shared := eval.Errorf("mine", "text")
	cause := errors.New("cause")
	for _, c := range []struct {
		err  error
		kind string
		line int
	}{
		{shared, "mine", 2},
		{cause, "call", 2},
		{&eval.Error{Kind: "other", Pos: syntax.Position{File: "x.pp", Line: 9, Column: 1}}, "other", 9},
		{syntax.Errors{{File: syntax.NewFile("y.pp", "\n\n\nx"), Span: syntax.Span{Off: 3}, Kind: "bad", Msg: "bad"}}, "bad", 4},
	} {
		_, err := within(t, newEnv(), "\nhere()", func(*eval.Call) (value.Value, error) { return nil, c.err })
		var e *eval.Error
		if !errors.As(err, &e) || e.Kind != c.kind || e.Pos.Line != c.line {
			t.Errorf("%v: got %v", c.err, err)
		}
		if c.err == cause && !errors.Is(err, cause) {
			t.Error("the cause is lost")
		}
	}
	if shared.Pos.Line != 0 || shared.Stack != nil {
		t.Error("the error of the function was changed")
	}
	if e := eval.AsError(cause); e.Kind != "call" || e.Err != cause || eval.AsError(shared) != shared {
		t.Errorf("got %+v", e)
	}
}

// TestCatchErrors checks that a function can catch errors of its block, but not
// jumps.
func TestCatchErrors(t *testing.T) {
	catch := func(c *eval.Call) (value.Value, error) {
		v, err := c.Yield()
		if err != nil && !eval.IsJump(err) {
			return value.String(eval.AsError(err).Kind), nil
		}
		return v, err
	}
	for src, want := range map[string]string{
		"here() || { fail('x') }": "'fail'",
		"here() || { 1 + 'a' }":   "'not-numeric'",
		"[1, 2].map |$x| { here() || { if $x == 2 { break() } } $x }":             "[1]",
		"function f() { here() || { return(5) } 6 } f()":                          "5",
		"here() || { [1].each |$x| { fail($x) } }":                                "'fail'",
		"[here() || { [1].each |$x| { $y = $x fail($x) } }, with(2) |$x| { $x }]": "['fail', 2]",
	} {
		v, err := within(t, newEnv(), src, catch)
		if err != nil || value.Inspect(v) != want {
			t.Errorf("%s\n got %v, %v\nwant %s", src, v, err, want)
		}
	}
}

func TestMismatchReportsAllProblems(t *testing.T) {
	e := fault(t, newEnv(), "each(1.5) |$x| { }")
	if want := "each(): parameter 'list' expects an Iterable value, got Float"; e.Msg != want { // the other signature needs another block
		t.Errorf("got %q, want %q", e.Msg, want)
	}
	e = fault(t, newEnv(), "each([1])")
	if want := "each() takes one of\n  (Iterable list, Callable[2, 2] block): it needs a block\n  (Iterable list, Callable[1, 1] block): it needs a block"; e.Msg != want {
		t.Errorf("got %q, want %q", e.Msg, want)
	}
	env := newEnv()
	run := func(*eval.Call) (value.Value, error) { return nil, nil }
	long := "Struct[{first => String, second => String, third => String, fourth => String}] $options"
	env.Library = eval.NewLibrary(nil, &eval.Function{Name: "f", Signatures: []eval.Signature{
		{Params: long, Run: run}, {Params: long, Run: run}, {Params: "String $a", Run: run}, {Params: "String $a, Integer $b", Run: run},
	}})
	e = fault(t, env, "f(1)")
	if n := strings.Count(e.Msg, "\n"); n != 2 || !strings.Contains(e.Msg, "(Struct[…] options): ") || !strings.Contains(e.Msg, "(String a): ") {
		t.Errorf("got %d lines, want 2: %s", n, e.Msg)
	}
	for src, want := range map[string]string{
		"f()":                                    "'f' expects between 1 and 2 arguments, got none",
		"f('a', 1, 2)":                           "'f' expects between 1 and 2 arguments, got 3",
		"function g() { } g(1)":                  "'g' expects no arguments, got 1",
		"function g($a) { } g(1, 2)":             "'g' expects 1 argument, got 2",
		"function g($a, *$more) { } g()":         "'g' expects at least 1 argument, got none",
		"function g($a, $b, *$more) { } g(1)":    "'g' expects at least 2 arguments, got 1",
		"function g($a, $b = 1) { } g(1, 2, 3)":  "'g' expects between 1 and 2 arguments, got 3",
		"function g($a, $b, *$more) { g() } g()": "'g' expects at least 2 arguments, got none",
	} {
		if e := fault(t, env, src); e.Msg != want {
			t.Errorf("%s: got %q, want %q", src, e.Msg, want)
		}
	}
	e = fault(t, newEnv(), "[1].each |$x, $y, $z| { }")
	for _, want := range []string{"1 argument", "2 arguments", "takes 3"} {
		if !strings.Contains(e.Msg, want) {
			t.Errorf("%q is not in %q", want, e.Msg)
		}
	}
}

func TestTypeSet(t *testing.T) {
	src := `type Set = TypeSet[{
  pcore_version => '1.0.0',
  version => '1.0.0',
  types => {
    Port => Integer[1, 65535],
    Host => Object[{attributes => {name => String, port => {type => Port, value => 22}}}],
    Named => { attributes => { label => String } },
    Web => Named { attributes => { host => Host } },
    Tree => Variant[Port, Array[Tree]],
  },
}]
`
	for expr, want := range map[string]string{
		"Set::Host('a').port":                         "22",
		"Set::Host('a', 80).port":                     "80",
		"Set::Web('x', Set::Host('a')).label":         "'x'",
		"Set::Web('x', Set::Host('a')).host.name":     "'a'",
		"Set::Web('x', Set::Host('a')) =~ Set::Named": "true",
		"[1, [2, [3]]] =~ Set::Tree":                  "true",
		"[1, [2, ['a']]] =~ Set::Tree":                "false",
		"80 =~ Set::Port":                             "true",
		"0 =~ Set::Port":                              "false",
		"Set::Host('a', 0)":                           "argument-type",
		"Set::Nothing":                                "unknown-type",
	} {
		v, err := run(t, newEnv(), src+expr)
		var e *eval.Error
		if errors.As(err, &e) {
			if e.Kind != want {
				t.Errorf("%s: got %v, want %s", expr, err, want)
			}
		} else if err != nil || value.Inspect(v) != want {
			t.Errorf("%s: got %v, %v, want %s", expr, v, err, want)
		}
	}
}

func TestMethods(t *testing.T) {
	env := newEnv()
	env.Library = eval.NewLibrary(nil, append(functions(),
		&eval.Function{Name: "host.url", Signatures: []eval.Signature{{Params: "Any $self, String $path = ''", Run: func(c *eval.Call) (value.Value, error) {
			name, _ := c.Args[0].(*value.Object).Get("name")
			path, _ := c.Arg(1).(value.String)
			return "http://" + name.(value.String) + path, nil
		}}}},
		&eval.Function{Name: "handle.size", Signatures: []eval.Signature{{Params: "Any $self", Run: func(c *eval.Call) (value.Value, error) {
			return value.Int(c.Args[0].(*value.Runtime).Value.(int)), nil
		}}}},
		&eval.Function{Name: "handle", Signatures: []eval.Signature{{Run: func(c *eval.Call) (value.Value, error) {
			return &value.Runtime{Runtime: "go", Name: "Handle", Value: 7}, nil
		}}}})...)
	src := "type Host = Object[{attributes => {name => String}, functions => {url => Callable[[Optional[String]], String], gone => Callable[[], String]}}] "
	for expr, want := range map[string]string{
		"Host('a').url":       "'http://a'",
		"Host('a').url('/x')": "'http://a/x'",
		"Host('a').name":      "'a'",
		"Host('a').name(1)":   "argument-count",
		"Host('a').gone":      "unknown-function",
		"Host('a').none":      "unknown-function",
		"Host('a').url(1)":    "type-mismatch",
		"handle().size":       "7",
		"handle().none":       "unknown-function",
	} {
		v, err := run(t, env, src+expr)
		var e *eval.Error
		if errors.As(err, &e) {
			if e.Kind != want {
				t.Errorf("%s: got %v, want %s", expr, err, want)
			}
		} else if err != nil || value.Inspect(v) != want {
			t.Errorf("%s: got %v, %v, want %s", expr, v, err, want)
		}
	}
}

func TestApply(t *testing.T) {
	env := newEnv()
	env.Tasks = true
	src := "$x = 1 apply('web') { notice($x) }"
	if e := fault(t, env, src); e.Kind != "unsupported" {
		t.Errorf("got %v", e)
	}
	env.Apply = func(c *eval.Call, f *syntax.File, a *syntax.Apply) (value.Value, error) {
		x, _ := c.Scope.Lookup("x")
		return value.NewArray(c.Args[0], x, value.Int(len(a.Body.Exprs)), value.String(f.Name)), nil
	}
	if v, err := run(t, env, src); err != nil || value.Inspect(v) != "['web', 1, 1, 'test.pp']" {
		t.Errorf("got %v, %v", v, err)
	}
}

func TestNodes(t *testing.T) {
	p, err := syntax.Parse(syntax.NewFile("test.pp", "node /^web(\\d)/ { notice(\"${1} ${n}\") } node default { }"), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var logs []string
	env := newEnv()
	env.Log = func(l eval.Log) { logs = append(logs, l.Scope+": "+l.Msg) }
	in := eval.New(env)
	if _, err := in.Run(context.Background(), p, nil); err != nil {
		t.Fatal(err)
	}
	nodes := in.Nodes()
	if len(nodes) != 2 {
		t.Fatalf("got %d nodes", len(nodes))
	}
	scope := in.NewScope(eval.ScopeOptions{Kind: eval.NodeScope, Label: "Node[web1]", Parent: in.Top()})
	scope.SetMatch([]value.Value{value.String("web1"), value.String("1")})
	if err := in.Top().Set("n", value.Int(5)); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Site(context.Background(), nil).Body(nodes[0], scope); err != nil {
		t.Fatal(err)
	}
	if len(logs) != 1 || logs[0] != "Scope(Node[web1]): 1 5" {
		t.Errorf("got %q", logs)
	}
	if scope.Named() != scope || scope.Options().Label != "Node[web1]" || in.Env().Facts == nil {
		t.Error("the scope is not what it was made as")
	}
}

func TestHeredocSyntax(t *testing.T) {
	for text, ok := range map[string]bool{
		"@(\"E\":json)\n[1, ${1 + 1}]\n| E":      true,
		"@(\"E\":json)\n[1, ${1 + 1}\n| E":       false,
		"@(E:json)\n{\n| E":                      true, // package check judges what does not change
		"@(\"E\":application+json)\n{${''}\n| E": false,
		"@(\"E\":pp)\nnotice(${1 + 1})\n| E":     true,
		"@(\"E\":pp)\nnotice(( ${1 + 1}\n| E":    false,
		"@(\"E\":base64)\n${'YWI='}\n| E":        true,
		"@(\"E\":base64)\n${'Y'}\n| E":           false,
		"@(\"E\":base64)\n${'YWI'}\t=\n| E":      true,
		"@(\"E\":base64)\n${'YWJ='}\n| E":        false, // bits are left
		"@(\"E\":pp)\nplan ${'a'}() { }\n| E":    false,
		"@(\"E\":pp)\n${'1'}; 2\n| E":            false, // without an effect
		"@(\"E\":unheard)\n${'%'}\n| E":          true,
	} {
		_, err := run(t, newEnv(), text)
		var e *eval.Error
		if ok != (err == nil) || err != nil && (!errors.As(err, &e) || e.Kind != "bad-heredoc") {
			t.Errorf("%s\n got %v", text, err)
		}
	}
	env := newEnv()
	env.Tasks = true
	_, err := run(t, env, "@(\"E\":pp)\nplan ${'a'}() { }\n| E")
	if err != nil {
		t.Errorf("by the rules of plans: %v", err)
	}
	_, err = run(t, env, "@(\"E\":pp)\n\n  notice(${'1'} ${'2'})\n| E")
	if err == nil || !strings.HasSuffix(err.Error(), "the text is not valid pp: unexpected '2', in line 2 of the text") {
		t.Errorf("got %v", err)
	}
}
