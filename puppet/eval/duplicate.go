package eval

import "bolt/puppet/syntax"

// defined returns an error when one of a list is defined before, be it in the
// list. A class and a define have their names together. in.mu is held.
func (in *Interp) defined(list []*Definition) error {
	before := make(map[defKey]*Definition)
	for _, d := range in.nodes {
		for _, name := range nodeNames(d) {
			before[defKey{KindNode, name}] = d
		}
	}
	defs := in.world.Load().defs
	for _, d := range list {
		names, kinds := []string{d.Name}, []Kind{d.Kind}
		switch d.Kind {
		case KindNode:
			names = nodeNames(d)
			if err := repeated(d); err != nil {
				return err
			}
		case KindClass, KindDefine:
			kinds = []Kind{KindClass, KindDefine}
		}
		for _, name := range names {
			for _, kind := range kinds {
				key := defKey{kind, name}
				o := before[key]
				if o == nil {
					o = defs[key]
				}
				if o != nil && o.Node != d.Node { // a program may run again
					return duplicate(d, o, kind.String()+" "+name)
				}
			}
			before[defKey{d.Kind, name}] = d
		}
	}
	return nil
}

// nodeNames returns what a node definition is for, as far as it can be seen
// without evaluating it.
func nodeNames(d *Definition) []string {
	n, is := d.Node.(*syntax.NodeDef)
	if !is {
		return nil
	}
	var names []string
	for _, m := range n.Matches {
		if name := nodeName(m); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// nodeName is the name that one of a node definition's matches is, "" if it has
// to be evaluated.
func nodeName(m syntax.Expr) string {
	switch m := m.(type) {
	case *syntax.Str:
		return lower(m.Value)
	case *syntax.Regexp:
		return "/" + m.Source + "/"
	case *syntax.Default:
		return "default"
	}
	return ""
}

// repeated returns an error when a node definition has a name twice.
func repeated(d *Definition) error {
	n, is := d.Node.(*syntax.NodeDef)
	if !is {
		return nil
	}
	seen := map[string]syntax.Position{}
	for _, m := range n.Matches {
		name, at := nodeName(m), d.Program.File.Position(m.At().Off)
		if first, is := seen[name]; is && name != "" {
			return duplicateAt(at, first, "node "+name)
		}
		seen[name] = at
	}
	return nil
}

// duplicate is the error of a definition of what another defines too.
func duplicate(d, o *Definition, what string) error {
	return duplicateAt(d.place(), o.place(), what)
}

func duplicateAt(at, first syntax.Position, what string) error {
	e := Errorf("duplicate-definition", "the %s is defined already, at %s", what, first)
	e.Pos, e.Stack = at, []Frame{{"", at.File, at.Line}}
	return e
}

// place returns where a definition is written.
func (d *Definition) place() syntax.Position {
	if d.Program == nil || d.Node == nil {
		return syntax.Position{}
	}
	return d.Program.File.Position(d.Node.At().Off)
}
