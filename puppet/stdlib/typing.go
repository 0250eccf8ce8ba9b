package stdlib

import (
	"errors"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// typing are the functions of types, and of what is known.
func typing() []*eval.Function {
	return []*eval.Function{
		{Name: "is_a", Doc: "Tells whether a value is of a type.",
			Signatures: one("Any $value, Type $type", func(c *eval.Call) (value.Value, error) {
				return value.Bool(value.Instance(c.Args[1].(value.Type), c.Args[0])), nil
			})},
		{Name: "stdlib::type_of", Doc: "Returns the type of a value, with the types of all that is in it.",
			Signatures: one("Any $value", func(c *eval.Call) (value.Value, error) { return value.InferDetailed(c.Args[0]), nil })},
		{Name: "stdlib::has_function", Doc: "Tells whether there is a function of a name that can be called: of one in Ruby alone the answer is no.",
			Signatures: one("String[1] $name", func(c *eval.Call) (value.Value, error) {
				d, err := c.Find(eval.KindFunction, string(c.Args[0].(value.String)))
				if errors.Is(err, eval.ErrForeign) { // it could not be called
					return value.Bool(false), nil
				}
				return value.Bool(d != nil), err
			})},
	}
}
