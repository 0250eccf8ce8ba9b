package order

import "bolt/catalog"

// A Kind is the reason for a relation. A stronger kind is larger.
type Kind uint8

// The kinds of relations.
const (
	Auto   Kind = 1 + iota // by the type of a resource
	Before                 // before or require
	Notify                 // notify or subscribe: a change refreshes the later one
)

// A Relation requires that one resource or container is applied before another.
type Relation struct {
	Before, After catalog.Ref
	Kind          Kind
}

// Relations returns the relations of a catalog: first the relations of parameters in the
// order of the resources, then the relations of types. Two resources have one relation,
// of the strongest kind. The error names a relation with a resource that the catalog does
// not have.
func Relations(c *catalog.Catalog, o Options) ([]Relation, error) {
	g, err := related(c, o)
	if err != nil {
		return nil, err
	}
	list := make([]Relation, len(g.pairs))
	for i, p := range g.pairs {
		list[i] = Relation{g.list[p[0]].Ref, g.list[p[1]].Ref, g.relation[p]}
	}
	return list, nil
}
