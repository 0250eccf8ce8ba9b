package site

import (
	"context"
	"os"
	"strings"

	"bolt/catalog"
	"bolt/catalog/diff"
	"bolt/catalog/order"
	"bolt/catalog/types"
	"bolt/environment"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/puppet/value"
)

// NodeOf is a node with facts as data; nil for none. classes are names as users write
// them. The error is a *fault.Error.
func NodeOf(name string, facts *ordered.Map, classes []string) (Node, error) {
	h, err := environment.Hash(facts)
	if err != nil {
		return Node{}, fault.New(Kind, "The facts of %s cannot be used: %v", name, err)
	}
	return Node{Name: name, Facts: h, Classes: classNames(classes)}, nil
}

// ReadNode is a node with the facts of a file, "" for none. The error is a *fault.Error.
func ReadNode(ctx context.Context, name, file string, classes []string) (Node, error) {
	n := Node{Name: name, Facts: value.NewHash(), Classes: classNames(classes)}
	if file == "" {
		return n, nil
	}
	h, err := environment.ReadFacts(ctx, file)
	if err != nil {
		return Node{}, err
	}
	n.Facts = factsIn(h)
	return n, nil
}

func classNames(given []string) (names []string) {
	for _, c := range given {
		names = append(names, strings.ToLower(strings.TrimPrefix(c, "::")))
	}
	return names
}

// ReadOne reads the catalog of one node. The error is a *fault.Error.
func ReadOne(ctx context.Context, path string) (*catalog.Catalog, error) {
	all, err := readFiles(ctx, path)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if len(all) == 1 {
			return c, nil
		}
	}
	e := fault.New(Kind, "The directory '%s' has the catalogs of %d nodes.", path, len(all))
	e.Hint = "Name the file of one of them."
	return nil, e
}

// Find returns the resource that a text such as File[/etc/motd] names. The error is a
// *fault.Error.
func Find(c *catalog.Catalog, text string) (*catalog.Resource, error) {
	e := fault.New(Kind, "The catalog of %s has no %s.", c.Name, text)
	e.Hint = "The type begins with a capital letter: File[/etc/motd]. Without a resource, all are shown."
	ref, err := catalog.ParseRef(text)
	if err != nil {
		e.Msg = err.Error()
		return nil, e
	}
	if r := c.Find(ref); r != nil {
		return r, nil
	}
	return nil, e
}

// Order returns the resources of a catalog in the order of application. The error is a
// *fault.Error.
func Order(c *catalog.Catalog) ([]*catalog.Resource, error) {
	list, err := order.Of(c, order.Options{Auto: types.Auto(c)})
	if err != nil {
		return nil, &fault.Error{Kind: Kind, Msg: err.Error(), Err: err}
	}
	return list, nil
}

// Compare compares the catalogs of two files, whatever the names of their nodes are, or
// those of the nodes of two directories. different is set if a node has a change. The
// error is a *fault.Error.
func Compare(ctx context.Context, before, after string) (changes map[string][]diff.Change, different bool, err error) {
	a, err := readFiles(ctx, before)
	if err != nil {
		return nil, false, err
	}
	b, err := readFiles(ctx, after)
	if err != nil {
		return nil, false, err
	}
	if !isDir(before) && !isDir(after) {
		for _, old := range a {
			for name := range b {
				a = map[string]*catalog.Catalog{name: old}
			}
		}
	}
	changes = diff.Nodes(a, b)
	return changes, diff.Different(changes), nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
