package concat

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"bolt/catalog"
	"bolt/format/ordered"
	"bolt/format/yaml"
)

// merged is the text of a file whose fragments are data. Hashes are merged; of other values that differ, the first one
// is kept, and without force that is an error.
func (f *file) merged(parts []part) (string, error) {
	list := []any{}
	for _, p := range parts {
		v, err := f.parse(p)
		if err != nil {
			return "", fmt.Errorf("the fragment %s: %w", p.name, err)
		}
		list = append(list, v)
	}
	var data any = list
	if !strings.HasPrefix(f.format, "json-array") {
		var all any = &ordered.Map{}
		for _, v := range list {
			var err error
			if all, err = f.merge(all, v); err != nil {
				return "", err
			}
		}
		data = all
	}
	switch {
	case f.format == "yaml" && empty(data):
		return "--- " + string(yaml.Marshal(data)), nil
	case f.format == "yaml":
		return "---\n" + string(yaml.Marshal(data)), nil
	}
	w := jsonWriter{pretty: strings.HasSuffix(f.format, "-pretty")}
	err := w.value(data, 0)
	return string(w.b), err
}

func (f *file) parse(p part) (any, error) {
	if f.format == "yaml" {
		return yaml.Decode([]byte(p.text), "")
	}
	return ordered.ParseJSON([]byte(p.text))
}

// empty reports whether a value is nothing, or a collection without elements.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case *ordered.Map:
		return v.Len() == 0
	case []any:
		return len(v) == 0
	}
	return false
}

func (f *file) merge(a, b any) (any, error) {
	switch {
	case empty(b):
		return a, nil
	case empty(a):
		return b, nil
	}
	if x, is := a.([]any); is {
		if y, is := b.([]any); is {
			return union(x, y), nil
		}
	}
	x, isX := a.(*ordered.Map)
	y, isY := b.(*ordered.Map)
	if !isX || !isY {
		return nil, errors.New("the fragments must all be hashes, or all be lists")
	}
	out := x.Clone()
	for k, v := range y.All() {
		old, given := out.Get(k)
		switch {
		case !given:
			out.Set(k, v)
		case same(old, v):
			m, err := f.merge(old, v)
			if err != nil {
				return nil, err
			}
			out.Set(k, m)
		case !f.force && !equal(old, v):
			return nil, fmt.Errorf("several fragments have the key %q with different values: set force to true to keep the first one", k)
		}
	}
	return out, nil
}

// same reports whether two values are collections of one kind.
func same(a, b any) bool {
	switch a.(type) {
	case *ordered.Map:
		_, is := b.(*ordered.Map)
		return is
	case []any:
		_, is := b.([]any)
		return is
	}
	return false
}

func equal(a, b any) bool { return reflect.TypeOf(a) == reflect.TypeOf(b) && catalog.EqualValues(a, b) }

// union has the values of both lists, each once.
func union(a, b []any) []any {
	var out []any
	for _, list := range [][]any{a, b} {
	next:
		for _, v := range list {
			for _, o := range out {
				if equal(o, v) {
					continue next
				}
			}
			out = append(out, v)
		}
	}
	return out
}

// A jsonWriter writes JSON as Ruby does.
type jsonWriter struct {
	b      []byte
	pretty bool
}

func (w *jsonWriter) line(depth int) {
	if w.pretty {
		w.b = append(w.b, "\n"+strings.Repeat("  ", depth)...)
	}
}

func (w *jsonWriter) value(v any, depth int) error {
	switch v := v.(type) {
	case *ordered.Map:
		w.b = append(w.b, '{')
		first := true
		for k, e := range v.All() {
			if !first {
				w.b = append(w.b, ',')
			}
			first = false
			w.line(depth + 1)
			w.b = append(ordered.AppendString(w.b, k), ':')
			if w.pretty {
				w.b = append(w.b, ' ')
			}
			if err := w.value(e, depth+1); err != nil {
				return err
			}
		}
		if !first {
			w.line(depth)
		}
		w.b = append(w.b, '}')
		return nil
	case []any:
		w.b = append(w.b, '[')
		for i, e := range v {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			w.line(depth + 1)
			if err := w.value(e, depth+1); err != nil {
				return err
			}
		}
		if len(v) > 0 {
			w.line(depth)
		}
		w.b = append(w.b, ']')
		return nil
	}
	// A map writes a value as Ruby does.
	text, err := ordered.Of("v", v).MarshalJSON()
	if err != nil {
		return err
	}
	w.b = append(w.b, text[len(`{"v":`):len(text)-1]...)
	return nil
}
