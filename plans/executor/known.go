package executor

import (
	"context"
	"slices"

	"bolt/environment"
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/inventory"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// A Language contains the additions of plans to the Puppet language. Executors share
// it.
type Language struct {
	environment.PlanLanguage
	types types
}

// NewLanguage returns a Language. plan returns the program of a plan that is not
// written in the language, see environment.PlanLanguage.
func NewLanguage(plan func(ctx context.Context, name string) (p *syntax.Program, module string, err error)) *Language {
	l := &Language{environment.PlanLanguage{Aliases: typeAliases, Plan: plan}, makeTypes()}
	l.Types = []*value.ObjectType{l.types.target, l.types.result, l.types.applyResult, l.types.resultSet, l.types.future, l.types.containerResult, l.types.resource}
	l.Functions = functions()
	return l
}

// functions returns the functions that plans have in addition to those of the language.
func functions() []*eval.Function {
	return slices.Concat(acting(), controlling(), saying(), prompting(), ofController(), asking(), knowing(), targetFunctions(), resultFunctions(), applyResultFunctions(), resultSetFunctions(), aboutContainers(), aboutResources())
}

// knowing returns the functions that read or change data of targets.
func knowing() []*eval.Function {
	target := func(c *eval.Call) *inventory.Target { return inventoryTarget(c.Args[0]) }
	text := func(v value.Value) string { return string(v.(value.String)) }
	// each implements functions that change targets and return their argument.
	each := func(c *eval.Call, change func(x *Executor, list []*inventory.Target) error) (value.Value, error) {
		x := of(&c.Site)
		list, err := x.resolve(&c.Site, c.Args[0])
		if err == nil {
			err = change(x, list)
		}
		if err != nil {
			return nil, err
		}
		return c.Args[0], nil
	}
	return []*eval.Function{
		one("resolve_references", "Returns data with all references to plugins resolved.", "Data $references", func(c *eval.Call) (value.Value, error) {
			x := of(&c.Site)
			d, err := plain("the references", c.Args[0])
			if err != nil {
				return nil, err
			}
			v, err := inventory.ResolveReferences(c.Context(), d, x.o.Resolve)
			if err != nil {
				return nil, err
			}
			return valuedata.Of(inventory.Reveal(v))
		}),
		one("apply_prep", "Collects the facts of targets for apply blocks, and adds them to the known facts.", "TargetSpec $targets, Hash[String[1], Any] $options = {}", applyPrep),
		one("get_targets", "Returns the targets that match names, groups and patterns.", "TargetSpec $names", func(c *eval.Call) (value.Value, error) {
			x := of(&c.Site)
			list, err := x.resolve(&c.Site, c.Args[0])
			if err != nil {
				return nil, err
			}
			return x.targetList(list), nil
		}),
		one("get_target", "Returns the only target that matches a name.", "TargetSpec $name", func(c *eval.Call) (value.Value, error) {
			x := of(&c.Site)
			list, err := x.resolve(&c.Site, c.Args[0])
			if err != nil {
				return nil, err
			}
			if len(list) != 1 {
				return nil, notOneTarget(c.Args[0], len(list))
			}
			return x.target(list[0]), nil
		}),
		one("vars", "Returns the variables of a target.", "Target $target", func(c *eval.Call) (value.Value, error) {
			d, err := target(c).Data(c.Context())
			if err != nil {
				return nil, err
			}
			return valuedata.Of(orEmpty(inventory.RevealMap(d.Vars)))
		}),
		one("facts", "Returns the known facts of a target.", "Target $target", func(c *eval.Call) (value.Value, error) {
			d, err := target(c).Data(c.Context())
			if err != nil {
				return nil, err
			}
			return valuedata.Of(orEmpty(inventory.RevealMap(d.Facts)))
		}),
		one("set_var", "Sets a variable of a target.", "Target $target, String $name, Data $value", func(c *eval.Call) (value.Value, error) {
			d, err := plain("the value of $"+text(c.Args[1]), c.Args[2])
			if err != nil {
				return nil, err
			}
			return c.Args[0], target(c).SetVar(c.Context(), text(c.Args[1]), d)
		}),
		one("add_facts", "Adds facts to the known facts of a target.", "Target $target, Hash[String, Data] $facts", func(c *eval.Call) (value.Value, error) {
			m, err := plainMap("the facts", c.Args[1].(*value.Hash))
			if err != nil {
				return nil, err
			}
			return c.Args[0], target(c).AddFacts(c.Context(), m)
		}),
		one("set_feature", "Adds a feature to a target, or removes it.", "Target $target, String $feature, Boolean $value = true", func(c *eval.Call) (value.Value, error) {
			on := c.Arg(2) == nil || value.Truthy(c.Arg(2))
			return c.Args[0], target(c).SetFeature(c.Context(), text(c.Args[1]), on)
		}),
		one("set_config", "Sets an option of a target's configuration.", "Target $target, Variant[String, Array[String]] $path, Any $value", func(c *eval.Call) (value.Value, error) {
			var path []string
			switch p := c.Args[1].(type) {
			case value.String:
				if p != "" {
					path = []string{string(p)}
				}
			case *value.Array:
				for _, e := range p.All() {
					path = append(path, text(e))
				}
			}
			d, err := plain("the value of set_config", c.Args[2])
			if err != nil {
				return nil, err
			}
			return c.Args[0], target(c).SetConfig(c.Context(), path, d)
		}),
		one("add_to_group", "Adds targets to a group.", "TargetSpec $targets, String[1] $group", func(c *eval.Call) (value.Value, error) {
			return each(c, func(x *Executor, list []*inventory.Target) error {
				return x.o.Inventory.AddToGroup(list, text(c.Args[1]))
			})
		}),
		one("remove_from_group", "Removes a target from a group.", "TargetSpec $target, String[1] $group", func(c *eval.Call) (value.Value, error) {
			return each(c, func(x *Executor, list []*inventory.Target) error {
				if len(list) != 1 {
					return failf("bolt.inventory/validation-error", "'remove_from_group' expects a single Target, got %d", len(list))
				}
				return x.o.Inventory.RemoveFromGroup(list[0], text(c.Args[1]))
			})
		}),
	}
}

func orEmpty(m *ordered.Map) *ordered.Map {
	if m == nil {
		return &ordered.Map{}
	}
	return m
}

// notOneTarget is the error of get_target for a name that matches no target or several
// targets. If it matches no target, Bolt raises an error that a plan cannot catch.
func notOneTarget(spec value.Value, n int) error {
	if n == 0 {
		return failf(palError, "value returned from function 'get_target' has wrong type, expects a Target value, got Undef")
	}
	return failf("bolt.inventory/validation-error", "'%s' refers to %d targets", value.ToString(spec), n)
}
