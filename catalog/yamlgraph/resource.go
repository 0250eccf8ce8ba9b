package yamlgraph

import (
	"math/big"
	"strings"

	"bolt/catalog"
	"bolt/catalog/types"
	"bolt/format/yaml"
	"bolt/internal/lazyregexp"
	"bolt/puppet/syntax"
)

// kindRule is the form of the names of types, defined types and "class".
var kindRule = lazyregexp.New(`^[a-z][a-z0-9_]*(::[a-z][a-z0-9_]*)*$`)

// kindOf checks a kind, which can have colons as in mgmt, and returns the name of its type.
func (r *reader) kindOf(n *yaml.Node, text string) (name string, ok bool) {
	if foreign[text] == "" && !strings.HasPrefix(text, ":") && !strings.HasSuffix(text, ":") {
		text = catalog.TypeOfKind(text)
	}
	return text, r.kind(n, text)
}

// kind checks the name of a type. An unknown type can be a type of a module: package
// catalog/compile finds it.
func (r *reader) kind(n *yaml.Node, text string) bool {
	switch {
	case types.Find(text) != nil:
		return true
	case foreign[text] != "":
		r.wrong(n, "the kind %q is unknown%s", text, advice(text, nil))
		return false
	case !kindRule().MatchString(text):
		r.wrong(n, "%q cannot be a kind: kinds are resource types in lower case, such as %s", text, list(types.Names()))
		return false
	}
	return true
}

// resources reads lists of resources by kind.
func (r *reader) resources(n *yaml.Node) (list []syntax.Expr) {
	if n.Style != yaml.Mapping {
		r.wrong(n, "resources must be a mapping of kinds to lists of resources")
		return nil
	}
	seen := make(map[string]bool)
	for _, p := range n.Pairs {
		kind, ok := r.kindOf(p.Key, p.Key.Text)
		if seen[kind] {
			r.wrong(p.Key, "resources has the kind %s twice", kind)
		}
		seen[kind] = true
		if !ok {
			continue
		}
		for _, item := range r.items(p.Value, "the value of the kind "+kind) {
			if x := r.resource(p.Key, kind, item); x != nil {
				list = append(list, x)
			}
		}
	}
	return list
}

// exportMark before a name marks an exported resource.
const exportMark = "@@"

// resource reads one resource, whose key name is the title.
func (r *reader) resource(key *yaml.Node, kind string, n *yaml.Node) syntax.Expr {
	what := "a resource of the kind " + kind
	if n.Style != yaml.Mapping {
		r.wrong(n, "%s must be a mapping with the key name and parameters", what)
		return nil
	}
	at := span(n)
	made := &syntax.Resource{Span: at, Type: &syntax.Name{Span: span(key), Value: kind}}
	body := &syntax.ResourceBody{Span: at}
	var name *yaml.Node
	seen := make(map[string]bool, len(n.Pairs))
	for _, p := range n.Pairs {
		param := p.Key.Text
		if seen[param] {
			r.wrong(p.Key, "%s has the key %s twice", what, param)
		}
		seen[param] = true
		switch param {
		case "name":
			name = p.Value
			continue
		case catalog.RecvParam:
			if x := r.recv(p.Value, what); x != nil {
				body.Attrs = append(body.Attrs, syntax.Attr{Span: span(p.Key), Name: param, Value: x})
			}
			continue
		}
		if param == types.MetaParam && types.Find(kind) != nil {
			for _, a := range r.meta(p.Key, p.Value, what) {
				if a.Name == "noop" && seen["noop"] {
					r.wrong(p.Key, "%s has noop twice: as a parameter, and in meta", what)
				}
				seen[a.Name] = true
				body.Attrs = append(body.Attrs, a)
			}
			continue
		}
		if r.param(p.Key, kind, param) {
			body.Attrs = append(body.Attrs, syntax.Attr{Span: span(p.Key), Name: param, Value: r.value(p.Value, 0)})
		}
	}
	title, ok := r.text(name, n, "name", what)
	if !ok {
		return nil
	}
	if exported, is := strings.CutPrefix(title, exportMark); is && exported != "" {
		made.Form, title = syntax.Exported, exported
	}
	body.Title = &syntax.Str{Span: span(name), Value: title}
	made.Bodies = []*syntax.ResourceBody{body}
	return made
}

// param checks the name of a parameter.
func (r *reader) param(n *yaml.Node, kind, name string) bool {
	t := types.Find(kind)
	switch {
	case t != nil && !t.Has(name):
		known := append(append(append([]string{"name"}, t.Properties...), t.Params...), types.Metaparams()...)
		r.wrong(n, "%s has no parameter %s%s", kind, name, advice(name, known))
		return false
	case !kindRule().MatchString(name) || strings.Contains(name, "::"):
		r.wrong(n, "%q cannot be a parameter", name)
		return false
	}
	return true
}

// maxDepth limits how deep the value of a parameter nests.
const maxDepth = 100

// value returns the literal of a value. If it returns undef for a value that is not
// null, it has recorded a problem.
func (r *reader) value(n *yaml.Node, depth int) syntax.Expr {
	at := span(n)
	if depth > maxDepth {
		r.wrong(n, "the value nests deeper than %d", maxDepth)
		return &syntax.Undef{Span: at}
	}
	switch n.Style {
	case yaml.List:
		items := make([]syntax.Expr, len(n.Items))
		for i, item := range n.Items {
			items[i] = r.value(item, depth+1)
		}
		return &syntax.List{Span: at, Items: items}
	case yaml.Mapping:
		entries := make([]syntax.Entry, len(n.Pairs))
		seen := make(map[string]bool, len(n.Pairs))
		for i, p := range n.Pairs {
			if seen[p.Key.Text] {
				r.wrong(p.Key, "the key %s is there twice", p.Key.Text)
			}
			seen[p.Key.Text] = true
			key := span(p.Key)
			entries[i] = syntax.Entry{Span: key, Key: &syntax.Str{Span: key, Value: p.Key.Text}, Value: r.value(p.Value, depth+1)}
		}
		return &syntax.Hash{Span: at, Entries: entries}
	}
	switch v := n.Value.(type) {
	case string:
		return &syntax.Str{Span: at, Value: v}
	case bool:
		return &syntax.Bool{Span: at, Value: v}
	case int64:
		return &syntax.Int{Span: at, Value: v, Radix: 10}
	case float64:
		return &syntax.Float{Span: at, Value: v}
	case *big.Int:
		r.wrong(n, "%v is larger than any integer of Puppet", v)
	}
	return &syntax.Undef{Span: at}
}
