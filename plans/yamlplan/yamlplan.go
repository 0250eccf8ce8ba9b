// Package yamlplan reads plans written in YAML, as plans of the Puppet language.
//
// Parse reads and checks a plan. Program returns it as a program with one plan
// in it, whose positions are those in the YAML file; Convert writes it as a file
// of the language for people to go on with. Both come from one translation, so
// that a converted plan does what it was converted from. Steps tells what there
// is to do, for pictures.
//
// How a value is written says what it is (Puppet Bolt,
// documentation/writing_yaml_plans.md): 'single' quoted and folded (>) text is
// itself, in "double" quoted text variables are replaced, literal text (|) and
// plain text that begins with $ is code, and other plain text is itself but has
// to be good in double quotes, too. Lists and mappings are made of such values;
// keys are never code. Code has a scope of its own: a variable that it sets ends
// with it. The result of a step that has a name is a variable for what follows.
//
// Beyond Bolt's, the steps command, script, task, upload and download have the
// keys timeout, concurrency, serial, max_failures and pause, which become options
// (_timeout, …) of the functions they call; and env_vars may be code.
//
// Differs from Puppet Bolt: code in return is checked when the plan is read, and
// "#" in double quotes is only that.
package yamlplan

import (
	"bolt/format/yaml"
)

// A Plan is a YAML plan, checked but not evaluated. It is not changed after
// Parse.
type Plan struct {
	Name        string
	File        string // as the user would write it
	Description string
	// Private asks not to be listed; HasPrivate: the plan says whether it is.
	Private, HasPrivate bool
	Parameters          []Parameter // in order

	src    string
	lines  []int // offset of each line of src
	steps  []*step
	result *yaml.Node // return, or nil
}

// A Parameter is what a plan can be given.
type Parameter struct {
	Name string
	// TypeText is the type as it is written, "" for none, which is Any. Type is
	// the same in the form that the language prints: with quotes around strings.
	TypeText, Type string
	Description    string
	HasDescription bool
	// Default is plain data of the types that package ordered has. A parameter
	// without a default has to be given, and so has one with the default null.
	Default    any
	HasDefault bool
	Line       int

	value *yaml.Node // the default, or nil
	typed *yaml.Node // the type, or nil
}

// A Step is what a plan says about one of its steps, as it is written: code is
// not evaluated.
type Step struct {
	Number      int    // from 1
	Name        string // of the variable that has its result, or ""
	Kind        string // command, script, task, plan, upload, download, resources, eval, message or verbose
	Description string
	Object      string // what is run, sent, said; "" if it is a collection
	Targets     string // "" if there are none, or if they are a collection
	Line        int
}

// Steps returns the steps in their order.
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

// text is a scalar of the step as it is written, without its quotes.
func (s *step) text(key string) string {
	n := s.values[key]
	if n == nil || n.Value == nil {
		return ""
	}
	return n.Text
}
