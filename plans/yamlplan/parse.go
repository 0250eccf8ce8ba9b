package yamlplan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/yaml"
	"bolt/internal/lazyregexp"
)

// These are the kinds of errors.
const (
	kindInvalid  = "bolt/invalid-plan"
	kindLanguage = "bolt/pal-error"
)

const nameRule = "a name can only have lowercase letters, digits and _, and cannot begin with a digit"

var varName = lazyregexp.New(`^[a-z_][a-z0-9_]*$`)

var (
	planKeys      = []string{"description", "parameters", "private", "return", "steps", "version"}
	parameterKeys = []string{"type", "default", "description"}
)

// Parse parses the text of a plan; file is for messages and positions. Errors are
// *fault.Error. If the plan is invalid, their kind is bolt/invalid-plan, and the
// details contain the file. If the text is not YAML, the kind is bolt/pal-error,
// and the details contain the file and line. An invalid type has the kind
// bolt/pal-error, too. The message describes the first problem, as in Bolt; the
// hint contains the lines and the other problems.
func Parse(name, file string, src []byte) (*Plan, error) {
	doc, err := yaml.DecodeNodes(src, file)
	if err != nil {
		return nil, yamlFault(err, file)
	}
	r := &reader{plan: &Plan{Name: name, File: file, src: string(src)}}
	r.plan.lines = lineOffsets(r.plan.src)
	r.read(doc)
	if err := r.err(); err != nil {
		return nil, err
	}
	return r.plan, nil
}

func yamlFault(err error, file string) error {
	e, ok := errors.AsType[*yaml.Error](err)
	if !ok {
		return fault.File(file, err, "Could not parse plan %s: %v", file, err)
	}
	details := ordered.Of("file", file)
	if e.Line > 0 {
		details.Set("line", int64(e.Line))
	}
	msg := "The plan is not valid YAML: " + e.Problem
	if e.Alias {
		msg = "Plans cannot have YAML aliases (*name): " + e.Problem
	}
	return &fault.Error{Kind: kindLanguage, Msg: msg, Hint: e.Hint, Details: details, Err: err}
}

// A problem is one problem of a plan.
type problem struct {
	kind string
	line int
	msg  string
	hint string // what to do about it, or ""
}

// A reader makes a Plan from a document and collects its problems.
type reader struct {
	plan     *Plan
	problems []problem
	used     map[string]bool // names of parameters and steps
}

func (r *reader) wrong(line int, format string, args ...any) {
	r.add(problem{kind: kindInvalid, line: line, msg: fmt.Sprintf(format, args...)})
}

// maxProblems limits the number of reported problems.
const maxProblems = 20

func (r *reader) add(p problem) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, p)
	}
}

// err returns all problems as one error, or nil.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	first := r.problems[0]
	e := &fault.Error{Kind: first.kind, Msg: first.msg}
	if first.kind == kindInvalid {
		e.Details = ordered.Of("file", r.plan.File)
	}
	hint := fmt.Sprintf("see %s, line %d", r.plan.File, first.line)
	if first.hint != "" {
		hint += ": " + first.hint
	}
	for _, p := range r.problems[1:] {
		hint += fmt.Sprintf("\n  line %d is wrong, too: %s", p.line, strings.ReplaceAll(p.msg, " \n ", " "))
		if p.hint != "" {
			hint += " (" + p.hint + ")"
		}
	}
	e.Hint = hint
	return e
}

func (r *reader) read(doc *yaml.Node) {
	if doc == nil || doc.Style != yaml.Mapping {
		line := 1
		if doc != nil {
			line = doc.Line
		}
		r.wrong(line, "Plan must be a hash with the keys %s", strings.Join(planKeys, ", "))
		return
	}
	p := r.plan
	top := fieldsOf(doc)
	p.Description = r.words(top.values["description"], "Plan description")
	r.parameters(top.values["parameters"])
	if n := top.values["private"]; n != nil && n.Value != nil {
		if private, ok := n.Value.(bool); ok {
			p.Private, p.HasPrivate = private, true
		} else {
			r.wrong(n.Line, "Plan %s key 'private' must be a boolean, received: %s", p.Name, inspect(n))
		}
	}
	if keys := top.beyond(planKeys); len(keys) > 0 {
		r.wrong(top.keys[keys[0]].Line, "Plan contains illegal key(s) %s", quoted(keys))
	}
	steps := top.values["steps"]
	if steps == nil || steps.Style != yaml.List {
		line := doc.Line
		if steps != nil {
			line = steps.Line
		}
		r.wrong(line, "Plan must specify an array of steps")
	} else {
		for i, n := range steps.Items {
			r.step(n, i+1)
		}
	}
	if n := top.values["return"]; n != nil && !isNull(n) {
		p.result = n
		for _, c := range p.badCode("return", n) {
			r.add(c)
		}
	}
}

// words returns the text of a description.
func (r *reader) words(n *yaml.Node, what string) string {
	switch {
	case n == nil || isNull(n) || n.Value == false:
		return ""
	case n.Style == yaml.List || n.Style == yaml.Mapping:
		r.wrong(n.Line, "%s must be a string", what)
		return ""
	}
	return n.Text
}

func (r *reader) parameters(n *yaml.Node) {
	r.used = map[string]bool{}
	if n == nil {
		return
	}
	if n.Style != yaml.Mapping {
		r.wrong(n.Line, "Plan parameters must be a Hash")
		return
	}
	for _, pair := range n.Pairs {
		name, isText := pair.Key.Value.(string)
		if !isText || !varName().MatchString(name) {
			bad := problem{kind: kindInvalid, line: pair.Key.Line, msg: "Invalid parameter name " + inspect(pair.Key), hint: nameRule}
			if !isText {
				bad.hint = "YAML does not read " + shortened(pair.Key.Text) + " as a string. Put it in quotation marks."
			}
			r.add(bad)
			continue
		}
		param := Parameter{Name: name, Line: pair.Key.Line}
		if def := pair.Value; def.Style == yaml.Mapping {
			r.parameter(&param, fieldsOf(def))
		} else if !isNull(def) && def.Value != false {
			r.wrong(def.Line, "Plan parameter %q must be a hash with the keys %s", name, strings.Join(parameterKeys, ", "))
		}
		if r.used[name] { // the last of equal keys takes effect
			i := slices.IndexFunc(r.plan.Parameters, func(p Parameter) bool { return p.Name == name })
			r.plan.Parameters[i] = param
			continue
		}
		r.used[name] = true
		r.plan.Parameters = append(r.plan.Parameters, param)
	}
}

func (r *reader) parameter(param *Parameter, def fields) {
	if keys := def.beyond(parameterKeys); len(keys) > 0 {
		r.wrong(def.keys[keys[0]].Line, "Plan parameter %q contains illegal key(s) %s", param.Name, quoted(keys))
	}
	if n := def.values["type"]; n != nil && !isNull(n) && n.Value != false {
		param.TypeText, param.typed = n.Text, n
		var bad *problem
		if param.Type, bad = typeOf(param.Name, n); bad != nil {
			r.add(*bad)
		}
	}
	if n := def.values["default"]; n != nil && !isNull(n) {
		param.Default, param.HasDefault, param.value = n.Data(), true, n
		if bad := badNumber(param.Name, n); bad != nil {
			r.add(*bad)
		}
	}
	words := def.values["description"]
	param.Description = r.words(words, fmt.Sprintf("Description of plan parameter %q", param.Name))
	param.HasDescription = words != nil && !isNull(words) && words.Value != false
}

// fields are the pairs of a mapping. The last of equal keys takes effect.
type fields struct {
	names  []string
	keys   map[string]*yaml.Node
	values map[string]*yaml.Node
}

func fieldsOf(n *yaml.Node) fields {
	f := fields{keys: map[string]*yaml.Node{}, values: map[string]*yaml.Node{}}
	for _, p := range n.Pairs {
		name := p.Key.Text
		if f.keys[name] == nil {
			f.names = append(f.names, name)
		}
		f.keys[name], f.values[name] = p.Key, p.Value
	}
	return f
}

// beyond returns the keys that are not allowed.
func (f fields) beyond(allowed []string) []string {
	var list []string
	for _, name := range f.names {
		if !slices.Contains(allowed, name) {
			list = append(list, name)
		}
	}
	return list
}

func isNull(n *yaml.Node) bool {
	return n.Style != yaml.List && n.Style != yaml.Mapping && n.Value == nil
}

// quoted formats a list of keys.
func quoted(list []string) string {
	q := make([]string, len(list))
	for i, s := range list {
		q[i] = strconv.Quote(s)
	}
	return "[" + strings.Join(q, ", ") + "]"
}

// inspect formats a value for a message.
func inspect(n *yaml.Node) string {
	switch v := n.Value.(type) {
	case nil:
		switch n.Style {
		case yaml.List:
			return "an array"
		case yaml.Mapping:
			return "a hash"
		}
		return "nil"
	case string:
		return strconv.Quote(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return n.Text
}
