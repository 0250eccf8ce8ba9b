package stdlib

import (
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// formerNames are functions with the names that they had before they were
// renamed to stdlib::something.
func formerNames() []*eval.Function {
	former := func(name string, blocks ...string) *eval.Function {
		f := &eval.Function{Name: name, Doc: "The former name of stdlib::" + name + "."}
		for _, block := range append([]string{""}, blocks...) {
			f.Signatures = append(f.Signatures, eval.Signature{Params: "Any *$args", Block: block, Run: func(c *eval.Call) (value.Value, error) {
				if c.FirstTime("former name", name) {
					c.Log(eval.Warning, name+"() is deprecated: use stdlib::"+name+"()")
				}
				return c.Call("stdlib::"+name, c.Block, c.Args...)
			}})
		}
		return f
	}
	list := []*eval.Function{former("merge", "Callable[2, 2]", "Callable[3, 3]")}
	for _, name := range []string{
		"batch_escape", "ensure_packages", "fqdn_rand_string", "fqdn_rotate", "has_interface_with", "has_ip_address", "has_ip_network",
		"os_version_gte", "parsehocon", "powershell_escape", "seeded_rand", "seeded_rand_string", "shell_escape", "time", "to_json",
		"to_json_pretty", "to_python", "to_ruby", "to_toml", "to_yaml", "type_of", "validate_domain_name", "validate_email_address",
	} {
		list = append(list, former(name))
	}
	return list
}

// deprecations returns the functions for reporting deprecations, and those that are
// not available.
func deprecations() []*eval.Function {
	never := func(name, why string) *eval.Function {
		return &eval.Function{Name: name, Doc: "Is refused: " + why + ".", Signatures: one("Any *$args", func(c *eval.Call) (value.Value, error) {
			return nil, eval.Errorf("not-available", "%s(): %s", bare(c), why)
		})}
	}
	return []*eval.Function{
		{Name: "deprecation", Doc: "Reports that something is deprecated, according to the setting strict. With false as the third argument, it is a warning.",
			Signatures: one("String $key, String $message, Boolean $strict = true", func(c *eval.Call) (value.Value, error) {
				msg := string(c.Args[1].(value.String))
				if c.Arg(2) != value.Bool(false) {
					return value.Undef{}, c.Warn("deprecation", msg)
				}
				if c.FirstTime("deprecation", string(c.Args[0].(value.String))) {
					c.Log(eval.Warning, msg)
				}
				return value.Undef{}, nil
			})},
		{Name: "validate_legacy", Doc: "Returns an error unless a value is of a type. Types of parameters do the same.",
			Signatures: []eval.Signature{
				{Params: "Type $type, String $function, Any $value, Any *$ignored", Run: func(c *eval.Call) (value.Value, error) {
					return validateLegacy(c, c.Args[0].(value.Type))
				}},
				{Params: "String $type, String $function, Any $value, Any *$ignored", Run: func(c *eval.Call) (value.Value, error) {
					t, err := c.ParseType(string(c.Args[0].(value.String)))
					if err != nil {
						return nil, err
					}
					return validateLegacy(c, t)
				}},
			}},
		{Name: "parsepson", Doc: "Returns undef with a warning, or an error, according to the setting strict, because PSON does not exist any more. Use parsejson().",
			Signatures: one("String[1] $text, Any $default = undef", func(c *eval.Call) (value.Value, error) {
				err := c.Warn("deprecation", "parsepson() is deprecated, and reads nothing any more: use parsejson()")
				if err != nil && len(c.Args) > 1 {
					return c.Args[1], nil
				}
				return value.Undef{}, err
			})},
		never("uriescape", "Ruby and Puppet 8 do not support it any more; String(URI(…)) is similar"),
		never("validate_augeas", "Augeas is not available here; check the file on the target with validate_cmd of the resource file"),
		never("validate_cmd", "commands are not run during evaluation; check the file on the target with validate_cmd of the resource file"),
		never("pry", "it starts a debugger of Ruby, which is not available here"),
	}
}

func validateLegacy(c *eval.Call, t value.Type) (value.Value, error) {
	if err := c.Warn("deprecation", "validate_legacy() is deprecated: give parameters types"); err != nil {
		return nil, err
	}
	if v := c.Args[2]; !value.Instance(t, v) {
		return nil, eval.Errorf("type-mismatch", "%s", value.Mismatch("validate_legacy()", t, v))
	}
	return value.Undef{}, nil
}
