package stdlib

import (
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// secrets returns the function stdlib::rewrap_sensitive_data.
func secrets() []*eval.Function {
	return []*eval.Function{{
		Name: "stdlib::rewrap_sensitive_data",
		Doc:  "Returns a value without any Sensitive in it, or the result of the block for this value. If it contained a Sensitive, the result is wrapped in one Sensitive.",
		Signatures: []eval.Signature{{Params: "Any $value", Block: "Optional[Callable[1, 1]]", Run: func(c *eval.Call) (value.Value, error) {
			v, found := unwrapped(c.Args[0])
			if c.Block != nil {
				var err error
				if v, err = c.Yield(v); err != nil {
					return nil, err
				}
			}
			if found {
				return value.NewSensitive(v), nil
			}
			return v, nil
		}}},
	}}
}

// unwrapped returns a value without Sensitive, at any depth. found reports
// whether there was one.
func unwrapped(v value.Value) (out value.Value, found bool) {
	switch v := v.(type) {
	case *value.Sensitive:
		out, _ = unwrapped(v.Unwrap())
		return out, true
	case *value.Array:
		list := make([]value.Value, v.Len())
		for i, e := range v.All() {
			var one bool
			list[i], one = unwrapped(e)
			found = found || one
		}
		if found {
			return value.NewArray(list...), true
		}
	case *value.Hash:
		var h value.HashBuilder
		for k, e := range v.All() {
			if s, ok := k.(*value.Sensitive); ok {
				k, found = s.Unwrap(), true
			}
			e, one := unwrapped(e)
			found = found || one
			h.Put(k, e)
		}
		if found {
			return h.Build(), true
		}
	}
	return v, found
}
