// Package yamlplan reads plans written in YAML, as plans of the Puppet language.
//
// Parse parses and checks a plan. Program returns it as a program with one plan,
// whose positions refer to the YAML file. Convert writes it as a file of the
// language for further editing. Both use the same translation, so that a
// converted plan does the same as the original. Steps returns the steps, for
// pictures.
//
// The style of a value determines its meaning (Puppet Bolt,
// documentation/writing_yaml_plans.md):
// - 'single' quoted and folded (>) text is a string.
// - In "double" quoted text, variables are interpolated.
// - Literal text (|) and plain text that begins with $ is code.
// - Other plain text is a string, but must be valid in double quotation marks, too.
//
// Lists and mappings consist of such values; keys are never code. Code has its
// own scope, and variables that it sets end with it. The result of a named step
// is a variable for the steps after it.
//
// In addition to Bolt, the steps command, script, task, upload and download have
// the keys timeout, concurrency, serial, max_failures and pause. They become
// options (_timeout, …) of the called functions. env_vars may be code.
//
// Differences from Puppet Bolt: code in return is checked when the plan is read,
// and "#" in double quotation marks has no special meaning.
package yamlplan

import (
	"bolt/format/yaml"
)

// A Plan is a YAML plan that was checked but not evaluated. It does not change
// after Parse.
type Plan struct {
	Name        string
	File        string // as the user wrote it
	Description string
	// If Private is set, the plan is not listed. HasPrivate is set if the plan
	// has the key private.
	Private, HasPrivate bool
	Parameters          []Parameter // in order

	src    string
	lines  []int // offset of each line of src
	steps  []*step
	result *yaml.Node // return, or nil
}

// A Parameter is a parameter of a plan.
type Parameter struct {
	Name string
	// TypeText is the source text of the type, "" for none, which means Any.
	// Type is the same type in the form that the language prints, with quotation
	// marks around strings.
	TypeText, Type string
	Description    string
	HasDescription bool
	// Default is plain data in the types of package ordered. A parameter without
	// a default is required. A parameter with the default null is required, too.
	Default    any
	HasDefault bool
	Line       int

	value *yaml.Node // the default, or nil
	typed *yaml.Node // the type, or nil
}

// A Step describes a step of a plan with its source text. Code is not evaluated.
type Step struct {
	Number      int    // from 1
	Name        string // the variable of its result, or ""
	Kind        string // command, script, task, plan, upload, download, resources, eval, message or verbose
	Description string
	Object      string // the command, file or message; "" if it is a collection
	Targets     string // "" if there are none, or if they are a collection
	Line        int
}

// Steps returns the steps in order.
func (p *Plan) Steps() []Step {
	list := make([]Step, len(p.steps))
	for i, s := range p.steps {
		list[i] = Step{
			Number: s.number, Name: s.name, Kind: s.kind.name, Description: s.text("description"),
			Object: s.text(s.kind.name), Targets: s.text("targets"), Line: s.node.Line,
		}
	}
	return list
}

// text returns the text of a scalar of the step, without its quotation marks.
func (s *step) text(key string) string {
	n := s.values[key]
	if n == nil || n.Value == nil {
		return ""
	}
	return n.Text
}
