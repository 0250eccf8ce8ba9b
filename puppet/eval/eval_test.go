package eval_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"bolt/puppet/check"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// run evaluates a program.
func run(t testing.TB, env eval.Env, src string) (value.Value, error) {
	t.Helper()
	p, err := syntax.Parse(syntax.NewFile("test.pp", src), syntax.Options{Tasks: env.Tasks})
	if err != nil {
		return nil, err
	}
	return eval.New(env).Run(context.Background(), p, nil)
}

// runChecked is run for a program that package check has checked.
func runChecked(t testing.TB, env eval.Env, src string) (value.Value, error) {
	t.Helper()
	p, err := syntax.Parse(syntax.NewFile("test.pp", src), syntax.Options{Tasks: env.Tasks})
	if err != nil {
		return nil, err
	}
	if err := check.Program(p, check.Options{Tasks: env.Tasks}).Err(); err != nil {
		return nil, err
	}
	return eval.New(env).Run(context.Background(), p, nil)
}

func newEnv() eval.Env {
	facts := value.NewHash(
		value.Entry{Key: value.String("os"), Value: value.NewHash(
			value.Entry{Key: value.String("name"), Value: value.String("Debian")},
			value.Entry{Key: value.String("family"), Value: value.String("Debian")})},
		value.Entry{Key: value.String("kernel"), Value: value.String("Linux")})
	return eval.Env{
		Library: eval.NewLibrary(nil, functions()...),
		Facts:   facts,
		Trusted: value.NewHash(value.Entry{Key: value.String("certname"), Value: value.String("oracle.example.com")}),
	}
}

// A row is an expression with the result of Puppet.
type row struct {
	Expr  string
	Value json.RawMessage
	Type  string
	Error *struct{ Line, Column *int }
}

// TestExpressionTables runs the tables of expressions in testdata.
func TestExpressionTables(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || files == nil {
		t.Fatal(files, err)
	}
	env := newEnv()
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			lines := bufio.NewScanner(f)
			lines.Buffer(nil, 1<<20)
			for n := 1; lines.Scan(); n++ {
				var r row
				if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
					t.Fatal(err)
				}
				t.Run(fmt.Sprintf("line %d", n), func(t *testing.T) { r.check(t, env) })
			}
		})
	}
}

func (r *row) check(t *testing.T, env eval.Env) {
	v, err := runChecked(t, env, r.Expr)
	if r.Error != nil {
		r.checkError(t, v, err)
		return
	}
	if err != nil {
		t.Fatalf("%s\n%v", r.Expr, err)
	}
	got, err := value.MarshalRich(v)
	if err != nil {
		t.Fatalf("%s\n%v", r.Expr, err)
	}
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(r.Value, &b); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s\n got %s\nwant %s", r.Expr, got, bytes.TrimSpace(r.Value))
	}
	if typ := value.TypeString(value.Infer(v)); r.Type != "" && typ != r.Type {
		t.Errorf("%s\n got type %s\nwant type %s", r.Expr, typ, r.Type)
	}
}

func (r *row) checkError(t *testing.T, v value.Value, err error) {
	if err == nil {
		t.Fatalf("%s\n got %s\nwant an error", r.Expr, value.Inspect(v))
	}
	var e *eval.Error
	at := syntax.Position{}
	if errors.As(err, &e) {
		at = e.Pos
		if e.Kind == "internal" {
			t.Errorf("%s\n%v", r.Expr, err)
		}
	} else {
		var l syntax.Errors
		if !errors.As(err, &l) {
			t.Fatalf("%s\n%v is neither an eval.Error nor a syntax.Error", r.Expr, err)
		}
		at = l[0].Position()
	}
	if r.Error.Line != nil && at.Line != *r.Error.Line || r.Error.Column != nil && at.Column != *r.Error.Column {
		column := 0
		if r.Error.Column != nil {
			column = *r.Error.Column
		}
		t.Errorf("%s\n got %v\nwant it at %d:%d", r.Expr, err, *r.Error.Line, column)
	}
}
