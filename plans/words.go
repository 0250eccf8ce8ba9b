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

// Words are the parameters and targets for a plan on a command line.
type Words struct {
	Pairs   []string     // NAME=VALUE
	Params  *ordered.Map // the object of --params, which excludes Pairs; nil if there is none
	Targets []string     // the values of --targets, or the names that other options select; nil if there are none
}

// targetSpec is part of the type of a parameter for targets.
const targetSpec = "TargetSpec"

// TargetsParameter returns the name of the parameter that takes the targets of the command
// line. That is nodes, or else targets if its type contains TargetSpec; "" if there is
// none. If a plan has both, both is true, and neither gets the targets.
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

// Given returns the parameters of a plan from a command line. A pair's value is parsed as
// JSON. If the parameter's type does not accept that value, the string itself is the
// value. Values of Sensitive parameters are wrapped. TargetsParameter gets the targets,
// separated by commas; if it already has a value, Given returns an error of kind
// bolt/cli-error. The call of the plan checks whether the parameters exist, and their
// types.
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
			l.o.Warn("nodes_targets_parameters", fmt.Sprintf("The plan %s has both parameters 'nodes' and 'targets', so neither of them gets "+
				"the targets of the command line. Pass them as parameters.", p.Name))
		case name == "":
		case set:
			return nil, fault.New("bolt/cli-error", "The parameter '%s' of the plan %s is set twice: by an option that selects targets, such as --targets, "+
				"and as a parameter. Remove one of them.", name, p.Name)
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
			return nil, fault.New("bolt/cli-error", "The parameter '%s' of the plan %s has a value that plans cannot represent. It is not shown because it is sensitive.", name, p.Name)
		case err != nil:
			return nil, fault.New("bolt/cli-error", "The parameter '%s' of the plan %s has a value that plans cannot represent: %v", name, p.Name, err)
		case hidden && v != nil:
			typed = value.NewSensitive(typed)
		}
		h.Put(value.String(name), typed)
	}
	return h.Build(), nil
}

// Advice returns advice about parameters that do not fit the plan: the command that shows
// the parameters, and similar names.
func (p *Plan) Advice(given *value.Hash) string {
	names := make([]string, len(p.Parameters))
	for i := range p.Parameters {
		names[i] = p.Parameters[i].Name
	}
	advice := fmt.Sprintf("\"bolt plan show %s\" lists the parameters with their types.", p.Name)
	for k := range given.All() {
		name := value.ToString(k)
		if near := spelling.Near(strings.ToLower(name), names); p.Parameter(name) == nil && near != "" {
			advice += fmt.Sprintf(" Did you mean %[2]s instead of %[1]s?", name, near)
		}
	}
	for k, v := range given.All() {
		name := value.ToString(k)
		text, isText := v.(value.String)
		if q := p.Parameter(name); q != nil && isText && !q.Sensitive && q.Type != nil && !value.Instance(q.Type, v) {
			advice += " " + parameter.Mismatch(name, q.Type, string(text))
		}
	}
	return advice
}

// AsWritten returns values of --targets for Words.Targets. The functions of the plan
// interpret them. A value that was read from a file can have several lines.
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

// Choices returns the values of the parameter's type, if their number is limited.
func (p *Parameter) Choices() []string { return parameter.Choices(p.Type) }
