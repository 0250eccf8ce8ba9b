// Package mapping makes targets from the objects of a system: the machines of a
// cloud, the resources of a Terraform state, the nodes of PuppetDB.
//
// A reference to such a system may have a target_mapping: a template of a target
// with paths into an object in place of values. So
//
//	target_mapping:
//	  name: tags.Name
//	  config: {ssh: {host: network.0.address}}
//
// makes of {"tags": {"Name": "web1"}, "network": [{"address": "192.0.2.1"}]} the
// target {name: web1, config: {ssh: {host: 192.0.2.1}}}.
package mapping

import (
	"slices"
	"strconv"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
)

// Key is the option of references that holds a mapping.
const Key = "target_mapping"

// A Mapping is a parsed target_mapping. The zero Mapping makes empty targets.
type Mapping struct {
	template *ordered.Map
	paths    []string
}

// Parse parses the mapping of a plugin's reference; without one it returns the
// zero Mapping. If keys of targets are next to the mapping instead of in it,
// Parse returns an error, because they would have no effect. Errors are
// *fault.Error of kind bolt/validation-error.
func Parse(plugin string, ref *ordered.Map) (*Mapping, error) {
	var beside []string
	for _, key := range []string{"alias", "config", "facts", "features", "name", "uri", "vars"} {
		if _, ok := ref.Get(key); ok {
			beside = append(beside, key)
		}
	}
	if beside != nil {
		return nil, fault.New("bolt/validation-error", "The plugin %s expects %s to be set under '%s'", plugin, strings.Join(beside, ", "), Key)
	}
	v := ref.Value(Key)
	if v == nil {
		return &Mapping{template: &ordered.Map{}}, nil
	}
	template, ok := v.(*ordered.Map)
	if !ok {
		return nil, fault.New("bolt/validation-error", "The plugin %s requires that '%s' is a Hash", plugin, Key)
	}
	m := &Mapping{template: template}
	walk(template, func(path string) (any, bool) {
		if !slices.Contains(m.paths, path) {
			m.paths = append(m.paths, path)
		}
		return nil, false
	})
	return m, nil
}

// Paths lists the paths of the mapping, each once, in its order.
func (m *Mapping) Paths() []string { return m.paths }

// Has reports whether targets have this key.
func (m *Mapping) Has(key string) bool {
	_, ok := m.template.Get(key)
	return ok
}

// Target returns the target with the values that find returns for the paths.
// Values that find does not find and values that are not Safe are left out. The
// result shares its values with find's.
func (m *Mapping) Target(find func(path string) (any, bool)) *ordered.Map {
	v, _ := walk(m.template, func(path string) (any, bool) {
		v, ok := find(path)
		return v, ok && Safe(v)
	})
	return v.(*ordered.Map)
}

// Safe reports whether a value contains no plugin reference. References in the
// results of plugins are resolved, and data from a machine must not run another
// plugin.
func Safe(v any) bool {
	switch v := v.(type) {
	case *ordered.Map:
		for k, e := range v.All() {
			if k == "_plugin" || !Safe(e) {
				return false
			}
		}
	case []any:
		for _, e := range v {
			if !Safe(e) {
				return false
			}
		}
	}
	return true
}

// walk replaces the strings of v by the results of find.
func walk(v any, find func(path string) (any, bool)) (any, bool) {
	switch v := v.(type) {
	case string:
		return find(v)
	case *ordered.Map:
		m := &ordered.Map{}
		for k, e := range v.All() {
			if e, ok := walk(e, find); ok {
				m.Set(k, e)
			}
		}
		return m, true
	case []any:
		list := make([]any, 0, len(v))
		for _, e := range v {
			if e, ok := walk(e, find); ok {
				list = append(list, e)
			}
		}
		return list, true
	}
	return v, true
}

// Find returns the value at a path within v: keys of maps and indices of lists,
// separated by dots. A key that contains dots itself overrides keys of nested
// maps. A null value counts as missing.
func Find(v any, path string) (any, bool) {
	switch v := v.(type) {
	case *ordered.Map:
		if e, ok := v.Get(path); ok {
			return e, e != nil
		}
		for i := range len(path) {
			if path[i] != '.' {
				continue
			}
			if inner, ok := v.Get(path[:i]); ok {
				if e, ok := Find(inner, path[i+1:]); ok {
					return e, true
				}
			}
		}
	case []any:
		first, rest, more := strings.Cut(path, ".")
		i, err := strconv.Atoi(first)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		if more {
			return Find(v[i], rest)
		}
		return v[i], v[i] != nil
	}
	return nil, false
}
