package stdlib

import (
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// secrets is what keeps secrets as such.
func secrets() []*eval.Function {
	return []*eval.Function{{
		Name: "stdlib::rewrap_sensitive_data",
		Doc:  "Returns a value without Sensitive around anything in it, or what the block makes of that, in one Sensitive if there was one.",
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

// unwrapped is a value without Sensitive, at any depth; found tells whether
// there was one.
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
