package stdlib

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// data returns the functions that parse data.
func data(o Options) []*eval.Function {
	parse := func(name string, decode Decoder, doc string) *eval.Function {
		return old(name, "Any $text, Any $default = undef, Any *$ignored", doc, func(c *eval.Call, args []value.Value) (value.Value, error) {
			if decode == nil {
				return nil, missing(c, "no decoder")
			}
			s, ok := args[0].(value.String)
			if !ok {
				return orDefault(nil, wrong(c, args[0], "a string"), arg(args, 1))
			}
			v, err := decode([]byte(s))
			if err != nil {
				err = invalid(c, "%v", err)
			}
			return orDefault(v, err, arg(args, 1))
		})
	}
	load := func(name string, decode Decoder, doc string) *eval.Function {
		return old(name, "Any $file, Any $default = undef, Any *$ignored", doc, func(c *eval.Call, args []value.Value) (value.Value, error) {
			if decode == nil || o.ReadFile == nil {
				return nil, missing(c, "no decoder, or no access to files,")
			}
			s, ok := args[0].(value.String)
			if !ok {
				return orDefault(nil, wrong(c, args[0], "the name of a file, or an address"), arg(args, 1))
			}
			text, err := o.read(c.Context(), string(s))
			if err != nil && c.Context().Err() != nil {
				return nil, err // not a result, so the default is not used
			}
			if errors.Is(err, fs.ErrNotExist) {
				c.Log(eval.Warning, name+"(): the file "+string(s)+" does not exist")
				return orDefault(value.Undef{}, nil, arg(args, 1))
			}
			v := value.Value(value.Undef{})
			if err == nil {
				v, err = decode(text)
			}
			if err != nil {
				err = invalid(c, "%s: %v", s, err)
			}
			return orDefault(v, err, arg(args, 1))
		})
	}
	return []*eval.Function{
		parse("parsejson", value.FromRubyJSON, "Returns the data in a JSON text. If the text is not JSON, or is null or false, it returns a default."),
		parse("parseyaml", o.YAML, "Returns the data in a YAML text. If the text is not YAML, or is null or false, it returns a default."),
		load("loadjson", value.FromRubyJSON, "Returns the data in a JSON file. If the file does not exist, or for a URL, it returns a default."),
		load("loadyaml", o.YAML, "Returns the data in a YAML file. If the file does not exist, or for a URL, it returns a default."),
		{Name: "stdlib::parsehocon", Doc: "Returns the data in a HOCON text. If the text is not HOCON, it returns a default.",
			Signatures: one("String $text, Any $default = undef", func(c *eval.Call) (value.Value, error) {
				if o.HOCON == nil {
					return nil, missing(c, "no decoder")
				}
				v, err := o.HOCON([]byte(c.Args[0].(value.String)))
				switch {
				case err == nil:
					return v, nil
				case len(c.Args) > 1:
					return c.Args[1], nil
				}
				return nil, invalid(c, "%v", err)
			})},
	}
}

// orDefault returns the result of a function that reads data. If the data is
// not true, the result is the default. An error is returned only if the default
// is not true.
func orDefault(v value.Value, err error, def value.Value) (value.Value, error) {
	switch {
	case err != nil && (def == nil || !value.Truthy(def)):
		return nil, err
	case err == nil && value.Truthy(v):
		return v, nil
	case def == nil:
		return value.Undef{}, nil
	}
	return def, nil
}

// read returns the content of a file. URLs are an error, because the code of a
// program must not determine the connections of this machine.
func (o *Options) read(ctx context.Context, name string) ([]byte, error) {
	if !strings.HasPrefix(name, "http://") && !strings.HasPrefix(name, "https://") {
		return o.ReadFile(ctx, name)
	}
	return nil, errors.New("addresses cannot be read here")
}

// modules returns the functions for modules and files.
func modules(o Options) []*eval.Function {
	find := func(c *eval.Call, v value.Value) (string, error) {
		s, ok := v.(value.String)
		if !ok {
			return "", wrong(c, v, "the name of a module")
		}
		if o.Module != nil {
			if dir, ok := o.Module(string(s)); ok {
				return dir, nil
			}
		}
		return "", eval.Errorf("no-module", "%s(): the module %s does not exist", bare(c), inspect(s))
	}
	return []*eval.Function{
		old("get_module_path", "Any $module", "Returns the folder of a module.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				dir, err := find(c, args[0])
				return value.String(dir), err
			}),
		old("load_module_metadata", "Any $module, Any $may_be_missing = false", "Returns the content of metadata.json of a module. With true as the second argument, it returns an empty hash if the file does not exist.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				dir, err := find(c, args[0])
				if err != nil {
					return nil, err
				}
				if o.ReadFile == nil {
					return nil, missing(c, "no access to files")
				}
				text, err := o.ReadFile(c.Context(), path.Join(dir, "metadata.json"))
				if errors.Is(err, fs.ErrNotExist) {
					if v := arg(args, 1); v != nil && value.Truthy(v) {
						return value.NewHash(), nil
					}
					return nil, eval.Errorf("no-file", "load_module_metadata(): the module %s has no metadata.json", inspect(args[0]))
				}
				if err != nil {
					return nil, err
				}
				return value.FromRubyJSON(text)
			}),
		old("glob", "Any $patterns", "Returns the files and folders that match a pattern, or one of several patterns.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				if o.Glob == nil {
					return nil, missing(c, "no access to files")
				}
				var out []string
				for _, v := range value.Flatten(args) {
					s, ok := v.(value.String)
					if !ok {
						return nil, wrong(c, v, "patterns as strings")
					}
					found, err := o.Glob(c.Context(), string(s))
					if err != nil {
						return nil, err
					}
					out = append(out, found...)
				}
				return stringsOf(out), nil
			}),
		{Name: "stdlib::deferrable_epp", Doc: "Returns a template in the Puppet language with variables, or, if a variable is Deferred, a Deferred that renders it later.",
			Signatures: one("String $template, Hash $variables", deferrableEPP)},
	}
}

func deferrableEPP(c *eval.Call) (value.Value, error) {
	later := false
	for _, v := range nestedValues(nil, c.Args[1].(*value.Hash)) {
		later = later || value.Instance(value.DeferredType(), v)
	}
	if !later {
		return c.Call("epp", nil, c.Args...)
	}
	at, err := c.Call("find_template", nil, c.Args[0])
	if err != nil {
		return nil, err
	}
	if value.IsUndef(at) {
		return nil, eval.Errorf("no-file", "stdlib::deferrable_epp(): the template %s does not exist", inspect(c.Args[0]))
	}
	text, err := c.Call("file", nil, at)
	if err != nil {
		return nil, err
	}
	return value.New(value.DeferredType(), []value.Value{value.String("inline_epp"), value.NewArray(text, c.Args[1])})
}

// clocks returns the function stdlib::time.
func clocks(now func() time.Time) []*eval.Function {
	return []*eval.Function{{Name: "stdlib::time", Doc: "Returns the seconds since 1970. Timestamp() is more exact.",
		Signatures: one("Optional[String] $ignored = undef", func(c *eval.Call) (value.Value, error) {
			if now == nil {
				return nil, missing(c, "no clock")
			}
			return value.Int(now().Unix()), nil
		})}}
}
