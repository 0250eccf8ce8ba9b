package environment

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// ofFormats are the functions of stdlib whose answers depend on what an
// environment gives them: how it reads formats and finds files.
var ofFormats = regexp.MustCompile(`yaml|hocon|\bglob\b`)

// TestStdlibAnswersLikeRuby replays recorded results of stdlib with the
// decoders of an environment, and lists the differences with their reasons.
func TestStdlibAnswersLikeRuby(t *testing.T) {
	differs := map[string]string{}
	for why, list := range map[string][]string{
		"aliases are resolved, as in data of hiera": {
			`parseyaml("a: &x 1\nb: *x")`, `parseyaml("a: &x 1\nb: *x", 'd')`, `parseyaml("a: &x {k: 1}\nb:\n  <<: *x\n  c: 2", 'd')`,
		},
		"tags of kinds of lists and hashes do not count": {
			`parseyaml("!!omap [a: 1, b: 2]")`, `parseyaml("!!set {a, b}")`, `parseyaml("!!set {a: 1}")`, `parseyaml("x: !!set {a, b}\ny: !!omap [c: 1]")`,
		},
		"binary data are a Binary":  {`parseyaml("!!binary aGVsbG8=")`, `parseyaml("x: !!binary aGVsbG8=")`},
		"collections are no keys":   {`parseyaml("? [a, b]\n: 1")`, `parseyaml("? {a: b}\n: 1")`},
		"symbols are strings":       {`parseyaml(":a: :b")`},
		"a quoted text is a string": {`parseyaml("! '1'")`},
	} {
		for _, expr := range list {
			differs[expr] = why
		}
	}
	n := answers(t, filepath.Join("..", "puppet", "stdlib", "testdata", "answers.jsonl"), differs) +
		answers(t, filepath.Join("testdata", "yaml.jsonl"), differs)
	if n < 900 {
		t.Errorf("only %d answers", n)
	}
	for expr := range differs {
		t.Errorf("%s is said to differ, and is not asked", expr)
	}
}

// answers plays the answers in a file and returns how many there are.
func answers(t *testing.T, name string, differs map[string]string) (n int) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	facts, err := value.FromJSON([]byte(`{"networking": {"hostname": "oracle", "fqdn": "oracle.example.com"}}`))
	if err != nil {
		t.Fatal(err)
	}
	e := at(t.TempDir())
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var a struct {
			Expr, Type, String string
			Value              json.RawMessage
			Error              *struct{ Line, Column int }
		}
		if err := json.Unmarshal(in.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		if !ofFormats.MatchString(a.Expr) {
			continue
		}
		n++
		bad := ""
		switch v, err := evaluate(t, e, Node{Facts: facts.(*value.Hash)}, a.Expr); {
		case a.Error != nil && err == nil:
			bad = fmt.Sprintf("got %s, want an error", value.Inspect(v))
		case a.Error != nil:
		case err != nil:
			bad = fmt.Sprintf("got the error %v, want %s", err, a.Value)
		default:
			got, err := value.MarshalRich(v)
			if err != nil {
				t.Fatal(err)
			}
			if typ := value.TypeString(value.Infer(v)); canonical(t, got) != canonical(t, a.Value) || typ != a.Type {
				bad = fmt.Sprintf("got %s of type %s, want %s of type %s", got, typ, a.Value, a.Type)
			}
		}
		why, known := differs[a.Expr]
		delete(differs, a.Expr)
		switch {
		case known && bad == "":
			t.Errorf("%s\n is said to differ (%s), and does not", a.Expr, why)
		case !known && bad != "":
			t.Errorf("%s\n %s", a.Expr, bad)
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

// canonical returns JSON in one way of writing it; the order of keys stays.
func canonical(t *testing.T, data []byte) string {
	t.Helper()
	v, err := value.FromJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	return value.Inspect(v)
}

func evaluate(t *testing.T, e *Environment, n Node, text string) (value.Value, error) {
	t.Helper()
	p, err := syntax.Parse(syntax.NewFile("p.pp", text), syntax.Options{})
	if err != nil {
		return nil, err
	}
	return e.Evaluation(n).Run(t.Context(), p)
}
