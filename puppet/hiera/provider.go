package hiera

import (
	"errors"
	"strings"
	"sync"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// A provider is a level of a resolved hierarchy.
type provider struct {
	layer     *layer
	config    *config
	entry     *entry
	options   *value.Hash
	locations []*location // [nil] for a level without locations
	contexts  []*functionContext
}

// A functionContext is the state of a function and a location during a session.
type functionContext struct {
	mu    sync.Mutex // guards the fields below
	hash  *fileData  // the result of a data_hash function
	found map[string]value.Value
	cache value.HashBuilder // values that the function has cached
}

func (c *functionContext) get(key string) (value.Value, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.found[key]
	return v, ok
}

func (c *functionContext) put(key string, v value.Value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil {
		c.found = map[string]value.Value{}
	}
	c.found[key] = v
}

// errNoKey is the error of a data function that does not have a value.
var errNoKey = errors.New("not_found() is for functions that Hiera calls")

// inProvider searches the locations of a level.
func (l *lookup) inProvider(p *provider, k *lookupKey, m *strategy) (value.Value, bool, error) {
	if l.ex != nil {
		defer l.ex.push(&Node{Type: NodeProvider, Name: "Hierarchy entry \"" + p.entry.name + "\""})()
	}
	return l.search(k.text, m, len(p.locations), func(i int) (value.Value, bool, error) {
		loc := p.locations[i]
		if l.ex != nil && loc != nil {
			n := &Node{Type: NodePath, Name: loc.path, Original: loc.original}
			if loc.uri {
				n.Type = NodeURI
			}
			defer l.ex.push(n)()
		}
		if loc != nil && !loc.exists {
			l.ex.noLocation()
			return nil, false, nil
		}
		name := k.root
		if p.entry.kind == "data_dig" {
			name = k.text
		}
		v, found, err := l.ask(p, i, k)
		if errors.Is(err, errNoKey) {
			found, err = false, nil
		}
		if err != nil {
			return nil, false, err
		}
		if !found {
			l.ex.notFound(name)
			return nil, false, nil
		}
		l.ex.found(name, v)
		l.from = source{p, i}
		l.noteOrigins(v)
		if p.entry.kind == "data_dig" {
			v = k.undig(v)
		}
		return v, true, nil
	})
}

// ask calls the function of a level with a key.
func (l *lookup) ask(p *provider, i int, k *lookupKey) (value.Value, bool, error) {
	if p.entry.kind == "data_hash" {
		return l.inHash(p, i, k.root)
	}
	ctx := p.contexts[i]
	name := k.root
	if p.entry.kind == "data_dig" {
		name = k.text
	}
	if v, ok := ctx.get(name); ok {
		return v, true, nil
	}
	var v value.Value
	var err error
	switch {
	case p.entry.kind == "data_dig":
		v, err = l.call(p, i, k.all(), p.optionsAt(i))
	case p.entry.function == "eyaml_lookup_key":
		var found bool
		if v, found, err = l.eyaml(p, i, name); !found && err == nil {
			return nil, false, nil
		}
	default:
		v, err = l.call(p, i, value.String(name), p.optionsAt(i))
	}
	if err != nil {
		return nil, false, err
	}
	if !isRichData(v) {
		return nil, false, p.level("data", "the %s function '%s' returned a value for '%s' that is not data, but of type %s", p.entry.kind, p.entry.function, name, typeName(v))
	}
	ctx.put(name, v)
	return v, true, nil
}

// inHash searches the result of a data_hash function.
func (l *lookup) inHash(p *provider, i int, root string) (value.Value, bool, error) {
	d, err := l.hash(p, i)
	if err != nil {
		return nil, false, err
	}
	v, ok := d.hash.GetString(root)
	if !ok {
		return nil, false, nil
	}
	t := d.traits[root]
	if t&traitIllegal != 0 {
		return nil, false, p.bad(i, "data", "the value of '%s' is not data: keys of hashes must be strings or numbers", root)
	}
	if t&traitInterpolates == 0 {
		return v, true, nil
	}
	v, err = l.interpolate(v, true)
	if e, ok := err.(*Error); ok && e.File == "" && (e.Kind == "interpolation" || e.Kind == "unknown-variable" || e.Kind == "recursion") {
		err = p.bad(i, e.Kind, "the value of '%s': %s", root, e.Msg)
	}
	return v, err == nil, err
}

// bad returns an error about the data of a location.
func (p *provider) bad(i int, kind, format string, args ...any) *Error {
	return source{p, i}.place(errorf(kind, format, args...))
}

// A source is the location of a level that contains a value.
type source struct {
	p *provider // nil: unknown
	i int
}

// A Source is the location where a value was found.
type Source struct {
	last   source
	merged bool
}

// String returns the level and the file of the source as the end of a message,
// such as " (in the level 'Common', /data/common.yaml)". If the source is
// unknown, it returns "".
func (s Source) String() string {
	switch p := s.last.p; {
	case s.merged:
		return " (merged from several levels)"
	case p == nil:
		return ""
	case p.locations[s.last.i] == nil:
		return " (in the level '" + p.entry.name + "')"
	default:
		return " (in the level '" + p.entry.name + "', " + p.locations[s.last.i].path + ")"
	}
}

// place adds the position of the source to an error without a position. This is
// the data file. If the function of the level does not have a file, it is the
// level in hiera.yaml. A program reports such an error at its lookup.
func (s source) place(e *Error) *Error {
	if s.p == nil || e.File != "" {
		return e
	}
	if loc := s.p.locations[s.i]; loc != nil && !loc.uri {
		e.File = loc.path
		return e
	}
	e.atCall = true
	_ = s.p.config.blame(e, s.p.entry)
	return e
}

// blame adds the source of the value to an error of merging.
func (s source) blame(err error, key string) error {
	e, ok := err.(*Error)
	if !ok || e.File != "" || s.p == nil {
		return err
	}
	e.Msg = "the value of '" + key + "' in the level '" + s.p.entry.name + "': " + e.Msg
	return s.place(e)
}

// hash returns the result of a data_hash function.
func (l *lookup) hash(p *provider, i int) (*fileData, error) {
	ctx := p.contexts[i]
	ctx.mu.Lock()
	d := ctx.hash
	ctx.mu.Unlock()
	if d != nil {
		return d, nil
	}
	var err error
	if format, ok := strings.CutSuffix(p.entry.function, "_data"); ok && (format == "yaml" || format == "json" || format == "hocon") {
		d, err = l.dataFile(p, i, format)
	} else {
		var v value.Value
		if v, err = l.call(p, i, p.optionsAt(i)); err == nil {
			h, ok := v.(*value.Hash)
			if !ok {
				return nil, p.level("data", "the data_hash function '%s' must return a hash; it returned a value of type %s", p.entry.function, typeName(v))
			}
			d = newFileData(h)
		}
	}
	if err != nil {
		return nil, err
	}
	if m := p.layer.module; m != "" {
		l.warnForeign(p, i, d.hash)
	}
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	ctx.hash = d
	return d, nil
}

// warnForeign warns about keys in the data of a module that do not belong to
// the module. They cannot be looked up.
func (l *lookup) warnForeign(p *provider, i int, h *value.Hash) {
	if l.s.o.Warn == nil {
		return
	}
	where := "what " + p.entry.function + " returned"
	if loc := p.locations[i]; loc != nil {
		where = loc.path
	}
	for k := range h.All() {
		s := value.ToString(k)
		if s != optionsName && !strings.HasPrefix(s, p.layer.module+"::") {
			l.s.warn("module '%s': the key '%s' in %s is never found, because it does not begin with '%s::'", p.layer.module, s, where, p.layer.module)
		}
	}
}

func (l *lookup) dataFile(p *provider, i int, format string) (*fileData, error) {
	loc := p.locations[i]
	if loc == nil || loc.uri {
		return nil, p.config.blame(errorf("config", "the level '%s' uses %s and so needs one of path, paths, glob, globs and mapped_paths", p.entry.name, p.entry.function), p.entry)
	}
	if p.entry.options.Len() > 0 {
		return nil, p.config.blame(errorf("config", "the level '%s' uses %s, which takes no options", p.entry.name, p.entry.function), p.entry)
	}
	return l.fileData(loc.path, format)
}

// fileData returns a data file. If the file is empty, it warns.
func (l *lookup) fileData(path, format string) (*fileData, error) {
	d, err := l.s.h.data(l.ctx, path, format)
	if err == nil && d.notHash {
		l.s.warn("%s: the file has no keys", path)
	}
	return d, err
}

// optionsAt returns the options for a location, for a function.
func (p *provider) optionsAt(i int) *value.Hash {
	loc := p.locations[i]
	switch {
	case loc == nil:
		return p.options
	case loc.uri:
		return p.options.With(value.String("uri"), value.String(loc.path))
	}
	return p.options.With(value.String("path"), value.String(loc.path))
}

// call calls a function that is written in the Puppet language.
func (l *lookup) call(p *provider, i int, args ...value.Value) (value.Value, error) {
	c := &lookupContext{l: l.sub(), p: p, fc: p.contexts[i]}
	v, err := c.l.invoke(p.entry.function, append(args, c.value())...)
	if errors.Is(err, errNoFunction) {
		return nil, p.config.blame(p.noFunction(err), p.entry)
	}
	// An error inside of the function has a position there. If the function
	// does not accept the arguments that Hiera passes, the error belongs to the
	// level.
	if e, ok := err.(*eval.Error); ok && e.Pos.File == "" && (e.Kind == "argument-count" || e.Kind == "type-mismatch") {
		bad := p.level("function", "the %s function '%s' of the level '%s' cannot be called: %s", p.entry.kind, p.entry.function, p.entry.name, e.Msg)
		bad.Err = err
		return nil, bad
	}
	return v, err
}

// level returns an error of the function of the level.
func (p *provider) level(kind, format string, args ...any) *Error {
	e := errorf(kind, format, args...)
	e.atCall = true
	_ = p.config.blame(e, p.entry)
	return e
}

// noFunction returns the error of a function of a level that cannot be called.
func (p *provider) noFunction(err error) *Error {
	if why, ok := errors.AsType[*unusable](err); ok {
		e := errorf("function", "the %s function '%s' of the level '%s' cannot be called: %v", p.entry.kind, p.entry.function, p.entry.name, why)
		e.Err = why.cause
		return e
	}
	return errorf("function", "the %s function '%s' of the level '%s' is not found", p.entry.kind, p.entry.function, p.entry.name)
}
