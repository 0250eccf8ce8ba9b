package builtin

import (
	"strings"
	"time"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// types returns the functions for types, for calls by name, and for definitions.
func types(now func() time.Time) []*eval.Function {
	// made is New with the block of a call.
	made := func(c *eval.Call, t value.Type, args []value.Value) (value.Value, error) {
		v, err := value.Value(nil), error(nil)
		object, _ := t.(*value.ObjectType)
		if _, ok := t.(*value.TimestampType); ok && len(args) == 0 {
			v = value.NewTimestamp(now())
		} else if object != nil && object.Native().New != nil {
			v, err = object.Native().New(c.Interp.Env().Data, args)
		} else {
			for _, a := range args {
				if err := converting(c, a); err != nil {
					return nil, err
				}
			}
			v, err = value.New(t, args)
		}
		if err != nil || c.Block == nil {
			return v, err
		}
		return c.Yield(v)
	}
	return []*eval.Function{
		{Name: "type", Doc: "Returns the type of a value: detailed has the type of each element, reduced the common type of the elements, generalized does not have sizes and ranges.",
			Signatures: one("Any $value, Enum['detailed', 'reduced', 'generalized'] $how = 'detailed'", func(c *eval.Call) (value.Value, error) {
				if err := inferring(c, c.Args[0]); err != nil {
					return nil, err
				}
				switch c.Arg(1) {
				case value.String("reduced"):
					return value.Infer(c.Args[0]), nil
				case value.String("generalized"):
					return value.Generalize(value.Infer(c.Args[0])), nil
				}
				return value.InferDetailed(c.Args[0]), nil
			})},
		{Name: "assert_type", Doc: "Returns a value if it is of a type. Otherwise the block is called with the type and the type of the value. Without a block, it is an error.",
			Signatures: []eval.Signature{
				{Params: "Type $type, Any $value", Block: "Optional[Callable[Type, Type]]", Run: func(c *eval.Call) (value.Value, error) {
					return assertType(c, c.Args[0].(value.Type))
				}},
				{Params: "String $type, Any $value", Block: "Optional[Callable[Type, Type]]", Run: func(c *eval.Call) (value.Value, error) {
					t, err := c.ParseType(string(c.Args[0].(value.String)))
					if err != nil {
						return nil, err
					}
					return assertType(c, t)
				}},
			}},
		{Name: "new", Doc: "Makes a value of a type from a string, a number or parts. The block gets the new value, and its result is returned.",
			Signatures: []eval.Signature{{Params: "Type $type, Any *$args", Block: "Optional[Callable[1, 1]]", Run: func(c *eval.Call) (value.Value, error) {
				return made(c, c.Args[0].(value.Type), c.Args[1:])
			}}}},
		{Name: "convert_to", Doc: "Converts a value to a type. It is the same as new, with the value as the first argument.",
			Signatures: []eval.Signature{{Params: "Any $value, Type $type, Any *$args", Block: "Optional[Callable[1, 1]]", Run: func(c *eval.Call) (value.Value, error) {
				args := append([]value.Value{c.Args[0]}, c.Args[2:]...)
				return made(c, c.Args[1].(value.Type), args)
			}}}},
		{Name: "unwrap", Doc: "Returns the content of a sensitive value, or passes it to the block and returns the result.",
			Signatures: []eval.Signature{{Params: "Any $value", Block: "Optional[Callable]", Run: func(c *eval.Call) (value.Value, error) {
				v := c.Args[0]
				if s, ok := v.(*value.Sensitive); ok {
					v = s.Unwrap()
				}
				if c.Block != nil {
					return c.Yield(v)
				}
				return v, nil
			}}}},
		{Name: "call", Doc: "Calls a function by its name, or the function of a Deferred.",
			Signatures: []eval.Signature{
				{Params: "String $name, Any *$args", Block: "Optional[Callable]", Run: func(c *eval.Call) (value.Value, error) {
					return c.Call(string(c.Args[0].(value.String)), c.Block, c.Args[1:]...)
				}},
				{Params: "Deferred $deferred", Run: func(c *eval.Call) (value.Value, error) {
					return resolve(c, c.Args[0])
				}},
			}},
		{Name: "defined", Doc: "Returns whether something exists: a class or resource type by its name, a variable as '$name', or, in a catalog, a resource.",
			Signatures: []eval.Signature{{Params: "Variant[String, Type[CatalogEntry], Type[Type[CatalogEntry]]] *$names", Run: func(c *eval.Call) (value.Value, error) {
				if len(c.Args) == 0 {
					return nil, eval.Errorf("argument-count", "defined() of nothing: it takes one name at least")
				}
				for _, v := range c.Args {
					if yes, err := defined(c, v); yes || err != nil {
						return value.Bool(yes), err
					}
				}
				return value.Bool(false), nil
			}}}},
	}
}

// converting counts the work and the memory of a conversion.
func converting(c *eval.Call, v value.Value) error {
	if err := measured(c, v); err != nil {
		return err
	}
	const bytes = 64 // for each value in it, of intermediate results
	_, nodes := value.Measure(v)
	if err := c.Walk(v); err != nil {
		return err
	}
	return c.Made(nodes * bytes)
}

// typeBytes is the approximate size of the type of a value.
const typeBytes = 128

// inferring counts the work and the memory of inferring the type of a value.
func inferring(c *eval.Call, v value.Value) error {
	if err := measured(c, v); err != nil {
		return err
	}
	_, nodes := value.Measure(v)
	if err := c.Step(nodes); err != nil {
		return err
	}
	return c.Made(nodes * typeBytes)
}

func assertType(c *eval.Call, t value.Type) (value.Value, error) {
	v := c.Args[1]
	if value.Instance(t, v) {
		return v, nil
	}
	if c.Block != nil {
		if err := inferring(c, v); err != nil {
			return nil, err
		}
		return c.Yield(t, value.InferDetailed(v))
	}
	return nil, eval.Errorf("type-mismatch", "%s", value.Mismatch("assert_type()", t, v))
}

// resolve calls the function of a Deferred. It first resolves the Deferreds
// among its arguments.
func resolve(c *eval.Call, v value.Value) (value.Value, error) {
	switch v := v.(type) {
	case *value.Object:
		if v.Type().Name() != "Deferred" {
			return v, nil
		}
		name, _ := v.Get("name")
		text, _ := name.(value.String)
		var args []value.Value
		if list, ok := v.Get("arguments"); ok {
			if list, ok := list.(*value.Array); ok {
				for _, a := range list.All() {
					r, err := resolve(c, a)
					if err != nil {
						return nil, err
					}
					args = append(args, r)
				}
			}
		}
		if variable, ok := strings.CutPrefix(string(text), "$"); ok {
			at, found := c.Scope.LookupPath(variable, args...)
			if !found {
				at = value.Undef{}
			}
			return dig(at, args)
		}
		return c.Call(string(text), nil, args...)
	case *value.Array:
		out := make([]value.Value, v.Len())
		for i, e := range v.All() {
			var err error
			if out[i], err = resolve(c, e); err != nil {
				return nil, err
			}
		}
		return value.NewArray(out...), nil
	case *value.Hash:
		var out value.HashBuilder
		for k, e := range v.All() {
			k, err := resolve(c, k)
			if err != nil {
				return nil, err
			}
			if e, err = resolve(c, e); err != nil {
				return nil, err
			}
			out.Put(k, e)
		}
		return out.Build(), nil
	}
	return v, nil
}

func defined(c *eval.Call, v value.Value) (bool, error) {
	switch v := v.(type) {
	case value.String:
		name := string(v)
		if variable, ok := strings.CutPrefix(name, "$"); ok {
			_, found := c.Scope.Lookup(strings.TrimPrefix(variable, "::"))
			return found, nil
		}
		switch name {
		case "":
			return false, nil
		case "main", "::":
			return true, nil
		}
		if yes, err := c.HasResourceType(name); yes || err != nil {
			return yes, err
		}
		return known(c, eval.KindClass, name)
	case *value.ResourceType:
		switch {
		case v.TypeName == "":
			return false, eval.Errorf("type-mismatch", "Resource is every type of resource: name one")
		case !v.HasTitle:
			return c.HasResourceType(v.TypeName)
		}
		return c.Declared(strings.ToLower(v.TypeName), v.Title)
	case *value.ClassType:
		if v.Title == "" {
			return false, eval.Errorf("type-mismatch", "Class is every class: name one")
		}
		return c.Declared("class", v.Title)
	case *value.TypeType:
		switch t := v.Type.(type) {
		case *value.ResourceType:
			return defined(c, t)
		case *value.ClassType:
			if t.Title == "" {
				return false, eval.Errorf("type-mismatch", "Class is every class: name one")
			}
			return known(c, eval.KindClass, t.Title)
		}
	}
	return false, nil
}

// known reports whether a definition of a kind exists.
func known(c *eval.Call, kind eval.Kind, name string) (bool, error) {
	d, err := c.Find(kind, name)
	return d != nil, err
}
