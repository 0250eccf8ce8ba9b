package yaml

import (
	"fmt"
	"iter"
	"math/big"
	"strings"
	"testing"
)

// write shows a value with the kinds of its keys.
func write(v any) string {
	switch v := v.(type) {
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, write(e))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case interface{ All() iter.Seq2[string, any] }:
		var parts []string
		for k, e := range v.All() {
			parts = append(parts, fmt.Sprintf("%q:%s", k, write(e)))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case interface{ All() iter.Seq2[any, any] }:
		var parts []string
		for k, e := range v.All() {
			parts = append(parts, write(k)+":"+write(e))
		}
		return "<" + strings.Join(parts, " ") + ">"
	case *big.Int:
		return v.String()
	}
	return fmt.Sprintf("%#v", v)
}

func TestDecodeData(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", "<nil>"},
		{"alias", "a: &x [1, 2]\nb: *x", `{"a":[1 2] "b":[1 2]}`},
		{"alias of null", "a: &x ~\nb: *x", `{"a":<nil> "b":<nil>}`},
		{"merge key", "a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3}", `{"a":{"k":1 "l":2} "b":{"k":1 "l":3}}`},
		{"merge into other keys", "b: {1: 1, <<: {k: 1}}", `{"b":<1:1 "k":1>}`},
		{"merge of other keys", "b: {x: 1, <<: {1: 2}, 1: 3}", `{"b":<"x":1 1:3>}`},
		{"merge of many", "b: {<<: [{1: 2}, {2: 3, 1: 9}], 5: 5}", `{"b":<2:3 1:2 5:5>}`},
		{"no merge", "b: {<<: [{1: 2}, 4], 5: 5}", `{"b":<"<<":[<1:2> 4] 5:5>}`},
		{"merge of an alias for many", "a: &x [{k: 1}]\nb: {<<: *x}", `{"a":[{"k":1}] "b":{"<<":[{"k":1}]}}`},
		{"symbol as key", ":backends: yaml", `{"backends":"yaml"}`},
		{"symbol as value", "a: :b\nb: \":c\"", `{"a":"b" "b":":c"}`},
		{"binary", "a: !!binary aGk=", `{"a":[]byte{0x68, 0x69}}`},
		{"keys that are no strings", "a: 1\n2: b\ntrue: c\n1.5: d\n~: e\n2: f", `<"a":1 2:"f" true:"c" 1.5:"d" <nil>:"e">`},
		{"number beyond 64 bits", "9223372036854775808: 1\n9223372036854775808: 99999999999999999999", `<9223372036854775808:99999999999999999999>`},
	} {
		v, err := DecodeData([]byte(c.in), "f.yaml")
		if got := write(v); err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}

func TestDecodeDataErrors(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
	}
	for _, c := range []struct{ name, in, want string }{
		{"recursive", "a: &x [1, *x]", "f.yaml, line 1, column 11: the alias *x is inside"},
		{"bomb", bomb.String(), "more data than is allowed"},
		{"date", "a: 2026-01-02", "is a date"},
		{"Ruby object", "a: !ruby/object:Object {}", "asks for a Ruby object"},
		{"collection as key", "? [1]\n: 2", "a collection cannot be a key"},
		{"syntax", "a: [", "f.yaml, line 1, column 4"},
	} {
		_, err := DecodeData([]byte(c.in), "f.yaml")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", c.name, err, c.want)
		}
	}
}

func TestDecodeLocated(t *testing.T) {
	_, at, err := DecodeLocated([]byte("version: 5\nhierarchy:\n  - name: a\n    path: x\n  - {name: b, path: y}\n"), "f")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path         []any
		line, column int
	}{
		{nil, 1, 1},
		{[]any{"version"}, 1, 1},
		{[]any{"hierarchy"}, 2, 1},
		{[]any{"hierarchy", 0}, 3, 5},
		{[]any{"hierarchy", 0, "path"}, 4, 5},
		{[]any{"hierarchy", 1, "path"}, 5, 15},
		{[]any{"hierarchy", 1, "nope", "x"}, 5, 5},
		{[]any{"nope"}, 1, 1},
	} {
		if line, column := at(c.path...); line != c.line || column != c.column {
			t.Errorf("%v: %d:%d, want %d:%d", c.path, line, column, c.line, c.column)
		}
	}
}

func FuzzDecodeData(f *testing.F) {
	for _, s := range []string{"a: &x [1]\nb: *x", "1: {2: 3}", ":a: {<<: {b: c}}", "- !!binary aGk=", "a: |\n  x\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, at, err := DecodeLocated([]byte(s), "f")
		if err == nil {
			at("a", 0, "b")
			write(v)
		}
	})
}

// TestDataCrowded: text of more values than fit is refused before it is read.
func TestDataCrowded(t *testing.T) {
	if _, err := DecodeData([]byte("["+strings.Repeat("1,", 3_000_000)+"1]"), "big.yaml"); err == nil || !strings.Contains(err.Error(), "more than 3000000") {
		t.Errorf("is taken: %v", err)
	}
	long := "a: '" + strings.Repeat("text without an end ", 200_000) + "'"
	if v, err := DecodeData([]byte(long), "long.yaml"); err != nil || v == nil {
		t.Errorf("what is long alone is refused: %v", err)
	}
}
