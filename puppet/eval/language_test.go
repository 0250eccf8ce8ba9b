package eval_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// fault runs a program that must fail and returns its error.
func fault(t *testing.T, env eval.Env, src string) *eval.Error {
	t.Helper()
	v, err := run(t, env, src)
	var e *eval.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s\n got %v, %v\nwant an eval.Error", src, v, err)
	}
	return e
}

func TestStack(t *testing.T) {
	e := fault(t, newEnv(), `function inner($x) {
  $x + 'a'
}
function outer($list) {
  $list.map |$x| {
    inner($x)
  }
}
outer([1])
`)
	if e.Kind != "not-numeric" || e.Pos.Line != 2 || e.Pos.Column != 8 {
		t.Errorf("got %s at %v", e.Kind, e.Pos)
	}
	want := []eval.Frame{{"inner", "test.pp", 2}, {"lambda", "test.pp", 6}, {"outer", "test.pp", 5}, {"", "test.pp", 9}}
	if !reflect.DeepEqual(e.Stack, want) {
		t.Errorf("got stack\n%v\nwant\n%v", e.Stack, want)
	}
}

// TestStackOfFunction checks that an error of a Go function has the position of
// its call.
func TestStackOfFunction(t *testing.T) {
	e := fault(t, newEnv(), "function f() {\n  fail('no')\n}\nf()")
	if e.Kind != "fail" || e.Pos.Line != 2 || e.Pos.Column != 3 || len(e.Stack) != 2 || e.Stack[1].Line != 4 {
		t.Errorf("got %+v", e)
	}
}

func TestPanicBecomesInternalError(t *testing.T) {
	e := fault(t, newEnv(), "function f() {\n  panic()\n}\nf()")
	if e.Kind != "internal" || len(e.Stack) == 0 || strings.Contains(e.Error(), "goroutine") {
		t.Errorf("got %+v", e)
	}
	if e.Err == nil || !strings.Contains(e.Err.Error(), "goroutine") {
		t.Errorf("the cause has no stack of ours: %v", e.Err)
	}
}

// TestHostileProgramsEnd checks that programs that are too large, too deep or
// too long end with an error, soon and with limited memory.
func TestHostileProgramsEnd(t *testing.T) {
	limits := eval.Limits{Steps: 2_000_000}
	for _, c := range []struct{ name, src, kind string }{
		{"recursion", "function f($n) { f($n + 1) } f(0)", "too-deep"},
		{"recursion of two", "function f($n) { g($n) } function g($n) { [$n].map |$x| { f($x) } } f(0)", "too-deep"},
		{"recursion in a default", "function f($n = f()) { 1 } f()", "too-deep"},
		{"endless loop", "Integer[0, 9223372036854775806].each |$x| { $x }", "too-long"},
		{"endless iterator", "*Integer[0, 9223372036854775806].step(1).map |$x| { $x }", "too-long"},
		{"doubled string", "Integer[1, 100].reduce('x') |$m, $x| { \"${m}${m}\" }", "too-large"},
		{"doubled array", "Integer[1, 100].reduce([1]) |$m, $x| { $m + $m }", "too-large"},
		{"hidden array", "Integer[1, 100].reduce([1]) |$m, $x| { [$m, $m] }", "too-large"},
		{"printed array", "$a = Integer[1, 26].reduce([1]) |$m, $x| { [$m, $m] } \"${a}${a}${a}\"", "too-large"},
		{"deep array", "Integer[1, 100000].reduce([]) |$m, $x| { [$m] }", "too-deep"},
		{"deep hash", "Integer[1, 100000].reduce({}) |$m, $x| { {a => $m} }", "too-deep"},
		{"deep keys", "Integer[1, 100000].reduce({}) |$m, $x| { {$m => 1} }", "too-deep"},
		{"alias of itself", "type A = A 1 =~ A", "recursion"},
		{"aliases of each other", "type A = Variant[B] type B = Variant[A] 1 =~ A", "recursion"},
		{"shift", "1 << 9223372036854775807", "overflow"},
		{"slice", "[1][9223372036854775807, 9223372036854775807]", ""},
		{"slice of a string", "'abc'[-9223372036854775807, 9223372036854775807]", ""},
		{"negative slice", "'abc'[1, -9223372036854775807]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env := newEnv()
			env.Limits = limits
			begin := time.Now()
			_, err := run(t, env, c.src)
			var e *eval.Error
			if c.kind == "" && err != nil || c.kind != "" && (!errors.As(err, &e) || e.Kind != c.kind) {
				t.Errorf("got %v, want kind %q", err, c.kind)
			}
			if d := time.Since(begin); d > 5*time.Minute {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// TestLongExpressions evaluates long expressions, whose trees are deep.
func TestLongExpressions(t *testing.T) {
	const n = 300_000
	for _, c := range []struct{ name, first, more, last string }{
		{"sum", "1", " + 1", ""},
		{"or", "false", " or false", ""},
		{"methods", "1", ".then", ""},
		{"indexes", "[]", "[0]", ""},
		{"elsif", "if false { }", " elsif false { }", ""},
		{"relations", "File['a']", " -> File['a']", ""},
		{"parentheses", "", "(", "1"},
		{"lists", "", "[", "1"},
		{"signs", "", "-", "1"},
		{"assignments", "", "$a = ", "1"},
		{"lambdas", "", "1.with || { ", ""},
		{"strings", "", "\"${", ""},
		{"list", "$a = [1", ", 1", "]"},
		{"statements", "", "$x\n", ""},
		{"hash", "$a = {1 => 1", ", 2 => 2", "}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env := newEnv()
			env.Strict, env.LooseVariables = eval.StrictOff, true
			_, err := run(t, env, c.first+strings.Repeat(c.more, n)+c.last)
			var e *eval.Error
			if errors.As(err, &e) && e.Kind == "internal" {
				t.Error(err)
			}
		})
	}
}

func TestLargeString(t *testing.T) {
	v, err := run(t, newEnv(), "Integer[1, 20].reduce('0123456789') |$m, $x| { \"${m}${m}\" }")
	if err != nil {
		t.Fatal(err)
	}
	if s, is := v.(value.String); !is || len(s) != 10<<20 {
		t.Errorf("got %d bytes", len(s))
	}
}

func TestCancel(t *testing.T) {
	p, err := syntax.Parse(syntax.NewFile("test.pp", "Integer[0, 9223372036854775806].each |$x| { $x }"), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = eval.New(newEnv()).Run(ctx, p, nil)
	var e *eval.Error
	if !errors.As(err, &e) || e.Kind != "canceled" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestConcurrentInterps uses one program, its definitions and one library in
// many goroutines, each with its own Interp and all with the same.
func TestConcurrentInterps(t *testing.T) {
	lib := eval.NewLibrary(newLoader(t, map[string]string{
		"m::twice": "function m::twice(M::Small $x) >> Integer { $x * 2 }",
		"m::small": "type M::Small = Integer[0, M::Limit]",
		"m::list":  "type M::List = Variant[Integer, Array[M::List]]",
	}), functions()...)
	p, err := syntax.Parse(syntax.NewFile("test.pp", `
function own($x) { m::twice($x) + [1].map |$y| { $x + $y }[0] }
type Own = Variant[Integer, Array[Own]]
$list = [1, 2, 3].map |$x| { own($x) }
[$list, [1, [2]] =~ Own, [1, ['x']] =~ M::List, [1, [2]] =~ M::List]
`), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "[[4, 7, 10], true, false, true]"
	one := eval.New(eval.Env{Library: lib})
	if err := one.Define(p, ""); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 50 {
				v, err := eval.New(eval.Env{Library: lib}).Run(context.Background(), p, nil)
				if err != nil || value.Inspect(v) != want {
					t.Errorf("got %v, %v", v, err)
					return
				}
				v, err = one.Call(context.Background(), "own", value.Int(i))
				if err != nil || v != value.Int(3*i+1) {
					t.Errorf("got %v, %v", v, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// A loader has functions and types in a map.
type loader struct {
	mu   sync.Mutex
	defs map[string]*eval.Definition
}

func newLoader(t *testing.T, texts map[string]string) *loader {
	l := &loader{defs: map[string]*eval.Definition{}}
	for name, text := range texts {
		text = strings.ReplaceAll(text, "M::Limit", "100")
		p, err := syntax.Parse(syntax.NewFile(name+".pp", text), syntax.Options{Tasks: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range eval.Definitions(p, "m") {
			l.defs[fmt.Sprint(d.Kind, " ", d.Name)] = d
		}
	}
	return l
}

func (l *loader) Load(_ context.Context, kind eval.Kind, name string) (*eval.Definition, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.defs[fmt.Sprint(kind, " ", name)], nil
}

func TestStrict(t *testing.T) {
	var logs []string
	env := newEnv()
	env.Log = func(l eval.Log) { logs = append(logs, fmt.Sprintf("%v %s %s", l.Level, l.Kind, l.Pos)) }
	env.Strict, env.LooseVariables = eval.StrictWarning, true
	v, err := run(t, env, "['1' + 2, $nothing]")
	if err != nil || value.Inspect(v) != "[3, undef]" {
		t.Errorf("got %v, %v", v, err)
	}
	if want := []string{"warning numeric-coercion test.pp:1:2", "warning unknown-variable test.pp:1:11"}; !reflect.DeepEqual(logs, want) {
		t.Errorf("got %q, want %q", logs, want)
	}
	logs = nil
	env.Strict = eval.StrictOff
	if v, err = run(t, env, "['1' + 2, $nothing]"); err != nil || value.Inspect(v) != "[3, undef]" || logs != nil {
		t.Errorf("got %v, %v, %q", v, err, logs)
	}
	env.LooseVariables = false
	if e := fault(t, env, "$nothing"); e.Kind != "unknown-variable" {
		t.Errorf("got %v", e)
	}
}

func TestLog(t *testing.T) {
	var logs []eval.Log
	env := newEnv()
	env.Log = func(l eval.Log) { logs = append(logs, l) }
	if _, err := run(t, env, "function f() {\n  notice('hello')\n}\nf()"); err != nil {
		t.Fatal(err)
	}
	want := []eval.Log{{Level: eval.Notice, Msg: "hello", Pos: syntax.Position{File: "test.pp", Line: 2, Column: 3}, Scope: "Scope(Class[main])"}}
	if !reflect.DeepEqual(logs, want) {
		t.Errorf("got %+v", logs)
	}
}

func TestTemplate(t *testing.T) {
	for _, c := range []struct {
		name, text string
		args       *value.Hash
		local      bool
		want       string // or the kind of the error
	}{
		{"plain", "a <%= 1 + 1 %> b", nil, false, "a 2 b"},
		{"parameter", "<%- | Integer $x, $y = $x + 1 | -%>\n<%= $x %>-<%= $y %>", args("x", value.Int(3)), false, "3-4"},
		{"wrong type", "<%- | Integer $x | -%>\n<%= $x %>", args("x", value.String("q")), false, "parameter"},
		{"missing", "<%- | Integer $x | -%>\n<%= $x %>", nil, false, "parameter"},
		{"too many", "<%- | Integer $x | -%>\n<%= $x %>", args("x", value.Int(3), "z", value.Int(4)), false, "parameter"},
		{"undeclared", "<%= $x %>", args("x", value.Int(3)), false, "3"},
		{"of the top", "<%= $top %>", nil, false, "t"},
		{"of the caller", "<%= $here %>", nil, true, "h"},
		{"not of the caller", "<%= $here %>", nil, false, "unknown-variable"},
		{"hidden by an argument", "<%= $here %>", args("here", value.Int(3)), true, "3"},
		{"loop", "<% [1, 2].each |$x| { %><%= $x %>,<% } %>", nil, false, "1,2,"},
		{"assignment", "<% $q = 3 %><%= $q %>", nil, false, "3"},
		{"sensitive", "<%= Sensitive('x') %>", nil, false, "Sensitive [value redacted]"},
		{"undef", "<%= undef %>", nil, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := syntax.ParseTemplate(syntax.NewFile("t.epp", c.text), syntax.Options{})
			if err != nil {
				t.Fatal(err)
			}
			env := newEnv()
			env.Library = eval.NewLibrary(nil, append(functions(), &eval.Function{Name: "render", Signatures: []eval.Signature{{
				Run: func(call *eval.Call) (value.Value, error) { return call.Template(p, c.args, c.local) },
			}}})...)
			v, err := run(t, env, "$top = 't' with() || { $here = 'h' render() }")
			var e *eval.Error
			switch {
			case errors.As(err, &e):
				if e.Kind != c.want {
					t.Errorf("got %v, want %s", err, c.want)
				}
			case err != nil:
				t.Error(err)
			case value.ToString(v) != c.want:
				t.Errorf("got %q, want %q", value.ToString(v), c.want)
			}
		})
	}
}

func args(pairs ...any) *value.Hash {
	var b value.HashBuilder
	for i := 0; i < len(pairs); i += 2 {
		b.Put(value.String(pairs[i].(string)), pairs[i+1].(value.Value))
	}
	return b.Build()
}

// TestPlanDefaults checks the errors of defaults that read parameters without a
// value, when a plan is called and when only its defaults are evaluated.
func TestPlanDefaults(t *testing.T) {
	lib := eval.NewLibrary(newLoader(t, map[string]string{
		"p": "plan p(Integer $a, Integer $b, $c = $a + 1, $d = if $b == 2 { $e } else { 1 }, $e = 1) { }",
	}), append(functions(), &eval.Function{Name: "try", Signatures: []eval.Signature{{
		Params: "Hash $params",
		Run: func(c *eval.Call) (value.Value, error) {
			d, err := c.Find(eval.KindPlan, "p")
			if err != nil {
				return nil, err
			}
			params := c.Args[0].(*value.Hash)
			first := c.PlanDefaults(d, params)
			if _, err := c.Plan(d, params); fmt.Sprint(err) != fmt.Sprint(first) && first != nil {
				t.Errorf("%v: the defaults give %v, a call %v", params, first, err)
			}
			return value.String(fmt.Sprint(first)), nil
		},
	}}})...)
	for params, want := range map[string]string{
		"{}":                           "p: expects a value for parameter $a",
		"{a => undef, b => 1, c => 1}": "<nil>",
		"{a => 1}":                     "p: expects a value for parameter $b",
		"{a => 1, b => 1}":             "<nil>",
		"{a => 'x', b => 1, c => 1}":   "<nil>",
		"{a => 1, b => 2}":             "p: default expression for $d tries to illegally access not yet evaluated $e",
	} {
		v, err := run(t, eval.Env{Library: lib, Tasks: true}, "try("+params+")")
		if err != nil || value.ToString(v) != want {
			t.Errorf("%s: got %v, %v, want %s", params, v, err, want)
		}
	}
}

func TestPlan(t *testing.T) {
	lib := eval.NewLibrary(newLoader(t, map[string]string{
		"p":       "plan p(Integer $x, $y = $x + 1) { $z = [1].map |$q| { $q + $y } return([$x, $y, $z]) }",
		"p::ret":  "plan p::ret() { [1, 2].each |$x| { return($x) } 5 }",
		"p::fail": "plan p::fail() { fail('x') }",
	}), append(functions(), &eval.Function{Name: "run_plan", Signatures: []eval.Signature{{
		Params: "String $name, Hash $params = {}",
		Run: func(c *eval.Call) (value.Value, error) {
			d, err := c.Find(eval.KindPlan, string(c.Args[0].(value.String)))
			if err != nil || d == nil {
				return nil, eval.Errorf("unknown-plan", "no plan %v: %v", c.Args[0], err)
			}
			params, is := c.Arg(1).(*value.Hash)
			if !is {
				params = value.NewHash()
			}
			return c.Plan(d, params)
		},
	}}})...)
	env := eval.Env{Library: lib, Tasks: true}
	for src, want := range map[string]string{
		"run_plan('p', {x => 1})":           "[1, 2, [3]]",
		"run_plan('p', {x => 1, y => 7})":   "[1, 7, [8]]",
		"run_plan('p::ret')":                "1",
		"run_plan('p', {x => 'a', y => 1})": "parameter",
		"run_plan('p', {x => 1, bad => 1})": "parameter",
		"run_plan('p')":                     "call", // an UnsetParameter of run_plan
		"run_plan('p::fail')":               "fail",
		"run_plan('p::none')":               "unknown-plan",
	} {
		v, err := run(t, env, src)
		var e *eval.Error
		if errors.As(err, &e) {
			if e.Kind != want {
				t.Errorf("%s: got %v, want %s", src, err, want)
			}
		} else if err != nil || value.Inspect(v) != want {
			t.Errorf("%s: got %v, %v, want %s", src, v, err, want)
		}
	}
	env.Tasks = false
	if e := fault(t, env, "run_plan('p', {x => 1})"); e.Kind != "plan-refused" {
		t.Errorf("got %v", e)
	}
}

// TestBlocksRunInGoroutines runs blocks in goroutines of a function.
func TestBlocksRunInGoroutines(t *testing.T) {
	env := newEnv()
	env.Library = eval.NewLibrary(nil, append(functions(), &eval.Function{Name: "parallel", Signatures: []eval.Signature{{
		Params: "Array $list", Block: "Callable[1, 1]",
		Run: func(c *eval.Call) (value.Value, error) {
			list := c.Args[0].(*value.Array)
			out := make([]value.Value, list.Len())
			errs := make([]error, list.Len())
			var wg sync.WaitGroup
			for i, v := range list.All() {
				f := c.Fork(c.Context(), nil)
				wg.Go(func() { out[i], errs[i] = f.Yield(v) })
			}
			wg.Wait()
			return value.NewArray(out...), errors.Join(errs...)
		},
	}}})...)
	v, err := run(t, env, `function double($x) { $x * 2 }
$base = 10
with(100) |$more| {
  parallel([1, 2, 3, 4, 5, 6, 7, 8]) |$x| {
    if "n${x}" =~ /(\d)/ { $y = double($x) + $base + $more }
    [$y, $1]
  }
}`)
	if err != nil || !strings.HasPrefix(value.Inspect(v), "[[112, undef], [114, undef]") {
		t.Errorf("got %v, %v", v, err)
	}
}

// TestSiteWithContext checks that an evaluation with another context is inside
// of the calls around it and counts toward their limits.
func TestSiteWithContext(t *testing.T) {
	type key struct{}
	env := newEnv()
	env.Library = eval.NewLibrary(nil, &eval.Function{Name: "inside", Signatures: []eval.Signature{{
		Params: "String $function",
		Run: func(c *eval.Call) (value.Value, error) {
			return c.With(context.WithValue(c.Context(), key{}, 1), 1).Call(string(c.Args[0].(value.String)), nil)
		},
	}}}, &eval.Function{Name: "seen", Signatures: []eval.Signature{{
		Run: func(c *eval.Call) (value.Value, error) {
			return value.Bool(c.Context().Value(key{}) == 1 && c.Flow() == 1), nil
		},
	}}})
	v, err := run(t, env, "[seen(), inside('seen')]")
	if err != nil || value.Inspect(v) != "[false, true]" {
		t.Errorf("got %v, %v", v, err)
	}
	e := fault(t, env, "function outer() {\n inside('inner')\n}\nfunction inner() {\n\n $nosuch }\nouter()")
	var stack []string
	for _, f := range e.Stack {
		stack = append(stack, fmt.Sprintf("%s:%d", f.Function, f.Line))
	}
	if got, want := strings.Join(stack, " "), "inner:6 outer:2 :7"; got != want || e.Name != "nosuch" {
		t.Errorf("got %s of %q, want %s of nosuch", got, e.Name, want)
	}
	if e := fault(t, env, "function again() { inside('again') }\nagain()"); e.Kind != "too-deep" {
		t.Errorf("got %v", e)
	}
}

func TestRefusedWithoutCatalog(t *testing.T) {
	for _, src := range []string{
		"file { 'x': }", "@file { 'x': }", "File { mode => '1' }", "File['x'] { mode => '1' }", "File <| |>",
		"File['a'] -> File['b']", "File['a']['mode']", "Class['a']['mode']", "[$a, $b] = Class['a']",
	} {
		if e := fault(t, newEnv(), src); e.Kind != "catalog-operation" {
			t.Errorf("%s: got %v", src, e)
		}
	}
}
