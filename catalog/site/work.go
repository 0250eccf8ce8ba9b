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
	all, err := Read(ctx, path)
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

// Compare compares the catalogs of nodes. If both sides are one file, their catalogs are
// compared, whatever the names of their nodes are. different is set if a node has a change.
func Compare(before, after *Side) (changes map[string][]diff.Change, different bool) {
	a, b := before.Catalogs, after.Catalogs
	if before.single && after.single {
		for _, old := range a {
			for name := range b {
				a = map[string]*catalog.Catalog{name: old}
			}
		}
	}
	changes = diff.Nodes(a, b)
	return changes, diff.Different(changes)
}

// A Side is the catalogs of one side of a comparison, by the names of their nodes.
type Side struct {
	Catalogs map[string]*catalog.Catalog
	single   bool // a file
}

// ReadSide reads the catalogs of a file or of a directory. The error is a *fault.Error.
func ReadSide(ctx context.Context, path string) (*Side, error) {
	all, err := Read(ctx, path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	return &Side{all, err == nil && !info.IsDir()}, nil
}

// Search returns the resources that a pattern matches, each as an added resource, with the nodes
// that have it with equal parameters. The error is a *fault.Error.
func Search(all map[string]*catalog.Catalog, pattern string) ([]diff.Shared, error) {
	match, err := matcher(pattern)
	if err != nil {
		return nil, err
	}
	found := make(map[string][]diff.Change)
	for node, c := range all {
		if list := diff.Select(c, match); list != nil {
			found[node] = list
		}
	}
	return diff.ByChange(found), nil
}

// matcher compares references with a pattern: Type, or Type[title] with * in the title.
func matcher(pattern string) (func(catalog.Ref) bool, error) {
	typ, title, has := strings.Cut(pattern, "[")
	title, closed := strings.CutSuffix(title, "]")
	if typ == "" || has != closed || has && title == "" {
		e := fault.New(Kind, "%q is not a resource.", pattern)
		e.Hint = "Write Type[title], or Type for all resources of the type. * in a title matches any text."
		return nil, e
	}
	words := strings.Split(title, "*")
	return func(r catalog.Ref) bool {
		return strings.EqualFold(r.Type, typ) && (!has || r.Title == title || matches(words, r.Title))
	}, nil
}

// matches reports whether a text begins with the first word, ends with the last one, and has
// the others between them in their order.
func matches(words []string, text string) bool {
	text, found := strings.CutPrefix(text, words[0])
	if len(words) == 1 || !found {
		return found && text == ""
	}
	last := len(words) - 1
	for _, w := range words[1:last] {
		if _, text, found = strings.Cut(text, w); !found {
			return false
		}
	}
	return strings.HasSuffix(text, words[last])
}
