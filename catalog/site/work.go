package site

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bolt/catalog"
	"bolt/catalog/diff"
	"bolt/catalog/order"
	"bolt/catalog/seal"
	"bolt/catalog/types"
	"bolt/environment"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/puppet/value"
)

// NodeOf returns a node with facts as data; nil for none. classes are names as users write them.
// The error is a *fault.Error.
func NodeOf(name string, facts *ordered.Map, classes []string) (Node, error) {
	h, err := environment.Hash(facts)
	if err != nil {
		return Node{}, fault.New(Kind, "The facts of %s cannot be used: %v", name, err)
	}
	return Node{Name: name, Facts: h, Classes: classNames(classes)}, nil
}

// ReadNode returns a node with the facts of a file, "" for none. The error is a *fault.Error.
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
func ReadOne(ctx context.Context, path string, v seal.Vault) (*catalog.Catalog, error) {
	list, err := files(path)
	if err != nil {
		return nil, err
	}
	for _, file := range list {
		if len(list) == 1 {
			return readOpen(ctx, file, v)
		}
	}
	e := fault.New(Kind, "The directory '%s' has the catalogs of %d nodes.", path, len(list))
	e.Hint = "Name the file of one of them."
	return nil, e
}

// Find returns the resource for a reference such as File[/etc/motd]. The error is a *fault.Error.
func Find(c *catalog.Catalog, text string) (*catalog.Resource, error) {
	e := fault.New(Kind, "The catalog of %s has no %s.", c.Name, text)
	e.Hint = "Run \"bolt catalog show\" without a resource to list all resources."
	ref, err := catalog.ParseRef(text)
	if err != nil {
		e.Msg = fmt.Sprintf("%q is not a resource: write it as Type[title].%s", text, didYouMean(similar(c, catalog.Ref{Title: text})))
		return nil, e
	}
	if r := c.Find(ref); r != nil {
		return r, nil
	}
	for _, r := range c.Resources() {
		if strings.EqualFold(r.Type, ref.Type) && (r.Title == ref.Title || r.Type == "Class" && strings.EqualFold(r.Title, ref.Title)) {
			return r, nil
		}
	}
	e.Msg += didYouMean(similar(c, ref))
	return nil, e
}

// Order returns the resources of a catalog in the order of application. The error is a
// *fault.Error.
func Order(c *catalog.Catalog) ([]*catalog.Resource, error) {
	list, err := order.Of(c, types.Order(c))
	if err != nil {
		return nil, &fault.Error{Kind: Kind, Msg: err.Error(), Err: err}
	}
	return list, nil
}

// Found is the result of a search.
type Found struct {
	Resources []diff.Shared // each as an added resource, with the nodes that have it with equal parameters
	Nodes     int           // all nodes
	Similar   []string      // suggestions, if Resources is empty
}

// Search returns the resources that match a pattern. The error is a *fault.Error.
func Search(ctx context.Context, sides []*Side, pattern string) (*Found, error) {
	match, ref, err := matcher(pattern)
	if err != nil {
		return nil, err
	}
	changes := make(map[string][]diff.Change)
	var alike []string
	for _, side := range sides {
		err := each(side.names(), func(name string) (done, error) {
			c, err := side.load(ctx, name)
			if err != nil {
				return done{}, err
			}
			d := done{node: c.Name, changes: diff.Select(c, match)}
			if d.changes == nil {
				d.similar = similar(c, ref)
			}
			return d, nil
		}, func(d done) bool {
			if _, twice := changes[d.node]; twice {
				return false
			}
			changes[d.node] = d.changes
			for _, name := range d.similar {
				if len(alike) < maxSimilar && !slices.Contains(alike, name) {
					alike = append(alike, name)
				}
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	f := &Found{Resources: diff.ByChange(changes), Nodes: len(changes)}
	if len(f.Resources) == 0 {
		f.Similar = alike
	}
	return f, nil
}

// matcher compares references with a pattern: Type[title] with * in the title, or one word, which
// is a type or a title. ref returns the pattern as a reference. For one word, the type is "".
func matcher(pattern string) (match func(catalog.Ref) bool, ref catalog.Ref, err error) {
	typ, title, has := strings.Cut(pattern, "[")
	title, closed := strings.CutSuffix(title, "]")
	if typ == "" || has != closed || has && title == "" {
		e := fault.New(Kind, "%q is not a resource.", pattern)
		e.Hint = "Write Type[title], Type for all resources of the type, or only a title. * in a title matches any text."
		return nil, ref, e
	}
	if !has {
		typ, title = "", pattern
	}
	words := strings.Split(title, "*")
	return func(r catalog.Ref) bool {
		switch {
		case !has && strings.EqualFold(r.Type, title):
			return true
		case has && !strings.EqualFold(r.Type, typ):
			return false
		case r.Title == title || matches(words, r.Title):
			return true
		}
		return r.Type == "Class" && strings.EqualFold(r.Title, title)
	}, catalog.Ref{Type: typ, Title: title}, nil
}

// matches reports whether a text begins with the first word, ends with the last one, and contains
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
