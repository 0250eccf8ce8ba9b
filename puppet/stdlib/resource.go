package stdlib

import (
	"errors"
	"strings"
	"unicode"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// resources returns the functions that read a catalog or add to it.
func resources() []*eval.Function {
	return []*eval.Function{
		catalog(old("ensure_resource", "Any $type, Any $titles, Any $parameters = {}, Any *$ignored", "Declares resources unless they are declared with the same parameters.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				var params value.Value = value.NewHash()
				if len(args) > 2 {
					params = args[2]
				}
				return value.Undef{}, ensureResources(c, args[0], args[1], params)
			})),
		catalog(old("ensure_resources", "Any $type, Any $resources, Any $defaults = {}, Any *$ignored", "Declares resources, a hash of titles and parameters, unless they are declared with the same parameters.", ensureAll)),
		catalog(&eval.Function{Name: "stdlib::ensure_packages", Doc: "Declares packages that should be installed, unless they are declared already: names, or a hash of names and parameters.",
			Signatures: []eval.Signature{
				{Params: "Variant[String[1], Array[String[1]]] $packages, Hash $defaults = {}", Run: func(c *eval.Call) (value.Value, error) {
					return value.Undef{}, ensurePackages(c, itemsOf(c.Args[0]), hashArg(c, 1))
				}},
				{Params: "Hash[String[1], Any] $packages, Hash $defaults = {}", Run: func(c *eval.Call) (value.Value, error) {
					for k, v := range c.Args[0].(*value.Hash).All() {
						attrs, ok := v.(*value.Hash)
						if !ok {
							return nil, wrong(c, v, "hashes as parameters of packages")
						}
						if err := ensurePackages(c, []value.Value{k}, hashArg(c, 1).Merge(attrs)); err != nil {
							return nil, err
						}
					}
					return value.Undef{}, nil
				}},
			}}),
		old("defined_with_params", "Any $reference, Any $parameters = {}, Any *$ignored", "Returns whether a resource is declared, with some parameters.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				r, err := referenceOf(c, args[0])
				if err != nil {
					return nil, err
				}
				params := value.NewHash()
				if v := arg(args, 1); v != nil && value.Truthy(v) && v != value.String("") {
					h, ok := v.(*value.Hash)
					if !ok {
						// Parameters of a resource that does not exist are not
						// checked.
						found, err := c.Declared(r.typ, r.title)
						if found && err == nil {
							err = wrong(c, v, "a hash as its second argument")
						}
						return value.Bool(false), err
					}
					params = h
				}
				yes, err := definedWith(c, r, params)
				return value.Bool(yes), err
			}),
		old("getparam", "Any $reference, Any $name, Any *$ignored", "Returns a parameter of a resource, '' if there is none.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				name, ok := args[1].(value.String)
				if !ok {
					return nil, wrong(c, args[1], "the name of a parameter as its second argument")
				}
				if name == "" {
					return value.String(""), nil
				}
				r, err := referenceOf(c, args[0])
				if err != nil {
					return nil, err
				}
				if !isTag(r.typ) {
					return nil, invalid(c, "%s is not the name of a resource type", inspect(value.String(r.typ)))
				}
				v, _, err := parameter(c, r, string(name))
				if err != nil || value.IsUndef(v) {
					return value.String(""), err
				}
				return v, nil
			}),
		{Name: "stdlib::str2resource", Doc: "Returns the resource of a reference such as 'File[/x]', which has to be declared already.",
			Signatures: one("String $reference", func(c *eval.Call) (value.Value, error) {
				r, err := referenceOf(c, c.Args[0])
				if err != nil {
					return nil, err
				}
				switch found, err := c.Declared(r.typ, r.title); {
				case err != nil:
					return nil, err
				case !found:
					return nil, eval.Errorf("unknown-resource", "stdlib::str2resource(): %s is not declared, or not yet", r)
				}
				if r.typ == "class" {
					return value.NewClassRef(r.title), nil
				}
				return value.NewResourceRef(r.typ, r.title), nil
			})},
		old("assert_private", "Any $message = ''", "Returns an error if the class or define that calls it was declared outside of its module.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				module, _ := c.Scope.Lookup("module_name")
				caller, _ := c.Scope.Lookup("caller_module_name")
				if module == nil {
					module = value.String("")
				}
				if caller == nil {
					caller = value.String("")
				}
				if value.Same(module, caller) {
					return value.Undef{}, nil
				}
				if s, ok := arg(args, 0).(value.String); ok {
					return nil, eval.Errorf("private", "%s", s)
				}
				scope := c.Scope.Options()
				kind := "the class"
				if scope.Kind == eval.DefineScope {
					kind = "the defined type"
				}
				return nil, eval.Errorf("private", "%s %s is private to its module", kind, scope.Name)
			}),
	}
}

func catalog(f *eval.Function) *eval.Function {
	f.Catalog = true
	return f
}

func hashArg(c *eval.Call, i int) *value.Hash {
	if h, ok := c.Arg(i).(*value.Hash); ok {
		return h
	}
	return value.NewHash()
}

// A reference names a resource.
type reference struct{ typ, title string } // typ in lower case

// String returns the reference as in manifests, without quotes.
func (r reference) String() string {
	parts := strings.Split(r.typ, "::")
	for i, p := range parts {
		parts[i] = value.Capitalize(p)
	}
	return strings.Join(parts, "::") + "[" + r.title + "]"
}

func referenceOf(c *eval.Call, v value.Value) (reference, error) {
	switch v := v.(type) {
	case *value.ResourceType:
		if v.HasTitle {
			return reference{lowerName(v.TypeName), v.Title}, nil
		}
		return reference{}, eval.Errorf("not-available", "%s() takes a resource, but %s is a type with all of its resources", bare(c), inspect(v))
	case *value.ClassType:
		return reference{"class", lowerName(v.Title)}, nil
	case value.String:
		typ, rest, _ := strings.Cut(string(v), "[")
		if title := untilBracket(rest); typ != "" && title != "" && !strings.Contains(typ, "]") {
			r := reference{lowerName(typ), title}
			if r.typ == "class" {
				r.title = lowerName(title)
			}
			return r, nil
		}
	}
	return reference{}, invalid(c, "%s is not a reference to a resource", inspect(v))
}

// untilBracket returns the part before the last closing bracket at the end of a
// line.
func untilBracket(s string) string {
	for i := len(s) - 1; i > 0; i-- {
		if s[i] == ']' && (i+1 == len(s) || s[i+1] == '\n') {
			return s[:i]
		}
	}
	return ""
}

// isTag reports whether s can be a tag, as names of types are.
func isTag(s string) bool {
	for i, r := range strings.TrimSuffix(s, "\n") {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && (i == 0 || !strings.ContainsRune(":.-", r)) {
			return false
		}
	}
	return s != "" && s != "\n"
}

func lowerName(s string) string { return strings.ToLower(strings.TrimPrefix(s, "::")) }

// parameter returns the value of a parameter of a resource, or undef.
func parameter(c *eval.Call, r reference, name string) (v value.Value, found bool, err error) {
	b := c.Interp.Env().Builder
	if b == nil {
		return value.Undef{}, false, nil
	}
	v, found, err = b.Parameter(&c.Site, r.typ, r.title, name)
	var e *eval.Error
	if errors.As(err, &e) && e.Kind == "unknown-parameter" {
		v, err = value.Undef{}, nil
	}
	if v == nil {
		v = value.Undef{}
	}
	return v, found, err
}

// definedWith reports whether a resource is declared with given parameters. It
// ignores the resource that is being evaluated.
func definedWith(c *eval.Call, r reference, params *value.Hash) (bool, error) {
	found, err := c.Declared(r.typ, r.title)
	if !found || err != nil {
		return false, err
	}
	if scope := c.Scope.Options(); scope.Kind == eval.DefineScope && scope.Label == r.String() {
		return false, nil
	}
	for k, want := range params.All() {
		name, err := builtin.Text(c, k)
		if err != nil {
			return false, err
		}
		have, _, err := parameter(c, r, name)
		if err != nil {
			return false, err
		}
		if !rubyEqual(have, want) {
			return false, nil
		}
	}
	return true, nil
}

func ensureResources(c *eval.Call, typ, titles, params value.Value) error {
	name, ok := typ.(value.String)
	if !ok {
		return wrong(c, typ, "the name of a type of resources")
	}
	attrs, ok := params.(*value.Hash)
	if !ok && params != value.String("") {
		return wrong(c, params, "a hash as its third argument")
	}
	if !ok {
		attrs = value.NewHash()
	}
	for _, title := range value.Flatten([]value.Value{titles}) {
		text, err := builtin.Text(c, title)
		if err != nil {
			return err
		}
		r := reference{lowerName(strings.TrimLeft(string(name), "@")), text}
		switch found, err := definedWith(c, r, attrs); {
		case err != nil:
			return err
		case found:
			continue
		}
		if _, err := c.Call("create_resources", nil, name, value.NewHash(value.Entry{Key: title, Value: attrs})); err != nil {
			return err
		}
	}
	return nil
}

func ensureAll(c *eval.Call, args []value.Value) (value.Value, error) {
	all, ok := args[1].(*value.Hash)
	if !ok {
		return nil, wrong(c, args[1], "a hash as its second argument")
	}
	defaults := value.NewHash()
	if h, ok := arg(args, 2).(*value.Hash); ok {
		defaults = h
	}
	for title, v := range all.All() {
		attrs := defaults
		if value.Truthy(v) {
			h, ok := v.(*value.Hash)
			if !ok {
				return nil, wrong(c, v, "hashes as parameters of resources")
			}
			attrs = defaults.Merge(h)
		}
		if err := ensureResources(c, args[0], title, attrs); err != nil {
			return nil, err
		}
	}
	return value.Undef{}, nil
}

// ensurePackages declares packages with ensure => installed. If they are
// declared with ensure => present already, it uses present.
func ensurePackages(c *eval.Call, names []value.Value, attrs *value.Hash) error {
	const key = value.String("ensure")
	for _, name := range names {
		want, ok := attrs.Get(key)
		if !ok {
			want = value.String("installed")
		}
		if want == value.String("installed") || want == value.String("present") {
			want = value.String("installed")
			present := value.NewHash(value.Entry{Key: key, Value: value.String("present")})
			title, err := builtin.Text(c, name)
			if err != nil {
				return err
			}
			yes, err := definedWith(c, reference{"package", title}, present)
			if err != nil {
				return err
			}
			if yes {
				want = value.String("present")
			}
		}
		all := value.NewHash(value.Entry{Key: key, Value: want}).Merge(attrs).With(key, want)
		if err := ensureResources(c, value.String("package"), name, all); err != nil {
			return err
		}
	}
	return nil
}
