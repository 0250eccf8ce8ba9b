package compile

import (
	"context"
	"regexp"
	"strings"

	"bolt/catalog"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// node evaluates the node definition that matches a name: the one with this name, else
// the first with a matching pattern, else the default. If there are definitions, one must
// match. It returns the scope of the node, or the top scope.
func (c *compiler) node(ctx context.Context, name string) (*eval.Scope, error) {
	top := c.x.Interp.Top()
	nodes := c.x.Interp.Nodes()
	if nodes == nil {
		return top, nil
	}
	d, label, groups, err := choose(nodes, strings.ToLower(name))
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, eval.Errorf("unknown-node", "the site has node definitions, and none of them matches %s", name)
	}
	c.classes = append(c.classes, label)
	r := newResource(eval.Ref{Type: "node", Title: label}, top)
	r.kind, r.done = catalog.KindUnknown, true
	r.outer = c.tagsOf(top)
	r.within(c.main)
	c.byRef[r.ref] = r
	c.list = append(c.list, r)
	r.eachOwnTag(c.tags.add)
	scope := c.x.Interp.NewScope(eval.ScopeOptions{
		Kind: eval.NodeScope, Name: label, Label: "Node[" + label + "]", Parent: top, Owner: r,
	})
	for _, about := range []string{"title", "name"} {
		if err := scope.Set(about, value.String(label)); err != nil {
			return nil, err
		}
	}
	if groups != nil {
		scope.SetMatch(groups)
	}
	_, err = c.x.Interp.Site(ctx, nil).Body(d, scope)
	return scope, err
}

// choose returns the best definition for a name, its title in the catalog, and the groups
// of its pattern.
func choose(nodes []*eval.Definition, name string) (best *eval.Definition, label string, groups []value.Value, err error) {
	const isDefault, isPattern, isName = 1, 2, 3
	rank := 0
	for _, d := range nodes {
		for _, m := range d.Node.(*syntax.NodeDef).Matches {
			r, as, found := 0, name, []value.Value(nil)
			switch m := m.(type) {
			case *syntax.Str:
				if strings.ToLower(m.Value) == name {
					r = isName
				}
			case *syntax.Regexp:
				x, err := value.NewRegexp(m.Source)
				if err != nil {
					return nil, "", nil, err
				}
				list, ok, err := x.Match(name)
				if err != nil {
					return nil, "", nil, err
				}
				if ok {
					r, as, found = isPattern, patternLabel(m.Source), list
				}
			case *syntax.Default:
				r, as = isDefault, "default"
			}
			if r > rank {
				best, rank, label, groups = d, r, as, found
			}
		}
	}
	return best, label, groups, nil
}

// patternLabel returns the title of a node with a pattern: the pattern in lower case,
// without the characters that titles cannot have. Characters of a group with a question
// mark become letters.
func patternLabel(source string) string {
	spelt := strings.NewReplacer("(", "LP", "?", "QU", "<", "LT", ">", "GT", "!", "EX", "=", "EQ", ")", "RP")
	text := regexp.MustCompile(`\(\?[^)]*\)`).ReplaceAllStringFunc(strings.ToLower(source), spelt.Replace)
	text = regexp.MustCompile(`[^-\w:.]`).ReplaceAllString(text, "")
	return "__node_regexp__" + strings.TrimLeft(text, ".")
}
