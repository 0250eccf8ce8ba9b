package builtin

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// An answer is the recorded result of Puppet for an expression.
type answer struct {
	Expr   string
	Value  json.RawMessage
	Type   string
	String string
	Error  *struct{ Line, Column int }
}

// newInterp returns an evaluator with all functions and the facts of the
// recorded answers.
func newInterp(t testing.TB) *eval.Interp {
	t.Helper()
	facts, err := value.FromJSON([]byte(`{"os":{"name":"Debian","family":"Debian","release":{"full":"12.5","major":"12","minor":"5"}},"kernel":"Linux","processors":{"count":4},"is_virtual":true,` +
		`"networking":{"hostname":"oracle","domain":"example.com","fqdn":"oracle.example.com","ip":"192.0.2.1"}}`))
	if err != nil {
		t.Fatal(err)
	}
	return eval.New(eval.Env{
		Library: eval.NewLibrary(nil, Functions(Options{Now: time.Now})...),
		Facts:   facts.(*value.Hash),
	})
}

// TestResultsLikePuppet compares results with those of Puppet 8.
func TestResultsLikePuppet(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			in := bufio.NewScanner(f)
			in.Buffer(nil, 1<<20)
			for in.Scan() {
				var a answer
				if err := json.Unmarshal(in.Bytes(), &a); err != nil {
					t.Fatal(err)
				}
				compare(t, a)
			}
			if err := in.Err(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func compare(t *testing.T, a answer) {
	v, err := run(t, a.Expr)
	if a.Error != nil {
		pos, ok := placeOf(err)
		switch {
		case err == nil:
			t.Errorf("%s\n got %s, want an error", a.Expr, value.Inspect(v))
		case !ok || a.Error.Line > 0 && pos.Line != a.Error.Line || a.Error.Column > 0 && pos.Column != a.Error.Column:
			t.Errorf("%s\n got the error %v, want one at %d:%d", a.Expr, err, a.Error.Line, a.Error.Column)
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

func run(t *testing.T, expr string) (value.Value, error) {
	p, err := syntax.Parse(syntax.NewFile("test.pp", expr), syntax.Options{})
	if err != nil {
		return nil, err
	}
	return newInterp(t).Run(t.Context(), p, nil)
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
