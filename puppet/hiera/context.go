package hiera

import (
	"context"
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// ContextType is the name of the type of what data functions get as their last
// argument.
const ContextType = "Puppet::LookupContext"

// A Context is what a data function can do besides computing: keep values for
// the next call, read files, interpolate. It is valid until the function
// returns.
type Context struct {
	l  *lookup
	p  *provider
	fc *functionContext
}

// value returns the context as the function gets it.
func (c *Context) value() value.Value {
	return &value.Runtime{Runtime: "go", Name: ContextType, Value: c}
}

// ContextOf returns the context that a value is.
func ContextOf(v value.Value) (*Context, bool) {
	r, ok := v.(*value.Runtime)
	if !ok {
		return nil, false
	}
	c, ok := r.Value.(*Context)
	return c, ok
}

// EnvironmentName returns the name of the environment.
func (c *Context) EnvironmentName() string { return c.l.s.h.o.EnvironmentName }

// ModuleName returns the module whose hiera.yaml names the function, "" if it
// is not a module's.
func (c *Context) ModuleName() string { return c.p.layer.module }

// NotFound returns the error that a function ends with if it has no value.
func (c *Context) NotFound() error { return errNoKey }

// Cache keeps a value under a key and returns it.
func (c *Context) Cache(key, v value.Value) value.Value {
	c.fc.mu.Lock()
	defer c.fc.mu.Unlock()
	c.fc.cache.Put(key, v)
	return v
}

// CacheAll keeps all values of a hash.
func (c *Context) CacheAll(h *value.Hash) {
	c.fc.mu.Lock()
	defer c.fc.mu.Unlock()
	for k, v := range h.All() {
		c.fc.cache.Put(k, v)
	}
}

// Cached returns what is kept under a key.
func (c *Context) Cached(key value.Value) (value.Value, bool) {
	c.fc.mu.Lock()
	defer c.fc.mu.Unlock()
	return c.fc.cache.Get(key)
}

// CachedEntries returns all that is kept.
func (c *Context) CachedEntries() *value.Hash {
	c.fc.mu.Lock()
	defer c.fc.mu.Unlock()
	h := c.fc.cache.Build() // which empties the builder
	for k, v := range h.All() {
		c.fc.cache.Put(k, v)
	}
	return h
}

// Interpolate resolves the %{…} in a value.
func (c *Context) Interpolate(v value.Value) (value.Value, error) { return c.l.interpolate(v, true) }

// Explains tells whether somebody wants explanations.
func (c *Context) Explains() bool { return c.l.ex != nil }

// Explain adds a text to the explanation.
func (c *Context) Explain(text string) { c.l.ex.text(text) }

// CachedFileData returns the text of a file, which is read again only if it
// has changed.
//
// Differs from Puppet: there what the first block made of a file is what all
// get, whatever their blocks.
func (c *Context) CachedFileData(path string) (string, error) { return c.l.s.h.text(path) }

// Data returns the keys and values of a file of the format yaml, json or hocon.
func (c *Context) Data(path, format string) (*value.Hash, error) {
	d, err := c.l.fileData(path, format)
	if err != nil {
		return nil, err
	}
	return d.hash, nil
}

// Eyaml returns the value of a key in a file of YAML, with its encrypted
// strings in clear and its interpolations resolved; options say where the keys
// for that are. found is false if the file has no such key.
func (c *Context) Eyaml(path, key string, options *value.Hash) (v value.Value, found bool, err error) {
	return c.l.eyamlFile(path, key, options)
}

// contextParam is the parameter of the functions below that is a Context.
const contextParam = "Runtime[go, '" + ContextType + "'] $context"

// contextFunctions are the methods of a Context: "$context.cached_value('k')"
// is a call of the function cached_value with the context as first argument.
func contextFunctions() []*eval.Function {
	method := func(name, doc, params, block string, run func(c *eval.Call, x *Context) (value.Value, error)) *eval.Function {
		if params != "" {
			params = ", " + params
		}
		return &eval.Function{Name: name, Doc: doc, Signatures: []eval.Signature{{
			Params: contextParam + params,
			Block:  block,
			Run: func(c *eval.Call) (value.Value, error) {
				x, ok := ContextOf(c.Args[0])
				if !ok {
					return nil, eval.Errorf("type-mismatch", "%s needs a %s", name, ContextType)
				}
				return run(c, x)
			},
		}}}
	}
	const key = "Variant[Scalar, Undef] $key"
	return []*eval.Function{
		method("environment_name", "The name of the environment that data is looked up in.", "", "",
			func(_ *eval.Call, x *Context) (value.Value, error) { return value.String(x.EnvironmentName()), nil }),
		method("module_name", "The module whose hiera.yaml names the data function; undef outside of modules.", "", "",
			func(_ *eval.Call, x *Context) (value.Value, error) {
				if m := x.ModuleName(); m != "" {
					return value.String(m), nil
				}
				return value.Undef{}, nil
			}),
		method("not_found", "Ends a data function that has no value for the key.", "", "",
			func(_ *eval.Call, x *Context) (value.Value, error) { return nil, x.NotFound() }),
		method("explain", "Adds the text that the block returns to the explanation of a lookup. The block runs only if there is one.", "", "Callable[0, 0]",
			func(c *eval.Call, x *Context) (value.Value, error) {
				if !x.Explains() {
					return value.Undef{}, nil
				}
				text, err := c.Yield()
				if err != nil {
					return nil, err
				}
				x.Explain(value.ToString(text))
				return value.Undef{}, nil
			}),
		method("interpolate", "Resolves the %{…} in strings, and in the strings of arrays and hashes.", "Any $value", "",
			func(c *eval.Call, x *Context) (value.Value, error) { return x.Interpolate(c.Args[1]) }),
		method("cache", "Keeps a value under a key for later calls of the data function in this compilation, and returns it.", key+", Any $value", "",
			func(c *eval.Call, x *Context) (value.Value, error) { return x.Cache(c.Args[1], c.Args[2]), nil }),
		method("cache_all", "Keeps all values of a hash under their keys.", "Hash $values", "",
			func(c *eval.Call, x *Context) (value.Value, error) {
				x.CacheAll(c.Args[1].(*value.Hash))
				return value.Undef{}, nil
			}),
		method("cache_has_key", "Tells whether a value is kept under a key.", key, "",
			func(c *eval.Call, x *Context) (value.Value, error) {
				_, ok := x.Cached(c.Args[1])
				return value.Bool(ok), nil
			}),
		method("cached_value", "The value that is kept under a key; undef if there is none.", key, "",
			func(c *eval.Call, x *Context) (value.Value, error) {
				if v, ok := x.Cached(c.Args[1]); ok {
					return v, nil
				}
				return value.Undef{}, nil
			}),
		{
			Name: "cached_entries",
			Doc:  "All that is kept: pairs of key and value, one by one to a block of one or two parameters, or as an array.",
			Signatures: []eval.Signature{
				{Params: contextParam, Run: cachedEntries},
				{Params: contextParam, Block: "Callable[1, 1]", Run: cachedEntries},
				{Params: contextParam, Block: "Callable[2, 2]", Run: cachedEntries},
			},
		},
		method("cached_file_data", "The text of a file, or what a block makes of it. The text is kept as long as the file does not change.", "String $path", "Optional[Callable[1, 1]]",
			func(c *eval.Call, x *Context) (value.Value, error) {
				text, err := x.CachedFileData(value.ToString(c.Args[1]))
				if err != nil || c.Block == nil {
					return value.String(text), err
				}
				return c.Yield(value.String(text))
			}),
	}
}

func cachedEntries(c *eval.Call) (value.Value, error) {
	x, ok := ContextOf(c.Args[0])
	if !ok {
		return nil, eval.Errorf("type-mismatch", "cached_entries needs a %s", ContextType)
	}
	h := x.CachedEntries()
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

// A typeLoader knows the type of contexts beside what another Loader knows.
type typeLoader struct {
	next    eval.Loader
	context *eval.Definition
}

// NewLoader returns a Loader that knows the type Puppet::LookupContext, which
// parameters of data functions have, and all that next knows. next may be nil.
func NewLoader(next eval.Loader) (eval.Loader, error) {
	t, err := value.Parametrize(&value.RuntimeType{}, []value.Value{value.String("go"), value.String(ContextType)})
	if err != nil {
		return nil, err
	}
	alias := value.NewAlias(ContextType)
	alias.Resolve(t)
	return &typeLoader{next, &eval.Definition{Kind: eval.KindType, Name: strings.ToLower(ContextType), Type: alias}}, nil
}

// Load is eval.Loader's.
func (l *typeLoader) Load(ctx context.Context, kind eval.Kind, name string) (*eval.Definition, error) {
	if kind == eval.KindType && name == l.context.Name {
		return l.context, nil
	}
	if l.next == nil {
		return nil, nil
	}
	return l.next.Load(ctx, kind, name)
}
