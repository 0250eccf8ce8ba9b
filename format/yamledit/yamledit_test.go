package yamledit

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"bolt/format/ordered"
	"bolt/format/yaml"
)

func TestAppendTo(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"last element", "name: a\npolicies:\n- a::b\nformat: json\n", "name: a\npolicies:\n- a::b\n- a::new\nformat: json\n"},
		{"indented", "policies:\n  - a::b # why\n\n# Formats.\nformat: json\n", "policies:\n  - a::b # why\n  - a::new\n\n# Formats.\nformat: json\n"},
		{"at the end", "policies:\n- a::b", "policies:\n- a::b\n- a::new\n"},
		{"wide dash", "policies:\n-   a::b\n", "policies:\n-   a::b\n- a::new\n"},
		{"long element", "policies:\n- name: x\n  # of it\n  version: 1\n\n  more: 2\n# of all\n", "policies:\n- name: x\n  # of it\n  version: 1\n\n  more: 2\n- a::new\n# of all\n"},
		{"block of text", "policies:\n- |\n  text\n  # no comment\nformat: json\n", "policies:\n- |\n  text\n  # no comment\n- a::new\nformat: json\n"},
		{"empty brackets", "policies: [] # none yet\nformat: json\n", "policies: # none yet\n- a::new\nformat: json\n"},
		{"empty brackets at the end", "name: a\npolicies: []", "name: a\npolicies:\n- a::new\n"},
		{"nothing", "policies:\nformat: json\n", "policies:\n- a::new\nformat: json\n"},
		{"brackets", "policies: [a::b, 'x]y' ] # all\n", "policies: [a::b, 'x]y', a::new ] # all\n"},
		{"brackets on lines", "policies: [\n  a::b, # first\n  a::c, # ]\n]\n", "policies: [\n  a::b, # first\n  a::c, a::new # ]\n]\n"},
		{"brackets in brackets", "policies: [[x], {y: [z]}]\n", "policies: [[x], {y: [z]}, a::new]\n"},
		{"quotes", `policies: ["a\"]", b]` + "\n", `policies: ["a\"]", b, a::new]` + "\n"},
		{"missing", "# Mine.\nname: a\n", "# Mine.\nname: a\npolicies:\n- a::new\n"},
		{"missing, no last line end", "name: a", "name: a\npolicies:\n- a::new\n"},
		{"missing, indented", "  name: a\n", "  name: a\n  policies:\n  - a::new\n"},
		{"empty file", "", "policies:\n- a::new\n"},
		{"comments", "# Nothing.\n", "# Nothing.\npolicies:\n- a::new\n"},
		{"a beginning", "---\n", "---\npolicies:\n- a::new\n"},
		{"Windows", "name: a\r\npolicies:\r\n- b\r\nformat: json\r\n", "name: a\r\npolicies:\r\n- b\r\n- a::new\r\nformat: json\r\n"},
		{"letters of other alphabets", "policies: [é, ü]\n", "policies: [é, ü, a::new]\n"},
		{"all in braces", "{name: a, policies: [b]}\n", "{name: a, policies: [b, a::new]}\n"},
		{"all in braces, empty", "{name: a, policies: []}\n", "{name: a, policies: [a::new]}\n"},
		{"the key elsewhere", "modules:\n- policies: x\npolicies:\n- b\n", "modules:\n- policies: x\npolicies:\n- b\n- a::new\n"},
		{"no list", "policies: a::b\n", ""},
		{"braces without it", "{name: a}\n", ""},
		{"two documents", "name: a\n---\nname: b\n", ""},
		{"an end", "name: a\n...\n", "name: a\npolicies:\n- a::new\n...\n"},
		{"a null", "policies: ~ # none\nformat: json\n", "policies: # none\n- a::new\nformat: json\n"},
		{"a long null", "policies: null\n", "policies:\n- a::new\n"},
		{"an alias", "modules: &m [a]\npolicies: *m\n", ""},
		{"no map", "- a\n", ""},
		{"broken", "policies: [\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := AppendTo([]byte(tt.text), "policies", "a::new")
			if (err != nil) != (tt.want == "") || string(got) != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// FuzzAppendTo: what can be edited says the same as before, and the element.
func FuzzAppendTo(f *testing.F) {
	for _, text := range []string{"policies:\n- a\n", "policies: [a, 'b']\n", "policies: []", "{policies: [x]}", "a: |\n  x\n\n", "policies: [\"é\", # x\n]\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 {
			return
		}
		got, err := AppendTo([]byte(text), "policies", "a::new")
		if err != nil {
			if !errors.Is(err, ErrNoPlace) {
				if _, ok := errors.AsType[*yaml.Error](err); !ok {
					t.Errorf("error %T: %v", err, err)
				}
			}
			return
		}
		after, err := yaml.DecodeData(got, "")
		if err != nil {
			t.Fatal(err)
		}
		list, _ := after.(*ordered.Map).Value("policies").([]any)
		if len(list) == 0 || list[len(list)-1] != "a::new" {
			t.Fatalf("%q became %q", text, got)
		}
		before, _ := yaml.DecodeData([]byte(text), "")
		m, _ := before.(*ordered.Map)
		for k, v := range m.All() {
			now := after.(*ordered.Map).Value(k)
			if k == "policies" {
				old, _ := v.([]any)
				v, now = old, list[:len(list)-1]
				if len(old) == 0 && len(list) == 1 {
					continue
				}
			}
			if fmt.Sprint(describe(v)) != fmt.Sprint(describe(now)) {
				t.Errorf("%q became %q: %s differs", text, got, k)
			}
		}
	})
}

// describe writes data so that it can be compared.
func describe(v any) string {
	switch v := v.(type) {
	case *ordered.Map:
		var b strings.Builder
		for k, e := range v.All() {
			fmt.Fprintf(&b, "%q:%s,", k, describe(e))
		}
		return "{" + b.String() + "}"
	case []any:
		var b strings.Builder
		for _, e := range v {
			b.WriteString(describe(e) + ",")
		}
		return "[" + b.String() + "]"
	}
	return fmt.Sprintf("%T(%v)", v, v)
}
