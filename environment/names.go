package environment

import (
	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/hiera"
	"bolt/puppet/stdlib"
	"bolt/puppet/syntax"
)

// Functions returns the names of all functions of every environment, without
// functions of modules.
func Functions() []string {
	var names []string
	for _, list := range [][]*eval.Function{builtin.Functions(builtin.Options{}), stdlib.Functions(stdlib.Options{}), hiera.Functions(nil)} {
		for _, f := range list {
			names = append(names, f.Name)
		}
	}
	return names
}

// Types returns the names of the types of every environment, except those of
// the language itself.
func Types() []string {
	p, err := syntax.Parse(syntax.NewFile("stdlib", stdlib.Types()), syntax.Options{})
	if err != nil {
		return nil // using one of these types returns the error
	}
	var names []string
	for _, x := range p.Definitions {
		if t, ok := x.(*syntax.TypeAlias); ok {
			names = append(names, t.Name)
		}
	}
	return names
}
