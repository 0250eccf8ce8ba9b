package site

import (
	"context"
	"os"
	"slices"

	"bolt/catalog"
	"bolt/catalog/diff"
	"bolt/catalog/seal"
	"bolt/format/fault"
	"bolt/internal/inorder"
)

// A Side contains the catalogs of one side of a comparison, or of a search. Catalogs in files are
// read when they are needed, so that the catalogs of all nodes need not fit in memory.
type Side struct {
	compiled map[string]*catalog.Catalog
	files    map[string]string // paths, by the node names in the file names
	single   bool              // one file, with any name, or one node
	vault    seal.Vault
}

// ReadSide reads the catalogs of a file, or of a directory with a file for each node. v decrypts
// their secrets. The error is a *fault.Error.
func ReadSide(path string, v seal.Vault) (*Side, error) {
	list, err := files(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	return &Side{files: list, single: err == nil && !info.IsDir(), vault: v}, nil
}

// CompiledSide returns a Side of catalogs by the names of their nodes.
func CompiledSide(byNode map[string]*catalog.Catalog) *Side {
	return &Side{compiled: byNode, single: len(byNode) == 1}
}

// Keep removes the nodes that another side does not have.
func (s *Side) Keep(other *Side) {
	for name := range s.compiled {
		if !other.has(name) {
			delete(s.compiled, name)
		}
	}
	for name := range s.files {
		if !other.has(name) {
			delete(s.files, name)
		}
	}
}

func (s *Side) has(name string) bool { return s.compiled[name] != nil || s.files[name] != "" }

// names returns the sorted names of the nodes.
func (s *Side) names() (list []string) {
	for name := range s.compiled {
		list = append(list, name)
	}
	for name := range s.files {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// load returns a catalog, or nil if the side does not have the node. The error is a *fault.Error.
func (s *Side) load(ctx context.Context, name string) (*catalog.Catalog, error) {
	if file, is := s.files[name]; is {
		return readOpen(ctx, file, s.vault)
	}
	return s.compiled[name], nil
}

// Each calls a function for each catalog, for several catalogs at the same time. The error is the
// first one of f or a *fault.Error.
func (s *Side) Each(ctx context.Context, f func(*catalog.Catalog) error) error {
	return each(s.names(), func(name string) (done, error) {
		c, err := s.load(ctx, name)
		if err != nil {
			return done{}, err
		}
		return done{node: c.Name}, f(c)
	}, func(done) bool { return true })
}

// Differences are the differences between the catalogs of nodes.
type Differences struct {
	Changes map[string][]diff.Change // by the names of the nodes
	// Before and After are the nodes that only one side has, sorted. All of their resources are
	// Changes.
	Before, After []string
}

// Count returns the number of nodes that differ.
func (d *Differences) Count() int {
	n := len(d.Before) + len(d.After)
	for node, list := range d.Changes {
		if list != nil && !d.Single(node) {
			n++
		}
	}
	return n
}

// Single reports whether a node is on one side only.
func (d *Differences) Single(node string) bool {
	_, before := slices.BinarySearch(d.Before, node)
	_, after := slices.BinarySearch(d.After, node)
	return before || after
}

// Compare compares the catalogs of nodes. If both sides are one file or one node, these are compared,
// even if their names differ. The error is a *fault.Error.
func Compare(ctx context.Context, before, after *Side) (*Differences, error) {
	names := append(before.names(), after.names()...)
	slices.Sort(names)
	names = slices.Compact(names)
	other := func(name string) string { return name }
	if before.single && after.single {
		names = after.names()
		other = func(string) string { return before.names()[0] }
	}
	found := &Differences{Changes: make(map[string][]diff.Change)}
	none := &catalog.Catalog{}
	err := each(names, func(name string) (done, error) {
		a, err := before.load(ctx, other(name))
		if err != nil {
			return done{}, err
		}
		b, err := after.load(ctx, name)
		switch {
		case err != nil:
			return done{}, err
		case a == nil:
			return done{node: b.Name, changes: diff.Compare(none, b), only: onlyAfter}, nil
		case b == nil:
			return done{node: a.Name, changes: diff.Compare(a, none), only: onlyBefore}, nil
		}
		return done{node: b.Name, changes: diff.Compare(a, b)}, nil
	}, func(d done) bool {
		if _, twice := found.Changes[d.node]; twice {
			return false
		}
		found.Changes[d.node] = d.changes
		switch d.only {
		case onlyBefore:
			found.Before = append(found.Before, d.node)
		case onlyAfter:
			found.After = append(found.After, d.node)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(found.Before)
	slices.Sort(found.After)
	return found, nil
}

// done is the result for one node.
type done struct {
	node    string
	changes []diff.Change
	only    presence // of a comparison
	similar []string // of a search
}

// A presence is the set of sides that have a node.
type presence uint8

const (
	_ presence = iota // both
	onlyBefore
	onlyAfter
)

// each works on several names at the same time, and passes the results to a function, in the order of the
// names. The function reports whether the node is new. The error is the first error, or an error that two
// names have the catalog of one node.
func each(names []string, work func(name string) (done, error), to func(done) bool) error {
	type result struct {
		done
		err error
	}
	for r := range inorder.Each(names, func(name string) result {
		d, err := work(name)
		return result{d, err}
	}) {
		if r.err != nil {
			return r.err
		}
		if !to(r.done) {
			return fault.New(Kind, "The node %s has two catalogs.", r.node)
		}
	}
	return nil
}
