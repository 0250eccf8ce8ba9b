package yamlplan

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bolt/format/safejson"
	"bolt/format/valuedata"
	"bolt/puppet/builtin"
	"bolt/puppet/check"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A stage has the functions that plans call. The functions record their calls.
type stage struct {
	plan  *eval.Definition
	calls []string
}

// Load implements eval.Loader.
func (st *stage) Load(_ context.Context, kind eval.Kind, name string) (*eval.Definition, error) {
	if kind == eval.KindPlan && name == st.plan.Name {
		return st.plan, nil
	}
	if kind == eval.KindType && name == "targetspec" {
		prog, err := syntax.Parse(syntax.NewFile("", "type TargetSpec = Variant[String[1], Array]"), syntax.Options{})
		if err != nil {
			return nil, err
		}
		return eval.Definitions(prog, "")[0], nil
	}
	return nil, nil
}

// dataOf returns a value as data, or the error of the conversion.
func dataOf(v value.Value) any {
	d, err := valuedata.To(v)
	if err != nil {
		return err.Error()
	}
	return d
}

func jsonText(v any) string {
	var b strings.Builder
	if err := safejson.Write(&b, v); err != nil {
		return err.Error()
	}
	return b.String()
}

// function returns a function that records its calls and returns the result of f.
func (st *stage) function(name string, f func(args []value.Value) value.Value) *eval.Function {
	return &eval.Function{Name: name, Signatures: []eval.Signature{{Params: "Any *$args", Run: func(c *eval.Call) (value.Value, error) {
		args := make([]any, len(c.Args))
		for i, a := range c.Args {
			args[i] = dataOf(a)
		}
		st.calls = append(st.calls, name+jsonText(args))
		if f == nil {
			return value.Undef{}, nil
		}
		return f(c.Args), nil
	}}}}
}

// field returns a function that reads a key of a hash, in place of a member of an object.
func field(name string) *eval.Function {
	return &eval.Function{Name: name, Signatures: []eval.Signature{{Params: "Any $of", Run: func(c *eval.Call) (value.Value, error) {
		h, ok := c.Args[0].(*value.Hash)
		if !ok {
			return value.Undef{}, nil
		}
		v, ok := h.Get(value.String(name))
		if !ok {
			return value.Undef{}, nil
		}
		return v, nil
	}}}}
}

func mustValue(t *testing.T, text string) value.Value {
	t.Helper()
	p, err := Parse("x", "x", []byte("steps: []\nparameters: {x: {default: "+text+"}}"))
	if err != nil {
		t.Fatal(problemText(err))
	}
	v, err := valuedata.Of(p.Parameters[0].Default)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// perform evaluates a program's plan.
func perform(t *testing.T, prog *syntax.Program, params value.Value) (v value.Value, calls []string, err error) {
	t.Helper()
	if err := check.Program(prog, check.Options{Tasks: true, Namespace: "m::p", Defines: "plan"}).Err(); err != nil {
		t.Fatal(err)
	}
	st := &stage{plan: eval.Definitions(prog, "m")[0]}
	result := mustValue(t, "{ok: false, first: {status: failure, stdout: out}}")
	same := func([]value.Value) value.Value { return result }
	functions := append(builtin.Functions(builtin.Options{Now: time.Now}),
		st.function("run_command", same), st.function("run_script", same), st.function("run_task", same), st.function("run_plan", same),
		st.function("upload_file", same), st.function("download_file", same), st.function("apply_prep", same),
		st.function("out::message", nil), st.function("out::verbose", nil),
		st.function("effect", func(args []value.Value) value.Value { return args[0] }),
		st.function("get_targets", func(args []value.Value) value.Value {
			return value.NewArray(mustValue(t, "{name: l1}"))
		}),
		field("ok"), field("first"), field("status"), field("name"),
		&eval.Function{Name: "start", Signatures: []eval.Signature{{Params: "Hash $params", Run: func(c *eval.Call) (value.Value, error) {
			return c.Plan(st.plan, c.Args[0].(*value.Hash))
		}}}})
	in := eval.New(eval.Env{Library: eval.NewLibrary(st, functions...), Tasks: true,
		Apply: func(c *eval.Call, f *syntax.File, a *syntax.Apply) (value.Value, error) {
			var b bytes.Buffer
			if err := syntax.Print(&b, &syntax.Program{File: f, Body: a.Body}); err != nil {
				return nil, err
			}
			args := make([]any, len(c.Args))
			for i, x := range c.Args {
				args[i] = dataOf(x)
			}
			st.calls = append(st.calls, "apply"+jsonText(args)+"\n"+b.String())
			return value.String("applied"), nil
		}})
	v, err = in.Call(context.Background(), "start", params)
	return v, st.calls, err
}

// both evaluates a plan and its converted form, and checks that the results are equal.
func both(t *testing.T, p *Plan, params string) (string, []string, error) {
	t.Helper()
	prog, err := p.Program()
	if err != nil {
		t.Fatal(problemText(err))
	}
	v, calls, err := perform(t, prog, mustValue(t, params))
	got := ""
	if err == nil {
		got = jsonText(dataOf(v))
	}
	var b bytes.Buffer
	if err := p.Convert(&b); err != nil {
		t.Fatal(err)
	}
	converted, cerr := syntax.Parse(syntax.NewFile("p.pp", b.String()), language)
	if cerr != nil {
		t.Fatalf("%v\n%s", cerr, b.String())
	}
	v, convertedCalls, cerr := perform(t, converted, mustValue(t, params))
	if cerr == nil && jsonText(dataOf(v)) != got || (err == nil) != (cerr == nil) {
		t.Errorf("converted: %v %v, else %v %s", v, cerr, got, err)
	}
	if diff := cmp.Diff(calls, convertedCalls); diff != "" {
		t.Errorf("calls of the converted plan: %s", diff)
	}
	return got, calls, err
}

func TestProgram(t *testing.T) {
	for _, test := range []struct {
		name, src, params, want string
		calls                   []string
	}{
		{name: "literals", src: `
steps:
  - {name: a, eval: 1.50}
  - {name: b, eval: yes}
  - {name: d, eval: ~}
  - {name: e, eval: "tab\tnew\nline ${a} \\$a end"}
  - {name: f, eval: 'single'}
  - {name: g, eval: bare $a text}
  - {name: h, eval: [1, $a, {k: $b}]}
  - {name: i, eval: 0x1f}
  - {name: j, eval: 010}
  - {name: k, eval: 1_000}
  - {name: l, eval: on}
  - {name: m, eval: "no interp"}
  - {name: n, eval: "1"}
  - {name: o, eval: Y}
  - {name: p, eval: TRUE}
  - {name: q, eval: "10:30"}
  - {name: r, eval: 10:30}
  - {name: s, eval: 1e3}
return: {a: $a, b: $b, d: $d, e: $e, f: $f, g: $g, h: $h, i: $i, j: $j, k: $k, l: $l, m: $m, n: $n, o: $o, p: $p, q: $q, r: $r, s: $s}
`, want: `{"a":1.5,"b":true,"d":null,"e":"tab\tnew\nline 1.5 \\1.5 end","f":"single","g":"bare $a text","h":[1,1.5,{"k":true}],"i":31,"j":8,"k":1000,"l":true,"m":"no interp","n":"1","o":"Y","p":true,"q":"10:30","r":37800,"s":"1e3"}`},
		{name: "blocks", params: "{targets: l1}", src: `
parameters:
  targets: {type: TargetSpec}
steps:
  - name: code
    eval: |
      $x = [1,2,3].map |$i| { $i * 2 }
      $x.reduce |$m, $i| { $m + $i }
  - name: fold
    eval: >
      folded $code
      text
  - name: msg
    message: $code
  - name: arr
    eval: $targets.get_targets.map |$t| { $t.name }
return: [$code, $fold, $msg, $arr]
`, want: `[12,"folded $code text\n",null,["l1"]]`, calls: []string{"out::message[12]", `get_targets["l1"]`}},
		{name: "catch", src: `
steps:
  - name: r
    command: exit 3
    targets: l1
    catch_errors: true
    description: Desc here
  - name: t
    task: proj::env
    targets: l1
    parameters: {a: [1,2], b: {c: d}, e: $r.ok}
  - name: s
    script: proj/scripts/s.sh
    targets: l1
    arguments: [1, "two ${r.first.status}", three 3]
    env_vars: {FOO: 1}
return: $r.ok
`, want: "false", calls: []string{
			`run_command["exit 3","l1","Desc here",{"_catch_errors":true}]`,
			`run_task["proj::env","l1",{"a":[1,2],"b":{"c":"d"},"e":false}]`,
			`run_script["proj/scripts/s.sh","l1",{"_env_vars":{"FOO":1},"arguments":[1,"two failure","three 3"]}]`,
		}},
		{name: "all kinds", params: "{v: {A: b}}", src: `
parameters: {v: }
steps:
  - {upload: a/b, destination: /c, targets: [x, y], run_as: root, description: "up ${v['A']}"}
  - {download: /c, destination: d, targets: x, catch_errors: false, timeout: 5}
  - {plan: m::q, targets: x, parameters: {n: 1}, run_as: root, description: unused}
  - {plan: m::q}
  - {plan: m::q, targets: , parameters: {}}
  - {message: {a: [1, ~]}}
  - {verbose: $v}
  - {script: s, targets: x, pwsh_params: {P: $v}, arguments: []}
  - {command: c, targets: x, env_vars: $v, serial: [1, 10%, 100%], max_failures: 1, pause: 1.5, concurrency: 3, description: ~}
  - {task: t, targets: x, noop: true, parameters: {_run_as: me}}
return: none
`, want: `"none"`, calls: []string{
			`upload_file["a/b","/c",["x","y"],"up b",{"_run_as":"root"}]`,
			`download_file["/c","d","x",{"_catch_errors":false,"_timeout":5}]`,
			`run_plan["m::q","x",{"n":1,"_run_as":"root"}]`,
			`run_plan["m::q"]`,
			`run_plan["m::q"]`,
			`out::message[{"a":[1,null]}]`,
			`out::verbose[{"A":"b"}]`,
			`run_script["s","x",{"pwsh_params":{"P":{"A":"b"}}}]`,
			`run_command["c","x",{"_env_vars":{"A":"b"},"_concurrency":3,"_serial":[1,"10%","100%"],"_max_failures":1,"_pause":1.5}]`,
			`run_task["t","x",{"_run_as":"me","_noop":true}]`,
		}},
		{name: "resources", params: "{v: one}", src: `
parameters: {v: }
steps:
  - name: r
    resources:
      - package: nginx
      - file: /etc/$v
        parameters: {content: "Hello $v", mode: '0644'}
      - {type: Service, title: [a, b], parameters: {ensure: running, "od d": 1}}
      - {type: $v, title: x}
    targets: $v
    noop: true
    description: Web
  - resources: [{file: x}]
    targets: $v.effect
return: $r
`, want: `"applied"`, calls: []string{
			`apply_prep["one"]`,
			`apply["one",{"_description":"Web","_noop":true}]
package { 'nginx': }
-> file { '/etc/$v':
  content => "Hello ${v}",
  mode    => '0644',
} -> service { ['a', 'b']:
  * => { 'ensure' => 'running', 'od d' => 1 },
} -> Resource[$v] { 'x': }
`,
			`effect["one"]`, `apply_prep["one"]`, "apply[\"one\"]\nfile { 'x': }\n"}},
		{name: "scopes", src: `
steps:
  - name: a
    eval: |
      $x = 1
      $y = 2
      $x + $y
  - name: b
    eval: |
      $x = 10   # again
      $x * 2    # and nothing behind
  - eval: |
      $a2 = 5
      effect($a2)
  - eval: effect(1)
  - eval: $a
  - eval: 5
  - eval: $a.effect
  - name: m
    eval: |
      if 'abc' =~ /(b)/ { $1 }
  - name: empty
    eval: |
  - name: h
    eval: |
      {'k' => 1}
  - name: bare
    eval: |
      notice 7
  - name: x
    eval: outer
  - name: i
    eval:
      - |
        $x = 4
        $x
      - {k: "a", a: $a}
      - ? 5
        : six
return: [$a, $b, $m, $empty, $h, $bare, $i, $0, $x]
`, want: `[3,20,"b",null,{"k":1},null,[4,{"k":"a","a":3},{"5":"six"}],null,"outer"]`, calls: []string{"effect[5]", "effect[3]"}},
		{name: "return in code", src: `
steps:
  - eval: |
      if true { return('early') }
      effect(1)
  - message: never
return: late
`, want: `"early"`},
		{name: "strings", params: `{d: {'a b': "q'"}}`, src: `
parameters: {d: }
steps:
  - {name: a, eval: 'it''s \ \n \\ $x "q" ${y} \'}
  - {name: b, eval: "${d[\"a b\"]} \"q\" \\ \u00e9 $ END $a"}
  - {name: c, eval: it's "bare" \n}
  - name: d2x
    eval: |
      $s = "one
        two"
      $h = @("X"/L)
        text ${s}
          in
        | X
      "${s}|${h}"
  - name: e
    eval: "multi
      line \
      end"
  - {name: f, eval: !!str $no}
  - {name: g, eval: "${[1, 2].map |$x| {\n $x + 1 }}"}
  - {name: h, eval: ""}
  - {name: k, eval: "# #{d} #"}
return: [$a, $b, $c, $d2x, $e, $f, $g, $h, $k]
`, want: `["it's \\ \\n \\\\ $x \"q\" ${y} \\","q' \"q\" \\ é $ END it's \\ \\n \\\\ $x \"q\" ${y} \\","it's \"bare\" \\n","one\n  two|text one\n  two\n  in\n","multi line end","$no","[2, 3]","","# #{d} #"]`},
		{name: "numbers", src: `
steps: []
return: [-1, -1.5, 1.0e+30, 9223372036854775807, -9223372036854775808, 0.1]
`, want: `[-1,-1.5,1.0e+30,9223372036854775807,-9223372036854775808,0.1]`},
		{name: "a negative result", src: "steps: []\nreturn: -5", want: "-5"},
		{name: "a false result", src: "steps: []\nreturn: no", want: "false"},
		{name: "a word as result", src: "steps: []\nreturn: |\n  1 + 2", want: "3"},
		{name: "defaults", src: `
parameters:
  a: {type: String, default: $b}
  b: {type: 'Hash[String, Any]', default: {k: [1, "$a", yes], k: 2, 'l': [x]}}
  c: {default: word}
  d: {default: undef}
  e: {type: Boolean, default: false}
  f: {type: "Enum[one, 'two']", default: one}
  g: {default: many words}
  h: {type: TargetSpec, default: localhost}
  i: {type: "Pattern[/a\\/b#/]", default: a/b#}
steps: []
return: [$a, $b, $c, $d, $e, $f, $g, $h, $i]
`, want: `["$b",{"k":2,"l":["x"]},"word","undef",false,"one","many words","localhost","a/b#"]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := parse(t, test.src)
			if test.params == "" {
				test.params = "{}"
			}
			got, calls, err := both(t, p, test.params)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if diff := cmp.Diff(test.calls, calls); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestErrorPositions checks that errors have their position in the YAML file.
func TestErrorPositions(t *testing.T) {
	const begin = "parameters: {n: {type: Integer, default: 1}}\nsteps:\n" // two lines
	for _, test := range []struct {
		name, src string
		params    string
		line, col int
	}{
		{name: "plain", src: "  - eval: $nope", line: 3, col: 11},
		{name: "plain behind", src: "  - name: é\n    eval: $n + $nope", line: 4, col: 16},
		{name: "literal", src: "  - name: a\n    eval: |\n\n      $x = 1\n      [1].map |$i| {\n        $nope }", line: 8, col: 9},
		{name: "literal in a list", src: "  - name: a\n    eval:\n      - 1\n      - |-\n        $nope", line: 7, col: 9},
		{name: "literal with more indentation", src: "  - name: a\n    eval: |2\n        $x = $nope\n        $x", line: 5, col: 14},
		{name: "double quotes", src: "  - name: a\n    eval: \"x $nope\"", line: 4, col: 14},
		{name: "double quotes with escapes", src: "  - name: a\n    eval: \"\\t $nope\"", line: 4, col: 11},
		{name: "double quotes on two lines", src: "  - name: a\n    eval: \"x\n      $nope\"", line: 4, col: 11},
		{name: "deep", src: "  - task: a\n    targets: x\n    parameters:\n      a: 1\n      b:\n        c: [1, $nope]", line: 8, col: 16},
		{name: "description", src: "  - command: a\n    targets: x\n    description: $nope", line: 5, col: 18},
		{name: "return", src: "  - eval: 1\nreturn:\n  a: $n\n  b: $nope", line: 6, col: 6},
		{name: "CRLF", src: "  - name: a\r\n    eval: |\r\n      $x = 1\r\n      $nope\r\n", line: 6, col: 7},
		{name: "unknown function", src: "  - name: a\n    eval: |\n      1\n        .nosuch()\n", line: 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			if strings.Contains(test.src, "é") {
				test.src = strings.Replace(test.src, "name: é", "description: é", 1)
			}
			p := parse(t, begin+test.src)
			prog, err := p.Program()
			if err != nil {
				t.Fatal(problemText(err))
			}
			_, _, err = perform(t, prog, value.NewHash())
			e, ok := errors.AsType[*eval.Error](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if e.Pos.File != "plans/p.yaml" || e.Pos.Line != test.line || test.col > 0 && e.Pos.Column != test.col {
				t.Errorf("got %v, want line %d, column %d", e, test.line, test.col)
			}
		})
	}
}

// TestCallPosition checks that the position of a call is the key that makes it.
func TestCallPosition(t *testing.T) {
	p := parse(t, "steps:\n  - name: a\n    targets: x\n    command: y\n")
	prog, err := p.Program()
	if err != nil {
		t.Fatal(err)
	}
	var at []string
	syntax.Walk(prog.Body, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Call); ok {
			at = append(at, prog.File.Position(c.Off).String())
		}
		return true
	})
	if diff := cmp.Diff([]string{"plans/p.yaml:4:5"}, at); diff != "" {
		t.Error(diff)
	}
}

// TestCorpusPlansMatchBolt checks the plans of the corpus against Bolt's recorded answers.
func TestCorpusPlansMatchBolt(t *testing.T) {
	for name, want := range map[string]struct{ params, result string }{
		"yaml_args":   {"{word: inner, count: 3, opts: {z: 5}}", `["INNER",3,5,"text 5",4,true,null]`},
		"yaml_params": {"{need: 21, maybe: ok}", `{"x":42,"maybe":"ok","str":"v=21 w=ok"}`},
		"yaml_basic":  {}, "yaml_caught": {}, "yaml_more": {},
	} {
		t.Run(name, func(t *testing.T) {
			p := parse(t, corpus(t, "project/plans/"+name+".yaml"))
			if want.result == "" { // it calls functions that this test does not have
				if _, err := p.Program(); err != nil {
					t.Error(problemText(err))
				}
				return
			}
			if got, _, err := both(t, p, want.params); err != nil || got != want.result {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

func corpus(t *testing.T, file string) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("../../testdata/bolt", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(src), "@TMP@", "/tmp")
}

// TestParameterWithoutDefaultIsRequired checks that a parameter without a default is required, for
// any type.
func TestParameterWithoutDefaultIsRequired(t *testing.T) {
	p := parse(t, corpus(t, "project/plans/yaml_args.yaml"))
	if _, _, err := both(t, p, "{}"); err == nil || !strings.Contains(err.Error(), "count") {
		t.Errorf("got %v", err)
	}
}

func TestConvert(t *testing.T) {
	p := parse(t, `
description: |
  Says things
  to machines
private: true
parameters:
  targets:
    description: The targets to run the plan on
    type: TargetSpec
  message:
    description: A string to print
    type: String
    default: hello world
  host: {type: TargetSpec, default: localhost}
steps:
  - message: Hello from here
  - name: sample
    task: sample
    targets: $targets
    parameters:
      message: $message
  - resources:
    - package: nginx
    - file: /etc/nginx/html/index.html
      parameters:
        content: "Hello world!"
    - service: nginx
    targets: $targets
  - name: eval_output
    eval: |
      # Names of all
      $list = $sample.map |$t| {
        notice($t)
        $t
      }
      $list.map |$l| {$l.name}
return: $eval_output
`)
	want := `# Says things
# to machines
# WARNING: This is an autogenerated plan. It might not behave as expected.
# @api private
# @param targets The targets to run the plan on
# @param message A string to print
# @param host
plan m::p(
  TargetSpec $targets,
  String $message = 'hello world',
  TargetSpec $host = localhost
) {
  out::message('Hello from here')
  $sample = run_task('sample', $targets, {'message' => $message})
  apply_prep($targets)
  apply($targets) {
    package { 'nginx': }
    ->
    file { '/etc/nginx/html/index.html':
      content => "Hello world!",
    }
    ->
    service { 'nginx': }
  }
  $eval_output = with() || {
    # Names of all
    $list = $sample.map |$t| {
      notice($t)
      $t
    }
    $list.map |$l| {$l.name}
  }

  return $eval_output
}
`
	var b bytes.Buffer
	if err := p.Convert(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
