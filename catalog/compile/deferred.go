package compile

import (
	"context"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// resolveDeferred replaces Deferred values in parameters by the results of their functions.
//
// Differs from Puppet: an agent calls these functions on the target.
func (c *compiler) resolveDeferred(ctx context.Context) error {
	for _, r := range c.list {
		if r.form != syntax.Regular {
			continue
		}
		for k, v := range r.params.All() {
			if !deferred(v) {
				continue
			}
			made, err := c.resolved(ctx, v)
			if err != nil {
				return at(r.pos, err)
			}
			r.params = r.params.With(k, made)
		}
	}
	return nil
}

// deferred reports whether a value is or contains a Deferred.
func deferred(v value.Value) bool {
	switch v := v.(type) {
	case *value.Object:
		return value.Instance(value.DeferredType(), v)
	case *value.Sensitive:
		return deferred(v.Unwrap())
	case *value.Array:
		for _, x := range v.Elems() {
			if deferred(x) {
				return true
			}
		}
	case *value.Hash:
		for _, x := range v.All() {
			if deferred(x) {
				return true
			}
		}
	}
	return false
}

// resolved calls the functions. The Puppet function call calls the function of a Deferred, and the functions of
// Deferred values in its arguments.
func (c *compiler) resolved(ctx context.Context, v value.Value) (value.Value, error) {
	switch v := v.(type) {
	case *value.Object:
		if deferred(v) {
			return c.x.Interp.Call(ctx, "call", v)
		}
	case *value.Sensitive:
		inner, err := c.resolved(ctx, v.Unwrap())
		if err != nil {
			return nil, err
		}
		if s, is := inner.(*value.Sensitive); is {
			return s, nil
		}
		return value.NewSensitive(inner), nil
	case *value.Array:
		list := make([]value.Value, v.Len())
		for i, x := range v.Elems() {
			var err error
			if list[i], err = c.resolved(ctx, x); err != nil {
				return nil, err
			}
		}
		return value.NewArray(list...), nil
	case *value.Hash:
		made := v
		for k, x := range v.All() {
			y, err := c.resolved(ctx, x)
			if err != nil {
				return nil, err
			}
			made = made.With(k, y)
		}
		return made, nil
	}
	return v, nil
}
