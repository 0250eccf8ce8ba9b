package executor

import (
	"bolt/environment"
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/inventory"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// target is a target as a value: one object for each.
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

// resolve expands a TargetSpec, each target once.
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

// newTarget is Target.new.
func newTarget(data any, args []value.Value) (value.Value, error) {
	x, _ := environment.Host(data).(*Executor)
	if x == nil || len(args) == 0 {
		return nil, eval.Errorf("argument-count", "Target.new expects a URI or a hash")
	}
	// Puppet Bolt takes the attributes of a target one after another, and of these
	// only the URI has an effect.
	if len(args) > 1 {
		if _, is := args[1].(value.String); !is && !value.IsUndef(args[1]) {
			return nil, eval.Errorf("type-mismatch", "the second argument of Target.new, the name, expects a String, got %s. Give all of the target in one hash: Target.new('uri' => …)", value.DescribeValue(args[1]))
		}
	}
	spec := &ordered.Map{}
	switch first := args[0].(type) {
	case value.String:
		spec.Set("uri", string(first))
	case *value.Hash:
		m, err := plainMap("the hash of Target.new", first)
		if err != nil {
			return nil, err
		}
		spec = m
	default:
		return nil, eval.Errorf("type-mismatch", "Target.new expects a URI or a hash, got %s", value.DescribeValue(args[0]))
	}
	t, err := x.newTarget(spec)
	if err != nil {
		return nil, err
	}
	return x.target(t), nil
}

// plain converts a value to data, in which Sensitive values are revealed. what names
// the value in the error.
func plain(what string, v value.Value) (any, error) {
	d, err := revealing().To(v)
	if err != nil {
		return nil, noData(what, err)
	}
	return d, nil
}

// plainMap is plain for a hash.
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

// targetFunctions are the attributes and functions of Target.
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
