package strategy

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"bolt/format/ordered"
)

// The published schema and the tables of the reference are made from the types. If a test fails,
// they are to be replaced; BOLT_UPDATE_SCHEMA=1 does that.

func TestSchema(t *testing.T) {
	published(t, "../../docs/schemas/rollout-strategy.json", func([]byte) []byte { return Schema() })
}

func TestReference(t *testing.T) {
	const begin, end = "<!-- The tables are made by rollout/strategy, TestReference. -->\n", "<!-- End of the tables. -->\n"
	published(t, "../../docs/rollout-reference.md", func(page []byte) []byte {
		before, rest, ok1 := strings.Cut(string(page), begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok1 || !ok2 {
			t.Fatal("the page has no place for the tables")
		}
		return []byte(before + begin + tables() + "\n" + end + after)
	})
}

// published compares a file with what it must be.
func published(t *testing.T, file string, want func(have []byte) []byte) {
	t.Helper()
	have, err := os.ReadFile(file)
	if err != nil && os.Getenv("BOLT_UPDATE_SCHEMA") == "" {
		t.Fatal(err)
	}
	text := want(have)
	if bytes.Equal(have, text) {
		return
	}
	if os.Getenv("BOLT_UPDATE_SCHEMA") == "" {
		t.Fatalf("%s is not what the types say. Run the test with BOLT_UPDATE_SCHEMA=1", file)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// tables returns a table of keys for each mapping of a strategy file.
func tables() string {
	v, err := ordered.ParseJSON(Schema())
	if err != nil {
		panic(err)
	}
	var b strings.Builder
	table(&b, "", v.(*ordered.Map))
	return b.String()
}

func table(b *strings.Builder, path string, schema *ordered.Map) {
	title := "The top level"
	if path != "" {
		title = "`" + path + "`"
	}
	fmt.Fprintf(b, "\n### %s\n\n| key | value | default | meaning |\n|---|---|---|---|\n", title)
	type child struct {
		path   string
		schema *ordered.Map
	}
	var below []child
	properties := get(schema, "properties")
	for key, v := range properties.All() {
		p := v.(*ordered.Map)
		text, _ := p.Get("description")
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", key, kind(p), standard(p), text)
		at := strings.TrimPrefix(path+"."+key, ".")
		inner := p
		if items := get(p, "items"); items != nil {
			inner, at = items, at+"[]"
		}
		if list, ok := p.Get("anyOf"); ok {
			inner = list.([]any)[1].(*ordered.Map)
		}
		if get(inner, "properties") != nil {
			below = append(below, child{at, inner})
		}
	}
	for _, c := range below {
		table(b, c.path, c.schema)
	}
}

func get(m *ordered.Map, key string) *ordered.Map {
	v, _ := m.Get(key)
	inner, _ := v.(*ordered.Map)
	return inner
}

// kind words the type of a value.
func kind(p *ordered.Map) string {
	if list, ok := p.Get("enum"); ok {
		var words []string
		for _, w := range list.([]any) {
			words = append(words, "`"+w.(string)+"`")
		}
		return strings.Join(words, ", ")
	}
	if _, ok := p.Get("anyOf"); ok {
		return "string or mapping"
	}
	v, _ := p.Get("type")
	if _, ok := v.([]any); ok {
		if _, whole := p.Get("exclusiveMinimum"); whole {
			return "percentage"
		}
		return "number or percentage"
	}
	switch v {
	case "object":
		return "mapping"
	case "array":
		if items := get(p, "items"); get(items, "properties") == nil {
			return "list: " + kind(items)
		}
		return "list"
	case "integer":
		return "whole number"
	case "boolean":
		return "true or false"
	}
	return fmt.Sprint(v)
}

// standard words the default of a value.
func standard(p *ordered.Map) string {
	v, ok := p.Get("default")
	if !ok {
		return ""
	}
	data, err := ordered.AppendJSON(nil, v)
	if err != nil {
		panic(err)
	}
	text := string(data)
	if s, ok := v.(string); ok {
		text = s
	}
	return "`" + strings.ReplaceAll(text, `"`, "") + "`"
}

// TestDescriptions: each key has a description, which is a sentence.
func TestDescriptions(t *testing.T) {
	var visit func(path string, typ reflect.Type)
	visit = func(path string, typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || !strings.HasPrefix(typ.PkgPath(), "bolt/rollout") || strings.HasSuffix(typ.PkgPath(), "quantity") || typ == reflect.TypeFor[Order]() {
			return
		}
		for _, f := range fields(typ) {
			if f.key == "" || !strings.HasSuffix(f.doc, ".") {
				t.Errorf("%s.%s has the description %q", path, f.key, f.doc)
			}
			visit(path+"."+f.key, f.typ)
		}
	}
	visit("", reflect.TypeFor[Strategy]())
}
