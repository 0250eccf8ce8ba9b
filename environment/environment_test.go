package environment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/environment/autoload"
	"bolt/format/ordered"
	"bolt/modules"
	"bolt/puppet/eval"
	"bolt/puppet/hiera"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// world makes files and returns their directory.
func world(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func at(dir string) *Environment {
	return New(Options{
		Modules: modules.NewPath(modules.Module{}, filepath.Join(dir, "modules")), Hiera: filepath.Join(dir, "hiera.yaml"), Keys: dir,
		Getenv: os.LookupEnv, Now: time.Now,
	})
}

func run(t *testing.T, e *Environment, n Node, text string) (value.Value, error) {
	t.Helper()
	p, err := syntax.Parse(syntax.NewFile("p.pp", text), syntax.Options{Tasks: n.Plans})
	if err != nil {
		t.Fatal(err)
	}
	return e.Evaluation(n).Run(t.Context(), p)
}

func TestFunctions(t *testing.T) {
	with := world(t, map[string]string{
		"modules/stdlib/lib/puppet/functions/stdlib/start_with.rb": "",
		"modules/stdlib/lib/puppet/parser/functions/concat.rb":     "",
		"modules/stdlib/lib/puppet/functions/stdlib/unheard_of.rb": "",
		"modules/stdlib/functions/ensure.pp":                       "function stdlib::ensure($x) { \"own ${x}\" }",
		"modules/stdlib/functions/end_with.pp":                     "function stdlib::end_with($x) {",
		"modules/stdlib/types/port.pp":                             "type Stdlib::Port = Integer[7, 7]",
		"modules/own/functions/add.pp":                             "function own::add($a, $b) { $a + $b }",
	})
	for _, c := range []struct {
		dir, expr, want string // want begins with "! " for an error
	}{
		{"", "concat([1], 2)", "[1, 2]"},
		{"", "'abc'.stdlib::start_with('ab')", "true"},
		{"", "80 =~ Stdlib::Port", "true"},
		{"", "stdlib::ensure(true)", "'present'"},
		{"", "parseyaml(\"a: [1, ~]\\n1: :b\")", "{'a' => [1, undef], 1 => 'b'}"},
		{"", "stdlib::parsehocon('a { b = 1 }')", "{'a' => {'b' => 1}}"},
		{"", "'a b'.split(' ').map |$x| { $x.upcase }", "['A', 'B']"},
		{"", "loadyaml('http://localhost/x')", "! addresses cannot be read here"},
		{"", "nothing_of_this_name()", "! nothing_of_this_name"},
		{with, "concat([1], 2)", "[1, 2]"},
		{with, "'abc'.stdlib::start_with('ab')", "true"},
		{with, "80 =~ Stdlib::Port", "false"},
		{with, "stdlib::ensure(true)", "'own true'"},
		{with, "'present' =~ Stdlib::Ensure::File", "true"},
		{with, "stdlib::end_with('abc')", "! end_with.pp"},
		{with, "stdlib::unheard_of()", "! unheard_of.rb"},
		{with, "own::add(1, 2)", "3"},
		{with, "['stdlib::unheard_of', 'stdlib::start_with', 'stdlib::ensure', 'own::add', 'own::nothing'].map |$f| { [stdlib::has_function($f), defined($f)] }",
			"[[false, false], [true, false], [true, false], [true, false], [false, false]]"},
		{with, "stdlib::has_function('stdlib::end_with')", "! end_with.pp"},
	} {
		if c.dir == "" {
			c.dir = t.TempDir()
		}
		v, err := run(t, at(c.dir), Node{}, c.expr)
		if want, bad := strings.CutPrefix(c.want, "! "); bad {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s is %v, %v, want an error with %q", c.expr, v, err, want)
			}
		} else if err != nil || value.Inspect(v) != c.want {
			t.Errorf("%s is %v, %v, want %s", c.expr, v, err, c.want)
		}
	}
}

// ruby is an eval.Loader of nothing but functions in Ruby.
type ruby struct{ asked int }

func (l *ruby) Load(_ context.Context, kind eval.Kind, name string) (*eval.Definition, error) {
	l.asked++
	if kind == eval.KindFunction {
		return nil, &autoload.RubyError{Function: name}
	}
	return nil, nil
}

func (l *ruby) Written(context.Context, eval.Kind, string) (*eval.Definition, error) {
	l.asked++
	return nil, nil
}

// TestFunctionsAreMadeOnce checks that the functions are created once, at the
// first use, and that a function without a module in its name is not searched
// in files.
func TestFunctionsAreMadeOnce(t *testing.T) {
	made, m := 0, &ruby{}
	l := newLoader(m, once(func() []*eval.Function {
		made++
		return []*eval.Function{{Name: "here"}, {Name: "stdlib::here"}}
	}), false, nil)
	load := func(kind eval.Kind, name string) (*eval.Definition, error) {
		t.Helper()
		return l.Load(t.Context(), kind, name)
	}
	if _, err := load(eval.KindClass, "c"); err != nil || made != 0 || m.asked != 1 {
		t.Errorf("a class: %v, made %d times, asked %d times", err, made, m.asked)
	}
	for range 2 {
		d, err := load(eval.KindFunction, "here")
		if d == nil || err != nil || made != 1 || m.asked != 1 {
			t.Errorf("a function: %v, %v, made %d times, asked %d times", d, err, made, m.asked)
		}
	}
	if d, err := load(eval.KindFunction, "stdlib::here"); d == nil || err != nil || m.asked != 2 {
		t.Errorf("in Ruby, and here: %v, %v, asked %d times", d, err, m.asked)
	}
	if _, err := load(eval.KindFunction, "gone"); err == nil {
		t.Error("a function in Ruby alone is no error")
	}
}

const config = `
version: 5
hierarchy:
  - {name: os, path: "%{facts.os}.yaml"}
  - {name: common, path: common.yaml}
plan_hierarchy:
  - {name: plan, path: plan.yaml}
`

func TestLookupReadsHieraData(t *testing.T) {
	dir := world(t, map[string]string{
		"hiera.yaml":                    config,
		"data/Debian.yaml":              "port: 1\nlist: [b]\n",
		"data/common.yaml":              "port: 2\nname: 'on %{os}, %{who}'\nlist: [a]\nmod::key: ours\n",
		"data/plan.yaml":                "port: 3\nname: 'in a plan, %{who}'\n",
		"modules/mod/hiera.yaml":        "version: 5\nhierarchy: [{name: d, data_hash: mod::data}]\n",
		"modules/mod/functions/data.pp": "function mod::data($options, $context) { { 'mod::key' => 'its', 'mod::own' => lookup('port') } }",
	})
	e := at(dir)
	debian := Local(value.NewHash(value.Entry{Key: value.String("os"), Value: value.String("Debian")}))
	debian.Variables = debian.Variables.With(value.String("who"), value.String("me"))
	plan := Plan(map[string]string{"who": "a=b"})
	for _, c := range []struct {
		node       Node
		expr, want string
	}{
		{debian, "[lookup('port'), lookup('name'), lookup('list', Array, unique), hiera('port')]", "[1, 'on Debian, me', ['b', 'a'], 1]"},
		{debian, "[lookup('mod::key'), lookup('mod::own')]", "['ours', 1]"},
		{plan, "[lookup('port'), lookup('name'), lookup('list', default_value => x)]", "[3, 'in a plan, a=b', 'x']"},
	} {
		v, err := run(t, e, c.node, c.expr)
		if err != nil || value.Inspect(v) != c.want {
			t.Errorf("%s is %v, %v, want %s", c.expr, v, err, c.want)
		}
	}
	v, err := e.Evaluation(debian).Lookup(t.Context(), hiera.Request{Names: []string{"mod::own"}})
	if err != nil || v != value.Int(1) {
		t.Errorf("Lookup is %v, %v", v, err)
	}
	if _, err := e.Evaluation(debian).Lookup(t.Context(), hiera.Request{Names: []string{"nope"}}); !hiera.IsNotFound(err) {
		t.Errorf("what is not there is %v", err)
	}
	var said []string
	n := Node{Variables: value.NewHash(), Log: func(l eval.Log) { said = append(said, l.Msg) }}
	if v, err := run(t, e, n, "lookup('port')"); err != nil || v != value.Int(2) || len(said) != 1 || !strings.Contains(said[0], "'facts'") {
		t.Errorf("without facts: %v, %v, said %q", v, err, said)
	}
	// Whatever begins in the Interp has the data.
	if v, err := e.Evaluation(debian).Interp.Call(t.Context(), "lookup", value.String("port")); err != nil || v != value.Int(1) {
		t.Errorf("a call from outside is %v, %v", v, err)
	}
	// An Interp of another maker has none, and says so.
	_, err = eval.New(eval.Env{Library: e.library()}).Call(t.Context(), "lookup", value.String("port"))
	if err == nil || !strings.Contains(err.Error(), "no data") {
		t.Errorf("without a session: %v", err)
	}
}

// TestTypeOfData: a type can be made of data, which a function with types of
// its own gives.
func TestTypeOfData(t *testing.T) {
	e := at(world(t, map[string]string{
		"hiera.yaml":                 "version: 5\nhierarchy: [{name: f, lookup_key: m::key}]\n",
		"modules/m/types/k.pp":       "type M::K = String",
		"modules/m/types/t.pp":       "type M::T = Integer[lookup('k')]",
		"modules/m/functions/key.pp": "function m::key(M::K $k, Hash $o, Puppet::LookupContext $c) { if $k == 'k' { 5 } else { $c.not_found } }",
	}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, text := range []string{"type A = Integer[lookup('k')] [5 =~ A, 4 =~ A]", "[5 =~ M::T, 4 =~ M::T]"} {
		p, err := syntax.Parse(syntax.NewFile("p.pp", text), syntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if v, err := e.Evaluation(Local(value.NewHash())).Run(ctx, p); err != nil || value.Inspect(v) != "[true, false]" {
				t.Errorf("%s is %v, %v", text, v, err)
			}
		}()
		select {
		case <-done:
		case <-ctx.Done():
			t.Fatalf("%s does not end", text)
		}
	}
}

// TestNodeLimitsApply checks that the limits of a Node apply.
func TestNodeLimitsApply(t *testing.T) {
	n := Node{Limits: eval.Limits{Steps: 1000}}
	if _, err := run(t, at(t.TempDir()), n, "Integer[0, 99999999999].reduce |$m, $x| { $m }"); err == nil || !strings.Contains(err.Error(), "more than 1000 calls") {
		t.Errorf("got %v", err)
	}
}

// TestSharedByConcurrentEvaluations evaluates for many machines concurrently.
func TestSharedByConcurrentEvaluations(t *testing.T) {
	e := at(world(t, map[string]string{
		"hiera.yaml": config, "data/common.yaml": "x: '%{n}'\n", "modules/m/functions/f.pp": "function m::f($k) { concat([lookup($k)], $facts) }",
	}))
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			facts := value.NewHash(value.Entry{Key: value.String("n"), Value: value.Int(i)})
			v, err := run(t, e, Local(facts), "m::f('x')")
			if want := fmt.Sprintf("['%d', {'n' => %d}]", i, i); err != nil || value.Inspect(v) != want {
				t.Errorf("is %v, %v, want %s", v, err, want)
			}
		})
	}
	all.Wait()
}

func TestTargetHasFactsAndVars(t *testing.T) {
	target := Target{
		Name:  "web1.example.com",
		Facts: ordered.Of("role", "fact", "os", ordered.Of("name", "Debian")),
		Vars:  ordered.Of("role", "var", "tier", "var", "own", []any{int64(1)}),
		Given: map[string]string{"tier": "given", "os": "given"},
	}
	n, odd, err := target.Node()
	if err != nil {
		t.Fatal(err)
	}
	v, err := run(t, at(t.TempDir()), n, "[$role, $os['name'], $tier, $own, $environment, $trusted['certname'], $trusted['hostname'], $trusted['domain'], $facts['role'], $server_facts]")
	want := "['fact', 'Debian', 'given', [1], 'web1.example.com', 'web1.example.com', 'web1', 'example.com', 'fact', {'environment' => 'web1.example.com'}]"
	if err != nil || value.Inspect(v) != want {
		t.Errorf("is %v, %v, want %s", v, err, want)
	}
	wanted := []string{
		"The inventory's variable $role is overridden by the fact of the same name",
		"The inventory's variable $tier is overridden by the one of the command line",
		"The variable $os is overridden by the fact of the same name",
	}
	if !slices.Equal(odd.Overridden, wanted) || odd.Refused != nil {
		t.Errorf("odd is %q, want %q", odd, wanted)
	}
	// Inventories are not written for the language alone.
	target = Target{Vars: ordered.Of("No", "x", "facts", "x", "yes", "x")}
	n, odd, err = target.Node()
	if err != nil || len(odd.Refused) != 2 || !strings.Contains(odd.Refused[0].Error(), "'No'") || !strings.Contains(odd.Refused[1].Error(), "'facts'") {
		t.Errorf("with names that cannot be: %q, %v", odd, err)
	}
	if v, err := run(t, at(t.TempDir()), n, "$yes"); err != nil || v != value.String("x") {
		t.Errorf("the other variable is %v, %v", v, err)
	}
	// Variables of a plan are between facts and the inventory's.
	vars := value.NewHash()
	for _, name := range []string{"role", "tier", "own", "trusted"} {
		vars = vars.With(value.String(name), value.String("plan"))
	}
	target = Target{Facts: ordered.Of("role", "fact"), Vars: ordered.Of("tier", "var", "only", "var"), Plan: vars}
	n, odd, err = target.Node()
	if v, err := run(t, at(t.TempDir()), n, "[$role, $tier, $own, $only]"); err != nil || value.Inspect(v) != "['fact', 'plan', 'plan', 'var']" {
		t.Errorf("with a plan: %v, %v", v, err)
	}
	wanted = []string{"The inventory's variable $tier is overridden by the one of the plan", "The plan's variable $role is overridden by the fact of the same name"}
	if err != nil || !slices.Equal(odd.Overridden, wanted) || len(odd.Refused) != 1 {
		t.Errorf("odd with a plan is %q, %v, want %q", odd, err, wanted)
	}
	for _, bad := range []Target{{Given: map[string]string{"No": "x"}}, {Vars: ordered.Of("a", struct{}{})}, {Facts: ordered.Of("a", struct{}{})}} {
		if _, _, err := bad.Node(); err == nil {
			t.Errorf("%+v is no error", bad)
		}
	}
	if n, _, err := (&Target{Name: "short"}).Node(); err != nil || value.Inspect(n.Trusted) != "{'authenticated' => 'local', 'certname' => 'short', 'hostname' => 'short', 'domain' => undef, 'extensions' => {}, 'external' => {}}" {
		t.Errorf("trusted is %v, %v", n.Trusted, err)
	}
}

func TestCheckVariable(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "_a": true, "a1_B": true, "a::b": true, "::a": true, "a::_b": true, "a::B": false, "_a::b": false, "A": false, "": false, "::": false,
		"a::": false, "1": false, "a-b": false, "a b": false, "é": false, "a.b": false, "facts": false, "trusted": false, "server_facts": false, "environment": false,
	} {
		if err := CheckVariable(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestReadFacts(t *testing.T) {
	dir := world(t, map[string]string{"f.yaml": "a: {b: [1]}", "f.json": `{"z": 1, "a": null}`, "bad.yaml": "- a", "long.json": "{\"b\": [1, 9223372036854775808]}"})
	for name, want := range map[string]string{"f.yaml": "{'a' => {'b' => [1]}}", "f.json": "{'z' => 1, 'a' => undef}", "long.json": "{'b' => [1, 9223372036854775808]}"} {
		if v, err := ReadFacts(t.Context(), filepath.Join(dir, name)); err != nil || value.Inspect(v) != want {
			t.Errorf("%s is %v, %v, want %s", name, v, err, want)
		}
	}
	for _, name := range []string{"bad.yaml", "none.yaml"} {
		if _, err := ReadFacts(t.Context(), filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadFacts(t.Context(), filepath.Join(dir, "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
}

// TestRereadsChangedModules checks that later evaluations read changed
// definitions of modules, and the definitions that refer to them, again.
func TestRereadsChangedModules(t *testing.T) {
	dir := world(t, map[string]string{
		"modules/m/functions/outer.pp": "function m::outer() { [m::inner(), 1 =~ M::Outer] }",
		"modules/m/functions/inner.pp": "function m::inner() { 1 }",
		"modules/m/types/outer.pp":     "type M::Outer = Variant[String, M::Inner]",
		"modules/m/types/inner.pp":     "type M::Inner = Integer[1, 1]",
	})
	e := at(dir)
	old := time.Now().Add(-time.Hour)
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(expr, want string) {
		t.Helper()
		v, err := run(t, e, Node{}, expr)
		got := ""
		if err != nil {
			got = "! " + err.Error()
		} else {
			got = value.Inspect(v)
		}
		if rest, bad := strings.CutPrefix(want, "! "); bad && err != nil && strings.Contains(got, rest) {
			return
		}
		if got != want {
			t.Errorf("%s is %s, want %s", expr, got, want)
		}
	}
	// Twice: with files that have just been written, and with such as have a
	// stamp to rely on.
	for range 2 {
		expect("m::outer()", "[1, true]")
		write("modules/m/functions/inner.pp", "function m::inner() { 2 }")
		expect("m::outer()", "[2, true]")
		write("modules/m/types/inner.pp", "type M::Inner = Integer[2, 2]")
		expect("m::outer()", "[2, false]")
		write("modules/m/functions/inner.pp", "function m::inner() {")
		expect("m::outer()", "! inner.pp")
		write("modules/m/functions/inner.pp", "function m::inner() { 3 }")
		expect("m::outer()", "[3, false]")
		expect("m::late()", "! unknown function m::late")
		write("modules/m/functions/late.pp", "function m::late() { 4 }")
		expect("m::late()", "4")
		expect("n::late()", "! unknown function n::late")
		write("modules/n/functions/late.pp", "function n::late() { 5 }")
		expect("n::late()", "5")
		expect("stdlib::ensure(true)", "'present'")
		write("modules/stdlib/functions/ensure.pp", "function stdlib::ensure($x) { 'own' }")
		expect("stdlib::ensure(true)", "'own'")
		if err := os.RemoveAll(filepath.Join(dir, "modules/n")); err != nil {
			t.Fatal(err)
		}
		expect("n::late()", "! unknown function n::late")
		for _, name := range []string{"modules/m/functions/late.pp", "modules/stdlib"} {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		write("modules/m/functions/inner.pp", "function m::inner() { 1 }")
		write("modules/m/types/inner.pp", "type M::Inner = Integer[1, 1]")
		for _, name := range []string{"functions/outer.pp", "functions/inner.pp", "types/outer.pp", "types/inner.pp"} {
			if err := os.Chtimes(filepath.Join(dir, "modules/m", name), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Nobody finds anew what has not changed.
	expect("m::outer()", "[1, true]")
	before := e.library()
	expect("m::outer()", "[1, true]")
	if e.library() != before {
		t.Error("without a change, everything is found anew")
	}
	// One that is in work goes on with what it has.
	x := e.Evaluation(Node{})
	p, err := syntax.Parse(syntax.NewFile("p.pp", "m::outer()"), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if v, err := x.Run(t.Context(), p); err != nil || value.Inspect(v) != "[1, true]" {
			t.Errorf("in one evaluation: %v, %v", v, err)
		}
		write("modules/m/functions/inner.pp", "function m::inner() { 7 }")
		expect("m::outer()", "[7, true]")
	}
}

// TestTemplates: a template is checked as a program is, by the rules of plans
// where these hold, and parsed again when its text is another.
func TestTemplates(t *testing.T) {
	dir := world(t, map[string]string{"modules/m/templates/t.epp": "<%= 1 %>", "modules/m/templates/bad.epp": "a\n<% 1 %>b"})
	e := at(dir)
	for _, c := range []struct{ expr, want string }{
		{`inline_epp('<% 1 %>x')`, "no effect"},
		{`inline_epp('<% | $a=1, $a=2 | %><%= $a %>')`, "$a"},
		{`inline_epp('<%= {a=>1,a=>2} %>')`, "twice"},
		{`inline_epp('<% case 1 { default: {1} default: {2} } %>')`, "default"},
		{`inline_epp('<% site {} %>')`, "site"},
		{`inline_epp('<% produces a %>x')`, "no effect"},
		{"inline_epp('\n<%= 1 + %>')", "line 2, column 9"},
	} {
		_, err := run(t, e, Node{}, "notice("+c.expr+")")
		x, ok := errors.AsType[*eval.Error](err)
		if !ok || !strings.Contains(x.Msg, c.want) || x.Pos != (syntax.Position{File: "p.pp", Line: 1, Column: 8}) {
			t.Errorf("%s: %v, want %q at the call", c.expr, err, c.want)
		}
	}
	_, err := run(t, e, Node{}, "epp('m/bad.epp')")
	if x, ok := errors.AsType[*eval.Error](err); !ok || x.Pos.Line != 2 || !strings.HasSuffix(x.Pos.File, "bad.epp") {
		t.Errorf("in a file: %v", err)
	}
	catalog := `inline_epp('<% if false { notify { a: } } %>x')`
	if v, err := run(t, e, Node{}, catalog); err != nil || v != value.String("x") {
		t.Errorf("for a catalog: %v, %v", v, err)
	}
	if v, err := run(t, e, Node{Plans: true}, catalog); err == nil {
		t.Errorf("for a catalog, in a plan: %v", v)
	}
	for _, text := range []string{"<%= 1 %>", "<%= 2 %>"} {
		if err := os.WriteFile(filepath.Join(dir, "modules/m/templates/t.epp"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if v, err := run(t, e, Node{}, "epp('m/t.epp')"); err != nil || v != value.String(text[4:5]) {
			t.Errorf("%s is %v, %v", text, v, err)
		}
	}
	var kept templates
	for i := range 3 * maxTemplates {
		text := fmt.Sprintf("<%%= %d %%>", i) + strings.Repeat("x", maxTemplateBytes/100)
		p, err := kept.parse("t", text, false)
		again, _ := kept.parse("t", text, false)
		if err != nil || p != again || len(kept.kept) > maxTemplates || kept.bytes > maxTemplateBytes {
			t.Fatalf("template %d: %v, the same: %v, %d of %d bytes are kept", i, err, p == again, len(kept.kept), kept.bytes)
		}
	}
}

// TestERB renders ERB templates of modules: they see the scope of the class or
// define that renders them, and templates that call each other share methods
// and objects.
func TestERB(t *testing.T) {
	dir := world(t, map[string]string{
		"modules/m/templates/t.erb":     "<%- scope.setvar('_shared', {}) -%>\n<% scope.lookupvar('_shared')[:x] = @name -%>\n<%= scope.function_template(['m/part.erb']) -%>\n<%= twice(4) %> <%= scope['name'] %>\n",
		"modules/m/templates/part.erb":  "<% def twice(x) x * 2 end -%>\npart of <%= scope.lookupvar('_shared')[:x] %>\n",
		"modules/m/templates/bad.erb":   "a\nb <%= @name.encipher %>",
		"modules/m/templates/loop.erb":  "<%= scope.function_template(['m/loop.erb']) %>",
		"modules/m/templates/plain.erb": "<%= @name -%>",
		"modules/m/functions/f.pp":      "function m::f($x) { \"f ${x}\" }",
	})
	e := at(dir)
	variables := value.NewHash(value.Entry{Key: value.String("name"), Value: value.String("n")})
	for _, c := range []struct{ expr, want string }{
		{`template('m/t.erb')`, "part of n\n8 n\n"},
		{`template('m/plain.erb', 'm/plain.erb')`, "nn"},
		{`['v'].map |$local| { inline_template('<%= @local %>') }[0]`, "v"},
		{`inline_template("<%= scope.call_function('m::f', ['x']) %>")`, "f x"},
	} {
		v, err := run(t, e, Node{Variables: variables}, c.expr)
		if err != nil || v != value.String(c.want) {
			t.Errorf("%s: %v, %v, want %q", c.expr, v, err, c.want)
		}
	}
	for expr, want := range map[string]string{
		"template('m/bad.erb')":  "bad.erb:2: the method \"encipher\" of String",
		"template('m/loop.erb')": "more than 50 templates in each other",
		"template('m/none.erb')": "does not exist",
		"inline_template([1])":   "expects a String",
	} {
		if v, err := run(t, e, Node{Variables: variables}, expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", expr, v, err, want)
		}
	}
	if v, err := run(t, e, Node{Plans: true}, "template('m/plain.erb')"); err == nil || !strings.Contains(err.Error(), "plans") {
		t.Errorf("in a plan: %v, %v", v, err)
	}
}

// TestParsesTypesOfTaskMetadata parses types of the metadata of tasks.
func TestParsesTypesOfTaskMetadata(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "m", "types"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "m", "types", "port.pp"), []byte("type M::Port = Integer[1, 65535]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	e := New(Options{Modules: modules.NewPath(modules.Module{}, dir), Plans: true, Now: time.Now})
	str, list := value.String("a"), value.NewArray(value.String("a"), value.NewArray(value.String("b")))
	for _, tt := range []struct {
		text string
		good value.Value
		bad  value.Value
	}{
		{"Optional[M::Port]", value.Int(80), value.Int(0)},
		{"Array[M::Port]", value.NewArray(value.Int(1)), value.NewArray(value.Int(0))},
		{"Integer[-5, default]", value.Int(-5), value.Int(-6)},
		{"Pattern[/^a/]", value.String("ab"), value.String("b")},
		{"Enum[low, high]", value.String("low"), value.String("mid")},
		{"Struct[{a => Integer}]", value.NewHash(value.Entry{Key: value.String("a"), Value: value.Int(1)}), value.Int(1)},
		{"TargetSpec", list, value.String("")},
		{"Optional[Boltlib::TargetSpec]", str, value.NewArray(value.Int(1))},
	} {
		got, err := e.Type(t.Context(), tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if !value.Instance(got, tt.good) || value.Instance(got, tt.bad) {
			t.Errorf("%s is %s", tt.text, value.TypeString(got))
		}
	}
	for _, text := range []string{"Optional[", "1 + 1", "NoSuch::Type[1", "", "fail('x')", "notice('x')\nInteger",
		"Integer[1, 1 + 1]", "Array[$x]", "Enum[\"${1}\"]", "Integer.new(1)", "[Integer]", "Integer(1)", "if true { Integer }"} {
		if got, err := e.Type(t.Context(), text); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}
