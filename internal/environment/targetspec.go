package environment

import (
	"sync"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
)

// planTypes are types that plans and tasks have beside those of the language,
// as far as they are data: what names targets.
const planTypes = `
type Boltlib::TargetSpec = Variant[String[1], Array[Boltlib::TargetSpec]]
type TargetSpec = Boltlib::TargetSpec
`

// typesOfPlans returns their definitions by name, made when they are first
// asked for.
func typesOfPlans() func() (map[string]*eval.Definition, error) {
	return sync.OnceValues(func() (map[string]*eval.Definition, error) {
		p, err := syntax.Parse(syntax.NewFile("boltlib", planTypes), syntax.Options{})
		if err != nil {
			return nil, err
		}
		defs := make(map[string]*eval.Definition)
		for _, d := range eval.Definitions(p, "boltlib") {
			defs[d.Name] = d
		}
		return defs, nil
	})
}
