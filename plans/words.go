package plans

import (
	"fmt"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/internal/spelling"
	"bolt/puppet/value"
	"bolt/tasks/parameter"
)

// Words are what a command line gives a plan.
type Words struct {
	Pairs   []string     // NAME=VALUE
	Params  *ordered.Map // the object of --params, which may not stand beside Pairs; nil: there is none
	Targets []string     // the values of --targets, or the names that other options lead to; nil: there are none
}

// targetSpec is what the type of a parameter names that targets are for.
const targetSpec = "TargetSpec"

// TargetsParameter returns the name of the parameter that takes the targets
// which a plan is given beside its parameters: nodes, or else targets if its type
// says TargetSpec; "" if there is none. A plan that has both is both, and
// neither is given any.
func (p *Plan) TargetsParameter() (name string, both bool) {
	nodes, targets := p.Parameter("nodes"), p.Parameter("targets")
	if targets != nil && !strings.Contains(targets.TypeText, targetSpec) {
		targets = nil
	}
	switch {
	case nodes != nil && targets != nil:
		return "", true
	case nodes != nil:
		return nodes.Name, false
	case targets != nil:
		return targets.Name, false
	}
	return "", false
}

// Given returns the parameters that a command line gives a plan, with which it
// can be called. A pair's value is what it is as JSON, if the parameter's type
// takes that, or else the text. What is given to a parameter that is Sensitive
// is wrapped. Targets go to TargetsParameter, separated by commas; if it has a
// value already, that is an error of kind bolt/cli-error. Whether parameters are
// known, and of their types, is for the call to find out.
func (l *Library) Given(p *Plan, w Words) (*value.Hash, error) {
	params := w.Params.Clone()
	for _, pair := range w.Pairs {
		name, text, _ := strings.Cut(pair, "=")
		params.Set(name, p.read(name, text))
	}
	if w.Targets != nil {
		name, both := p.TargetsParameter()
		_, set := params.Get(name)
		switch {
		case both:
			l.o.Warn("nodes_targets_parameters", fmt.Sprintf("The plan %s has the parameters 'nodes' and 'targets' both, so that none of them gets "+
				"the targets of the command line: give them as parameters.", p.Name))
		case name == "":
		case set:
			return nil, fault.New("bolt/cli-error", "The parameter '%s' of the plan %s is given twice: by an option that names targets, as --targets, "+
				"and as a parameter. Leave one of them out.", name, p.Name)
		default:
			params.Set(name, strings.Join(w.Targets, ","))
		}
	}
	var h value.HashBuilder
	for name, v := range params.All() {
		q := p.Parameter(name)
		hidden := q != nil && q.Sensitive
		typed, err := valuedata.Of(v)
		switch {
		case err != nil && hidden:
			return nil, fault.New("bolt/cli-error", "The parameter '%s' of the plan %s has a value that no plan can have; it is not shown as it is sensitive.", name, p.Name)
		case err != nil:
			return nil, fault.New("bolt/cli-error", "The parameter '%s' of the plan %s has a value that no plan can have: %v", name, p.Name, err)
		case hidden && v != nil:
			typed = value.NewSensitive(typed)
		}
		h.Put(value.String(name), typed)
	}
	return h.Build(), nil
}

// Advice helps with parameters that do not fit the plan: where these are shown, and
// which names were probably meant.
func (p *Plan) Advice(given *value.Hash) string {
	names := make([]string, len(p.Parameters))
	for i := range p.Parameters {
		names[i] = p.Parameters[i].Name
	}
	advice := fmt.Sprintf("\"bolt plan show %s\" lists the parameters with their types.", p.Name)
	for k := range given.All() {
		name := value.ToString(k)
		if near := spelling.Near(strings.ToLower(name), names); p.Parameter(name) == nil && near != "" {
			advice += fmt.Sprintf(" Is %s meant to be %s?", name, near)
		}
	}
	return advice
}

// AsWritten returns values of --targets for Words.Targets. In a plan, the functions of the
// plan interpret them. A value that was read from a file can have several lines.
func AsWritten(values []string) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = strings.Join(strings.Fields(v), ",")
	}
	return list
}

// read converts the string on the command line to a parameter's value. A Sensitive
// parameter gets the string itself, as in Bolt; it is not parsed as JSON.
func (p *Plan) read(name, text string) any {
	q := p.Parameter(name)
	switch {
	case q == nil:
		return parameter.Read(nil, text)
	case q.Sensitive:
		return text
	}
	return parameter.Read(q.Type, text)
}

// Choices are the values that the parameter's type has, if it has only some.
func (p *Parameter) Choices() []string { return parameter.Choices(p.Type) }
