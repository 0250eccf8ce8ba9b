package mapping_test

import (
	"reflect"
	"strings"
	"testing"

	"bolt/format/ordered"
	"bolt/inventory/plugin/mapping"
)

func parse(t *testing.T, text string) *ordered.Map {
	t.Helper()
	v, err := ordered.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(*ordered.Map)
}

func TestTarget(t *testing.T) {
	thing := parse(t, `{"tags": {"Name": "web1", "a.b": 1}, "flat.key": "f", "net": [{"ip": "192.0.2.1"}], "null": null, "bad": {"a": [{"_plugin": "exec"}]}}`)
	tests := []struct{ name, mapping, want string }{
		{"nothing", `{}`, `{}`},
		{"of maps and lists", `{"name": "tags.Name", "config": {"ssh": {"host": "net.0.ip"}}}`, `{"name": "web1", "config": {"ssh": {"host": "192.0.2.1"}}}`},
		{"keys with dots", `{"vars": {"x": "flat.key", "y": "tags.a.b"}}`, `{"vars": {"x": "f", "y": 1}}`},
		{"what is not there", `{"uri": "none", "vars": {"a": "null", "b": "net.1.ip", "c": "net.x", "d": "net.-1", "e": "tags.Name.x"}}`, `{"vars": {}}`},
		{"lists and what is no path", `{"features": ["tags.Name", "none"], "vars": {"n": 5}}`, `{"features": ["web1"], "vars": {"n": 5}}`},
		{"references", `{"facts": "bad", "vars": {"x": "bad.a", "y": "bad.a.0._plugin"}}`, `{"vars": {"y": "exec"}}`},
		{"a whole", `{"facts": "tags"}`, `{"facts": {"Name": "web1", "a.b": 1}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := mapping.Parse("p", ordered.Of("target_mapping", parse(t, tt.mapping)))
			if err != nil {
				t.Fatal(err)
			}
			got := m.Target(func(path string) (any, bool) { return mapping.Find(thing, path) })
			if want := parse(t, tt.want); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	m, err := mapping.Parse("p", parse(t, `{"target_mapping": {"name": "a", "alias": ["b.c", "a"], "vars": {"x": "a"}}}`))
	if err != nil || !reflect.DeepEqual(m.Paths(), []string{"a", "b.c"}) || !m.Has("alias") || m.Has("uri") {
		t.Errorf("got %v, %v", m, err)
	}
	if m, err = mapping.Parse("p", &ordered.Map{}); err != nil || m.Paths() != nil || m.Target(nil).Len() != 0 {
		t.Errorf("got %v, %v", m, err)
	}
	for text, says := range map[string]string{
		`{"target_mapping": "x"}`:             "'target_mapping' is a Hash",
		`{"uri": "x", "config": {}}`:          "config, uri to be set under 'target_mapping'",
		`{"target_mapping": {}, "name": "x"}`: "name to be set under",
	} {
		if _, err := mapping.Parse("p", parse(t, text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
