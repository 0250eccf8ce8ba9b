package hiera

import (
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// Functions returns the functions of the language that look up data: lookup,
// hiera, hiera_array, hiera_hash and hiera_include, the data functions, and the
// methods of their context (Puppet::LookupContext). All evaluations share the
// functions in a Library. of returns the session of a call.
func Functions(of func(*eval.Call) (*Session, error)) []*eval.Function {
	f := functions{of}
	return append([]*eval.Function{
		{
			Name: "lookup",
			Doc: "Looks up a value in the data of the hierarchies. If there are several names, the first one that is found is used; " +
				"the value must be of a type, if one is given; merge selects how values from several levels are combined; " +
				"a default, a hash of defaults or a block give the value when nothing is found, which is an error otherwise.",
			Signatures: []eval.Signature{
				{Params: nameType + " $name, Type $value_type = Any, " + mergeType + " $merge = 'first'", Run: f.plain},
				{Params: nameType + " $name, Optional[Type] $value_type, Optional[" + mergeType + "] $merge, Any $default_value", Run: f.plain},
				{Params: nameType + " $name, Type $value_type = Any, " + mergeType + " $merge = 'first'", Block: blockType, Run: f.plain},
				{Params: "Struct[{name => " + nameType + ", " + optionTypes + "}] $options", Block: "Optional[" + blockType + "]", Run: f.withOptions},
				{Params: nameType + " $name, Struct[{" + optionTypes + "}] $options", Block: "Optional[" + blockType + "]", Run: f.withOptions},
			},
		},
		f.legacy("hiera", "first", "Looks up the first value of a key. Use lookup instead.", nil),
		f.legacy("hiera_array", "unique", "Looks up all values of a key as one array without duplicates. Use lookup with the merge 'unique' instead.", nil),
		f.legacy("hiera_hash", "hash", "Looks up all values of a key, which are hashes, as one hash. Use lookup with the merge 'hash' instead.", nil),
		f.legacy("hiera_include", "unique", "Declares the classes whose names are found under a key. Use lookup('classes', Array[String], 'unique').include instead.", include),
	}, append(dataFunctions(), contextFunctions()...)...)
}

const (
	nameType    = "Variant[String, Array[String]]"
	mergeType   = "Variant[String[1], Hash[String, Scalar]]"
	blockType   = "Callable[1, 1]"
	optionTypes = "Optional[value_type] => Optional[Type], Optional[default_value] => Any, Optional[override] => Optional[Hash[String, Any]], " +
		"Optional[default_values_hash] => Optional[Hash[String, Any]], Optional[merge] => Optional[" + mergeType + "]"
)

type functions struct {
	of func(*eval.Call) (*Session, error)
}

// plain is lookup with positional arguments.
func (f functions) plain(c *eval.Call) (value.Value, error) {
	r := Request{Names: names(c.Args[0])}
	if t, ok := c.Arg(1).(value.Type); ok {
		r.Type = t
	}
	if m := c.Arg(2); m != nil && !isUndef(m) {
		r.Merge = m
	}
	r.Default = c.Arg(3)
	return f.lookup(c, c.Args[0], r)
}

// withOptions is lookup with a hash of options.
func (f functions) withOptions(c *eval.Call) (value.Value, error) {
	o := c.Args[len(c.Args)-1].(*value.Hash)
	name := c.Args[0]
	if len(c.Args) == 1 {
		name, _ = o.GetString("name")
	}
	r := Request{Names: names(name)}
	if v, ok := o.GetString("value_type"); ok {
		r.Type, _ = v.(value.Type)
	}
	if v, ok := o.GetString("merge"); ok && !isUndef(v) {
		r.Merge = v
	}
	if v, ok := o.GetString("default_value"); ok {
		r.Default = v
	}
	if v, ok := o.GetString("override"); ok {
		r.Overrides, _ = v.(*value.Hash)
	}
	if v, ok := o.GetString("default_values_hash"); ok {
		r.Defaults, _ = v.(*value.Hash)
	}
	return f.lookup(c, name, r)
}

func names(v value.Value) []string {
	switch v := v.(type) {
	case value.String:
		return []string{string(v)}
	case *value.Array:
		out := make([]string, v.Len())
		for i, e := range v.All() {
			out[i] = value.ToString(e)
		}
		return out
	}
	return nil
}

func (f functions) lookup(c *eval.Call, name value.Value, r Request) (value.Value, error) {
	s, err := f.of(c)
	if err != nil {
		return nil, err
	}
	if c.Block != nil {
		r.Block = func() (value.Value, error) { return c.Yield(name) }
	}
	v, err := s.Lookup(c.Context(), AtSite(&c.Site), r)
	if err != nil {
		return nil, evalError(c, err)
	}
	return v, nil
}

// evalError returns the error of a function. It has the message of the lookup
// and its kind. If the error is at a line of a file, it has that position, like
// an error in a manifest.
func evalError(c *eval.Call, err error) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	out := c.Errorf(e.LanguageKind(), "%s", e.Error())
	out.Err = e
	if e.File != "" && e.Line > 0 && e.Kind != kindShape && !e.atCall {
		out.Msg = e.Msg
		out.Pos.File, out.Pos.Line, out.Pos.Column = e.File, e.Line, e.Column
	}
	return out
}

// legacy returns a function of Hiera 3. then is called with the value; nil: the
// value is the result.
func (f functions) legacy(name, merge, doc string, then func(c *eval.Call, key string, v value.Value) (value.Value, error)) *eval.Function {
	run := func(c *eval.Call, args []value.Value) (value.Value, error) {
		s, err := f.of(c)
		if err != nil {
			return nil, err
		}
		if s.o.Strict != eval.StrictOff {
			s.warn("the function %s is deprecated: use lookup", name)
		}
		key := value.ToString(args[0])
		r := Request{Names: []string{key}, Merge: value.String(merge)}
		if c.Block != nil {
			r.Block = func() (value.Value, error) { return c.Yield(args[0]) }
		} else if len(args) > 1 {
			r.Default = args[1]
		}
		env, err := s.environment(c.Context())
		if err != nil {
			return nil, evalError(c, err)
		}
		r.Global = env == nil
		v, err := s.Lookup(c.Context(), AtSite(&c.Site), r)
		if err != nil {
			return nil, evalError(c, err)
		}
		if then != nil {
			return then(c, key, v)
		}
		return v, nil
	}
	plain := func(c *eval.Call) (value.Value, error) { return run(c, c.Args) }
	return &eval.Function{Name: name, Doc: doc, Catalog: then != nil, Signatures: []eval.Signature{
		{Params: "Tuple[String, Any, 1, 3] $args", Run: func(c *eval.Call) (value.Value, error) {
			return run(c, c.Args[0].(*value.Array).Elems())
		}},
		{Params: "String $key", Run: plain},
		{Params: "String $key, Any $default, Any $override = undef", Run: plain},
		{Params: "String $key, Any $override = undef", Block: "Callable[1, 1]", Run: plain},
	}}
}

// include declares the classes of hiera_include.
func include(c *eval.Call, key string, v value.Value) (value.Value, error) {
	switch v := v.(type) {
	case value.Undef:
		return nil, eval.Errorf("lookup-not-found", "hiera_include found no classes under the key '%s'", key)
	case *value.Array:
		if v.Len() == 0 {
			return value.Undef{}, nil
		}
	case value.String:
		if v == "" {
			return value.Undef{}, nil
		}
	}
	return c.Call("include", nil, v)
}
