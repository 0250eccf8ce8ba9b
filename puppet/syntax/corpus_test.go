package syntax

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const corpus = "../../testdata/puppet"

type corpusCase struct {
	Case       string
	AST        json.RawMessage
	ASTTree    *string `json:"ast_tree"`
	ParseError any     `json:"parse_error"`
	src        string
}

// corpusFiles returns the cases of the corpus with the text of each.
func corpusFiles(t testing.TB) []corpusCase {
	t.Helper()
	f, err := os.Open(filepath.Join(corpus, "expected/cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []corpusCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var c corpusCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		src, err := os.ReadFile(filepath.Join(corpus, "cases", c.Case+".pp"))
		if err != nil {
			t.Fatal(err)
		}
		c.src = string(src)
		list = append(list, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(list) < 100 {
		t.Fatalf("the corpus has only %d cases", len(list))
	}
	return list
}

// tasksMode reports whether a case of the corpus is parsed as a plan.
func tasksMode(c *corpusCase) bool {
	return strings.Contains(c.src, "# setting: tasks=true")
}

// TestCorpus compares trees and positions of errors with those of Puppet.
func TestCorpus(t *testing.T) {
	for _, c := range corpusFiles(t) {
		t.Run(c.Case, func(t *testing.T) {
			t.Parallel()
			prog, err := Parse(NewFile(c.Case+".pp", c.src), Options{Tasks: tasksMode(&c)})
			switch {
			case c.AST != nil:
				if got, want := decode(t, []byte(dumpText(t, prog, JSON))), decode(t, c.AST); !reflect.DeepEqual(got, want) {
					t.Errorf("tree:\n%s\nwant:\n%s", dumpText(t, prog, JSON), c.AST)
				}
			case c.ASTTree != nil:
				if got := dumpText(t, prog, Tree); got != *c.ASTTree {
					t.Errorf("tree:\n%s\nwant:\n%s", got, *c.ASTTree)
				}
			}
			if c.ParseError == nil {
				if err == nil {
					reprint(t, prog, Parse, Options{Tasks: tasksMode(&c)})
				} else if c.AST == nil && c.ASTTree == nil || !onlyOutOfRange(err) {
					t.Errorf("errors: %v", err)
				}
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			if place, ok := c.ParseError.(map[string]any); ok {
				first := err.(Errors)[0].Position()
				if float64(first.Line) != place["line"] || float64(first.Column) != place["column"] {
					t.Errorf("error at %v, want %v: %v", first, place, err)
				}
			}
		})
	}
}

// onlyOutOfRange reports whether all errors are numbers that are too big.
// Puppet finds these only when it validates the tree.
func onlyOutOfRange(err error) bool {
	for _, e := range err.(Errors) {
		if e.Kind != "number-out-of-range" {
			return false
		}
	}
	return true
}

func decode(t *testing.T, data []byte) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return floats(v)
}

// floats normalizes numbers with a fraction or an exponent. Integers keep their
// digits.
func floats(v any) any {
	switch v := v.(type) {
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			f, _ := v.Float64()
			return f
		}
	case []any:
		for i := range v {
			v[i] = floats(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = floats(v[k])
		}
	}
	return v
}
