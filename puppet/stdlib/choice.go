package stdlib

import (
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// choices returns the functions that select one of several values.
func choices() []*eval.Function {
	empty := func(v value.Value) bool { return value.IsUndef(v) || v == value.String("") }
	return []*eval.Function{
		old("pick", "Any *$values", "Returns the first value that is neither undef nor an empty string.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				for _, v := range args {
					if !empty(v) {
						return v, nil
					}
				}
				return nil, invalid(c, "all of the %d values are empty", len(args))
			}),
		old("pick_default", "Any $value, Any *$values", "Returns the first value that is neither undef nor an empty string, or else the last.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				for _, v := range args {
					if !empty(v) {
						return v, nil
					}
				}
				return args[len(args)-1], nil
			}),
		{Name: "stdlib::ensure", Doc: "Returns the value of the attribute ensure of a resource type for a boolean, or for 'present' or 'absent': 'running' and 'stopped' for a service, 'installed' for a package, 'file' for a file.",
			Signatures: one("Variant[Boolean, Enum['present', 'absent']] $ensure, Optional[Enum['directory', 'link', 'mounted', 'service', 'file', 'package']] $resource = undef",
				func(c *eval.Call) (value.Value, error) {
					present := c.Args[0] == value.Bool(true) || c.Args[0] == value.String("present")
					yes, no := value.String("present"), value.String("absent")
					if r, ok := c.Arg(1).(value.String); ok {
						yes = r
					}
					switch yes {
					case "service":
						yes, no = "running", "stopped"
					case "package":
						yes = "installed"
					}
					if present {
						return yes, nil
					}
					return no, nil
				})},
	}
}
