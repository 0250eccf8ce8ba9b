package protocol_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"bolt/format/ordered"
	"bolt/inventory/plugin/protocol"
	"bolt/transport"
)

func TestRequest(t *testing.T) {
	want := protocol.Request{
		Request: protocol.ResolveReference, Plugin: "x", Project: "/srv/é\n",
		Reference: ordered.Of("a", []any{int64(1), nil, "\"\\"}), Config: ordered.Of("b", true), Timeout: time.Minute,
	}
	var b bytes.Buffer
	if err := protocol.WriteRequest(&b, want); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != 1 {
		t.Errorf("%d lines: %s", n, b.String())
	}
	if got, err := protocol.ReadRequest(&b); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, %v", got, err)
	}
	if _, err := protocol.ReadRequest(strings.NewReader(`{"protocol": 1, "request": "describe", "plugin": "x", "later": []}`)); err != nil {
		t.Errorf("a key of a later version: %v", err)
	}
	for _, bad := range []string{"", "[]", `{"request": "describe"}`, `{"protocol": 2}`, `{"protocol": 1, "plugin": 3}`, `{"protocol": 1, "reference": []}`, `{"protocol": 1} {}`} {
		if r, err := protocol.ReadRequest(strings.NewReader(bad)); err == nil {
			t.Errorf("%s is %#v", bad, r)
		}
	}
}

func TestResponse(t *testing.T) {
	secret := transport.NewSecret("hunter2")
	tests := []struct{ name, text, want string }{
		{"data", `{"protocol": 1, "value": {"a": [1, "x", null]}}`, `{"a":[1,"x",null]}`},
		{"null", `{"protocol": 1, "value": null}`, `null`},
		{"a secret", `{"protocol": 1, "value": [{"_sensitive": "hunter2"}, "open"]}`, `[SECRET,"open"]`},
		{"a secret map", `{"protocol": 1, "value": {"a": {"_sensitive": {"b": ["hunter2", 1]}}}}`, `{"a":{"b":[SECRET,1]}}`},
		{"all of it", `{"protocol": 1, "sensitive": true, "value": {"a": "hunter2"}}`, `{"a":SECRET}`},
		{"data that looks like a secret", `{"protocol": 1, "marks": false, "value": {"_sensitive": "x", "b": {"_sensitive": "y"}}}`, `{"_sensitive":"x","b":{"_sensitive":"y"}}`},
		{"a reference", `{"protocol": 1, "value": {"_plugin": "env_var", "var": "X", "_sensitive": true}}`, `{"_plugin":"env_var","var":"X","_sensitive":true}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := protocol.ReadResponse([]byte(tt.text), protocol.ResolveReference)
			if err != nil {
				t.Fatal(err)
			}
			if got := written(t, r.Value, secret); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if strings.Contains(fmt.Sprintf("%v %+v %#v", r, r, r.Value), "hunter2") {
				t.Error("the secret is shown")
			}
			var again bytes.Buffer
			if err := protocol.WriteResponse(&again, protocol.ResolveReference, r); err != nil {
				t.Fatal(err)
			}
			r2, err := protocol.ReadResponse(again.Bytes(), protocol.ResolveReference)
			if err != nil || !reflect.DeepEqual(r, r2) {
				t.Errorf("written and read: %s: %v", again.String(), err)
			}
		})
	}
}

// written is a value as JSON, with the secret as SECRET.
func written(t *testing.T, v any, secret transport.Secret) string {
	t.Helper()
	switch v := v.(type) {
	case transport.Secret:
		if v != secret {
			t.Error("another secret")
		}
		return "SECRET"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, written(t, e, secret))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case *ordered.Map:
		var parts []string
		for k, e := range v.All() {
			parts = append(parts, `"`+k+`":`+written(t, e, secret))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case nil:
		return "null"
	case string:
		return `"` + v + `"`
	}
	return fmt.Sprint(v)
}

func TestErrorResponse(t *testing.T) {
	r, err := protocol.ReadResponse([]byte(`{"protocol": 1, "error": {"kind": "a/b", "message": "no \u001b[31mway", "hint": "go"}, "warnings": [{"id": "x_y", "message": "m\n2026 WARN\tn"}]}`), protocol.ResolveReference)
	if err != nil {
		t.Fatal(err)
	}
	if want := (protocol.Error{Kind: "a/b", Text: "no way", Hint: "go"}); *r.Err != want {
		t.Errorf("got %#v", *r.Err)
	}
	if want := []protocol.Warning{{ID: "x_y", Text: "m 2026 WARN n"}}; !reflect.DeepEqual(r.Warnings, want) {
		t.Errorf("got %#v", r.Warnings)
	}
	r, err = protocol.ReadResponse([]byte(`{"protocol": 1, "error": {"message": "`+strings.Repeat("é", 1<<20)+`"}}`), protocol.Describe)
	if err != nil || r.Err.Kind != protocol.KindPlugin || len(r.Err.Text) > 5000 {
		t.Errorf("a long message: %v, %d bytes", err, len(r.Err.Text))
	}
}

func TestDescription(t *testing.T) {
	want := &protocol.Response{Description: "Do it.", Capabilities: []string{"resolve_reference", "later"}}
	var b bytes.Buffer
	if err := protocol.WriteResponse(&b, protocol.Describe, want); err != nil {
		t.Fatal(err)
	}
	if got, err := protocol.ReadResponse(b.Bytes(), protocol.Describe); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, %v", got, err)
	}
}

// TestHostileResponses: each is refused with a short error that does not quote it,
// and without the memory that it asks for.
func TestHostileResponses(t *testing.T) {
	const begin = `{"protocol": 1, "value": `
	tests := []struct{ name, text, says string }{
		{"nothing", "", "not one JSON document"},
		{"text", "hunter2", "not one JSON document"},
		{"cut off", begin + `"hunter2`, "not one JSON document"},
		{"two documents", begin + `1} {"protocol": 1}`, "not one JSON document"},
		{"a list", `["hunter2"]`, "not a JSON object"},
		{"no version", `{"value": "hunter2"}`, "it has no 'protocol': 1"},
		{"another version", `{"protocol": "hunter2", "value": 1}`, "its 'protocol' is not 1"},
		{"a fraction", `{"protocol": 1.0, "value": 1}`, "its 'protocol' is not 1"},
		{"no value", `{"protocol": 1}`, "neither 'value' nor 'error'"},
		{"both", begin + `1, "error": {"message": "hunter2"}}`, "a key other than"},
		{"misspelt", begin + `"hunter2", "sensitve": true}`, "a key other than protocol, warnings, value, sensitive, marks"},
		{"sensitive is text", begin + `"hunter2", "sensitive": "yes"}`, "'sensitive' is not true or false"},
		{"marks is null", begin + `"hunter2", "marks": null}`, "'marks' is not true or false"},
		{"mark with neighbours", begin + `[{"_sensitive": "hunter2", "x": 1}]}`, "other keys"},
		{"error is text", `{"protocol": 1, "error": "hunter2"}`, "'error' is not an object"},
		{"error without a message", `{"protocol": 1, "error": {"kind": "a/b"}}`, "no 'message'"},
		{"error of a bad kind", `{"protocol": 1, "error": {"message": "m", "kind": "hunter2"}}`, "not two words"},
		{"error with more", `{"protocol": 1, "error": {"message": "m", "msg": "hunter2"}}`, "a key other than"},
		{"warning is text", begin + `1, "warnings": ["hunter2"]}`, "a warning is not"},
		{"warning with a bad id", begin + `1, "warnings": [{"id": "hunter2 ]", "message": ""}]}`, "a warning is not"},
		{"warnings without end", begin + `1, "warnings": [` + strings.Repeat(`{},`, 1000) + `{}]}`, "more than 100 warnings"},
		{"deep lists", begin + strings.Repeat("[", 1<<20), "more than 100 levels"},
		{"deep maps", begin + strings.Repeat(`{"a":`, 1<<20), "more than 100 levels"},
		{"values without end", begin + "[" + strings.Repeat("1,", 5<<20) + "1]}", "more than 4194304 values"},
		{"lists without end", begin + "[" + strings.Repeat("[],", 3<<20) + "1]}", "more than 4194304 values"},
		{"a long number", begin + strings.Repeat("9", 1<<20) + "}", "not one JSON document"},
		{"a large number", begin + "1e999999}", "not one JSON document"},
		{"too long", begin + `"` + strings.Repeat("x", protocol.MaxBytes) + `"}`, "more than 64 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := protocol.ReadResponse([]byte(tt.text), protocol.ResolveReference)
			if err == nil {
				t.Fatalf("got %v", r)
			}
			if s := err.Error(); !strings.Contains(s, tt.says) || strings.Contains(s, "hunter2") || len(s) > 200 {
				t.Errorf("got %q", s)
			}
		})
	}
	for _, bad := range []string{`{"protocol": 1}`, `{"protocol": 1, "capabilities": []}`, `{"protocol": 1, "capabilities": ["resolve_reference", 1]}`, `{"protocol": 1, "capabilities": ["x"], "description": 1}`, `{"protocol": 1, "value": 1, "capabilities": ["x"]}`} {
		if r, err := protocol.ReadResponse([]byte(bad), protocol.Describe); err == nil {
			t.Errorf("%s is %v", bad, r)
		}
	}
}

// FuzzResponse: what is read is written and read again as the same, and an error is
// short.
func FuzzResponse(f *testing.F) {
	for _, text := range []string{
		`{"protocol": 1, "value": [{"_sensitive": "x"}, {"_plugin": "y", "_sensitive": true}, 1.5, 9999999999999999999], "sensitive": true}`,
		`{"protocol": 1, "value": {"_sensitive": {"_sensitive": null}}, "marks": false}`,
		`{"protocol": 1, "error": {"message": "m", "kind": "a/b", "hint": "h"}, "warnings": [{"id": "i", "message": "m"}]}`,
		`{"protocol": 1, "description": "d", "capabilities": ["resolve_reference"]}`,
		`{"protocol": 1, "value": [[[["\"[\\"]]]]}`,
	} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, describe bool) {
		request := protocol.ResolveReference
		if describe {
			request = protocol.Describe
		}
		r, err := protocol.ReadResponse(data, request)
		if err != nil {
			if len(err.Error()) > 200 {
				t.Errorf("a long error: %v", err)
			}
			return
		}
		var b bytes.Buffer
		if err := protocol.WriteResponse(&b, request, r); err != nil {
			return // a value with secrets can have maps that look like the mark of one
		}
		again, err := protocol.ReadResponse(b.Bytes(), request)
		if err != nil {
			t.Fatalf("%s: %v", b.Bytes(), err)
		}
		var c bytes.Buffer
		if err := protocol.WriteResponse(&c, request, again); err != nil || !bytes.Equal(b.Bytes(), c.Bytes()) {
			t.Errorf("%v: %s, then %s", err, b.Bytes(), c.Bytes())
		}
	})
}
