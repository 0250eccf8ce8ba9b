package hiera

import (
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// dataFunctions returns the functions that a hiera.yaml can use without a module.
// Data functions that are written in the language can call them.
func dataFunctions() []*eval.Function {
	file := func(format string) *eval.Function {
		name := format + "_data"
		return &eval.Function{Name: name, Doc: "The keys and values of a data file in " + format + ", whose path is among the options. Interpolations in it are not resolved.",
			Signatures: []eval.Signature{
				{Params: "Struct[{path => String[1]}] $options, " + contextParam, Run: onContext(func(c *eval.Call, x *lookupContext) (value.Value, error) {
					return whole(c)(x.data(pathOf(c.Args[0]), format))
				})},
				{Params: "Hash $options, " + contextParam, Run: func(c *eval.Call) (value.Value, error) {
					if pathOf(c.Args[0]) == "" {
						return nil, noPath(name)
					}
					return nil, eval.Errorf("type-mismatch", "%s takes no options but the path", name)
				}},
			}}
	}
	return []*eval.Function{
		file("yaml"), file("json"), file("hocon"),
		{Name: "eyaml_lookup_key", Doc: "The value of a key in a data file in yaml, whose path is among the options, with decrypted strings and resolved interpolations.",
			Signatures: []eval.Signature{{
				Params: "String[1] $key, Hash[String[1], Any] $options, " + contextParam,
				Run: onContext(func(c *eval.Call, x *lookupContext) (value.Value, error) {
					options := c.Args[1].(*value.Hash)
					path := pathOf(options)
					if path == "" {
						return nil, noPath(c.Name)
					}
					v, found, err := x.eyaml(path, string(c.Args[0].(value.String)), options)
					switch {
					case err != nil:
						return nil, evalError(c, err)
					case !found:
						return nil, x.notFound()
					}
					return v, nil
				}),
			}}},
	}
}

// onContext returns a Run for a function whose last argument is a
// lookupContext.
func onContext(run func(c *eval.Call, x *lookupContext) (value.Value, error)) func(*eval.Call) (value.Value, error) {
	return func(c *eval.Call) (value.Value, error) {
		x, ok := contextOf(c.Args[len(c.Args)-1])
		if !ok {
			return nil, eval.Errorf("type-mismatch", "%s needs a %s", c.Name, contextType)
		}
		return run(c, x)
	}
}

// whole converts the data of a file to the result of a call.
func whole(c *eval.Call) func(h *value.Hash, err error) (value.Value, error) {
	return func(h *value.Hash, err error) (value.Value, error) {
		if err != nil {
			return nil, evalError(c, err)
		}
		return h, nil
	}
}

// pathOf returns the option path, or "".
func pathOf(options value.Value) string {
	h, _ := options.(*value.Hash)
	path, _ := h.GetString("path")
	s, _ := path.(value.String)
	return string(s)
}

func noPath(function string) error {
	return eval.Errorf("type-mismatch", "%s needs the option path: its level in hiera.yaml must have one of path, paths, glob, globs and mapped_paths", function)
}
