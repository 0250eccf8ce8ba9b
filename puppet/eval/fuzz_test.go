package eval_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
)

// FuzzRun checks that each valid program ends within limits with a value or
// with an error that is not an internal error.
func FuzzRun(f *testing.F) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			f.Fatal(err)
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var r row
			if json.Unmarshal(lines.Bytes(), &r) == nil {
				f.Add(r.Expr)
			}
		}
		file.Close()
	}
	for _, b := range benchmarks {
		f.Add(b.src)
	}
	env := newEnv()
	env.Limits = eval.Limits{Steps: 5000, Depth: 200, Size: 1 << 20}
	f.Fuzz(func(t *testing.T, src string) {
		begin := time.Now()
		p, err := syntax.Parse(syntax.NewFile("fuzz.pp", src), syntax.Options{Tasks: true})
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		r := &recorder{}
		env := env
		env.Builder = r
		_, err = eval.New(env).Run(ctx, p, nil)
		if d := time.Since(begin); d > time.Minute {
			t.Fatalf("it took %v", d)
		}
		var e *eval.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%v is not an eval.Error", err)
		}
		if e != nil && (e.Kind == "internal" && e.Msg != "internal error: a bug" || e.Kind == "canceled") {
			t.Fatalf("%v\n%v", e, e.Err)
		}
	})
}
