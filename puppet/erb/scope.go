package erb

import (
	"strings"

	"bolt/puppet/value"
)

// variable returns a variable of the scope. All templates of a call see the
// same object, as in Ruby.
//
// It calls the host every time, because the host records reads.
func (r *rendering) variable(name string, path ...value.Value) (v any, known bool, err error) {
	name = strings.TrimPrefix(name, "::")
	x, known := r.host.Variable(name, path...)
	if v, ok := r.shared.converted[name]; ok {
		return v, true, nil
	}
	if !known {
		return nil, false, nil
	}
	if v, err = r.fromPuppet(x); err != nil {
		return nil, false, err
	}
	r.shared.converted[name] = v
	return v, true, nil
}

// ivar returns @name: the value that the template has set, or the variable of the scope.
func (r *rendering) ivar(name string, path ...value.Value) (any, error) {
	if v, ok := r.ivars[name]; ok {
		return v, nil
	}
	v, _, err := r.variable(name, path...)
	return v, err
}

// extendPath adds the keys of c to the path of a variable, if c and the calls before it follow
// keys from that variable: @facts['os'].dig('release', 'major'), scope['facts']['os'].
func (c *callNode) extendPath() {
	var path *[]value.Value
	switch recv := c.recv.(type) {
	case *ivarNode:
		path = &recv.path
	case *callNode:
		path = recv.part
		if recv.recv == nil && recv.name == "scope" && (c.name == "[]" || c.name == "lookupvar") {
			c.part = &c.path
			return
		}
	}
	if path == nil || c.name != "[]" && c.name != "dig" || c.name == "[]" && len(c.args) != 1 {
		return
	}
	for _, a := range c.args {
		s, is := a.(*strNode)
		if !is || s.sym || len(s.parts) != 1 {
			return
		}
		part, is := s.parts[0].(*textPart)
		if !is {
			return
		}
		*path = append(*path, value.String(part.s))
	}
	c.part = path
}

// scopeMethods returns the methods of scope.
func scopeMethods() map[string]method {
	lookup := method{1, 2, func(c *call) (any, error) {
		name, err := c.str(0)
		if err != nil {
			return nil, err
		}
		if name != "" && isDigit(name[0]) {
			return nil, c.subset("the variable $%s of a match", name)
		}
		v, known, err := c.variable(name, c.path...)
		if err != nil || known || builtIn(name) {
			return v, err
		}
		if err := c.host.Unknown(name); err != nil {
			return nil, c.failed(err)
		}
		return nil, nil
	}}
	include := method{1, 1, hasVariable}
	set := method{2, 3, func(c *call) (any, error) {
		name, err := c.str(0)
		if err != nil {
			return nil, err
		}
		c.shared.converted[strings.TrimPrefix(name, "::")] = c.args[1]
		return c.args[1], nil
	}}
	return map[string]method{
		"lookupvar": lookup, "[]": lookup, "include?": include, "setvar": set, "[]=": set,
		"exist?": {1, 1, func(c *call) (any, error) {
			name, err := c.str(0)
			if err != nil {
				return nil, err
			}
			_, known, err := c.variable(name)
			return known || builtIn(name), err
		}},
		"to_hash": {0, 2, func(c *call) (any, error) {
			h := newHash(0)
			for name, x := range c.host.Variables() {
				if value.IsUndef(x) {
					continue
				}
				v, _, err := c.variable(name)
				if err != nil {
					return nil, err
				}
				h.set(&text{name}, v)
			}
			return h, nil
		}},
		"call_function": {1, 2, func(c *call) (any, error) {
			name, err := c.str(0)
			if err != nil {
				return nil, err
			}
			var args []any
			if len(c.args) > 1 {
				if args, err = c.toArray(c.args[1]); err != nil {
					return nil, err
				}
			}
			return c.puppetFunction(name, args)
		}},
	}
}

// builtIn reports whether Puppet always has a variable with this name.
func builtIn(name string) bool {
	return name == "module_name" || name == "caller_module_name"
}

// hasVariable implements has_variable?: the variable exists and is not undef.
func hasVariable(c *call) (any, error) {
	name, err := c.str(0)
	if err != nil {
		return nil, err
	}
	v, _, err := c.variable(name)
	return v != nil, err
}

// failed converts the error of a function of Puppet to an error that a template
// can rescue.
func (r *rendering) failed(err error) error {
	if _, own := err.(*Error); own {
		return err
	}
	return &rubyError{class: "Puppet::ParseError", msg: err.Error(), err: err, name: r.name, line: r.line}
}

// heightOfLevel is the number of expressions of the Puppet language that take
// as much stack as one expression of a template with the method that it calls.
const heightOfLevel = 6

// call calls a function of the host.
func (r *rendering) call(name string, args ...value.Value) (value.Value, error) {
	if err := r.report(); err != nil {
		return nil, err
	}
	return r.host.Call(heightOfLevel*r.depth, name, args)
}

// puppetFunction calls a function of the Puppet language.
func (r *rendering) puppetFunction(name string, args []any) (any, error) {
	if strings.TrimPrefix(name, "::") == "template" {
		// Templates that call each other share objects and methods.
		var b strings.Builder
		for _, a := range args {
			t, err := r.host.Template(toS(a))
			if err != nil {
				return nil, r.failed(err)
			}
			s, err := r.nested(t)
			if err != nil {
				return nil, err
			}
			b.WriteString(s)
		}
		return r.str(b.String())
	}
	list := make([]value.Value, len(args))
	for i, a := range args {
		var err error
		if list[i], err = r.toPuppet(a); err != nil {
			return nil, err
		}
	}
	v, err := r.call(name, list...)
	if err != nil {
		return nil, r.failed(err)
	}
	return r.fromPuppet(v)
}

// foreignMethod returns a method of a value of Puppet.
func foreignMethod(f *foreign, name string) (method, bool) {
	s, is := f.v.(*value.Sensitive)
	if is && name == "unwrap" {
		return method{0, 0, func(c *call) (any, error) { return c.fromPuppet(s.Unwrap()) }}, true
	}
	return method{}, false
}
