package value

import (
	"bolt/puppet/timeformat"
	"errors"
	"strings"
	"testing"
	"time"
)

// nest returns n nested arrays.
func nest(n int) Value {
	v := Value(Int(1))
	for range n {
		v = NewArray(v)
	}
	return v
}

// double returns an array that contains the same value 2^n times.
func double(n int) Value {
	v := Value(String("aaaaaaaaaaaaaaaa"))
	for range n {
		v = NewArray(v, v)
	}
	return v
}

// TestHostileValues has operations that exceed the limits of memory or time.
func TestHostileValues(t *testing.T) {
	long := strings.Repeat("1", 10<<20)
	format := func(v Value, f string) error { _, err := Format(v, String(f)); return err }
	try := func(typ Type, args ...Value) error { _, err := New(typ, args); return err }
	tests := map[string]error{
		"width":             format(String("a"), "%999999999s"),
		"wide elements":     format(NewArray(make([]Value, 0)...), "%99999999999999999999a"),
		"precision":         format(Float(1), "%.999999999f"),
		"width of an array": format(NewHash(Entry{Int(1), Int(2)}), "%#9999999999h"),
		"deep":              format(nest(MaxDepth+1), "%p"),
		"many":              format(double(40), "%s"),
		"elements": func() error {
			_, err := Format(NewArray(make100(1000)...), NewHash(Entry{anyArray, NewHash(
				Entry{String("format"), String("%a")},
				Entry{String("string_formats"), NewHash(Entry{anyInteger, String("%1000000d")})})}))
			return err
		}(),
		"text":             func() error { _, err := Text(double(30)); return err }(),
		"text of deep":     func() error { _, err := Text(nest(MaxDepth + 1)); return err }(),
		"sprintf star":     func() error { _, err := Sprintf("%*d", []Value{Int(1 << 40), Int(1)}, nil); return err }(),
		"integer":          try(anyInteger, String(long)),
		"float":            try(anyFloat, String(long)),
		"integer of float": try(anyInteger, Float(1e300)),
		"timespan text":    try(anyTimespan, String(long)),
		"timespan":         try(anyTimespan, Float(1e30)),
		"timespan fields":  try(anyTimespan, Int(1<<62), Int(1), Int(1), Int(1)),
		"timespan format":  func() error { _, err := Timespan(1).Format("%99999999S"); return err }(),
		"timestamp":        try(anyTimestamp, Float(1e30)),
		"timestamp text":   try(anyTimestamp, String(long)),
		"timestamp format": func() error { _, err := NewTimestamp(time.Unix(0, 0)).Format("%99999999d", ""); return err }(),
		"timestamp sum":    func() error { _, err := must(timestampAt(timeformat.MaxUnix, 0)).Add(1 << 62); return err }(),
		"version":          try(anySemVer, String(long+".0.0")),
		"range":            try(SemVerRangeType{}, String(strings.Repeat("1 || ", 1<<20))),
		"uri":              try(anyURI, String("http://"+long)),
		"array":            try(anyArray, Int(1<<40)),
		"array of a range": try(anyArray, NewIntegerType(-1<<62, 1<<62)),
		"array of text":    try(anyArray, String(strings.Repeat("a", maxElements+1))),
		"hash":             try(anyHash, Int(1<<40)),
		"tree": try(anyHash, NewArray(
			NewArray(NewArray(String("a")), NewArray()),
			NewArray(NewArray(String("a"), Int(1<<60)), Int(1))), String("tree")),
		"path":        try(anyHash, NewArray(NewArray(NewArray(make100(MaxDepth+1)...), Int(1))), String("tree")),
		"argument":    try(anyArray, nest(MaxDepth+1), Bool(true)),
		"json":        func() error { _, err := FromJSON([]byte(strings.Repeat("[", 1<<20))); return err }(),
		"json number": func() error { _, err := FromJSON([]byte(long)); return err }(),
		"rich":        func() error { _, err := MarshalRich(nest(MaxDepth + 1)); return err }(),
		"rich size":   func() error { _, err := MarshalRich(double(26)); return err }(),
	}
	for name, err := range tests {
		var c *ConversionError
		if !errors.As(err, &c) {
			t.Errorf("%s: error %v", name, err)
			continue
		}
		if len(c.Msg) > 500 {
			t.Errorf("%s: message of %d bytes", name, len(c.Msg))
		}
	}
	if s := ToString(double(30)); len(s) > maxText+1024 {
		t.Errorf("text of %d bytes", len(s))
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// make100 returns n numbers.
func make100(n int) []Value {
	elems := make([]Value, n)
	for i := range elems {
		elems[i] = Int(i)
	}
	return elems
}

// TestLongTexts converts strings that are long but valid.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("aé\\'\n", 2<<20)
	for _, f := range []string{"%s", "%p", "%u", "%C", "%t", "%.3s", "%-20p"} {
		if _, err := Format(String(long), String(f)); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
	b, err := MarshalRich(String(long))
	if err != nil {
		t.Fatal(err)
	}
	v, err := UnmarshalRich(b)
	if err != nil || v != Value(String(long)) {
		t.Errorf("a long text came back changed, or with error %v", err)
	}
}

// TestRichDataLikePuppet compares rich data with that of Puppet, and decodes it
// again.
func TestRichDataLikePuppet(t *testing.T) {
	for _, in := range []string{
		`[1.0e+16,-0.0,"a/b\u0001é",null,true,{"a":{"b":[]},"z":1,"c":2}]`,
		`{"__ptype":"Hash","__pvalue":["__ptype",1,{"__ptype":"Default"},null]}`,
		`{"__ptype":"Hash","__pvalue":["__float","NaN"]}`,
		`[{"__float":"NaN"},{"__float":"Infinity"},{"__float":"-Infinity"}]`,
		`{"__ptype":"Deferred","name":"f","arguments":[{"__ptype":"Sensitive","__pvalue":[1]}]}`,
		`{"__ptype":"Error","msg":"m","kind":null,"details":{"a":1}}`,
		`{"__ptype":"Pcore::CallableType","param_types":{"__ptype":"Pcore::TupleType","types":[{"__ptype":"Pcore::IntegerType"}]},"block_type":{"__ptype":"Pcore::OptionalType","type":{"__ptype":"Pcore::CallableType","param_types":null,"block_type":null,"return_type":null}},"return_type":{"__ptype":"Pcore::StringType"}}`,
		`{"__ptype":"Pcore::StructType","elements":[{"__ptype":"Pcore::StructElement","key_type":{"__ptype":"Pcore::OptionalType","type":{"__ptype":"Pcore::StringType","size_type_or_value":"a"}},"value_type":{"__ptype":"Pcore::AnyType"}}]}`,
		`{"__ptype":"Pcore::HashType","key_type":{"__ptype":"Pcore::AnyType"},"value_type":{"__ptype":"Pcore::AnyType"},"size_type":{"__ptype":"Pcore::IntegerType","from":1}}`,
		`{"__ptype":"Pcore::RuntimeType","runtime":{"__ptype":"Symbol","__pvalue":"ruby"},"name_or_pattern":"x"}`,
		`{"__ptype":"Pcore::InitType","type":{"__ptype":"Pcore::IntegerType"},"init_args":[2]}`,
		`{"__ptype":"Pcore::ObjectType","_pcore_init_hash":{"name":"Foo::Bar","attributes":{"a":{"__ptype":"Pcore::IntegerType"},"b":{"type":{"__ptype":"Pcore::StringType"},"value":"x"}}}}`,
		`{"__ptype":"Pcore::ResourceType","type_name":"File","title":"/x"}`,
		`{"__ptype":"Pcore::EnumType","values":["a","b"],"case_insensitive":true}`,
		`{"__ptype":"Pcore::TypeReferenceType","type_string":"Foo[1]"}`,
		`{"__ptype":"Pcore::URIType","parameters":{"scheme":"http","host":"x"}}`,
		`{"__ptype":"Pcore::FloatType","from":null,"to":2.0}`,
		`{"__ptype":"Pcore::SemVerType","ranges":[{"__ptype":"SemVerRange","__pvalue":">=1"},{"__ptype":"SemVerRange","__pvalue":"<0.5"}]}`,
		`{"__ptype":"Pcore::TimestampType","from":{"__ptype":"Timestamp","__pvalue":"2000-01-01T00:00:00.000000000 UTC"}}`,
	} {
		v, err := UnmarshalRich([]byte(in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		out, err := MarshalRich(v)
		if err != nil || string(out) != in {
			t.Errorf("%s: got %s, error %v", in, out, err)
		}
	}
}

// TestRichReferences follows references in the data.
func TestRichReferences(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":[1,{"b c":2}],"r":{"__ptype":"LocalRef","__pvalue":"$['a'][1]['b c']"}}`:                    `{"a":[1,{"b c":2}],"r":2}`,
		`[{"__ptype":"Sensitive","__pvalue":[7]},{"__ptype":"LocalRef","__pvalue":"$[0][0]"}]`:            `[{"__ptype":"Sensitive","__pvalue":[7]},7]`,
		`{"a":{"__ptype":"Hash","__pvalue":[1,["x"]]},"r":{"__ptype":"LocalRef","__pvalue":"$.a[1]"}}`:    `{"a":{"__ptype":"Hash","__pvalue":[1,["x"]]},"r":["x"]}`,
		`{"a":{"__ptype":"LocalRef","__pvalue":"$['b']"},"b":{"__ptype":"LocalRef","__pvalue":"$['a']"}}`: "",
		`{"a":[{"__ptype":"LocalRef","__pvalue":"$"}]}`:                                                   "",
		`{"a":{"__ptype":"LocalRef","__pvalue":"$['x']"}}`:                                                "",
		`{"a":{"__ptype":"LocalRef","__pvalue":"a"}}`:                                                     "",
		`{"__ptype":"Nope","a":1}`:                        "",
		`{"__ptype":"Pcore::ArrayType","element_type":1}`: "",
		`{"__ptype":"Hash","__pvalue":[1]}`:               "",
		`{"__ptype":"Error","kind":"k"}`:                  "",
		`{"__ptype":"Integer","__pvalue":"x"}`:            "",
		`{"__ptype":{"__ptype":"Pcore::ObjectType","_pcore_init_hash":{"name":"P","attributes":{"x":{"__ptype":"Pcore::IntegerType"}}}},"x":3}`: `{"__ptype":"P","x":3}`,
	} {
		v, err := UnmarshalRich([]byte(in))
		if want == "" {
			if err == nil {
				t.Errorf("%s: got %s", in, Inspect(v))
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if out, err := MarshalRich(v); err != nil || string(out) != want {
			t.Errorf("%s: got %s, error %v", in, out, err)
		}
	}
}

// TestWideTypeIsAnError checks that making a type with 2^40 types is an error.
func TestWideTypeIsAnError(t *testing.T) {
	tuple, _ := Builtin("tuple")
	var typ Type = &IntegerType{}
	for range 40 {
		next, err := Parametrize(tuple, []Value{typ, typ})
		if err != nil {
			if e, is := err.(*TypeError); !is || e.Kind != "depth" {
				t.Fatal(err)
			}
			return
		}
		typ = next
	}
	t.Fatal("is not refused")
}
