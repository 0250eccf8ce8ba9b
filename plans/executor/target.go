package executor

import (
	"bolt/environment"
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/inventory"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// target returns the value for a target: each target has one object.
func (x *Executor) target(t *inventory.Target) *value.Object {
	o := x.objects[t]
	if o == nil {
		o = x.o.Language.types.target.Wrap(t)
		x.objects[t] = o
	}
	return o
}

func (x *Executor) targetList(list []*inventory.Target) *value.Array {
	elems := make([]value.Value, len(list))
	for i, t := range list {
		elems[i] = x.target(t)
	}
	return value.NewArray(elems...)
}

func inventoryTarget(v value.Value) *inventory.Target {
	t, _ := v.(*value.Object).Payload().(*inventory.Target)
	return t
}

func targetData(o *value.Object) (value.Value, error) {
	return value.String(inventoryTarget(o).SafeName()), nil
}

// resolve expands a TargetSpec; each target occurs once.
func (x *Executor) resolve(s *eval.Site, spec value.Value) ([]*inventory.Target, error) {
	var list []*inventory.Target
	seen := make(map[*inventory.Target]bool)
	add := func(targets ...*inventory.Target) {
		for _, t := range targets {
			if !seen[t] {
				seen[t] = true
				list = append(list, t)
			}
		}
	}
	var walk func(v value.Value) error
	walk = func(v value.Value) error {
		switch v := v.(type) {
		case value.String:
			found, err := x.o.Inventory.Lookup(s.Context(), []string{string(v)})
			if err != nil {
				return err
			}
			if err := x.o.Inventory.Prepare(s.Context(), found); err != nil {
				return err
			}
			add(found...)
		case *value.Array:
			for _, e := range v.All() {
				if err := walk(e); err != nil {
					return err
				}
			}
		case *value.Object:
			add(inventoryTarget(v))
		}
		return nil
	}
	if err := walk(spec); err != nil {
		return nil, err
	}
	return list, nil
}

// targetInit returns the type of the initialization data of a Target. The data may
// contain Sensitive values, which resolve_references makes from secrets.
func targetInit() *value.StructType {
	t, err := value.ParseType(`Struct[{
		uri => Optional[String[1]], name => Optional[String[1]], safe_name => Optional[String[1]],
		target_alias => Optional[Variant[String[1], Array[String[1]]]],
		config => Optional[Hash[String[1], RichData]], vars => Optional[Hash[String[1], RichData]],
		facts => Optional[Hash[String[1], RichData]], features => Optional[Array[String[1]]],
		plugin_hooks => Optional[Hash[String[1], RichData]], resources => Optional[Hash[String[1], Any]]}]`)
	if err != nil {
		panic(err) // the type expression above is valid
	}
	return t.(*value.StructType)
}

// newTarget implements Target.new with a hash, or with the attributes as arguments.
func newTarget(data any, args []value.Value) (value.Value, error) {
	x, _ := environment.Host(data).(*Executor)
	if x == nil {
		return nil, eval.Errorf("argument-count", "Target.new can only be called in a running plan")
	}
	init := x.o.Language.types.targetInit
	spec := &ordered.Map{}
	if h := onlyHash(args); h != nil {
		if !value.Instance(init, h) {
			return nil, eval.Errorf("type-mismatch", "%s", value.Mismatch("Target.new", init, h))
		}
		m, err := plainMap("the hash of Target.new", h)
		if err != nil {
			return nil, err
		}
		spec = m
		spec.Delete("safe_name") // as in Puppet Bolt, these two have no effect
		spec.Delete("resources")
	} else {
		if len(args) == 0 || len(args) > len(init.Elements) {
			return nil, eval.Errorf("argument-count", "Target.new takes a hash, or 1 to %d attributes of a target, got %d", len(init.Elements), len(args))
		}
		for i, v := range args {
			if e := init.Elements[i]; !value.Instance(e.Elem, v) {
				return nil, eval.Errorf("type-mismatch", "%s. Pass all attributes in one hash: Target.new('uri' => …)",
					value.Mismatch("the attribute '"+e.Name+"' of Target.new", e.Elem, v))
			}
		}
		// As in Puppet Bolt, only the URI has an effect.
		if uri, ok := args[0].(value.String); ok {
			spec.Set("uri", string(uri))
		}
	}
	t, err := x.newTarget(spec)
	if err != nil {
		return nil, err
	}
	return x.target(t), nil
}

// plain converts a value to data and reveals Sensitive values. what is the name of
// the value in the error.
func plain(what string, v value.Value) (any, error) {
	d, err := revealing().To(v)
	if err != nil {
		return nil, noData(what, err)
	}
	return d, nil
}

// plainMap is like plain, for a hash.
func plainMap(what string, h *value.Hash) (*ordered.Map, error) {
	m, err := revealing().Map(h)
	if err != nil {
		return nil, noData(what, err)
	}
	return m, nil
}

func revealing() *valuedata.Converter {
	c := converter(atOnce)
	c.Reveal = true
	return c
}

func noData(what string, err error) error {
	return failf("bolt/validation-error", "Cannot convert %s to data: %v", what, err)
}

// targetFunctions returns the attributes and functions of Target.
func targetFunctions() []*eval.Function {
	about := func(name string, tell func(x *Executor, t *inventory.Target, d *inventory.Data) any) *eval.Function {
		return member("Target", name, "", func(c *eval.Call) (value.Value, error) {
			t := inventoryTarget(c.Args[0])
			d, err := t.Data(c.Context())
			if err != nil {
				return nil, err
			}
			return valuedata.Of(tell(of(&c.Site), t, d))
		})
	}
	config := func(d *inventory.Data, key string) any {
		v, _ := d.Config.Get(key)
		return v
	}
	text := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	list := func(names []string) any {
		l := make([]any, len(names))
		for i, n := range names {
			l[i] = n
		}
		return l
	}
	orEmpty := func(m *ordered.Map) any {
		if m == nil {
			return &ordered.Map{}
		}
		return m
	}
	settings := func(name string, tell func(s inventory.Settings) any) *eval.Function {
		return member("Target", name, "", func(c *eval.Call) (value.Value, error) {
			s, err := inventoryTarget(c.Args[0]).Settings(c.Context())
			if err != nil {
				return nil, err
			}
			return valuedata.Of(tell(s))
		})
	}
	return []*eval.Function{
		about("uri", func(_ *Executor, _ *inventory.Target, d *inventory.Data) any { return text(d.URI) }),
		about("name", func(_ *Executor, t *inventory.Target, _ *inventory.Data) any { return t.Name }),
		about("safe_name", func(_ *Executor, t *inventory.Target, _ *inventory.Data) any { return t.SafeName() }),
		about("target_alias", func(_ *Executor, _ *inventory.Target, d *inventory.Data) any { return d.AliasValue() }),
		about("vars", func(_ *Executor, _ *inventory.Target, d *inventory.Data) any {
			return orEmpty(inventory.RevealMap(d.Vars))
		}),
		about("facts", func(_ *Executor, _ *inventory.Target, d *inventory.Data) any {
			return orEmpty(inventory.RevealMap(d.Facts))
		}),
		about("features", func(_ *Executor, _ *inventory.Target, d *inventory.Data) any { return list(d.Features) }),
		about("plugin_hooks", func(_ *Executor, _ *inventory.Target, d *inventory.Data) any {
			return orEmpty(inventory.RevealMap(d.PluginHooks))
		}),
		member("Target", "resources", "", func(c *eval.Call) (value.Value, error) {
			return of(&c.Site).known.hash(inventoryTarget(c.Args[0])), nil
		}),
		about("transport", func(_ *Executor, _ *inventory.Target, d *inventory.Data) any { return d.Transport }),
		about("transport_config", func(_ *Executor, _ *inventory.Target, d *inventory.Data) any { return secretless(d.Config) }),
		about("protocol", func(_ *Executor, _ *inventory.Target, d *inventory.Data) any {
			if p := d.Protocol(); p != "" {
				return p
			}
			return d.Transport
		}),
		about("password", func(_ *Executor, _ *inventory.Target, d *inventory.Data) any {
			if password, given := d.URIPassword(); given {
				return password
			}
			return secretless(config(d, "password"))
		}),
		member("Target", "config", "", func(c *eval.Call) (value.Value, error) {
			m, err := inventoryTarget(c.Args[0]).Config(c.Context())
			if err != nil {
				return nil, err
			}
			return valuedata.Of(secretless(m))
		}),
		settings("host", func(s inventory.Settings) any { return text(s.Host) }),
		settings("user", func(s inventory.Settings) any { return text(s.User) }),
		settings("port", func(s inventory.Settings) any {
			if s.Dest.Port == 0 {
				return nil
			}
			return int64(s.Dest.Port)
		}),
	}
}
