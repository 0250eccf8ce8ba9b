package eval_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// TestStackOfBinding checks that errors of arguments and results belong to the
// caller and have its line, and that errors inside of a default belong to the
// function.
func TestStackOfBinding(t *testing.T) {
	caller := []eval.Frame{{"g", "test.pp", 3}, {"", "test.pp", 5}}
	for src, want := range map[string][]eval.Frame{
		"function f(Integer $p) { 1 }\nfunction g() {\n  f('x')\n}\ng()":                                            caller,
		"function f(Integer $p, $q = 1) { 1 }\nfunction g() {\n  f('x')\n}\ng()":                                    caller,
		"function f($p) { 1 }\nfunction g() {\n  f()\n}\ng()":                                                       caller,
		"function f(Integer $p = 'x') { 1 }\nfunction g() {\n  f()\n}\ng()":                                         caller,
		"function f() >> Integer { 'x' }\nfunction g() {\n  f()\n}\ng()":                                            caller,
		"\nfunction g() {\n  [1].map |String $x| { $x }\n}\ng()":                                                    caller,
		"function f($p = 1 + 'x') { 1 }\nfunction g() {\n  f()\n}\ng()":                                             {{"f", "test.pp", 1}, {"g", "test.pp", 3}, {"", "test.pp", 5}},
		"function f($p) { 1 + 'x' }\nfunction g() {\n  f(1)\n}\ng()":                                                {{"f", "test.pp", 1}, {"g", "test.pp", 3}, {"", "test.pp", 5}},
		"function f(Integer $n) {\n  if $n > 0 { f($n - 1) } else { f('x') }\n}\n\nf(1)":                            {{"f", "test.pp", 2}, {"f", "test.pp", 2}, {"", "test.pp", 5}},
		"function f($n) {\n  $x = [3, 'a'][$n]\n  if $x =~ Integer { f($n + 1) + $n } else { fail('no') }\n}\nf(0)": {{"f", "test.pp", 3}, {"f", "test.pp", 3}, {"", "test.pp", 5}},
	} {
		e := fault(t, newEnv(), src)
		if !reflect.DeepEqual(e.Stack, want) {
			t.Errorf("%s\n%v\n got stack %v\nwant %v", src, e, e.Stack, want)
		}
		if e.Pos.Line != want[0].Line {
			t.Errorf("%s\n%v, want line %d", src, e, want[0].Line)
		}
	}
}

// TestWrongDefault checks that the message contains the position of a default
// with a wrong type.
func TestWrongDefault(t *testing.T) {
	e := fault(t, newEnv(), "function f($a,\n  Integer $p = 'x') { 1 }\nf(1)")
	if e.Pos.Line != 3 || !strings.HasSuffix(e.Msg, "(its default, at test.pp:2:16)") {
		t.Errorf("got %v", e)
	}
	if e := fault(t, newEnv(), "function f($a, Integer $p = 'x') { 1 }\nf(1, 'y')"); strings.Contains(e.Msg, "default") {
		t.Errorf("got %v for an argument", e)
	}
}

// TestTemplateParameters checks that an error of parameters of a template names
// the template.
func TestTemplateParameters(t *testing.T) {
	const inline = "inline_epp('<%- |\n  $y = 1,\n  $z\n| -%>', "
	for src, want := range map[string]string{
		inline + "{})":               "the template: parameter 'z' needs a value (inlined-epp-text, line 3)",
		inline + "{z => 1, a => 1})": "the template has no parameter 'a' (inlined-epp-text, line 1)",
	} {
		if e := fault(t, builtinEnv(), src); !strings.HasSuffix(e.Msg, want) || e.Pos.Line != 1 || len(e.Stack) != 1 {
			t.Errorf("%s\n got %v, %v\nwant %s", src, e, e.Stack, want)
		}
	}
	p, err := syntax.ParseTemplate(syntax.NewFile("a.epp", "<%- |\n  $z\n| -%>"), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = eval.New(newEnv()).Site(context.Background(), nil).Template(p, nil, false)
	if err == nil || err.Error() != "a.epp:2:3: the template: parameter 'z' needs a value" {
		t.Errorf("rendered by itself: %v", err)
	}
}

// A dataError is an error with a kind of a higher package.
type dataError struct{}

func (dataError) Error() string        { return "the data is bad" }
func (dataError) LanguageKind() string { return "lookup-data" }

// TestDataBinding checks that an error of data for a class has the position of
// the declaration of the class and the kind of its cause.
func TestDataBinding(t *testing.T) {
	p, err := syntax.Parse(syntax.NewFile("c.pp", "\nclass c($p) {}"), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	class := eval.Definitions(p, "")[0]
	for _, c := range []struct {
		err  error
		kind string
	}{
		{dataError{}, "lookup-data"},
		{eval.Errorf("unknown-variable", "none"), "unknown-variable"},
		{errors.New("plain"), "call"},
	} {
		env := newEnv()
		env.Library = eval.NewLibrary(nil, &eval.Function{Name: "declare", Doc: "Declares the class c.",
			Signatures: []eval.Signature{{Run: func(call *eval.Call) (value.Value, error) {
				scope := call.Interp.NewScope(eval.ScopeOptions{Kind: eval.ClassScope, Name: "c", Parent: call.Scope})
				_, err := call.Bind(class, scope, value.NewHash(), func(string) (value.Value, bool, error) { return nil, false, c.err })
				return value.Undef{}, err
			}}}})
		e := fault(t, env, "\n\n  declare()")
		if e.Kind != c.kind || e.Pos.String() != "test.pp:3:3" || e.Msg != c.err.Error() {
			t.Errorf("%v: got %s %v", c.err, e.Kind, e)
		}
	}
}

// TestNodeTwice checks that a name can occur only once in a node definition.
func TestNodeTwice(t *testing.T) {
	for src, want := range map[string]string{
		"node 'a',\n 'A' {}":              "test.pp:2:2: the node a is defined already, at test.pp:1:6",
		"node /x/, /x/ {}":                "test.pp:1:11: the node /x/ is defined already, at test.pp:1:6",
		"node default, b, default {}":     "test.pp:1:18: the node default is defined already, at test.pp:1:6",
		"node 'a', 'b' {} node 'c', a {}": "test.pp:1:18: the node a is defined already, at test.pp:1:1",
	} {
		if e := fault(t, builtinEnv(), src); e.Kind != "duplicate-definition" || e.Error() != want {
			t.Errorf("%s\n got %s %v\nwant %s", src, e.Kind, e, want)
		}
	}
	if _, err := run(t, builtinEnv(), "node 'a', 'b', /a/, default {}"); err != nil {
		t.Error(err)
	}
}
