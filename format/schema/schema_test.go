package schema

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"bolt/format/fault"
	"bolt/format/ordered"
)

func TestCheck(t *testing.T) {
	inner := &Schema{Type: Hash, Properties: map[string]*Schema{"a": {Type: Integer, Min: Limit(1), Max: Limit(9)}}}
	s := &Schema{Type: Hash, Required: []string{"name", "kind"}, Properties: map[string]*Schema{
		"name":   {Type: String},
		"kind":   {Type: String, Enum: []string{"x", "y"}},
		"only":   {Type: String, Enum: []string{"x"}},
		"either": {Type: String | Array, Enum: []string{"x"}, Items: &Schema{Type: String}},
		"flag":   {Type: Boolean},
		"set":    {Type: Array, Unique: true, Items: &Schema{Type: Integer}},
		"inner":  inner,
		"open":   {Type: Hash, Open: true, Properties: map[string]*Schema{"n": {Type: Integer}}},
		"values": {Type: Hash, Additional: &Schema{Type: Integer | Boolean}},
		"any":    {},
		"ref":    {Type: Hash, Plugins: PluginsAllowed, Properties: map[string]*Schema{"in": {Type: String}, "not": {Type: String, Plugins: PluginsForbidden}}},
		"old":    {Type: String, Deprecated: "Use 'new'."},
	}}
	s.Properties["again"] = s
	good := []any{"name", "n", "kind", "x"}
	ref := ordered.Of("_plugin", "p", "else", int64(1))
	tests := []struct {
		name  string
		value any
		errs  []string
		warns []string
	}{
		{"good", ordered.Of(good...), nil, nil},
		{"not a hash", []any{}, []string{"Value must be of type Hash"}, nil},
		{"missing", &ordered.Map{}, []string{"Value is missing required keys name, kind"}, nil},
		{"types", ordered.Of("name", int64(5), "kind", true, "flag", "yes"), []string{"Value at 'name' must be of type String", "Value at 'kind' must be of type String", "Value at 'flag' must be of type Boolean"}, nil},
		{"null", ordered.Of(append(good, "flag", nil)...), []string{"Value at 'flag' must be of type Boolean"}, nil},
		{"enum", ordered.Of("name", "n", "kind", "z", "only", "z", "either", "z"), []string{"Value at 'kind' must be one of x, y", "Value at 'only' must be x", "Value at 'either' must be x or must be of type Array"}, nil},
		{"limits", ordered.Of(append(good, "inner", ordered.Of("a", int64(0)))...), []string{"Value at 'inner.a' must be a minimum of 1"}, nil},
		{"upper limit", ordered.Of(append(good, "inner", ordered.Of("a", int64(10)))...), []string{"Value at 'inner.a' must be a maximum of 9"}, nil},
		{"unknown", ordered.Of(append(good, "foo", int64(1), "inner", ordered.Of("bar", nil))...), nil, []string{"Unknown option 'foo' at F. [unknown_option]", "Unknown option 'bar' at 'inner' at F. [unknown_option]"}},
		{"open", ordered.Of(append(good, "open", ordered.Of("x", nil, "n", "y"))...), []string{"Value at 'open.n' must be of type Integer"}, nil},
		{"additional", ordered.Of(append(good, "values", ordered.Of("x", "y", "z", int64(1)))...), []string{"Value at 'values.x' must be of type Integer or Boolean"}, nil},
		{"elements", ordered.Of(append(good, "set", []any{int64(1), "x"})...), []string{"Value at 'set.1' must be of type Integer"}, nil},
		{"duplicates", ordered.Of(append(good, "set", []any{int64(1), int64(1)})...), []string{"Value at 'set' must not include duplicate elements"}, nil},
		{"duplicate hashes", ordered.Of(append(good, "set", []any{ordered.Of("a", nil), ordered.Of("a", nil)})...), []string{"Value at 'set' must not include duplicate elements"}, nil},
		{"anything", ordered.Of(append(good, "any", []any{nil, 1.5})...), nil, nil},
		{"reference", ordered.Of(append(good, "ref", ref)...), nil, nil},
		{"reference inherited", ordered.Of(append(good, "ref", ordered.Of("in", ref))...), nil, nil},
		{"reference forbidden", ordered.Of(append(good, "ref", ordered.Of("not", ref))...), []string{"Value at 'ref.not' is a plugin reference, which is unsupported at this location"}, nil},
		{"reference at the top", ref, []string{"Value is a plugin reference, which is unsupported at this location"}, nil},
		{"deprecated", ordered.Of(append(good, "old", "x")...), nil, []string{"Option 'old' at F is deprecated. Use 'new'. [old_option]"}},
		{"recursive", ordered.Of(append(good, "again", ordered.Of(append(good, "again", ordered.Of("name", "n"))...))...), []string{"Value at 'again.again' is missing required keys kind"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			errs, warns := check(tt.value, s, "F")
			var got []string
			for _, w := range warns {
				got = append(got, w.Text+" ["+w.ID+"]")
			}
			if !slices.Equal(errs, tt.errs) {
				t.Errorf("errors %q, want %q", errs, tt.errs)
			}
			if !slices.Equal(got, tt.warns) {
				t.Errorf("warnings %q, want %q", got, tt.warns)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	s := &Schema{Type: Hash, Properties: map[string]*Schema{"a": {Type: Integer}, "b": {Type: String}}}
	var warned []string
	warn := func(id, text string) { warned = append(warned, id) }
	err := Validate(ordered.Of("a", "x", "b", int64(1), "c", nil), s, "/p/f.yaml", warn)
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != "bolt/validation-error" ||
		f.Msg != "Invalid configuration at /p/f.yaml:\n  Value at 'a' must be of type Integer\n  Value at 'b' must be of type String" {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(warned, []string{"unknown_option"}) {
		t.Errorf("warned %v", warned)
	}
	if err := Validate(ordered.Of("a", int64(1)), s, "", nil); err != nil {
		t.Errorf("got %v", err)
	}
	if err := Validate("x", s, "", nil); err == nil || !strings.HasPrefix(err.Error(), "Invalid configuration:\n") {
		t.Errorf("got %v", err)
	}
}
