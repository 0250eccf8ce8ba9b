package valuedata

import (
	"math"
	"strings"
	"testing"

	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/format/yaml"
	"bolt/puppet/value"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		data any
		want string
	}{
		{nil, "undef"}, {true, "true"}, {int64(7), "7"}, {1.5, "1.5"}, {"a", "'a'"},
		{[]any{nil, "x"}, "[undef, 'x']"},
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
	if _, err := Of([]any{struct{}{}}); err == nil {
		t.Error("a struct is data")
	}
	long, err := ordered.ParseJSON([]byte(`{"a":[1,{"b":9223372036854775808}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Of(long); err == nil || err.Error() != "a.1.b: 9223372036854775808 does not fit a whole number of 64 bits" {
		t.Errorf("more than 64 bits: %v", err)
	}
}

// TestYAML: what YAML has and JSON has not.
func TestYAML(t *testing.T) {
	for text, want := range map[string]string{
		"1: 2":                    "{1 => 2}",
		"1: 2\na: b":              "{1 => 2, 'a' => 'b'}",
		"{1.5: {~: [{true: x}]}}": "{1.5 => {undef => [{true => 'x'}]}}",
		"a: :b":                   "{'a' => 'b'}",
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
	if _, err := Of(data.([]any)[0]); err != nil {
		t.Errorf("as deep as may be: %v", err)
	}
}

func TestTo(t *testing.T) {
	for _, tt := range []struct {
		v    value.Value
		want string
	}{
		{value.NewHash(value.Entry{Key: value.Int(2), Value: value.Undef{}}, value.Entry{Key: value.String("a"), Value: value.Float(1)}), `{"2":null,"a":1.0}`},
		{value.NewArray(value.Bool(true), value.NewSensitive(value.String("secret")), value.Default{}), `[true,"Sensitive [value redacted]","default"]`},
		{value.Float(math.NaN()), `"NaN"`},
		{value.Float(math.Inf(-1)), `"-Infinity"`},
	} {
		var b strings.Builder
		if err := safejson.Write(&b, To(tt.v)); err != nil || b.String() != tt.want {
			t.Errorf("%v is %s, %v, want %s", tt.v, b.String(), err, tt.want)
		}
	}
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
