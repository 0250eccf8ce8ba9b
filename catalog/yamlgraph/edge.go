package yamlgraph

import (
	"strings"

	"bolt/format/yaml"
	"bolt/puppet/syntax"
)

// edge reads an edge, and returns a relation.
func (r *reader) edge(n *yaml.Node) syntax.Expr {
	f, ok := r.fields(n, "an edge", edgeKeys)
	if !ok {
		return nil
	}
	if name := f["name"]; present(name) {
		r.text(name, n, "name", "an edge")
	}
	op := syntax.Before
	if n := f["notify"]; present(n) {
		switch n.Value {
		case true:
			op = syntax.Notify
		case false:
		default:
			r.wrong(n, "notify of an edge must be true or false")
		}
	}
	from := r.end(f["from"], n, "from")
	to := r.end(f["to"], n, "to")
	if from == nil || to == nil {
		return nil
	}
	return &syntax.Relation{Span: span(n), Op: op, X: from, Y: to}
}

// end reads one end of an edge, and returns a reference.
func (r *reader) end(n, edge *yaml.Node, key string) syntax.Expr {
	if !present(n) {
		r.wrong(edge, "an edge needs the key %s", key)
		return nil
	}
	f, ok := r.fields(n, key+" of an edge", endKeys)
	if !ok {
		return nil
	}
	kind, known := r.text(f["kind"], n, "kind", key+" of an edge")
	name, named := r.text(f["name"], n, "name", key+" of an edge")
	if !known || !named {
		return nil
	}
	if kind, known = r.kindOf(f["kind"], kind); !known {
		return nil
	}
	at := span(n)
	title := &syntax.Str{Span: span(f["name"]), Value: strings.TrimPrefix(name, exportMark)}
	return &syntax.Index{Span: at, X: typeName(f["kind"], kind), Keys: []syntax.Expr{title}}
}

// typeName returns a kind in the form of references: Web::Vhost.
func typeName(n *yaml.Node, kind string) *syntax.TypeName {
	parts := strings.Split(kind, "::")
	for i, p := range parts {
		parts[i] = strings.ToUpper(p[:1]) + p[1:]
	}
	return &syntax.TypeName{Span: span(n), Value: strings.Join(parts, "::")}
}

// collector reads an entry of collect, and returns a collector of exported resources of one
// kind: all of them, or the resources with one title.
func (r *reader) collector(n *yaml.Node) syntax.Expr {
	f, ok := r.fields(n, "an entry of collect", collectKeys)
	if !ok {
		return nil
	}
	kind, ok := r.text(f["kind"], n, "kind", "an entry of collect")
	if !ok {
		return nil
	}
	if kind, ok = r.kindOf(f["kind"], kind); !ok {
		return nil
	}
	made := &syntax.Collect{Span: span(n), Type: typeName(f["kind"], kind), Exported: true}
	pattern := f["pattern"]
	if !present(pattern) {
		return made
	}
	switch text, ok := r.text(pattern, n, "pattern", "an entry of collect"); {
	case !ok:
		return nil
	case text == "*":
	case strings.ContainsAny(text, "*?["):
		r.wrong(pattern, "pattern of an entry of collect must be * or the name of a resource: Puppet collects by equal values")
		return nil
	default:
		at := span(pattern)
		made.Query = &syntax.Binary{Span: at, Op: syntax.Eq, X: &syntax.Name{Span: at, Value: "title"}, Y: &syntax.Str{Span: at, Value: text}}
	}
	return made
}
