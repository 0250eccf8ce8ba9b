package tasks

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/internal/spelling"
	"bolt/modules"
	"bolt/puppet/value"
	"bolt/tasks/parameter"
)

// Read returns the value of a parameter from its string on the command line. It
// parses the string as JSON. If that fails or the declared type does not accept
// the value, the string itself is the value. A parameter without a declared
// type accepts all values.
func (t *Task) Read(name, text string) any {
	p := t.Parameter(name)
	if p == nil || p.TypeText == "" {
		return parameter.Read(nil, text)
	}
	return parameter.Read(p.Type, text)
}

// ReadPairs calls Read for words of the form NAME=VALUE.
func (t *Task) ReadPairs(words []string) *ordered.Map {
	params := &ordered.Map{}
	for _, word := range words {
		name, text, _ := strings.Cut(word, "=")
		params.Set(name, t.Read(name, text))
	}
	return params
}

// Parameter returns the declared parameter of that name, nil if there is none.
func (t *Task) Parameter(name string) *Parameter {
	for i := range t.Parameters {
		if t.Parameters[i].Name == name {
			return &t.Parameters[i]
		}
	}
	return nil
}

// Check returns the given parameters (in the types of package ordered) with the
// defaults of parameters that are missing or null, and checks their types. The
// error is a *fault.Error that contains all problems. It never contains the
// value of a sensitive parameter.
func (t *Task) Check(given *ordered.Map) (*ordered.Map, error) {
	params := given.Clone()
	var problems []string
	for i := range t.Parameters {
		p := &t.Parameters[i]
		if v, set := params.Get(p.Name); p.HasDefault && (!set || v == nil) {
			params.Set(p.Name, p.Default)
			if msg := p.mismatch(p.Default); msg != "" {
				return nil, fault.New(palError, "Task %s:\n %s\nThis value is the default in the task's metadata in %s.", t.Name, msg, t.Module.Path(dir))
			}
		}
	}
	for name := range params.All() {
		switch {
		case t.Typed && t.Parameter(name) == nil:
			problems = append(problems, fmt.Sprintf("has no parameter named '%s'", name))
		case !t.Typed && !modules.ValidName(name):
			problems = append(problems, fmt.Sprintf("cannot have a parameter named '%s': a name must begin with a lowercase letter and can only have lowercase letters, digits and underscores", name))
		}
	}
	for i := range t.Parameters {
		p := &t.Parameters[i]
		v, set := params.Get(p.Name)
		switch {
		case !set && p.Optional():
		case !set:
			problems = append(problems, fmt.Sprintf("expects a value for parameter '%s'", p.Name))
		default:
			if msg := p.mismatch(v); msg != "" {
				problems = append(problems, msg)
			}
		}
	}
	if problems != nil {
		e := fault.New(palError, "Task %s:\n %s", t.Name, strings.Join(problems, "\n "))
		e.Hint = t.advice(params)
		return nil, e
	}
	return params, nil
}

// advice returns advice about parameters that do not fit.
func (t *Task) advice(params *ordered.Map) string {
	names := make([]string, len(t.Parameters))
	for i := range t.Parameters {
		names[i] = t.Parameters[i].Name
	}
	hint := fmt.Sprintf("\"bolt task show %s\" lists the parameters with their types.", t.Name)
	for name, v := range params.All() {
		p := t.Parameter(name)
		near := spelling.Near(strings.ToLower(name), names)
		if lower := strings.ToLower(name); slices.Contains(names, lower) {
			near = lower
		}
		_, isText := v.(string)
		switch {
		case p == nil && near != "":
			hint += fmt.Sprintf(" Did you mean %[2]s instead of %[1]s?", name, near)
		case p != nil && isText && !parameter.Accepts(p.Type, v):
			if example := jsonExample(p.Type); example != "" {
				hint += fmt.Sprintf(" Write %s as JSON, for example %s='%s'.", name, name, example)
			} else if !p.Sensitive {
				hint += " " + parameter.Mismatch(name, p.Type, v)
			}
		}
	}
	return hint
}

// jsonExample returns an example for types whose values must be written as
// JSON; "" for other types.
func jsonExample(t value.Type) string {
	switch {
	case value.Assignable(t, value.NewArrayType(&value.StringType{}, nil)):
		return `["a", "b"]`
	case value.Assignable(t, value.NewHashType(&value.StringType{}, value.NewIntegerType(1, 1), nil)):
		return `{"a": 1}`
	case value.Assignable(t, value.NewHashType(&value.StringType{}, &value.StringType{}, nil)):
		return `{"a": "b"}`
	}
	return ""
}

// kindOf returns the type of a value for messages, without the value.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "undef"
	case bool:
		return "a Boolean"
	case int64, *big.Int:
		return "an Integer"
	case float64:
		return "a Float"
	case string:
		if v == "" {
			return "an empty String"
		}
		return "a String"
	case []any:
		return "an Array"
	}
	return "a Hash"
}

// mismatch returns the reason why a value does not fit, "" if it fits.
func (p *Parameter) mismatch(v any) string {
	subject := fmt.Sprintf("parameter '%s'", p.Name)
	if parameter.Accepts(p.Type, v) {
		return ""
	}
	if p.Sensitive {
		return fmt.Sprintf("%s expects a value of type %s, got %s, which is not shown because it is sensitive", subject, value.Describe(p.Type), kindOf(v))
	}
	typed, err := valuedata.Of(v)
	if err != nil {
		if e, ok := errors.AsType[*valuedata.Error](err); ok {
			return subject + " cannot be the value of a task's parameter: " + e.Error()
		}
		return subject + " cannot be the value of a task's parameter"
	}
	return value.Mismatch(subject, p.Type, typed)
}

// Usage returns the parameter as it is written on a command line, in brackets
// if it is optional.
func (p *Parameter) Usage() string {
	if p.HasDefault || strings.HasPrefix(p.TypeText, "Optional") {
		return "[" + p.Name + "=<value>]"
	}
	return p.Name + "=<value>"
}

// Shown returns the type in its form for people.
func (p *Parameter) Shown() string {
	if p.TypeText == "" {
		return "Any"
	}
	return p.TypeText
}

// ShownDefault returns the default as Ruby prints it; "" if there is none.
func (p *Parameter) ShownDefault() string {
	if !p.HasDefault {
		return ""
	}
	if p.Sensitive {
		return value.Redacted
	}
	return valuedata.Shown(p.Default)
}

// Choices returns the values of the parameter's type if their number is
// limited: for an Enum, Boolean, or an Optional of these. For other types it
// returns nil.
func (p *Parameter) Choices() []string { return parameter.Choices(p.Type) }
