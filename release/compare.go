package release

import (
	"context"
	"slices"

	"bolt/catalog"
	"bolt/catalog/diff"
	"bolt/catalog/seal"
	"bolt/internal/inorder"
)

// Differences are those between two releases.
type Differences struct {
	Changes map[string][]diff.Change // of the nodes that both have, by name; nil for equal catalogs
	// Removed and Added are the nodes that only the first or the second release has, sorted.
	Removed, Added []string
}

// Compare compares the catalogs of two releases. Catalogs with the same digest are not read.
func (a *Archive) Compare(ctx context.Context, before, after *Release, v seal.Vault) (*Differences, error) {
	d := &Differences{Changes: make(map[string][]diff.Change)}
	var differ []string
	for _, name := range after.Names() {
		switch old, both := before.Nodes[name]; {
		case !both:
			d.Added = append(d.Added, name)
		case old.Catalog != after.Nodes[name].Catalog:
			differ = append(differ, name)
		default:
			d.Changes[name] = nil
		}
	}
	for _, name := range before.Names() {
		if _, both := after.Nodes[name]; !both {
			d.Removed = append(d.Removed, name)
		}
	}
	type result struct {
		changes []diff.Change
		err     error
	}
	i := 0
	for r := range inorder.Each(differ, func(name string) result {
		sides := make([]*catalog.Catalog, 2)
		for i, n := range []Node{before.Nodes[name], after.Nodes[name]} {
			var err error
			if sides[i], err = a.Catalog(ctx, n, v); err != nil {
				return result{nil, err}
			}
		}
		return result{diff.Compare(sides[0], sides[1]), nil}
	}) {
		if r.err != nil {
			return nil, r.err
		}
		d.Changes[differ[i]] = r.changes
		i++
	}
	slices.Sort(d.Removed)
	return d, nil
}
