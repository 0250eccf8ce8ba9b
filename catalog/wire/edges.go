package wire

import (
	"fmt"
	"strings"

	"bolt/catalog"
	"bolt/format/ordered"
)

// relations are the parameters that name other resources, and the names of their edges.
// backward is set if the edge begins at the other resource.
var relations = []struct {
	param, name string
	backward    bool
}{
	{"before", "before", false},
	{"require", "required-by", true},
	{"notify", "notifies", false},
	{"subscribe", "subscription-of", true},
}

// An edge is an edge in PuppetDB's form.
type edge struct {
	source, target catalog.Ref
	relation       string
}

// edges returns the edges of a catalog: containment first, then the relations of resources
// that are applied, each once.
func edges(c *catalog.Catalog, sent []*catalog.Resource) ([]any, error) {
	byRef := make(map[catalog.Ref]*catalog.Resource, len(sent))
	for _, r := range sent {
		byRef[r.Ref] = r
	}
	for _, r := range sent {
		for _, name := range texts(r.Params.Value("alias")) {
			if ref := (catalog.Ref{Type: r.Type, Title: name}); byRef[ref] == nil {
				byRef[ref] = r
			}
		}
	}
	made := []any{}
	known := make(map[edge]bool)
	add := func(e edge) {
		if !known[e] {
			known[e] = true
			made = append(made, ordered.Of("source", end(e.source), "target", end(e.target), "relationship", e.relation))
		}
	}
	for _, e := range c.Edges {
		if byRef[e.Source] != nil && byRef[e.Target] != nil {
			add(edge{e.Source, e.Target, "contains"})
		}
	}
	for _, r := range sent {
		if r.Virtual {
			continue
		}
		for _, rel := range relations {
			for _, text := range texts(r.Params.Value(rel.param)) {
				other := find(byRef, text)
				if other == nil || other.Virtual {
					return nil, fmt.Errorf("%s of %s names %s, which the catalog does not have", rel.param, r.Ref, text)
				}
				e := edge{r.Ref, other.Ref, rel.name}
				if rel.backward {
					e.source, e.target = e.target, e.source
				}
				add(e)
			}
		}
	}
	return made, nil
}

// find returns the resource for a reference such as File[/x], also with a slash at the end
// of a path; nil if there is none.
func find(byRef map[catalog.Ref]*catalog.Resource, text string) *catalog.Resource {
	ref, err := catalog.ParseRef(text)
	if err != nil {
		return nil
	}
	if r := byRef[ref]; r != nil {
		return r
	}
	if ref.Type == "File" && len(ref.Title) > 1 {
		ref.Title = strings.TrimRight(ref.Title, "/")
	}
	return byRef[ref]
}

func end(r catalog.Ref) *ordered.Map { return ordered.Of("type", r.Type, "title", r.Title) }

// texts returns the strings of a value and of the lists in it.
func texts(v any) (all []string) {
	switch v := v.(type) {
	case string:
		all = append(all, v)
	case []any:
		for _, x := range v {
			all = append(all, texts(x)...)
		}
	}
	return all
}
