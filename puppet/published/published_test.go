package published_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/published"
	"bolt/puppet/stdlib"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// An answer is the recorded result of an expression; see testdata/record.rb.
type answer struct {
	Expr   string
	Value  json.RawMessage
	Type   string
	String string
	Error  bool
}

func environment(t testing.TB) eval.Env {
	t.Helper()
	text, err := os.ReadFile("testdata/facts.json")
	if err != nil {
		t.Fatal(err)
	}
	facts, err := value.FromJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	functions := append(builtin.Functions(builtin.Options{}), stdlib.Functions(stdlib.Options{})...)
	for _, s := range published.Sets() {
		functions = append(functions, s.Functions...)
	}
	return eval.Env{Library: eval.NewLibrary(stdlib.Loader(nil), functions...), Facts: facts.(*value.Hash)}
}

func run(t testing.TB, env eval.Env, expr string) (value.Value, error) {
	p, err := syntax.Parse(syntax.NewFile("test.pp", expr), syntax.Options{})
	if err != nil {
		return nil, err
	}
	return eval.New(env).Run(t.Context(), p, nil)
}

// TestResultsLikeModules compares results with those of the modules, and with
// their errors.
func TestResultsLikeModules(t *testing.T) {
	f, err := os.Open("testdata/answers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	env := environment(t)
	called := map[string]bool{}
	in := bufio.NewScanner(f)
	for in.Scan() {
		var a answer
		if err := json.Unmarshal(in.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(a.Expr, "(")
		called[name] = true
		compare(t, env, a)
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	for _, s := range published.Sets() {
		for _, f := range s.Functions {
			// These call other functions, which need a catalog.
			if !called[f.Name] && !strings.Contains(f.Doc, "former name") && f.Name != "inifile::create_ini_settings" {
				t.Errorf("there is no recorded result of %s", f.Name)
			}
		}
	}
}

func compare(t *testing.T, env eval.Env, a answer) {
	t.Helper()
	v, err := run(t, env, a.Expr)
	switch {
	case a.Error && err == nil:
		t.Errorf("%s\n got %s, want an error", a.Expr, value.Inspect(v))
		return
	case a.Error:
		if strings.Contains(err.Error(), "internal") {
			t.Errorf("%s\n got the error %v", a.Expr, err)
		}
		return
	case err != nil:
		t.Errorf("%s\n got %v, want %s", a.Expr, err, a.Value)
		return
	}
	got, err := value.MarshalRich(v)
	if err != nil {
		t.Fatalf("%s: %v", a.Expr, err)
	}
	if !bytes.Equal(compact(got), compact(a.Value)) {
		t.Errorf("%s\n got value %s\nwant value %s", a.Expr, got, a.Value)
	}
	if typ := value.TypeString(value.Infer(v)); typ != a.Type {
		t.Errorf("%s\n got type %s\nwant type %s", a.Expr, typ, a.Type)
	}
	text, err := value.Format(v, value.Default{})
	if p, perr := value.Format(v, value.String("%p")); perr == nil {
		text, err = p, nil
	}
	if err != nil || string(text) != a.String {
		t.Errorf("%s\n got string %s, %v\nwant string %s", a.Expr, text, err, a.String)
	}
}

func compact(data []byte) []byte {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return data
	}
	out, _ := json.Marshal(v)
	return out
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		module, function string
		want             bool
	}{
		{"puppetlabs/mysql", "mysql::password", true},
		{"mysql", "mysql::password", false},
		{"mine/mysql", "mysql::password", false},
		{"puppetlabs/mysql", "mysql_password", true},
		{"mine", "mysql_password", false},
		{"puppetlabs/mysql", "mysql::other", false},
		{"puppetlabs/docker", "docker_run_flags", true},
		{"", "", false},
	} {
		if f := published.Find(c.module, c.function); (f != nil) != c.want {
			t.Errorf("Find(%q, %q) = %v, want a function: %v", c.module, c.function, f, c.want)
		}
	}
	sets := published.Sets()
	if !slices.IsSortedFunc(sets, func(a, b published.Set) int { return strings.Compare(a.Module, b.Module) }) {
		t.Error("the modules are not sorted")
	}
}

// TestFormerNames: with strict errors, a former name is an error; otherwise it
// calls the function.
func TestFormerNames(t *testing.T) {
	env := environment(t)
	if _, err := run(t, env, "mysql_password('x')"); err == nil || !strings.Contains(err.Error(), "use mysql::password") {
		t.Errorf("mysql_password: %v", err)
	}
	env.Strict = eval.StrictWarning
	if v, err := run(t, env, "mysql_password('x') == mysql::password('x')"); err != nil || v != value.Bool(true) {
		t.Errorf("mysql_password: %v, %v", v, err)
	}
}
