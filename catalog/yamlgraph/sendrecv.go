package yamlgraph

import (
	"strings"

	"bolt/format/yaml"
	"bolt/puppet/syntax"
)

var receiptKeys = []string{"kind", "name", "key"}

// recv reads the key recv of a resource: for each parameter that receives, the resource that sends and the key of the value.
// mgmt does not have this key in YAML. The fields are the same as in mgmt's data of such an edge in its language. The result
// is nil after a problem.
func (r *reader) recv(n *yaml.Node, what string) syntax.Expr {
	if n.Style != yaml.Mapping {
		r.wrong(n, "recv of %s must be a mapping of parameters to their sources, such as content: {kind: password, name: db, key: password}", what)
		return nil
	}
	made := &syntax.Hash{Span: span(n)}
	seen := make(map[string]bool, len(n.Pairs))
	for _, p := range n.Pairs {
		param := p.Key.Text
		if seen[param] {
			r.wrong(p.Key, "recv of %s has the key %s twice", what, param)
		}
		seen[param] = true
		of := param + " in recv"
		f, ok := r.fields(p.Value, of, receiptKeys)
		if !ok {
			return nil
		}
		var texts [3]string
		for i, key := range receiptKeys {
			if texts[i], ok = r.text(f[key], p.Value, key, of); !ok {
				return nil
			}
		}
		if texts[0], ok = r.kindOf(f["kind"], texts[0]); !ok {
			return nil
		}
		texts[1] = strings.TrimPrefix(texts[1], exportMark)
		from := &syntax.Hash{Span: span(p.Value)}
		for i, key := range receiptKeys {
			at := span(f[key])
			from.Entries = append(from.Entries, syntax.Entry{Span: at, Key: &syntax.Str{Span: at, Value: key}, Value: &syntax.Str{Span: at, Value: texts[i]}})
		}
		at := span(p.Key)
		made.Entries = append(made.Entries, syntax.Entry{Span: at, Key: &syntax.Str{Span: at, Value: param}, Value: from})
	}
	return made
}
