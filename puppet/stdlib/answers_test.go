package stdlib

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"bolt/format/valuedata"
	"bolt/format/yaml"
	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// An answer is the recorded result of stdlib 9.7 for an expression on Puppet 8.
type answer struct {
	Expr   string
	Value  json.RawMessage
	Type   string
	String string
	Error  *struct{ Line, Column int }
}

// factsJSON are the facts of the recorded answers.
const factsJSON = `{"os":{"name":"Debian","family":"Debian","release":{"full":"12.5","major":"12","minor":"5"}},"kernel":"Linux","processors":{"count":4,"models":["a","b"]},"is_virtual":true,"dotted":{"a.b":{"c":1}},` +
	`"networking":{"hostname":"oracle","domain":"example.com","fqdn":"oracle.example.com","ip":"192.0.2.1","interfaces":{"lo":{"ip":"127.0.0.1","netmask":"255.0.0.0","network":"127.0.0.0"},"eth0":{"ip":"192.0.2.1","mac":"02:00:00:00:00:01","netmask":"255.255.255.0","network":"192.0.2.0"}}}}`

func decodeYAML(text []byte) (value.Value, error) {
	data, err := yaml.DecodeData(text, "")
	if err != nil {
		return nil, err
	}
	return valuedata.Of(data)
}

// testOptions has all options that functions need. The files are in a map.
func testOptions(files map[string]string) Options {
	return Options{
		Now:  time.Now,
		Rand: rand.Reader,
		YAML: decodeYAML,
		// The decoder has tests in its own package. This one supports only what
		// parsehocon() needs.
		HOCON: func(text []byte) (value.Value, error) {
			k, v, ok := strings.Cut(string(text), "=")
			if !ok || v == "[" || v == "" {
				return nil, errors.New("no value")
			}
			n, err := value.FromJSON([]byte(v))
			return value.NewHash(value.Entry{Key: value.String(k), Value: n}), err
		},
		ReadFile: func(_ context.Context, path string) ([]byte, error) {
			text, ok := files[path]
			if !ok {
				return nil, fmt.Errorf("%s: %w", path, os.ErrNotExist)
			}
			return []byte(text), nil
		},
		Glob: func(_ context.Context, pattern string) (found []string, err error) {
			for path := range files {
				if strings.HasPrefix(path, strings.TrimSuffix(pattern, "*")) {
					found = append(found, path)
				}
			}
			return found, nil
		},
		Module: func(name string) (string, bool) { return "/modules/" + name, name == "here" || name == "bare" },
	}
}

func testEnv(t testing.TB, o Options) eval.Env {
	t.Helper()
	facts, err := value.FromJSON([]byte(factsJSON))
	if err != nil {
		t.Fatal(err)
	}
	functions := append(builtin.Functions(builtin.Options{Now: time.Now}), Functions(o)...)
	return eval.Env{Library: eval.NewLibrary(Loader(nil), functions...), Facts: facts.(*value.Hash)}
}

// TestResultsLikePuppet compares results with those of Puppet.
func TestResultsLikePuppet(t *testing.T) {
	f, err := os.Open("testdata/answers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	env := testEnv(t, testOptions(nil))
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	n := 0
	for ; in.Scan(); n++ {
		var a answer
		if err := json.Unmarshal(in.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		compare(t, env, a)
	}
	if err := in.Err(); err != nil || n < 2000 {
		t.Fatal(n, err)
	}
}

func compare(t *testing.T, env eval.Env, a answer) {
	v, err := run(t, env, a.Expr)
	if a.Error != nil {
		pos, ok := placeOf(err)
		switch {
		case err == nil:
			t.Errorf("%s\n got %s, want an error", a.Expr, value.Inspect(v))
		case !ok || pos.Line != a.Error.Line || pos.Column != a.Error.Column:
			t.Errorf("%s\n got the error %v, want one at %d:%d", a.Expr, err, a.Error.Line, a.Error.Column)
		case strings.Contains(err.Error(), "internal"):
			t.Errorf("%s\n got the error %v", a.Expr, err)
		}
		return
	}
	if err != nil {
		t.Errorf("%s\n got %v, want %s", a.Expr, err, a.Value)
		return
	}
	got, err := value.MarshalRich(v)
	if err != nil {
		t.Errorf("%s: %v", a.Expr, err)
	}
	text, err := value.Format(v, value.Default{})
	if err != nil {
		t.Errorf("%s: %v", a.Expr, err)
	}
	if string(compact(got)) != string(compact(a.Value)) {
		t.Errorf("%s\n got value %s\nwant value %s", a.Expr, got, a.Value)
	}
	if typ := value.TypeString(value.Infer(v)); typ != a.Type {
		t.Errorf("%s\n got type %s\nwant type %s", a.Expr, typ, a.Type)
	}
	if string(text) != a.String {
		t.Errorf("%s\n got string %q\nwant string %q", a.Expr, text, a.String)
	}
}

func run(t testing.TB, env eval.Env, expr string) (value.Value, error) {
	p, err := syntax.Parse(syntax.NewFile("test.pp", expr), syntax.Options{})
	if err != nil {
		return nil, err
	}
	return eval.New(env).Run(t.Context(), p, nil)
}

// placeOf returns the position of an error.
func placeOf(err error) (syntax.Position, bool) {
	switch e := err.(type) {
	case *eval.Error:
		return e.Pos, true
	case syntax.Errors:
		return e[0].Position(), true
	}
	return syntax.Position{}, false
}

func compact(data []byte) []byte {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return data
	}
	out, _ := json.Marshal(v)
	return out
}
