package hiera

import (
	"maps"
	"strings"

	"bolt/puppet/value"
)

// lookupOptions are the value of the key lookup_options, for one module or for
// all.
type lookupOptions struct {
	exact    *value.Hash // or nil
	patterns []optionsPattern
	origins  map[string]source // source of each key
}

type optionsPattern struct {
	re      *value.Regexp
	options value.Value
}

// An entryOfOptions is an entry of lookup_options, for messages.
type entryOfOptions struct {
	name   string // the key or the pattern
	from   source
	merges bool // the strategy is from this entry
}

// blame adds the source of the entry to an error.
func (at entryOfOptions) blame(err error) error {
	e, ok := err.(*Error)
	if !ok || e.File != "" {
		return err
	}
	e.Msg = "lookup_options for '" + at.name + "': " + e.Msg
	return at.from.place(e)
}

// converting returns the error of a convert_to that failed for a key.
func (at entryOfOptions) converting(key, why string, err error) error {
	e := &Error{Kind: "type-mismatch", Msg: "convert_to " + why, Err: err}
	if !strings.HasPrefix(why, "'") {
		e.Msg = "convert_to: " + why
	}
	if at.name != key {
		e.Msg = "the value of '" + key + "': " + e.Msg
	}
	return at.blame(e)
}

type optionsKey struct {
	module string
	global bool // only of the global layer
	kind   byte // 'k' for keys of the module, 'd' for its default_hierarchy
}

// of returns the options of a key and the entry that they are from, or nil if
// there are none.
func (o *lookupOptions) of(root string) (*value.Hash, entryOfOptions) {
	if o == nil {
		return nil, entryOfOptions{}
	}
	if o.exact != nil {
		if v, ok := o.exact.GetString(root); ok && !isUndef(v) {
			h, _ := v.(*value.Hash)
			return h, entryOfOptions{name: root, from: o.origins[root]}
		}
	}
	for _, p := range o.patterns {
		if ok, err := p.re.MatchString(root); err == nil && ok {
			h, _ := p.options.(*value.Hash)
			name := p.re.Source()
			return h, entryOfOptions{name: name, from: o.origins[name]}
		}
	}
	return nil, entryOfOptions{}
}

// compileOptions converts a value to lookupOptions. origins are the sources of
// its keys. For nil it returns nil. It warns about entries that have no effect.
func (l *lookup) compileOptions(h *value.Hash, origins map[string]source) (*lookupOptions, error) {
	if h == nil {
		return nil, nil
	}
	o := lookupOptions{origins: origins}
	var exact value.HashBuilder
	for k, v := range h.All() {
		s := value.ToString(k)
		l.warnEntry(entryOfOptions{name: s, from: origins[s]}, v)
		if !strings.HasPrefix(s, "^") {
			exact.Put(k, v)
			continue
		}
		re, err := value.NewRegexp(s)
		if err != nil {
			return nil, origins[s].place(errorf("data", "the key '%s' of lookup_options is not a regular expression: %v", s, err))
		}
		o.patterns = append(o.patterns, optionsPattern{re, v})
	}
	if exact.Len() > 0 {
		o.exact = exact.Build()
	}
	return &o, nil
}

// warnEntry warns about the parts of an entry of lookup_options that Hiera
// ignores.
func (l *lookup) warnEntry(at entryOfOptions, v value.Value) {
	warn := func(format string, args ...any) {
		l.s.warn("%s", at.blame(errorf("data", format, args...)).Error())
	}
	h, ok := v.(*value.Hash)
	if !ok {
		if !isUndef(v) {
			warn("the entry has no effect: it must be a hash with merge or convert_to, not %s", typeName(v))
		}
		return
	}
	for k := range h.All() {
		if name := value.ToString(k); name != "merge" && name != "convert_to" {
			warn("'%s' has no effect; there are merge and convert_to", name)
		}
	}
}

// noteOrigins records the sources of the entries of lookup_options. If a key
// has several entries, the first one is used.
func (l *lookup) noteOrigins(v value.Value) {
	h, ok := v.(*value.Hash)
	if l.origins == nil || !ok {
		return
	}
	for k := range h.All() {
		s := value.ToString(k)
		if _, known := l.origins[s]; !known {
			l.origins[s] = l.from
		}
	}
}

// checkOptions validates the value of lookup_options. In a module, all keys
// must belong to the module.
func checkOptions(v value.Value, module string) (*value.Hash, *Error) {
	if isUndef(v) {
		return nil, nil
	}
	h, ok := v.(*value.Hash)
	if !ok {
		return nil, errorf("data", "lookup_options must be a hash, not %s", typeName(v))
	}
	for k := range h.All() {
		s, ok := k.(value.String)
		if !ok {
			return nil, errorf("data", "the keys of lookup_options must be strings; %s is not a string", value.ToString(k))
		}
		if module != "" && !strings.HasPrefix(strings.TrimPrefix(string(s), "^"), module+"::") {
			return nil, errorf("data", "lookup_options of the module '%s' can contain only keys of this module: '%s' does not begin with '%s::'", module, string(s), module)
		}
	}
	return h, nil
}

// optionsFor returns the lookup_options of a key, or nil if there are none.
func (l *lookup) optionsFor(k *lookupKey) (*value.Hash, entryOfOptions, error) {
	o, err := l.options(k.module)
	h, at := o.of(k.root)
	return h, at, err
}

// options returns the lookup_options for the keys of a module. If module is "",
// it returns those for keys without a module.
func (l *lookup) options(module string) (*lookupOptions, error) {
	key := optionsKey{module: module, global: l.global, kind: 'k'}
	return l.remembered(key, func() (*lookupOptions, error) {
		m := l.meta()
		if m.ex != nil {
			defer m.ex.push(&Node{Type: NodeMeta, Name: optionsName})()
		}
		m.origins = map[string]source{}
		h, err := m.gatherOptions(module)
		if err != nil {
			return nil, err
		}
		return m.compileOptions(h, m.origins)
	})
}

// remembered returns the cached value for key, or makes it.
func (l *lookup) remembered(key optionsKey, make func() (*lookupOptions, error)) (*lookupOptions, error) {
	s := l.s
	s.mu.Lock()
	o, ok := s.lookupOptions[key]
	s.mu.Unlock()
	if ok {
		return o, nil
	}
	o, err := make()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.lookupOptions[key] = o
	s.mu.Unlock()
	return o, nil
}

var (
	optionsRoot = &lookupKey{text: optionsName, root: optionsName}
	hashMerge   = &strategy{name: "hash"}
)

// gatherOptions merges the lookup_options of the layers.
func (l *lookup) gatherOptions(module string) (*value.Hash, error) {
	var all *value.Hash
	for i := range 3 {
		if i > 0 && l.global {
			break
		}
		if i == 2 {
			if err := l.keepCommon(all); err != nil {
				return nil, err
			}
		}
		y, err := l.layer(i)
		if err != nil {
			return nil, err
		}
		if y == nil {
			continue
		}
		v, found, err := l.inLayer(y, optionsRoot, hashMerge)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		own := ""
		if i == 2 {
			own = module
		}
		h, bad := checkOptions(v, own)
		if bad != nil {
			return nil, l.from.place(bad)
		}
		switch {
		case h == nil:
		case all == nil:
			all = h
		case i == 2:
			l.explainOptions(module, all, h)
			all = h.Merge(all)
		default:
			all = h.Merge(all)
		}
	}
	return all, nil
}

// keepCommon caches the options that all modules share, for keys without a
// module.
func (l *lookup) keepCommon(h *value.Hash) error {
	o, err := l.compileOptions(h, maps.Clone(l.origins))
	if err != nil {
		return err
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	key := optionsKey{kind: 'k'}
	if _, ok := l.s.lookupOptions[key]; !ok {
		l.s.lookupOptions[key] = o
	}
	return nil
}

// explainOptions explains that the options of a module have a lower priority
// than the others.
func (l *lookup) explainOptions(module string, all, own *value.Hash) {
	if l.ex == nil {
		return
	}
	defer l.ex.push(&Node{Type: NodeMerge, Name: "hash"})()
	l.ex.leaf(&Node{Type: NodeScope, Name: "Global and Environment", Event: EventFound, Key: optionsName, Value: all})
	l.ex.leaf(&Node{Type: NodeScope, Name: "Module " + module, Event: EventFound, Key: optionsName, Value: own})
	l.ex.result(own.Merge(all))
}

// moduleDefaultOptions returns the lookup_options of the default_hierarchy of a
// module.
func (l *lookup) moduleDefaultOptions(y *layer) (*lookupOptions, error) {
	return l.remembered(optionsKey{module: y.module, kind: 'd'}, func() (*lookupOptions, error) {
		m := l.meta()
		if m.ex != nil {
			defer m.ex.push(&Node{Type: NodeScope, Name: "Searching for \"" + optionsName + "\""})()
		}
		m.origins = map[string]source{}
		v, found, err := m.inDefaults(y, optionsRoot, hashMerge)
		if err != nil || !found {
			return nil, err
		}
		h, bad := checkOptions(v, y.module)
		if bad != nil {
			return nil, m.from.place(bad)
		}
		return m.compileOptions(h, m.origins)
	})
}
