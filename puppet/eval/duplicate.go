package eval

import "bolt/puppet/syntax"

// defined returns an error if a definition of list has the name of an earlier
// definition, in list or before it. Classes and defines share their names. The
// caller holds in.mu.
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
				if o != nil && o.Node != d.Node { // a program can run again
					return duplicate(d, o, kind.String()+" "+name)
				}
			}
			before[defKey{d.Kind, name}] = d
		}
	}
	return nil
}

// nodeNames returns the names that a node definition matches. It leaves out
// names that need evaluation.
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

// nodeName returns the name that m matches, or "" if m needs evaluation.
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

// repeated returns an error if a node definition has a name twice.
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

// duplicate returns the error of a second definition.
func duplicate(d, o *Definition, what string) error {
	return duplicateAt(d.place(), o.place(), what)
}

func duplicateAt(at, first syntax.Position, what string) error {
	e := Errorf("duplicate-definition", "the %s is defined already, at %s", what, first)
	e.Pos, e.Stack = at, []Frame{{"", at.File, at.Line}}
	return e
}

// place returns the position of a definition in its source.
func (d *Definition) place() syntax.Position {
	if d.Program == nil || d.Node == nil {
		return syntax.Position{}
	}
	return d.Program.File.Position(d.Node.At().Off)
}
