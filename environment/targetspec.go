package environment

import (
	"strings"
	"sync"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
)

// planTypes are data types of plans and tasks that are not in the language: the
// types that name targets.
const planTypes = `
type Boltlib::TargetSpec = Variant[String[1], Array[Boltlib::TargetSpec]]
type TargetSpec = Boltlib::TargetSpec
`

// typesOfPlans returns their definitions by name. It creates them at the first
// call.
func typesOfPlans(language *PlanLanguage) func() (map[string]*eval.Definition, error) {
	return sync.OnceValues(func() (map[string]*eval.Definition, error) {
		text := planTypes
		defs := make(map[string]*eval.Definition)
		if language != nil {
			text = language.Aliases
			for _, t := range language.Types {
				name := strings.ToLower(t.Name())
				defs[name] = &eval.Definition{Kind: eval.KindType, Name: name, Type: t}
			}
		}
		p, err := syntax.Parse(syntax.NewFile("boltlib", text), syntax.Options{})
		if err != nil {
			return nil, err
		}
		for _, d := range eval.Definitions(p, "boltlib") {
			defs[d.Name] = d
		}
		return defs, nil
	})
}
