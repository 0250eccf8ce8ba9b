package value

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// testTypes are the named types that the recorded expressions use.
func testTypes(t *testing.T) *world {
	return newWorld(t, map[string]string{
		"M::Port":   "Integer[1, 65535]",
		"M::Point":  "Object[{ attributes => { x => Integer, y => { type => Integer, value => 0 } } }]",
		"M::Point3": "Object[{ parent => M::Point, attributes => { z => Integer, tag => { type => Optional[String], value => undef }, k => { type => Integer, kind => constant, value => 3 } }, functions => { size => Callable[[], Integer] } }]",
		"M::Par":    "Object[{ type_parameters => { p => Variant[Integer, String, Type, Regexp] }, attributes => { p => Variant[Integer, String], q => { type => Integer, value => 1 } } }]",
	})
}

// TestParametrizeErrorPositions compares the positions of errors with those of
// Puppet.
func TestParametrizeErrorPositions(t *testing.T) {
	w := testTypes(t)
	f, err := os.Open("testdata/parametrize.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c struct {
			Expr   string
			Column int
			String string
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		name, inner, _ := strings.Cut(strings.TrimSuffix(c.Expr, "]"), "[")
		args, err := parseLiteral("["+inner+"]", w.lookup)
		if err != nil {
			t.Errorf("%s: %v", c.Expr, err)
			continue
		}
		typ, err := parseTypeWith(name, w.lookup)
		if err != nil {
			t.Errorf("%s: %v", c.Expr, err)
			continue
		}
		made, err := refer(typ, args.(*Array).Elems())
		if err == nil {
			got := ToString(made)
			if typ, ok := made.(Type); ok {
				got = Describe(typ)
			}
			if c.Column != 0 || got != c.String {
				t.Errorf("%s: got %s, want %q or an error at column %d", c.Expr, got, c.String, c.Column)
			}
			continue
		}
		e, ok := err.(*TypeError)
		if !ok || e.Kind == "" || e.Msg == "" {
			t.Errorf("%s: error %#v", c.Expr, err)
			continue
		}
		if got := column(c.Expr, e.Arg); got != c.Column {
			t.Errorf("%s: error at column %d, want %d: %v", c.Expr, got, c.Column, e)
		}
	}
}

// column returns the column of argument n of an expression, or 1 if n < 0.
func column(expr string, n int) int {
	if n < 0 {
		return 1
	}
	depth, arg, quoted := 0, 0, false
	for i, c := range expr {
		switch {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth == 1 && n == 0 {
				return i + 2
			}
		case c == ']' || c == '}':
			depth--
		case c == ',' && depth == 1:
			if arg++; arg == n {
				return i + 3
			}
		}
	}
	return -1
}

// parseLiteral parses an argument of a type as parseTypeWith does.
func parseLiteral(src string, lookup func(name string) (Type, bool)) (Value, error) {
	p := typeParser{src: src, lookup: lookup}
	return p.whole()
}
