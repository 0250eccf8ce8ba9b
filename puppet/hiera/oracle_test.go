package hiera_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/environment/autoload"
	"bolt/environment/hieradata"
	"bolt/modules"
	"bolt/puppet/eval"
	"bolt/puppet/hiera"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A world is a tree of files with a session and an evaluator.
type world struct {
	dir      string
	h        *hiera.Hiera
	s        *hiera.Session
	in       *eval.Interp
	warnings []string
	notices  []string
}

type worldOptions struct {
	files   map[string]string
	global  string
	vars    json.RawMessage
	facts   json.RawMessage
	plan    bool
	strict  eval.Strict
	options func(*hiera.Options)
}

func newWorld(t testing.TB, o worldOptions) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{dir: dir}
	env := filepath.Join(dir, "env/production")
	if err := os.MkdirAll(env, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range o.files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	path := modules.NewPath(modules.Module{}, filepath.Join(env, "modules"))
	ho := hieradata.Options(hieradata.Source{Dir: dir})
	ho.Environment, ho.EnvironmentName, ho.Modules = env, "production", autoload.Files{Path: path}
	if o.global != "" {
		ho.Global = filepath.Join(dir, o.global)
	}
	if o.options != nil {
		o.options(&ho)
	}
	w.h = hiera.New(ho)
	w.s = w.h.Session(hiera.SessionOptions{Plan: o.plan, Strict: o.strict, Warn: func(msg string) {
		w.warnings = append(w.warnings, strings.ReplaceAll(msg, dir, "/t"))
	}})
	loader, err := hiera.NewLoader(autoload.New(path, false))
	if err != nil {
		t.Fatal(err)
	}
	lib := eval.NewLibrary(loader, append(hiera.Functions(func(*eval.Call) (*hiera.Session, error) { return w.s, nil }), helpers()...)...)
	facts := plain(t, json.RawMessage(defaultFacts)).(*value.Hash).Merge(plain(t, o.facts).(*value.Hash))
	w.in = eval.New(eval.Env{
		Library:   lib,
		Facts:     facts,
		Trusted:   plain(t, json.RawMessage(trusted)).(*value.Hash),
		Variables: plain(t, o.vars).(*value.Hash),
		Log:       func(l eval.Log) { w.notices = append(w.notices, l.Msg) },
	})
	return w
}

// defaultFacts are those of the cases recorded in testdata.
const defaultFacts = `{
	"os": {"name": "Debian", "family": "Debian", "release": {"full": "12.5", "major": "12", "minor": "5"}},
	"kernel": "Linux", "processors": {"count": 4}, "is_virtual": true,
	"networking": {"hostname": "oracle", "domain": "example.com", "fqdn": "oracle.example.com", "ip": "192.0.2.1"}
}`

const trusted = `{
	"authenticated": "remote", "certname": "oracle.example.com", "hostname": "oracle", "domain": "example.com",
	"extensions": {"pp_role": "web"}, "external": {}
}`

func plain(t testing.TB, v any) value.Value {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) == "null" {
		return value.NewHash()
	}
	out, err := value.FromJSON(b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (w *world) eval(t testing.TB, expr string) (value.Value, error) {
	t.Helper()
	p, err := syntax.Parse(syntax.NewFile("o.pp", expr), syntax.Options{})
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return w.in.Run(context.Background(), p, nil)
}

// helpers are functions of the language that the cases use.
func helpers() []*eval.Function {
	return []*eval.Function{
		{Name: "notice", Signatures: []eval.Signature{{Params: "Any *$values", Run: func(c *eval.Call) (value.Value, error) {
			var parts []string
			for _, a := range c.Args {
				parts = append(parts, value.ToString(a))
			}
			c.Log(eval.Notice, strings.Join(parts, " "))
			return value.Undef{}, nil
		}}}},
		{Name: "fail", Signatures: []eval.Signature{{Params: "Any *$values", Run: func(c *eval.Call) (value.Value, error) {
			return nil, eval.Errorf("fail", "%s", value.ToString(c.Args[0]))
		}}}},
		{Name: "join", Signatures: []eval.Signature{{Params: "Array $list, String $by", Run: func(c *eval.Call) (value.Value, error) {
			var parts []string
			for _, v := range c.Args[0].(*value.Array).All() {
				parts = append(parts, value.ToString(v))
			}
			return value.String(strings.Join(parts, string(c.Args[1].(value.String)))), nil
		}}}},
		{Name: "map", Signatures: []eval.Signature{{Params: "Array $list", Block: "Callable[1, 1]", Run: func(c *eval.Call) (value.Value, error) {
			var out []value.Value
			for _, v := range c.Args[0].(*value.Array).All() {
				r, err := c.Yield(v)
				if err != nil {
					return nil, err
				}
				out = append(out, r)
			}
			return value.NewArray(out...), nil
		}}}},
		{Name: "new", Signatures: []eval.Signature{{Params: "Type $type, Any *$args", Run: func(c *eval.Call) (value.Value, error) {
			return value.New(c.Args[0].(value.Type), c.Args[1:])
		}}}},
	}
}

// A recorded case has a tree of files, expressions, and the results of Puppet
// 8.11 for them. It also has keys that were explained (with a leading "!":
// options only).
type recorded struct {
	Name    string
	Files   map[string]string
	Global  string
	Vars    json.RawMessage
	Facts   json.RawMessage
	Exprs   []string
	Explain []string
	Res     []struct {
		Value  json.RawMessage
		Error  bool
		Tree   json.RawMessage
		Text   string // not kept in the repository
		Differ string // what is other here, and why
	}
}

func readCases(t *testing.T, file string) []recorded {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []recorded
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var c recorded
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		t.Fatalf("%s holds no cases", file)
	}
	return out
}

// TestLookupsLikePuppet compares with Puppet.
func TestLookupsLikePuppet(t *testing.T) {
	file := "testdata/cases.jsonl"
	if f := os.Getenv("HIERA_CASES"); f != "" {
		file = f
	}
	for _, c := range readCases(t, file) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{files: c.Files, global: c.Global, vars: c.Vars, facts: c.Facts})
			for i, expr := range c.Exprs {
				want := c.Res[i]
				if want.Differ != "" {
					continue
				}
				v, err := w.eval(t, expr)
				switch {
				case want.Error:
					if err == nil {
						t.Errorf("%s: %s, want an error", expr, w.rich(t, v))
					}
				case err != nil:
					t.Errorf("%s: %v, want %s", expr, err, want.Value)
				default:
					if got := w.rich(t, v); got != compact(t, want.Value) {
						t.Errorf("%s: %s, want %s", expr, got, compact(t, want.Value))
					}
				}
			}
			for i, key := range c.Explain {
				want := c.Res[len(c.Exprs)+i]
				if want.Differ != "" {
					continue
				}
				ex := w.explain(key)
				if want.Error {
					continue
				}
				if got := w.rich(t, ex.Root().Data()); got != compact(t, want.Tree) {
					t.Errorf("explain %s:\n got %s\nwant %s", key, got, compact(t, want.Tree))
				}
				if got := strings.ReplaceAll(ex.String(), w.dir, "/t"); want.Text != "" && got != want.Text {
					t.Errorf("explain %s:\n got %s\nwant %s", key, got, want.Text)
				}
			}
		})
	}
}

func (w *world) explain(key string) *hiera.Explanation {
	name, only := strings.CutPrefix(key, "!")
	ex := &hiera.Explanation{OnlyOptions: only}
	ctx := context.Background()
	_, err := w.s.Lookup(ctx, hiera.AtSite(w.in.Site(ctx, nil)), hiera.Request{Names: []string{name}, Explain: ex})
	if err != nil {
		root := ex.Root()
		root.Texts = append(root.Texts, "ERROR")
	}
	return ex
}

func (w *world) rich(t testing.TB, v value.Value) string {
	t.Helper()
	b, err := value.MarshalRich(v)
	if err != nil {
		t.Errorf("rich data: %v", err)
		return ""
	}
	return strings.ReplaceAll(compact(t, b), w.dir, "/t")
}

func compact(t testing.TB, b []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return out.String()
}
