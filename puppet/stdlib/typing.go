package stdlib

import (
	"errors"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// typing returns the functions for types, and for known functions.
func typing() []*eval.Function {
	return []*eval.Function{
		{Name: "is_a", Doc: "Returns whether a value is of a type.",
			Signatures: one("Any $value, Type $type", func(c *eval.Call) (value.Value, error) {
				return value.Bool(value.Instance(c.Args[1].(value.Type), c.Args[0])), nil
			})},
		{Name: "stdlib::type_of", Doc: "Returns the type of a value, with the types of all values in it.",
			Signatures: one("Any $value", func(c *eval.Call) (value.Value, error) { return value.InferDetailed(c.Args[0]), nil })},
		{Name: "stdlib::has_function", Doc: "Returns whether a function with a name exists and can be called. For a function that is only in Ruby, it returns false.",
			Signatures: one("String[1] $name", func(c *eval.Call) (value.Value, error) {
				d, err := c.Find(eval.KindFunction, string(c.Args[0].(value.String)))
				if errors.Is(err, eval.ErrForeign) { // it could not be called
					return value.Bool(false), nil
				}
				return value.Bool(d != nil), err
			})},
	}
}
