package erb

import (
	"math"
	"strconv"
	"strings"

	"bolt/puppet/value"
)

// kernelMethods are functions. They are called without a receiver.
func kernelMethods() map[string]method {
	sprintf := method{1, -1, func(c *call) (any, error) {
		format, err := c.str(0)
		if err != nil {
			return nil, err
		}
		return c.format(format, c.args[1:])
	}}
	raise := method{0, 3, func(c *call) (any, error) {
		if len(c.args) == 0 {
			return nil, c.raise("RuntimeError", "unhandled exception")
		}
		switch v := c.args[0].(type) {
		case *rubyError:
			return nil, v
		case *class:
			msg := v.name
			if len(c.args) > 1 {
				msg = toS(c.args[1])
			}
			return nil, c.raise(v.name, "%s", msg)
		}
		return nil, c.raise("RuntimeError", "%s", toS(c.args[0]))
	}}
	return map[string]method{
		"scope":         {0, 0, func(c *call) (any, error) { return &scopeObject{}, nil }},
		"has_variable?": {1, 1, hasVariable},
		"file": {0, 0, func(c *call) (any, error) {
			return &text{c.rendering.name}, nil
		}},
		"instance_variables": {0, 0, func(c *call) (any, error) {
			var list []any
			for name, v := range c.host.Variables() {
				if _, set := c.ivars[name]; !set && !value.IsUndef(v) {
					list = append(list, symbol("@"+name))
				}
			}
			for name := range c.ivars {
				list = append(list, symbol("@"+name))
			}
			sortValues(list)
			return c.list(list)
		}},
		"instance_variable_get": {1, 1, func(c *call) (any, error) {
			name, err := c.str(0)
			if err != nil {
				return nil, err
			}
			return c.ivar(strings.TrimPrefix(name, "@"))
		}},
		"instance_variable_defined?": {1, 1, func(c *call) (any, error) {
			name, err := c.str(0)
			if err != nil {
				return nil, err
			}
			v, err := c.ivar(strings.TrimPrefix(name, "@"))
			return v != nil, err
		}},
		"format": sprintf, "sprintf": sprintf,
		"raise": raise, "fail": raise,
		"require": {1, 1, func(c *call) (any, error) {
			switch name := toS(c.args[0]); name {
			case "yaml", "json", "shellwords", "ipaddr", "erb", "pp", "set", "puppet", "psych":
				return true, nil
			default:
				return nil, c.subset("require %q", name)
			}
		}},
		"Integer": {1, 3, func(c *call) (any, error) {
			switch v := c.args[0].(type) {
			case int64:
				return v, nil
			case float64:
				return toInt(c, v)
			case *text:
				base := 0
				if len(c.args) > 1 {
					if n, is := c.args[1].(int64); is {
						base = int(n)
					}
				}
				s := strings.ReplaceAll(strings.TrimSpace(v.s), "_", "")
				n, err := strconv.ParseInt(s, base, 64)
				if err != nil {
					return nil, c.raise("ArgumentError", "invalid value for Integer(): %s", quote(v.s))
				}
				return n, nil
			}
			return nil, c.raise("TypeError", "can't convert %s into Integer", className(c.args[0]))
		}},
		"Float": {1, 2, func(c *call) (any, error) {
			switch v := c.args[0].(type) {
			case int64:
				return float64(v), nil
			case float64:
				return v, nil
			case *text:
				f, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(v.s), "_", ""), 64)
				if err != nil {
					return nil, c.raise("ArgumentError", "invalid value for Float(): %s", quote(v.s))
				}
				return f, nil
			}
			return nil, c.raise("TypeError", "can't convert %s into Float", className(c.args[0]))
		}},
		"String": {1, 1, func(c *call) (any, error) {
			s, err := c.toS(c.args[0])
			if err != nil {
				return nil, err
			}
			return c.rendering.str(s)
		}},
		"Array": {1, 1, func(c *call) (any, error) {
			if v, is := c.args[0].(*array); is {
				return v, nil
			}
			list, err := c.toArray(c.args[0])
			if err != nil {
				return nil, err
			}
			return c.list(list)
		}},
		"Hash": {1, 1, func(c *call) (any, error) {
			switch v := c.args[0].(type) {
			case nil:
				return newHash(0), nil
			case *hash:
				return v, nil
			case *array:
				if len(v.e) == 0 {
					return newHash(0), nil
				}
			}
			return nil, c.raise("TypeError", "can't convert %s into Hash", className(c.args[0]))
		}},
		"lambda": {0, 0, func(c *call) (any, error) { return c.block, c.needBlock() }},
		"proc":   {0, 0, func(c *call) (any, error) { return c.block, c.needBlock() }},
		"loop": {0, 0, func(c *call) (any, error) {
			if err := c.needBlock(); err != nil {
				return nil, err
			}
			for {
				_, err := c.yield(c.block)
				if e, is := err.(*rubyError); is && e.class == "StopIteration" {
					return nil, nil
				}
				if err != nil {
					return nil, err
				}
			}
		}},
	}
}

// format implements sprintf.
func (r *rendering) format(format string, args []any) (any, error) {
	list := make([]value.Value, len(args))
	for i, a := range args {
		var err error
		if list[i], err = r.toPuppet(a); err != nil {
			return nil, err
		}
	}
	s, err := value.Sprintf(format, list, r.host.Size)
	if err != nil {
		return nil, r.raise("ArgumentError", "%v", err)
	}
	return r.str(s)
}

// toInt removes the fraction of a number.
func toInt(c *call, f float64) (any, error) {
	f = math.Trunc(f)
	if !(f >= -(1<<63) && f < 1<<63) {
		return nil, c.raise("FloatDomainError", "%v is not an Integer of 64 bits", f)
	}
	return int64(f), nil
}

// objectMethods returns the methods of every value.
func objectMethods() map[string]method {
	same := method{0, -1, func(c *call) (any, error) { return c.recv, nil }}
	isa := method{1, 1, func(c *call) (any, error) {
		k, is := c.args[0].(*class)
		if !is {
			return nil, c.raise("TypeError", "class or module required")
		}
		return isA(c.recv, k.name), nil
	}}
	send := method{1, -1, func(c *call) (any, error) {
		name, err := c.str(0)
		if err != nil {
			return nil, err
		}
		return c.send(c.recv, name, c.args[1:], c.block)
	}}
	through := func(function string) method {
		return method{0, 1, func(c *call) (any, error) {
			v, err := c.toPuppet(c.recv)
			if err != nil {
				return nil, err
			}
			x, err := c.rendering.call(function, v)
			if err != nil {
				return nil, c.failed(err)
			}
			return c.rendering.str(value.ToString(x))
		}}
	}
	dup := method{0, 1, func(c *call) (any, error) {
		switch v := c.recv.(type) {
		case *text:
			return c.rendering.str(v.s)
		case *array:
			return c.list(append([]any{}, v.e...))
		case *hash:
			return v.copy(), c.made(32 * len(v.keys))
		}
		return c.recv, nil
	}}
	then := method{0, 0, func(c *call) (any, error) {
		if err := c.needBlock(); err != nil {
			return nil, err
		}
		return c.yield(c.block, c.recv)
	}}
	return map[string]method{
		"nil?":         {0, 0, func(c *call) (any, error) { return c.recv == nil, nil }},
		"is_a?":        isa,
		"kind_of?":     isa,
		"instance_of?": {1, 1, func(c *call) (any, error) { return equal(c.args[0], &class{className(c.recv)}), nil }},
		"class":        {0, 0, func(c *call) (any, error) { return &class{className(c.recv)}, nil }},
		"to_s": {0, 1, func(c *call) (any, error) {
			s, err := c.toS(c.recv)
			if err != nil {
				return nil, err
			}
			return c.rendering.str(s)
		}},
		"inspect": {0, 0, func(c *call) (any, error) { return c.rendering.str(inspect(c.recv)) }},
		"==":      {1, 1, func(c *call) (any, error) { return equal(c.recv, c.args[0]), c.work(1) }},
		"!=":      {1, 1, func(c *call) (any, error) { return !equal(c.recv, c.args[0]), nil }},
		"equal?":  {1, 1, func(c *call) (any, error) { return c.recv == c.args[0], nil }},
		"eql?": {1, 1, func(c *call) (any, error) {
			return className(c.recv) == className(c.args[0]) && equal(c.recv, c.args[0]), nil
		}},
		"===": {1, 1, func(c *call) (any, error) { return c.caseEqual(c.recv, c.args[0]) }},
		"=~":  {1, 1, func(c *call) (any, error) { return nil, nil }},
		"!":   {0, 0, func(c *call) (any, error) { return !truthy(c.recv), nil }},
		"<=>": {1, 1, func(c *call) (any, error) {
			if n, ok := compare(c.recv, c.args[0]); ok {
				return int64(n), nil
			}
			return nil, nil
		}},
		"respond_to?": {1, 2, func(c *call) (any, error) {
			name, err := c.str(0)
			return c.responds(c.recv, name), err
		}},
		"send": send, "public_send": send, "__send__": send,
		"freeze": same, "itself": same, "frozen?": {0, 0, func(c *call) (any, error) { return false, nil }},
		"dup": dup, "clone": dup,
		"then": then, "yield_self": then,
		"tap": {0, 0, func(c *call) (any, error) {
			if err := c.needBlock(); err != nil {
				return nil, err
			}
			_, err := c.yield(c.block, c.recv)
			return c.recv, err
		}},
		"instance_variables": {0, 0, func(c *call) (any, error) { return &array{}, nil }},
		"to_yaml":            through("stdlib::to_yaml"),
		"to_json":            through("stdlib::to_json"),
	}
}

func nilMethods() map[string]method {
	return map[string]method{
		"to_a": {0, 0, func(c *call) (any, error) { return &array{}, nil }},
		"to_h": {0, 0, func(c *call) (any, error) { return newHash(0), nil }},
		"to_i": {0, 0, func(c *call) (any, error) { return int64(0), nil }},
		"to_f": {0, 0, func(c *call) (any, error) { return 0.0, nil }},
		"&":    {1, 1, func(c *call) (any, error) { return false, nil }},
		"|":    {1, 1, func(c *call) (any, error) { return truthy(c.args[0]), nil }},
	}
}

func boolMethods() map[string]method {
	return map[string]method{
		"&": {1, 1, func(c *call) (any, error) { return truthy(c.recv) && truthy(c.args[0]), nil }},
		"|": {1, 1, func(c *call) (any, error) { return truthy(c.recv) || truthy(c.args[0]), nil }},
		"^": {1, 1, func(c *call) (any, error) { return truthy(c.recv) != truthy(c.args[0]), nil }},
	}
}

func procMethods() map[string]method {
	run := method{0, -1, func(c *call) (any, error) { return c.yield(c.recv.(*proc), c.args...) }}
	return map[string]method{
		"call": run, "()": run, "yield": run, "[]": run, "===": run,
		"to_proc": {0, 0, func(c *call) (any, error) { return c.recv, nil }},
		"lambda?": {0, 0, func(c *call) (any, error) { return c.recv.(*proc).lambda, nil }},
		"arity": {0, 0, func(c *call) (any, error) {
			if b := c.recv.(*proc).block; b != nil {
				return int64(requiredOf(b.params)), nil
			}
			return int64(-1), nil
		}},
	}
}

func classMethods() map[string]method {
	name := method{0, 0, func(c *call) (any, error) { return &text{c.recv.(*class).name}, nil }}
	return map[string]method{"name": name, "to_s": name}
}

func errorMethods() map[string]method {
	message := method{0, 0, func(c *call) (any, error) { return &text{c.recv.(*rubyError).msg}, nil }}
	return map[string]method{"message": message, "to_s": message}
}
