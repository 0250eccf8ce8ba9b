package release

import (
	"cmp"
	"context"
	"slices"

	"bolt/catalog"
	"bolt/catalog/diff"
	"bolt/catalog/seal"
	"bolt/internal/inorder"
)

// Differences are the differences between two releases.
type Differences struct {
	Changes map[string][]diff.Change // by node; nil for equal catalogs
	// Removed and Added are the nodes that only the first or the second release has, sorted. All of
	// their resources are Changes.
	Removed, Added []string
	// Programs has the differences in the programs of nodes that both releases have; nil if there are none.
	Programs map[string][]Program
}

// A Program is a difference in the programs of a node.
type Program struct {
	Name     string // compiler, engine, or plugins
	Old, New string // "" if the compiler is not known, or if there are no plugins
}

// Applied reports whether programs differ that apply catalogs. Another compiler alone changes nothing on a node.
func (d *Differences) Applied() bool {
	for _, list := range d.Programs {
		if slices.ContainsFunc(list, func(p Program) bool { return p.Name != "compiler" }) {
			return true
		}
	}
	return false
}

// compared returns the differences in the programs of a node.
func compared(was, is *Node) (list []Program) {
	add := func(name, before, after string) {
		if before != after {
			list = append(list, Program{name, before, after})
		}
	}
	add("compiler", was.Compiler, is.Compiler)
	add("engine", cmp.Or(was.Engine, "bolt"), cmp.Or(is.Engine, "bolt"))
	add("plugins", string(was.Plugins), string(is.Plugins))
	return list
}

// Compare compares the catalogs of two releases. Catalogs with the same digest are not read.
func (a *Archive) Compare(ctx context.Context, before, after *Release, v seal.Vault) (*Differences, error) {
	d := &Differences{Changes: make(map[string][]diff.Change)}
	var differ []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(append(before.Names(), after.Names()...)))) {
		was, had := before.Nodes[name]
		is, has := after.Nodes[name]
		if had && has {
			if list := compared(&was, &is); list != nil {
				if d.Programs == nil {
					d.Programs = make(map[string][]Program)
				}
				d.Programs[name] = list
			}
		}
		switch {
		case !had:
			d.Added = append(d.Added, name)
		case !has:
			d.Removed = append(d.Removed, name)
		case was.Catalog == is.Catalog:
			d.Changes[name] = nil
			continue
		}
		differ = append(differ, name)
	}
	load := func(r *Release, name string) (*catalog.Catalog, error) {
		if n, has := r.Nodes[name]; has {
			return a.Catalog(ctx, n, v)
		}
		return &catalog.Catalog{}, nil
	}
	type result struct {
		node    string
		changes []diff.Change
		err     error
	}
	for r := range inorder.Each(differ, func(name string) result {
		was, err := load(before, name)
		if err != nil {
			return result{err: err}
		}
		is, err := load(after, name)
		if err != nil {
			return result{err: err}
		}
		return result{node: name, changes: diff.Compare(was, is)}
	}) {
		if r.err != nil {
			return nil, r.err
		}
		d.Changes[r.node] = r.changes
	}
	return d, nil
}
