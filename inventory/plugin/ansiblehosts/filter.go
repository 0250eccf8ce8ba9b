package ansiblehosts

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// filter reads a filter and its arguments.
func (p *parser) filter(of thunk) (thunk, error) {
	name := p.take()
	var args []thunk
	if p.took("(") {
		for !p.took(")") {
			if len(args) > 0 && !p.took(",") {
				return nil, errTemplate
			}
			if p.took("boolean") && !p.took("=") {
				return nil, errTemplate
			}
			arg, err := p.expression()
			if err != nil {
				return nil, err
			}
			args = append(args, arg)
		}
	}
	switch {
	case (name == "default" || name == "d") && (len(args) == 1 || len(args) == 2):
		return p.orElse(of, args[0]), nil
	case name == "join" && len(args) <= 1, simpleFilter(name) != nil && len(args) == 0:
	default:
		return nil, errTemplate
	}
	return func() (any, *scope, error) {
		v, in, err := of()
		if err != nil {
			return nil, nil, err
		}
		if v, err = p.final(constantIn(v, in)); err != nil {
			return nil, nil, err
		}
		if name == "join" {
			v, err = p.join(v, in, args)
			return v, nil, err
		}
		v, err = simpleFilter(name)(v)
		if name != "first" && name != "last" {
			in = nil
		}
		return v, in, err
	}, nil
}

// orElse is the filter default. It treats an empty string as undefined, because an
// empty variable has no effect on a connection.
func (p *parser) orElse(of, other thunk) thunk {
	return func() (any, *scope, error) {
		v, in, err := of()
		if err == nil {
			v, err = p.final(constantIn(v, in))
		}
		if _, undefined := errors.AsType[errUndefined](err); undefined || err == nil && (v == nil || v == "") {
			return other()
		}
		if err != nil {
			return nil, nil, err
		}
		return evaluated(v, in)
	}
}

// join joins the elements of a list to a string.
func (p *parser) join(v any, in *scope, args []thunk) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errTemplate
	}
	between := ""
	if len(args) == 1 {
		b, err := p.final(args[0])
		if err != nil {
			return nil, err
		}
		if between, ok = b.(string); !ok {
			return nil, errTemplate
		}
	}
	var out strings.Builder
	for i, e := range list {
		e, err := p.final(constantIn(e, in))
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString(between)
		}
		switch e.(type) {
		case string, int64, float64, bool:
		default:
			return nil, errTemplate
		}
		if fmt.Fprint(&out, e); out.Len() > maxEvaluated {
			return nil, errTemplateSize
		}
	}
	return out.String(), nil
}

// simpleFilter returns a filter without arguments, nil if no filter has that name.
func simpleFilter(name string) func(any) (any, error) {
	ofText := func(change func(string) string) func(any) (any, error) {
		return func(v any) (any, error) {
			if s, ok := v.(string); ok {
				return change(s), nil
			}
			return nil, errTemplate
		}
	}
	switch name {
	case "first", "last":
		return func(v any) (any, error) {
			list, ok := v.([]any)
			switch {
			case !ok:
				return nil, errTemplate
			case len(list) == 0:
				return nil, errUndefined{}
			case name == "first":
				return list[0], nil
			}
			return list[len(list)-1], nil
		}
	case "lower":
		return ofText(strings.ToLower)
	case "upper":
		return ofText(strings.ToUpper)
	case "trim":
		return ofText(strings.TrimSpace)
	case "string":
		return func(v any) (any, error) {
			switch v.(type) {
			case string, int64:
				return fmt.Sprint(v), nil
			}
			return nil, errTemplate
		}
	case "int":
		return func(v any) (any, error) {
			switch v := v.(type) {
			case int64:
				return v, nil
			case string:
				n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
				if err != nil {
					return int64(0), nil // as in Jinja
				}
				return n, nil
			}
			return nil, errTemplate
		}
	}
	return nil
}
