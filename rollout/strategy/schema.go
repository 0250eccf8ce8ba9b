package strategy

import (
	"encoding"
	"encoding/json"
	"reflect"

	"bolt/format/ordered"
	"bolt/rollout/quantity"
)

// Schema returns the JSON schema of strategy files (draft 2020-12), with a line feed at its end. It
// describes the keys and the types of values. Strategy.Check knows more rules.
func Schema() []byte {
	root := describe(reflect.TypeFor[Strategy](), reflect.ValueOf(Default()))
	m := ordered.Of(
		"$schema", "https://json-schema.org/draft/2020-12/schema",
		"title", "Strategy of a bolt rollout",
	)
	for k, v := range root.All() {
		m.Set(k, v)
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		panic("strategy: schema: " + err.Error()) // it has only strings, lists and maps
	}
	return append(data, '\n')
}

// describe returns the schema of a type. value has its defaults; it is not valid where there are none.
func describe(t reflect.Type, value reflect.Value) *ordered.Map {
	switch t {
	case reflect.TypeFor[quantity.Percent]():
		return ordered.Of("type", []any{"number", "string"}, "exclusiveMinimum", int64(0), "maximum", int64(100), "pattern", `^[0-9]+(\.[0-9]{1,3})?%?$`)
	case reflect.TypeFor[quantity.Amount]():
		return ordered.Of("type", []any{"integer", "string"}, "minimum", int64(0), "pattern", `^[0-9]+(\.[0-9]{1,3})?%?$`)
	case reflect.TypeFor[Hook]():
		return ordered.Of("anyOf", []any{ordered.Of("type", "string"), object(t, reflect.Value{})})
	case reflect.TypeFor[map[string]any]():
		return ordered.Of("type", "object")
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return ordered.Of("type", "string")
	}
	switch t.Kind() {
	case reflect.Pointer:
		return describe(t.Elem(), reflect.Value{})
	case reflect.Struct:
		return object(t, value)
	case reflect.Slice:
		return ordered.Of("type", "array", "items", describe(t.Elem(), reflect.Value{}))
	case reflect.Map:
		return ordered.Of("type", "object", "additionalProperties", describe(t.Elem(), reflect.Value{}))
	case reflect.Bool:
		return ordered.Of("type", "boolean")
	case reflect.Int:
		return ordered.Of("type", "integer", "minimum", int64(0), "maximum", int64(maxNumber))
	case reflect.Float64:
		return ordered.Of("type", "number")
	}
	m := ordered.Of("type", "string")
	if list := words(t); list != nil {
		if s, ok := reflect.Zero(t).Interface().(interface{ Synonyms() map[string]string }); ok {
			for word := range s.Synonyms() {
				list = append(list, word)
			}
		}
		m.Set("enum", ordered.Strings(list))
	}
	return m
}

// object returns the schema of a struct.
func object(t reflect.Type, value reflect.Value) *ordered.Map {
	if d := reflect.Zero(t).MethodByName("Default"); d.IsValid() {
		value = d.Call(nil)[0]
	}
	properties := &ordered.Map{}
	for _, f := range fields(t) {
		var own reflect.Value
		if value.IsValid() {
			own = value.Field(f.index)
		}
		p := describe(f.typ, own)
		p.Set("description", f.doc)
		if own.IsValid() && !own.IsZero() && f.typ.Kind() != reflect.Struct {
			if data, err := json.Marshal(own.Interface()); err == nil {
				if v, err := ordered.ParseJSON(data); err == nil {
					p.Set("default", v)
				}
			}
		}
		properties.Set(f.key, p)
	}
	return ordered.Of("type", "object", "additionalProperties", false, "properties", properties)
}
