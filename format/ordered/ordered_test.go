package ordered

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestOrder(t *testing.T) {
	m := Of("b", 1, "a", 2, "c", 3)
	m.Set("a", 4) // an existing key keeps its position
	m.Delete("b")
	m.Delete("none")
	m.Set("b", 5)
	if got := m.Keys(); !slices.Equal(got, []string{"a", "c", "b"}) {
		t.Errorf("keys %v", got)
	}
	if v, ok := m.Get("a"); !ok || v != 4 {
		t.Errorf("a is %v, %v", v, ok)
	}
	var none *Map
	if none.Len() != 0 || none.Value("x") != nil || none.Keys() != nil {
		t.Error("a nil Map is not empty")
	}
	for range none.All() {
		t.Error("a nil Map has pairs")
	}
}

func TestMergeAndClone(t *testing.T) {
	low := Of("a", Of("x", 1, "y", []any{1}), "b", 1)
	high := Of("a", Of("y", []any{2}, "z", 3), "b", Of("k", 1), "c", nil)
	got, err := json.Marshal(low.Merge(high))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"a":{"x":1,"y":[2],"z":3},"b":{"k":1},"c":null}`; string(got) != want {
		t.Errorf("merged %s, want %s", got, want)
	}
	clone := low.Clone()
	clone.Value("a").(*Map).Set("x", 9)
	clone.Value("a").(*Map).Value("y").([]any)[0] = 9
	if v := low.Value("a").(*Map); v.Value("x") != 1 || v.Value("y").([]any)[0] != 1 {
		t.Error("a clone shares what is inside")
	}
}

func TestJSON(t *testing.T) {
	for _, tt := range []struct{ in, out string }{
		{`{"z":1,"a":[true,null,1.5,"<&>"],"m":{}}`, `{"z":1,"a":[true,null,1.5,"<&>"],"m":{}}`},
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`{"a":[1.0,-0.0,{"b":1e16}],"c":1e-7,"d":100000.0}`, `{"a":[1.0,-0.0,{"b":1.0e+16}],"c":1.0e-07,"d":100000.0}`},
		{`{"n":9223372036854775807}`, `{"n":9223372036854775807}`},
		{`{"n":-9223372036854775809,"m":[123456789012345678901234567890]}`, `{"n":-9223372036854775809,"m":[123456789012345678901234567890]}`},
		{`{"n":` + strings.Repeat("1", 2_000_000) + `}`, ""},
		{`{"n":1e400}`, ""},
		{`{"a":1} x`, ""},
		{`{"a":1`, ""},
		{`[1]`, ""},
		{``, ""},
		{`{"a":` + strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1) + `}`, ""},
	} {
		var m Map
		err := m.UnmarshalJSON([]byte(tt.in))
		if tt.out == "" {
			if err == nil {
				t.Errorf("%.40s: no error", tt.in)
			}
			continue
		}
		if err != nil {
			t.Errorf("%.40s: %v", tt.in, err)
			continue
		}
		out, err := m.MarshalJSON()
		if err != nil || string(out) != tt.out {
			t.Errorf("%s → %s, %v; want %s", tt.in, out, err, tt.out)
		}
	}
}

// TestNilMap checks that a nil map is written as an empty map, and as null
// inside another map.
func TestNilMap(t *testing.T) {
	var none *Map
	if text, err := Of("a", none).MarshalJSON(); err != nil || string(text) != `{"a":null}` {
		t.Errorf("got %s, %v", text, err)
	}
	if text, err := none.MarshalJSON(); err != nil || string(text) != `{}` {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestJSONErrors(t *testing.T) {
	for in, want := range map[string]string{
		"{\n\"a\": 1e400}": "line 2: 1e400 is too large for a number",
		"[1,\n\n2,]":       "line 3: invalid character ','",
		"[1,\n2":           "line 2: unexpected EOF",
		"[1]\n[2]":         "line 2: text after the JSON document",
		"[\n" + strings.Repeat("9", maxDigits+1) + "]": "line 2: a number of 4097 digits is too long",
	} {
		if _, err := ParseJSON([]byte(in)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.30q: %v, want %s", in, err, want)
		}
	}
}

// FuzzParseJSON looks for panics, and for documents that change when they are
// parsed and written. The first time, numbers are converted to this package's
// form.
func FuzzParseJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":null}],"c":-0.5e3}`))
	f.Add([]byte(`{"a":-0e0}`))
	f.Add([]byte(`[[[[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var texts [3]string
		for i := range texts {
			v, err := ParseJSON(data)
			if err != nil && i == 0 {
				return
			}
			if err == nil {
				data, err = json.Marshal(v)
			}
			if err != nil {
				t.Fatalf("%q: %v", data, err)
			}
			texts[i] = string(data)
		}
		if texts[1] != texts[2] {
			t.Fatalf("%s became %s", texts[1], texts[2])
		}
	})
}

// hidden is a value that hides its content.
type hidden struct{ text string }

func (hidden) String() string { return "nothing" }

func TestFormat(t *testing.T) {
	m := Of("a", int64(1), "deep", Of("list", []any{hidden{"secret"}}), "b", hidden{"secret"})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%q", "%x"} {
		if got, want := fmt.Sprintf(verb, m), "{a: 1, deep: {list: [nothing]}, b: nothing}"; got != want {
			t.Errorf("%s: %s", verb, got)
		}
	}
	if got := fmt.Sprint((*Map)(nil)); got != "{}" {
		t.Errorf("nil: %s", got)
	}
}

// FuzzAppendString checks that AppendString writes every string as encoding/json
// does.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", `a"b\\c`, "<&>", "\n\t\x00\x1f\x7f", "ä\u2028\xff", "日本"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		if got := string(AppendString(nil, s)) + "\n"; got != want.String() {
			t.Errorf("%q is %s, want %s", s, got, &want)
		}
	})
}
