package puppettest

import (
	"context"
	"regexp"
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// node evaluates the definition that is for a node: the one of its name, or of
// a pattern, or the default. If there are definitions, one must be for it.
func (l *ledger) node(ctx context.Context, name string) error {
	name = strings.ToLower(name)
	nodes := l.x.Interp.Nodes()
	if nodes == nil {
		return nil
	}
	var best *eval.Definition
	var groups []value.Value
	rank, label := 0, ""
	for _, d := range nodes {
		for _, m := range d.Node.(*syntax.NodeDef).Matches {
			r, as, found := 0, name, []value.Value(nil)
			switch m := m.(type) {
			case *syntax.Str:
				if strings.ToLower(m.Value) == name {
					r = 3
				}
			case *syntax.Regexp:
				x, err := value.NewRegexp(m.Source)
				if err != nil {
					return err
				}
				list, ok, err := x.Match(name)
				if err != nil {
					return err
				}
				if ok {
					r, as, found = 2, patternLabel(m.Source), list
				}
			case *syntax.Default:
				r, as = 1, "default"
			}
			if r > rank {
				best, rank, label, groups = d, r, as, found
			}
		}
	}
	if best == nil {
		return eval.Errorf("unknown-node", "there are nodes defined, and none is for %s", name)
	}
	l.classes = append(l.classes, label)
	e := newEntry(l.x.Interp.Top())
	e.ref = eval.Ref{Type: "node", Title: label}
	l.byRef[e.ref] = e
	scope := l.x.Interp.NewScope(eval.ScopeOptions{
		Kind: eval.NodeScope, Name: label, Label: "Node[" + label + "]", Parent: l.x.Interp.Top(), Owner: e,
	})
	for _, about := range []string{"title", "name"} {
		if err := scope.Set(about, value.String(label)); err != nil {
			return err
		}
	}
	if groups != nil {
		scope.SetMatch(groups)
	}
	_, err := l.x.Interp.Site(ctx, nil).Body(best, scope)
	return err
}

// patternLabel is the title of the node of a pattern: its text in lower case,
// of which titles can have only some characters. Those of groups with a
// question mark are spelt out.
func patternLabel(source string) string {
	spelt := strings.NewReplacer("(", "LP", "?", "QU", "<", "LT", ">", "GT", "!", "EX", "=", "EQ", ")", "RP")
	text := regexp.MustCompile(`\(\?[^)]*\)`).ReplaceAllStringFunc(strings.ToLower(source), spelt.Replace)
	text = regexp.MustCompile(`[^-\w:.]`).ReplaceAllString(text, "")
	return "__node_regexp__" + strings.TrimLeft(text, ".")
}
