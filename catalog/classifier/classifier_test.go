package classifier_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/catalog/classifier"
	"bolt/catalog/compile"
	"bolt/catalog/site"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// record is a compiler that stores the node.
type record struct{ n site.Node }

func (r *record) Compile(_ context.Context, n site.Node) (*compile.Result, error) {
	r.n = n
	return &compile.Result{}, nil
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// classified returns a node with the classes, variables and environment of a classifier.
func classified(t *testing.T, path, node, environment string) (string, error) {
	t.Helper()
	c, err := classifier.New(t.Context(), path)
	if err != nil {
		return "", err
	}
	var r record
	n := site.Node{Name: node, Facts: value.NewHash(), Classes: []string{"given"}}
	var logs []string
	n.Log = func(l eval.Log) { logs = append(logs, l.Msg) }
	if _, err := c.Before(&r, environment).Compile(t.Context(), n); err != nil {
		return "", err
	}
	var declared []string
	for _, d := range r.n.Declared {
		declared = append(declared, d.Name+" "+value.Inspect(d.Params))
	}
	variables := ""
	if r.n.Variables != nil {
		variables = value.Inspect(r.n.Variables)
	}
	return fmt.Sprintf("%v %v %s [%s] %v", declared, r.n.Classes, variables, r.n.Environment, logs), nil
}

// TestDocuments checks the documents that a classifier of Puppet can print.
func TestDocuments(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", "[] [given]  [] []"},
		{"blanks", " \n\n", "[] [given]  [] []"},
		{"an empty map", "--- {}\n", "[] [given]  [] []"},
		{"a list", "classes: [B, '::c::d']\nenvironment: test\n", "[] [b c::d given]  [test] []"},
		{"a name", "classes: b", "[] [b given]  [] []"},
		{"parameters", "classes:\n  a: {p: 1, list: [x, true]}\n  b:\n  c: {}\nparameters: {role: web, environment: x, trusted: y}\nname: n", "[a {'p' => 1, 'list' => ['x', true]}] [b c given] {'role' => 'web'} [] []"},
		{"aliases and symbols", ":classes: &x [b]\nother: *x\n", "[] [b given]  [] []"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := classified(t, file(t, "enc", "#!/bin/sh\n[ \"$*\" = n1 ] || exit 7\ncat <<'END'\n"+tt.text+"\nEND\n"), "n1", "")
			if err != nil || got != tt.want {
				t.Errorf("got %s, %v", got, err)
			}
			indented := "n1:\n  " + strings.ReplaceAll(strings.TrimPrefix(tt.text, "--- "), "\n", "\n  ") + "\n"
			if got, err := classified(t, file(t, "enc.yaml", indented), "n1", ""); err != nil || got != tt.want {
				t.Errorf("of a file: got %s, %v", got, err)
			}
		})
	}
	// A file, with a document for other nodes; an environment that overrides.
	path := file(t, "enc.yml", "n1: {classes: [a]}\ndefault: {classes: [b], environment: e}\n")
	for node, want := range map[string]string{"n1": "[] [a given]  [f] []", "n2": "[] [b given]  [f] []"} {
		if got, err := classified(t, path, node, "f"); err != nil || got != want {
			t.Errorf("%s: got %s, %v", node, got, err)
		}
	}
	if got, err := classified(t, file(t, "enc", "#!/bin/sh\necho careful >&2\n"), "n", ""); err != nil || got != "[] [given]  [] [careful]" {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestFailures checks that an error of a classifier only affects one node.
func TestFailures(t *testing.T) {
	for text, want := range map[string]string{
		"#!/bin/sh\necho unknown node >&2; exit 1": "exit status 1): unknown node",
		"#!/bin/sh\necho '{'":                      "the output is not YAML",
		"#!/bin/sh\necho text":                     "the document must be a map",
		"#!/bin/sh\necho 'classes: 1'":             "classes must be a list",
		"#!/bin/sh\necho 'classes: [1]'":           "the elements of the list must be strings",
		"#!/bin/sh\necho 'classes: {a: 1}'":        "classes: a: expected a map",
		"#!/bin/sh\necho 'parameters: []'":         "parameters: expected a map",
		"#!/bin/sh\necho 'environment: 1'":         "environment must be a string",
		"#!/bin/sh\nyes | head -c 70000000":        "wrote more than 64 MiB",
		"classes: []":                              "its first line does not name an interpreter",
		"#!/none":                                  "was not found",
	} {
		if _, err := classified(t, file(t, "enc", text), "n", ""); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "enc' failed: ") {
			t.Errorf("%q: got %v", text, err)
		}
	}
	for _, name := range []string{"none.yaml", "none"} {
		if _, err := classified(t, filepath.Join(t.TempDir(), name), "n", ""); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := classified(t, file(t, "enc.yaml", "[a]"), "n", ""); err == nil || !strings.Contains(err.Error(), "must be a map of nodes") {
		t.Errorf("got %v", err)
	}

	c, err := classifier.New(t.Context(), file(t, "enc", "#!/bin/sh\nsleep 100"))
	if err != nil {
		t.Fatal(err)
	}
	late := errors.New("late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, late)
	defer cancel()
	if _, err := c.Before(&record{}, "").Compile(ctx, site.Node{Name: "n"}); err == nil || !strings.Contains(err.Error(), "enc' failed: late") {
		t.Errorf("got %v", err)
	}
	// The program is not run again, so that many nodes do not wait for it one after the
	// other.
	begin := time.Now()
	if _, err := c.Before(&record{}, "").Compile(t.Context(), site.Node{Name: "m"}); err == nil || !strings.Contains(err.Error(), "enc' failed: late") || time.Since(begin) > 10*time.Second {
		t.Errorf("got %v after %v", err, time.Since(begin))
	}

	c, err = classifier.New(t.Context(), file(t, "enc", "#!/bin/sh\nsleep 100"))
	if err != nil {
		t.Fatal(err)
	}
	stopped := errors.New("stopped")
	ending, end := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { end(stopped) })
	if _, err := c.Before(&record{}, "").Compile(ending, site.Node{Name: "n"}); err != stopped {
		t.Errorf("got %v", err)
	}
}

// TestBomb has a few lines whose aliases expand to a lot of data.
func TestBomb(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	bomb += "parameters: {x: *a11}\n"
	const want = "the aliases make more data than is allowed"
	if _, err := classified(t, file(t, "enc", "#!/bin/sh\ncat <<'END'\n"+bomb+"END\n"), "n", ""); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a program: %v", err)
	}
	if _, err := classified(t, file(t, "enc.yaml", bomb), "n", ""); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a file: %v", err)
	}
}
