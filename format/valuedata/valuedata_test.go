package valuedata

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/format/yaml"
	"bolt/puppet/value"
)

func TestOf(t *testing.T) {
	large, _ := new(big.Int).SetString("99999999999999999999", 10)
	for _, tt := range []struct {
		data any
		want string
	}{
		{nil, "undef"}, {true, "true"}, {int64(7), "7"}, {8, "8"}, {1.5, "1.5"}, {1.0, "1.0"}, {math.Copysign(0, -1), "-0.0"}, {"a", "'a'"},
		{large, "99999999999999999999"}, {big.NewInt(7), "7"},
		{[]any{nil, "x"}, "[undef, 'x']"}, {[]string{"x"}, "['x']"},
		{[]byte("hi"), `Binary("aGk=")`},
		{yaml.Symbol("s"), "'s'"},
		{ordered.Of("b", int64(1), "a", []any{}), "{'b' => 1, 'a' => []}"},
	} {
		v, err := Of(tt.data)
		if err != nil {
			t.Fatal(err)
		}
		if got := value.Inspect(v); got != tt.want {
			t.Errorf("%v is %s, want %s", tt.data, got, tt.want)
		}
	}
}

// TestErrors checks that errors name the part that caused them.
func TestErrors(t *testing.T) {
	odd := struct{}{}
	nan := value.Float(math.NaN())
	hash := func(k string, v value.Value) value.Value {
		return value.NewHash(value.Entry{Key: value.String(k), Value: v})
	}
	of := func(v any) error { _, err := Of(v); return err }
	to := func(v value.Value) error { _, err := To(v); return err }
	for _, tt := range []struct {
		err  error
		want string
	}{
		{of(odd), "data of type struct {}"},
		{of(ordered.Of("outputs", []any{nil, ordered.Of("id", odd)})), "outputs[1].id: data of type struct {}"},
		{of([]any{[]any{odd}}), "[0][0]: data of type struct {}"},
		{of(ordered.Of("a.b", ordered.Of("", ordered.Of(`c"`, odd)))), `["a.b"][""]["c\""]: data of type struct {}`},
		{to(nan), "NaN has no form in JSON"},
		{to(value.NewArray(value.Undef{}, hash("id", value.Float(math.Inf(-1))))), "[1].id: -Infinity has no form in JSON"},
		{to(value.NewHash(value.Entry{Key: value.Int(1), Value: value.Int(1)}, value.Entry{Key: value.String("1"), Value: value.Int(2)})), `two keys have the same string "1"`},
		{to(hash("a", value.NewHash(value.Entry{Key: value.Undef{}}, value.Entry{Key: value.String("")}))), `a: two keys have the same string ""`},
	} {
		e, ok := errors.AsType[*Error](tt.err)
		if !ok || e.Error() != tt.want {
			t.Errorf("got %v, want %s", tt.err, tt.want)
		}
	}
}

// TestYAML converts data that YAML has and JSON does not.
func TestYAML(t *testing.T) {
	for text, want := range map[string]string{
		"1: 2":                    "{1 => 2}",
		"1: 2\na: b":              "{1 => 2, 'a' => 'b'}",
		"{1.5: {~: [{true: x}]}}": "{1.5 => {undef => [{true => 'x'}]}}",
		"a: :b":                   "{'a' => 'b'}",
		"9223372036854775808: 1":  "{9223372036854775808 => 1}",
	} {
		data, err := yaml.DecodeData([]byte(text), "")
		if err != nil {
			t.Fatal(err)
		}
		if v, err := Of(data); err != nil || value.Inspect(v) != want {
			t.Errorf("%q is %v, %v, want %s", text, v, err, want)
		}
	}
	data, err := yaml.DecodeData([]byte("1: :b"), "")
	if err != nil {
		t.Fatal(err)
	}
	v, err := WithSymbols(data, func(name string) value.Value { return value.String("<" + name + ">") })
	if err != nil || value.Inspect(v) != "{1 => '<b>'}" {
		t.Errorf("with symbols of our own: %v, %v", v, err)
	}
}

func TestDepth(t *testing.T) {
	var data any = "x"
	for range maxDepth + 1 {
		data = []any{data}
	}
	if _, err := Of(data); err == nil || !strings.Contains(err.Error(), "nested deeper") {
		t.Errorf("too deep: %v", err)
	}
	v, err := Of(data.([]any)[0])
	if err != nil {
		t.Fatalf("as deep as may be: %v", err)
	}
	if _, err := To(v); err != nil {
		t.Errorf("back: %v", err)
	}
	if _, err := To(value.NewArray(v)); err == nil || !strings.Contains(err.Error(), "nested deeper") {
		t.Errorf("back, too deep: %v", err)
	}
}

func TestTo(t *testing.T) {
	for _, tt := range []struct {
		v    value.Value
		want string
	}{
		{nil, "null"},
		{value.NewHash(value.Entry{Key: value.Int(2), Value: value.Undef{}}, value.Entry{Key: value.String("a"), Value: value.Float(1)}), `{"2":null,"a":1.0}`},
		{value.NewArray(value.Bool(true), value.NewSensitive(value.String("secret")), value.Default{}), `[true,"Sensitive [value redacted]","default"]`},
		{value.NewBinary([]byte("hi")), `"aGk="`},
		{value.NewIntegerType(1, 2), `"Integer[1, 2]"`},
		{value.NewIterator(nil, slices.Values([]value.Value{value.Int(1), value.Int(2)})), "[1,2]"},
	} {
		data, err := To(tt.v)
		if err != nil {
			t.Errorf("%v: %v", tt.v, err)
			continue
		}
		if got := jsonOf(t, data); got != tt.want {
			t.Errorf("%v is %s, want %s", tt.v, got, tt.want)
		}
	}
	secret := value.NewArray(value.NewSensitive(value.NewArray(value.Int(1))))
	if data, err := (Converter{Reveal: true}).To(secret); err != nil || jsonOf(t, data) != "[[1]]" {
		t.Errorf("revealed: %v, %v", data, err)
	}
}

func jsonOf(t *testing.T, data any) string {
	t.Helper()
	var b strings.Builder
	if err := safejson.Write(&b, data); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// roundTrip checks that JSON data is the same after the conversion to a
// value and back.
func roundTrip(t *testing.T, data any) {
	t.Helper()
	v, err := Of(data)
	if err != nil {
		t.Fatalf("%v: %v", data, err)
	}
	again, err := To(v)
	if err != nil {
		t.Fatalf("%v: %v", data, err)
	}
	if !same(data, again) {
		t.Fatalf("%s became %s", jsonOf(t, data), jsonOf(t, again))
	}
}

// same compares data with types, signs of zeros, and the order of keys.
func same(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	case *ordered.Map:
		b, ok := b.(*ordered.Map)
		if !ok || a.Len() != b.Len() {
			return false
		}
		keys := b.Keys()
		for i, k := range a.Keys() {
			if keys[i] != k || !same(a.Value(k), b.Value(k)) {
				return false
			}
		}
		return true
	case *big.Int:
		b, ok := b.(*big.Int)
		return ok && a.Cmp(b) == 0
	case float64:
		b, ok := b.(float64)
		return ok && math.Float64bits(a) == math.Float64bits(b)
	}
	return a == b
}

// A generator writes JSON texts of every kind.
type generator struct{ *rand.Rand }

func (g generator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g generator) json(depth int) string {
	kinds := 9
	if depth == 0 {
		kinds = 7
	}
	switch g.IntN(kinds) {
	case 0:
		return g.pick("null", "true", "false")
	case 1:
		return strconv.FormatInt(int64(g.Uint64()), 10)
	case 2:
		return g.pick("", "-") + "1" + strings.Repeat(strconv.Itoa(g.IntN(10)), g.IntN(60)+18)
	case 3:
		return g.pick("0", "-0", "0.0", "-0.0", "1.0", "1e0", "1e300", "-1E-300", "5e-324", "1.7976931348623157e308", "1e16", "9223372036854775807",
			"9223372036854775808", "-9223372036854775808", "-9223372036854775809", "9007199254740993", "9007199254740993.0", "0.1", "1e-7")
	case 4:
		f := math.Float64frombits(g.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			f = 0.5
		}
		return strconv.FormatFloat(f, 'e', -1, 64)
	case 5, 6:
		return g.text()
	case 7:
		elems := make([]string, g.IntN(5))
		for i := range elems {
			elems[i] = g.json(depth - 1)
		}
		return "[" + strings.Join(elems, ",") + "]"
	}
	elems := make([]string, g.IntN(5))
	for i := range elems {
		elems[i] = g.text() + ":" + g.json(depth-1)
	}
	return "{" + strings.Join(elems, ",") + "}"
}

func (g generator) text() string {
	return `"` + g.pick("", "a", "id", "é", "😀", `\u0000`, `\n`, `\"`, `\\`, "1", "1.0", "null", "undef", "__ptype", "_error", "\u2028", "\x7f", "%{x}", "${x}") +
		g.pick("", "b", "B", " ") + `"`
}

// TestRoundTrip tests that data → value → data is the identity for all JSON.
func TestRoundTrip(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(1, 2))}
	for range 20_000 {
		text := g.json(4)
		data, err := ordered.ParseJSON([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		roundTrip(t, data)
		again, err := ordered.ParseJSON([]byte(jsonOf(t, data)))
		if err != nil || !same(data, again) {
			t.Fatalf("%s was written as %s, %v", text, jsonOf(t, data), err)
		}
		// The parser of the language reads the same values.
		v, err := Of(data)
		if err != nil {
			t.Fatal(err)
		}
		if w, err := value.FromJSON([]byte(text)); err != nil || !value.Same(v, w) {
			t.Fatalf("%s is %v and %v, %v", text, value.Inspect(v), w, err)
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{`{"id":99999999999999999999,"x":1}`, `[-0.0,1.0,1e400,1e-400,{"a":{"a":null}}]`, `{"":[],"a":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if data, err := ordered.ParseJSON(text); err == nil {
			roundTrip(t, data)
		}
	})
}

func TestShown(t *testing.T) {
	for _, tt := range []struct {
		v    any
		want string
	}{
		{nil, "nil"}, {"a\"b", `"a\"b"`}, {int64(1), "1"}, {ordered.Of("a", []any{nil, 1.5, true}), `{"a"=>[nil, 1.5, true]}`}, {struct{}{}, "?"},
	} {
		if got := Shown(tt.v); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.v, got, tt.want)
		}
	}
}
