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
		switch m := m.(type) {
		case *syntax.Str:
			names = append(names, lower(m.Value))
		case *syntax.Regexp:
			names = append(names, "/"+m.Source+"/")
		case *syntax.Default:
			names = append(names, "default")
		}
	}
	return names
}

// duplicate is the error of a definition of what another defines too.
func duplicate(d, o *Definition, what string) error {
	at, first := d.place(), o.place()
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
