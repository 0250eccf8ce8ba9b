package builtin

import (
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// members are functions of the object types of the language.
func members() []*eval.Function {
	return []*eval.Function{{
		Name: "error.message", Doc: "Returns the message of an Error.",
		Signatures: one("Error $self", func(c *eval.Call) (value.Value, error) {
			msg, _ := c.Args[0].(*value.Object).Get("msg")
			return msg, nil
		}),
	}}
}
