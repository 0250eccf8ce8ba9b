package yamlgraph

import (
	"bolt/catalog/types"
	"bolt/format/ordered"
	"bolt/format/yaml"
	"bolt/puppet/syntax"
)

// meta reads the key meta of a resource, and returns it as attributes. noop is an attribute of its own, as in Puppet. The metaparameter
// meta has the rest.
func (r *reader) meta(key, n *yaml.Node, what string) (attrs []syntax.Attr) {
	if n.Style != yaml.Mapping {
		r.wrong(n, "meta of %s must be a mapping", what)
		return nil
	}
	given := &ordered.Map{}
	at := make(map[string]*yaml.Node, len(n.Pairs))
	hash := &syntax.Hash{Span: span(n)}
	for _, p := range n.Pairs {
		name := p.Key.Text
		switch {
		case at[name] != nil:
			r.wrong(p.Key, "meta has the key %s twice", name)
		case name == "noop":
			if _, is := p.Value.Value.(bool); !is {
				r.wrong(p.Value, "noop of meta must be true or false")
			}
			attrs = append(attrs, syntax.Attr{Span: span(p.Key), Name: name, Value: r.value(p.Value, 0)})
		default:
			given.Set(name, data(p.Value))
			key := span(p.Key)
			hash.Entries = append(hash.Entries, syntax.Entry{Span: key, Key: &syntax.Str{Span: key, Value: name}, Value: r.value(p.Value, 0)})
		}
		at[name] = p.Key
	}
	_, problems := types.MetaOf(given)
	for _, p := range problems {
		if p.Key == "" {
			r.wrong(key, "meta %s", p.Problem)
		} else {
			r.wrong(at[p.Key], "%s of meta %s", p.Key, p.Problem)
		}
	}
	if len(hash.Entries) > 0 {
		attrs = append(attrs, syntax.Attr{Span: span(key), Name: types.MetaParam, Value: hash})
	}
	return attrs
}

// data returns the value of a node that is a scalar or a list of scalars. Another node is nil, which no metaparameter can be.
func data(n *yaml.Node) any {
	if n.Style != yaml.List {
		return n.Value
	}
	list := make([]any, len(n.Items))
	for i, item := range n.Items {
		list[i] = item.Value
	}
	return list
}
