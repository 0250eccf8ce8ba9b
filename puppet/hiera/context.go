package hiera

import (
	"context"
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// contextType is the name of the type of the last argument of data functions.
const contextType = "Puppet::LookupContext"

// A lookupContext offers operations to a data function: cache values for the
// next call, read files, interpolate. It is valid until the function returns.
type lookupContext struct {
	l  *lookup
	p  *provider
	fc *functionContext
}

// value returns the context as an argument for the function.
func (c *lookupContext) value() value.Value {
	return &value.Runtime{Runtime: "go", Name: contextType, Value: c}
}

// contextOf returns the context in a value.
func contextOf(v value.Value) (*lookupContext, bool) {
	r, ok := v.(*value.Runtime)
	if !ok {
		return nil, false
	}
	c, ok := r.Value.(*lookupContext)
	return c, ok
}

// environmentName returns the name of the environment.
func (c *lookupContext) environmentName() string { return c.l.s.h.o.EnvironmentName }

// moduleName returns the module whose hiera.yaml contains the function. It
// returns "" if the hiera.yaml does not belong to a module.
func (c *lookupContext) moduleName() string { return c.p.layer.module }

// notFound returns the error that a function returns if it does not have a
// value.
func (c *lookupContext) notFound() error { return errNoKey }

// cache stores a value under a key and returns it.
func (c *lookupContext) cache(key, v value.Value) value.Value {
	c.fc.mu.Lock()
	defer c.fc.mu.Unlock()
	c.fc.cache.Put(key, v)
	return v
}

// cacheAll stores all values of a hash.
func (c *lookupContext) cacheAll(h *value.Hash) {
	c.fc.mu.Lock()
	defer c.fc.mu.Unlock()
	for k, v := range h.All() {
		c.fc.cache.Put(k, v)
	}
}

// cached returns the cached value of a key.
func (c *lookupContext) cached(key value.Value) (value.Value, bool) {
	c.fc.mu.Lock()
	defer c.fc.mu.Unlock()
	return c.fc.cache.Get(key)
}

// cachedEntries returns all cached values.
func (c *lookupContext) cachedEntries() *value.Hash {
	c.fc.mu.Lock()
	defer c.fc.mu.Unlock()
	h := c.fc.cache.Build() // empties the builder
	for k, v := range h.All() {
		c.fc.cache.Put(k, v)
	}
	return h
}

// interpolate resolves the %{…} in a value.
func (c *lookupContext) interpolate(v value.Value) (value.Value, error) {
	return c.l.interpolate(v, true)
}

// explains reports whether an explanation is collected.
func (c *lookupContext) explains() bool { return c.l.ex != nil }

// explain adds a text to the explanation.
func (c *lookupContext) explain(text string) { c.l.ex.text(text) }

// cachedFileData returns the content of a file. It reads the file again only if
// it has changed.
//
// Differs from Puppet: there all callers get the result of the first block for
// a file, even if their blocks differ.
func (c *lookupContext) cachedFileData(path string) (string, error) {
	return c.l.s.h.text(c.l.ctx, path)
}

// data returns the keys and values of a file of the format yaml, json or hocon.
func (c *lookupContext) data(path, format string) (*value.Hash, error) {
	d, err := c.l.fileData(path, format)
	if err != nil {
		return nil, err
	}
	return d.hash, nil
}

// eyaml returns the value of a key in a YAML file, with decrypted strings and
// resolved interpolations. options contain the locations of the keys for
// decryption. If the file does not have the key, found is false.
func (c *lookupContext) eyaml(path, key string, options *value.Hash) (v value.Value, found bool, err error) {
	return c.l.eyamlFile(path, key, options)
}

// contextParam is the parameter of the functions below that is a lookupContext.
const contextParam = contextType + " $context"

// contextFunctions returns the methods of a lookupContext: "$context.cached_value('k')"
// is a call of the function cached_value with the context as first argument.
func contextFunctions() []*eval.Function {
	method := func(name, doc, params, block string, run func(c *eval.Call, x *lookupContext) (value.Value, error)) *eval.Function {
		if params != "" {
			params = ", " + params
		}
		return &eval.Function{Name: name, Doc: doc, Signatures: []eval.Signature{{
			Params: contextParam + params,
			Block:  block,
			Run: func(c *eval.Call) (value.Value, error) {
				x, ok := contextOf(c.Args[0])
				if !ok {
					return nil, eval.Errorf("type-mismatch", "%s needs a %s", name, contextType)
				}
				v, err := run(c, x)
				return v, evalError(c, err)
			},
		}}}
	}
	const key = "Variant[Scalar, Undef] $key"
	return []*eval.Function{
		method("environment_name", "The name of the environment that data is looked up in.", "", "",
			func(_ *eval.Call, x *lookupContext) (value.Value, error) {
				return value.String(x.environmentName()), nil
			}),
		method("module_name", "The module whose hiera.yaml contains the data function; undef outside of modules.", "", "",
			func(_ *eval.Call, x *lookupContext) (value.Value, error) {
				if m := x.moduleName(); m != "" {
					return value.String(m), nil
				}
				return value.Undef{}, nil
			}),
		method("not_found", "Ends a data function that does not have a value for the key.", "", "",
			func(_ *eval.Call, x *lookupContext) (value.Value, error) { return nil, x.notFound() }),
		method("explain", "Adds the text that the block returns to the explanation of a lookup. The block runs only if there is one.", "", "Callable[0, 0]",
			func(c *eval.Call, x *lookupContext) (value.Value, error) {
				if !x.explains() {
					return value.Undef{}, nil
				}
				text, err := c.Yield()
				if err != nil {
					return nil, err
				}
				x.explain(value.ToString(text))
				return value.Undef{}, nil
			}),
		method("interpolate", "Resolves the %{…} in strings, and in the strings of arrays and hashes.", "Any $value", "",
			func(c *eval.Call, x *lookupContext) (value.Value, error) { return x.interpolate(c.Args[1]) }),
		method("cache", "Stores a value under a key for later calls of the data function in this compilation, and returns it.", key+", Any $value", "",
			func(c *eval.Call, x *lookupContext) (value.Value, error) { return x.cache(c.Args[1], c.Args[2]), nil }),
		method("cache_all", "Stores all values of a hash under their keys.", "Hash $values", "",
			func(c *eval.Call, x *lookupContext) (value.Value, error) {
				x.cacheAll(c.Args[1].(*value.Hash))
				return value.Undef{}, nil
			}),
		method("cache_has_key", "Reports whether a value is stored under a key.", key, "",
			func(c *eval.Call, x *lookupContext) (value.Value, error) {
				_, ok := x.cached(c.Args[1])
				return value.Bool(ok), nil
			}),
		method("cached_value", "The value that is stored under a key; undef if there is none.", key, "",
			func(c *eval.Call, x *lookupContext) (value.Value, error) {
				if v, ok := x.cached(c.Args[1]); ok {
					return v, nil
				}
				return value.Undef{}, nil
			}),
		{
			Name: "cached_entries",
			Doc:  "All stored pairs of key and value. They are passed to a block of one or two parameters, or returned as an array.",
			Signatures: []eval.Signature{
				{Params: contextParam, Run: cachedEntries},
				{Params: contextParam, Block: "Callable[1, 1]", Run: cachedEntries},
				{Params: contextParam, Block: "Callable[2, 2]", Run: cachedEntries},
			},
		},
		method("cached_file_data", "The text of a file, or the result of a block that is called with it. The text is cached as long as the file does not change.", "String $path", "Optional[Callable[1, 1]]",
			func(c *eval.Call, x *lookupContext) (value.Value, error) {
				text, err := x.cachedFileData(value.ToString(c.Args[1]))
				if err != nil || c.Block == nil {
					return value.String(text), err
				}
				return c.Yield(value.String(text))
			}),
	}
}

func cachedEntries(c *eval.Call) (value.Value, error) {
	x, ok := contextOf(c.Args[0])
	if !ok {
		return nil, eval.Errorf("type-mismatch", "cached_entries needs a %s", contextType)
	}
	h := x.cachedEntries()
	if c.Block == nil {
		var pairs []value.Value
		for k, v := range h.All() {
			pairs = append(pairs, value.NewArray(k, v))
		}
		return value.NewArray(pairs...), nil
	}
	least, _ := c.Block.Arity()
	for k, v := range h.All() {
		var err error
		if least == 2 {
			_, err = c.Yield(k, v)
		} else {
			_, err = c.Yield(value.NewArray(k, v))
		}
		if eval.IsBreak(err) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return value.Undef{}, nil
}

// A typeLoader adds the type of contexts to the types of another Loader.
type typeLoader struct {
	next    eval.Loader
	context *eval.Definition
}

// NewLoader returns a Loader that finds the type Puppet::LookupContext, which
// the parameters of data functions have, and all that next finds. next can be
// nil.
func NewLoader(next eval.Loader) (eval.Loader, error) {
	t, err := value.Parametrize(&value.RuntimeType{}, []value.Value{value.String("go"), value.String(contextType)})
	if err != nil {
		return nil, err
	}
	alias := value.NewAlias(contextType)
	alias.Resolve(t)
	return &typeLoader{next, &eval.Definition{Kind: eval.KindType, Name: strings.ToLower(contextType), Type: alias}}, nil
}

// Load implements eval.Loader.
func (l *typeLoader) Load(ctx context.Context, kind eval.Kind, name string) (*eval.Definition, error) {
	if kind == eval.KindType && name == l.context.Name {
		return l.context, nil
	}
	if l.next == nil {
		return nil, nil
	}
	return l.next.Load(ctx, kind, name)
}
