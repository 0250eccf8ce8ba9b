package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"bolt/format/ordered"
)

// PluginKey is the key that makes a map a plugin reference.
const PluginKey = "_plugin"

type checker struct {
	where string
	path  []string
	errs  []string
	warns []warning
}

func (c *checker) fail(format string, args ...any) {
	c.errs = append(c.errs, c.subject()+" "+fmt.Sprintf(format, args...))
}

func (c *checker) subject() string {
	if len(c.path) == 0 {
		return "Value"
	}
	return "Value at '" + strings.Join(c.path, ".") + "'"
}

func (c *checker) atWhere() string {
	if c.where == "" {
		return ""
	}
	return " at " + c.where
}

func (c *checker) value(v any, s *Schema, plugins bool) {
	if s == nil {
		return
	}
	switch s.Plugins {
	case PluginsAllowed:
		plugins = true
	case PluginsForbidden:
		plugins = false
	}
	if m, ok := v.(*ordered.Map); ok {
		if _, ref := m.Get(PluginKey); ref {
			if !plugins {
				c.fail("is a plugin reference, which is unsupported at this location")
			}
			return
		}
	}
	if s.Type != 0 && s.Type&typeOf(v) == 0 {
		c.fail("must be of type %s", s.Type)
		return
	}
	switch v := v.(type) {
	case *ordered.Map:
		c.hash(v, s, plugins)
	case []any:
		c.array(v, s, plugins)
	case string:
		c.text(v, s)
	case int64:
		if s.Min != nil && v < *s.Min {
			c.fail("must be a minimum of %d", *s.Min)
		}
		if s.Max != nil && v > *s.Max {
			c.fail("must be a maximum of %d", *s.Max)
		}
	}
}

func (c *checker) hash(m *ordered.Map, s *Schema, plugins bool) {
	if s.Properties != nil && s.Additional == nil && !s.Open {
		for k := range m.All() {
			if _, ok := s.Properties[k]; !ok {
				c.unknown(k)
			}
		}
	}
	var missing []string
	for _, k := range s.Required {
		if _, ok := m.Get(k); !ok {
			missing = append(missing, k)
		}
	}
	if missing != nil {
		c.fail("is missing required keys %s", strings.Join(missing, ", "))
	}
	for k, v := range m.All() {
		p, known := s.Properties[k]
		if known && p.Deprecated != "" {
			c.warns = append(c.warns, warning{ID: k + "_option",
				Text: fmt.Sprintf("Option '%s'%s is deprecated. %s", strings.Join(append(c.path, k), "."), c.atWhere(), p.Deprecated)})
		}
		if !known {
			p = s.Additional
		}
		c.path = append(c.path, k)
		c.value(v, p, plugins)
		c.path = c.path[:len(c.path)-1]
	}
}

func (c *checker) unknown(key string) {
	text := fmt.Sprintf("Unknown option '%s'", key)
	if len(c.path) > 0 {
		text += fmt.Sprintf(" at '%s'", strings.Join(c.path, "."))
	}
	c.warns = append(c.warns, warning{ID: "unknown_option", Text: text + c.atWhere() + "."})
}

func (c *checker) array(list []any, s *Schema, plugins bool) {
	if s.Unique {
		for i, v := range list {
			if slices.ContainsFunc(list[:i], func(w any) bool { return reflect.DeepEqual(v, w) }) {
				c.fail("must not include duplicate elements")
				return
			}
		}
	}
	if s.Items == nil {
		return
	}
	for i, v := range list {
		c.path = append(c.path, strconv.Itoa(i))
		c.value(v, s.Items, plugins)
		c.path = c.path[:len(c.path)-1]
	}
}

func (c *checker) text(v string, s *Schema) {
	if len(s.Enum) == 0 || slices.Contains(s.Enum, v) {
		return
	}
	must := "must be "
	if len(s.Enum) > 1 {
		must += "one of "
	}
	must += strings.Join(s.Enum, ", ")
	if others := s.Type &^ String; others != 0 {
		must += " or must be of type " + others.String()
	}
	c.fail("%s", must)
}

func typeOf(v any) Type {
	switch v.(type) {
	case string:
		return String
	case int64:
		return Integer
	case float64:
		return Float
	case bool:
		return Boolean
	case *ordered.Map:
		return Hash
	case []any:
		return Array
	}
	return Null
}

// String joins the names of the types by " or ".
func (t Type) String() string {
	var names []string
	for i, name := range []string{"String", "Integer", "Float", "Boolean", "Hash", "Array", "Null"} {
		if t&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}
