package compile

import (
	"slices"

	"bolt/catalog"
	"bolt/catalog/types"
	"bolt/format/ordered"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// catalog makes the catalog of the declared resources.
func (c *compiler) catalog(o Options) (*catalog.Catalog, error) {
	made := &catalog.Catalog{Name: o.Node, Environment: o.Environment, Tags: c.tags.list, Classes: c.classes}
	made.Grow(len(c.list))
	for _, r := range c.list {
		w, err := c.written(r)
		if err != nil {
			return nil, at(r.pos, err)
		}
		if err := made.Add(w); err != nil {
			return nil, at(r.pos, eval.Errorf("duplicate-declaration", "%v", err))
		}
		for _, container := range r.containers {
			made.Edges = append(made.Edges, catalog.Edge{Source: catalogRef(container.ref), Target: w.Ref})
		}
	}
	if errs := types.CheckRecv(made); len(errs) > 0 {
		pos := syntax.Position{File: errs[0].Resource.File, Line: errs[0].Resource.Line}
		return nil, at(pos, eval.Errorf("bad-recv", "%v", errs[0]))
	}
	return made, nil
}

// written returns a resource in the form of the catalog.
func (c *compiler) written(r *resource) (*catalog.Resource, error) {
	w := &catalog.Resource{
		Ref: catalogRef(r.ref), Kind: r.kind, File: r.pos.File, Line: r.pos.Line,
		Exported: r.exported, Virtual: r.form != syntax.Regular,
	}
	var tags tagSet
	r.eachTag(tags.add)
	w.Tags = tags.list
	params := &ordered.Map{}
	params.Grow(r.params.Len() + 1)
	put := func(name string, v value.Value) error {
		if s, ok := v.(*value.Sensitive); ok {
			w.Sensitive = append(w.Sensitive, name)
			v = s.Unwrap()
		} else if _, undef := v.(value.Undef); undef {
			return nil
		}
		data, err := rich(flat(name, v))
		if err != nil {
			return eval.Errorf("bad-value", "the parameter %s of %s: %v", name, reference(r.ref), err)
		}
		params.Set(name, data)
		return nil
	}
	key, id := r.key()
	if r.numbered || id != value.String(r.ref.Title) {
		if err := put(key, id); err != nil {
			return nil, err
		}
	}
	for k, v := range r.params.All() {
		if name := string(k.(value.String)); name != key && name != "name" || r.initial() {
			if err := put(name, v); err != nil {
				return nil, err
			}
		}
	}
	if params.Len() > 0 {
		w.Params = params
	}
	return w, nil
}

// initial reports whether every catalog has the resource.
func (r *resource) initial() bool { return r.scope == nil && r.ref.Type != "node" }

// flat returns a parameter without arrays in arrays if it contains references, or is a
// relation; a relation also loses undef.
func flat(name string, v value.Value) value.Value {
	a, ok := v.(*value.Array)
	switch {
	case !ok:
		return v
	case slices.Contains(relations, name):
		return value.NewArray(pieces(v)...)
	case slices.ContainsFunc(a.Elems(), func(v value.Value) bool { return refOf(v).Title != "" }):
		return value.NewArray(leaves(v)...)
	}
	return v
}

// rich converts a value to rich data. References become strings.
func rich(v value.Value) (any, error) {
	switch v := v.(type) {
	case value.String:
		return string(v), nil
	case value.Int:
		return int64(v), nil
	case value.Bool:
		return bool(v), nil
	case value.Undef:
		return nil, nil
	case *value.ClassType:
		return reference(refOf(v)), nil
	case *value.ResourceType:
		if v.TypeName != "" {
			return reference(refOf(v)), nil
		}
	case *value.Array:
		list := make([]any, 0, v.Len())
		for _, x := range v.Elems() {
			data, err := rich(x)
			if err != nil {
				return nil, err
			}
			list = append(list, data)
		}
		return list, nil
	case *value.Hash:
		if m, ok, err := object(v); ok || err != nil {
			return m, err
		}
	}
	text, err := value.MarshalRich(v)
	if err != nil {
		return nil, err
	}
	return ordered.ParseJSON(text)
}

// object converts a hash with plain keys to an object. ok is false for other hashes.
func object(h *value.Hash) (m *ordered.Map, ok bool, err error) {
	m = &ordered.Map{}
	for k, v := range h.All() {
		if key := refOf(k); key.Title != "" {
			k = value.String(reference(key))
		}
		key, is := k.(value.String)
		if !is || key == "__ptype" {
			return nil, false, nil
		}
		data, err := rich(v)
		if err != nil {
			return nil, false, err
		}
		m.Set(string(key), data)
	}
	return m, true, nil
}
