package builtin

import (
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// control returns the functions that end blocks and functions, and those that log.
func control() []*eval.Function {
	functions := []*eval.Function{
		{Name: "fail", Doc: "Ends the evaluation with an error whose message consists of the arguments.",
			Signatures: old("Any *$texts", func(c *eval.Call, args []value.Value) (value.Value, error) {
				text, err := words(c, args, value.RubyText)
				if err != nil {
					return nil, err
				}
				return nil, eval.Errorf("fail", "%s", text)
			})},
		{Name: "break", Doc: "Ends the iteration whose block calls it.",
			Signatures: one("", func(c *eval.Call) (value.Value, error) { return nil, eval.Break(c) })},
		{Name: "next", Doc: "Ends the block that calls it with a value, and the iteration continues. In a function or class, it ends the function or class.",
			Signatures: one("Any $value = undef", func(c *eval.Call) (value.Value, error) { return nil, eval.Next(c, argOr(c)) })},
		{Name: "return", Doc: "Ends the function, class or define with a value, also from a block in it.",
			Signatures: one("Any $value = undef", func(c *eval.Call) (value.Value, error) { return nil, eval.Return(c, argOr(c)) })},
	}
	for _, l := range []eval.Level{eval.Debug, eval.Info, eval.Notice, eval.Warning, eval.Err, eval.Alert, eval.Emerg, eval.Crit} {
		functions = append(functions, &eval.Function{
			Name: l.String(),
			Doc:  "Writes its arguments to the log at the level " + l.String() + ".",
			Signatures: one("Any *$texts", func(c *eval.Call) (value.Value, error) {
				text, err := words(c, c.Args, value.TextWithin)
				if err != nil {
					return nil, err
				}
				c.Log(l, text)
				return value.Undef{}, nil
			}),
		})
	}
	return functions
}

func argOr(c *eval.Call) value.Value {
	if v := c.Arg(0); v != nil {
		return v
	}
	return value.Undef{}
}

// words returns values as strings, separated by spaces.
func words(c *eval.Call, list []value.Value, text func(value.Value, func(bytes int) error) (string, error)) (string, error) {
	var b strings.Builder
	for i, v := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		s, err := text(v, func(bytes int) error { return c.Size(b.Len() + bytes) })
		if err != nil {
			return "", err
		}
		b.WriteString(s)
	}
	return b.String(), nil
}
