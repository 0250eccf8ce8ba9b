// Package drawing draws catalogs: the resources that are applied, and their order by
// relations.
//
// Containers (classes, defined types, stages) are frames around their resources. An arrow
// leads from a resource or frame to another that is applied after it. The kinds of arrows
// are the kinds of relations of package catalog/order. A drawing contains titles and
// positions of declarations but no values of parameters, so it contains no secrets.
package drawing

import (
	"bolt/catalog"
	"bolt/catalog/order"
	"bolt/catalog/types"
)

// A Drawing is the boxes, frames and arrows of a catalog.
type Drawing struct {
	name      string
	roots     []*item // in the order of the catalog, as in every item
	relations []relation
	marks     map[catalog.Ref]Mark
}

// A Mark is the look of a resource, and the text of its tooltip beside its position.
type Mark struct {
	Fill, Line string // colours of Graphviz: #RRGGBB, or a name
	Note       string // it must not contain a secret
}

// Mark sets the look of a resource. Containers have none.
func (d *Drawing) Mark(r catalog.Ref, m Mark) {
	if d.marks == nil {
		d.marks = make(map[catalog.Ref]Mark)
	}
	d.marks[r] = m
}

// An item is a resource, or a container with a frame.
type item struct {
	*catalog.Resource
	number int  // in the catalog, from 1
	named  bool // a relation has this container at one end
	inside []*item
}

type relation struct {
	before, after *item
	kind          order.Kind
}

// Of draws a catalog. The error is the error of order.Of: resources that wait for each
// other, or a relation with a resource that the catalog does not have.
func Of(c *catalog.Catalog) (*Drawing, error) {
	if _, err := order.Of(c, types.Order(c)); err != nil {
		return nil, err
	}
	list, err := order.Relations(c, types.Order(c))
	if err != nil {
		return nil, err
	}
	items := make(map[catalog.Ref]*item)
	for i, r := range c.Resources() {
		if !r.Virtual {
			items[r.Ref] = &item{Resource: r, number: i + 1}
		}
	}
	d := &Drawing{name: c.Name}
	for _, r := range list {
		before, after := items[r.Before], items[r.After]
		before.named, after.named = true, true
		d.relations = append(d.relations, relation{before, after, r.Kind})
	}
	d.nest(c, items)
	return d, nil
}

// nest puts items into the frames around them.
func (d *Drawing) nest(c *catalog.Catalog, items map[catalog.Ref]*item) {
	in := c.Containers()
	around := func(it *item) *item { // nil at the top
		for {
			it = items[in[it.Ref]]
			switch {
			case it == nil || !it.Container(): // compilers do not make the latter
				return nil
			case it.framed():
				return it
			}
		}
	}
	shown := make(map[*item]bool, len(items))
	for _, r := range c.Resources() {
		it := items[r.Ref]
		if it == nil || it.Container() && !it.named {
			continue
		}
		for ; it != nil && !shown[it]; it = around(it) {
			shown[it] = true
		}
	}
	for _, r := range c.Resources() {
		it := items[r.Ref]
		if it == nil || !shown[it] {
			continue
		}
		if frame := around(it); frame != nil {
			frame.inside = append(frame.inside, it)
		} else {
			d.roots = append(d.roots, it)
		}
	}
}

// framed reports whether a container has a frame. Everything is in Stage[main], and the top
// of a program is Class[main]. These only have frames if relations name them.
func (it *item) framed() bool {
	return it.named || it.Title != "main" || it.Type != "Stage" && it.Type != "Class"
}
