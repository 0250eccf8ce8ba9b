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

// Read makes a value of a parameter's text as the command line has it: what
// the text is as JSON, if the declared type takes that, or else the text. A
// parameter without a declared type takes all.
func (t *Task) Read(name, text string) any {
	p := t.Parameter(name)
	if p == nil || p.TypeText == "" {
		return parameter.Read(nil, text)
	}
	return parameter.Read(p.Type, text)
}

// ReadPairs is Read for words NAME=VALUE.
func (t *Task) ReadPairs(words []string) *ordered.Map {
	params := &ordered.Map{}
	for _, word := range words {
		name, text, _ := strings.Cut(word, "=")
		params.Set(name, t.Read(name, text))
	}
	return params
}

// Parameter returns what the task declares of a parameter, nil if it does not.
func (t *Task) Parameter(name string) *Parameter {
	for i := range t.Parameters {
		if t.Parameters[i].Name == name {
			return &t.Parameters[i]
		}
	}
	return nil
}

// Check gives what was given (in the types of package ordered) the defaults of
// parameters that are missing or null, and holds everything to its type. The
// error, a *fault.Error, tells all that is wrong at once; it never shows the
// value of a parameter that is sensitive.
func (t *Task) Check(given *ordered.Map) (*ordered.Map, error) {
	params := given.Clone()
	var problems []string
	for i := range t.Parameters {
		p := &t.Parameters[i]
		if v, set := params.Get(p.Name); p.HasDefault && (!set || v == nil) {
			params.Set(p.Name, p.Default)
			if msg := p.mismatch(p.Default); msg != "" {
				return nil, fault.New(palError, "Task %s:\n %s\nThat is the default in its metadata, which is in %s.", t.Name, msg, t.Module.Path(dir))
			}
		}
	}
	for name := range params.All() {
		switch {
		case t.Typed && t.Parameter(name) == nil:
			problems = append(problems, fmt.Sprintf("has no parameter named '%s'", name))
		case !t.Typed && !modules.ValidName(name):
			problems = append(problems, fmt.Sprintf("cannot have a parameter named '%s': names begin with a lowercase letter and have such letters, digits and underscores", name))
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

// advice helps with parameters that do not fit.
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
			hint += fmt.Sprintf(" Is %s meant to be %s?", name, near)
		case p != nil && isText && !parameter.Accepts(p.Type, v):
			if example := jsonExample(p.Type); example != "" {
				hint += fmt.Sprintf(" %s is written as JSON, for example %s='%s'.", name, name, example)
			}
		}
	}
	return hint
}

// jsonExample is a value of a type that no plain text can be; "" for others.
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

// kindOf names what a value is, and nothing of it.
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

// mismatch says why a value does not fit, "" if it does.
func (p *Parameter) mismatch(v any) string {
	subject := fmt.Sprintf("parameter '%s'", p.Name)
	if parameter.Accepts(p.Type, v) {
		return ""
	}
	if p.Sensitive {
		return fmt.Sprintf("%s expects a value of type %s, got %s, which is not shown as it is sensitive", subject, value.Describe(p.Type), kindOf(v))
	}
	typed, err := valuedata.Of(v)
	if err != nil {
		if e, ok := errors.AsType[*valuedata.Error](err); ok {
			return subject + " is no value that a task can have: " + e.Error()
		}
		return subject + " is no value that a task can have"
	}
	return value.Mismatch(subject, p.Type, typed)
}

// Usage is how the parameter is written on a command line, in brackets if it
// may be left out.
func (p *Parameter) Usage() string {
	if p.HasDefault || strings.HasPrefix(p.TypeText, "Optional") {
		return "[" + p.Name + "=<value>]"
	}
	return p.Name + "=<value>"
}

// Shown is the type as people see it.
func (p *Parameter) Shown() string {
	if p.TypeText == "" {
		return "Any"
	}
	return p.TypeText
}

// ShownDefault is the default as Ruby shows it; "" if there is none.
func (p *Parameter) ShownDefault() string {
	if !p.HasDefault {
		return ""
	}
	if p.Sensitive {
		return value.Redacted
	}
	return valuedata.Shown(p.Default)
}

// Choices are the values of a type that has only some: an Enum, Boolean, or one
// of these that is optional. nil: any other.
func (p *Parameter) Choices() []string { return parameter.Choices(p.Type) }
