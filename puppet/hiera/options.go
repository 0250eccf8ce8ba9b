package hiera

import (
	"strings"

	"bolt/puppet/value"
)

// lookupOptions are the value of the key lookup_options, of a module or of
// all.
type lookupOptions struct {
	exact    *value.Hash // nil without
	patterns []optionsPattern
}

type optionsPattern struct {
	re      *value.Regexp
	options value.Value
}

type optionsKey struct {
	module string
	global bool // of the global layer alone
	kind   byte // 'k' for keys of the module, 'd' of its default_hierarchy
}

// of returns the options of a key, nil if there are none.
func (o *lookupOptions) of(root string) *value.Hash {
	if o == nil {
		return nil
	}
	if o.exact != nil {
		if v, ok := o.exact.GetString(root); ok && !isUndef(v) {
			h, _ := v.(*value.Hash)
			return h
		}
	}
	for _, p := range o.patterns {
		if ok, err := p.re.MatchString(root); err == nil && ok {
			h, _ := p.options.(*value.Hash)
			return h
		}
	}
	return nil
}

// compileOptions makes lookupOptions of a value; nil of nil.
func compileOptions(h *value.Hash) (*lookupOptions, error) {
	if h == nil {
		return nil, nil
	}
	var o lookupOptions
	var exact value.HashBuilder
	for k, v := range h.All() {
		s := value.ToString(k)
		if !strings.HasPrefix(s, "^") {
			exact.Put(k, v)
			continue
		}
		re, err := value.NewRegexp(s)
		if err != nil {
			return nil, errorf("data", "the key '%s' of lookup_options is not a regular expression: %v", s, err)
		}
		o.patterns = append(o.patterns, optionsPattern{re, v})
	}
	if exact.Len() > 0 {
		o.exact = exact.Build()
	}
	return &o, nil
}

// checkOptions checks the value of lookup_options. In a module all keys must
// be the module's own.
func checkOptions(v value.Value, module string) (*value.Hash, error) {
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
			return nil, errorf("data", "the keys of lookup_options must be strings; %s is none", value.ToString(k))
		}
		if module != "" && !strings.HasPrefix(strings.TrimPrefix(string(s), "^"), module+"::") {
			return nil, errorf("data", "lookup_options of the module '%s' may be for its own keys only: '%s' does not begin with '%s::'", module, string(s), module)
		}
	}
	return h, nil
}

// optionsFor returns the lookup_options of a key, nil if there are none.
func (l *lookup) optionsFor(k *lookupKey) (*value.Hash, error) {
	o, err := l.options(k.module)
	return o.of(k.root), err
}

// options returns the lookup_options that hold for the keys of a module, or
// for those of none.
func (l *lookup) options(module string) (*lookupOptions, error) {
	key := optionsKey{module: module, global: l.global, kind: 'k'}
	return l.remembered(key, func() (*lookupOptions, error) {
		m := l.meta()
		if m.ex != nil {
			defer m.ex.push(&Node{Type: NodeMeta, Name: optionsName})()
		}
		h, err := m.gatherOptions(module)
		if err != nil {
			return nil, err
		}
		return compileOptions(h)
	})
}

// remembered returns what has been made for key before, or makes it.
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
		h, err := checkOptions(v, own)
		if err != nil {
			return nil, err
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

// keepCommon keeps what all modules share for the keys of none.
func (l *lookup) keepCommon(h *value.Hash) error {
	o, err := compileOptions(h)
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

// explainOptions tells that the options of a module come below the others.
func (l *lookup) explainOptions(module string, all, own *value.Hash) {
	if l.ex == nil {
		return
	}
	defer l.ex.push(&Node{Type: NodeMerge, Name: "hash"})()
	l.ex.leaf(&Node{Type: NodeScope, Name: "Global and Environment", Event: EventFound, Key: optionsName, Value: all})
	l.ex.leaf(&Node{Type: NodeScope, Name: "Module " + module, Event: EventFound, Key: optionsName, Value: own})
	l.ex.result(own.Merge(all))
}

// moduleDefaultOptions returns the lookup_options of a module's
// default_hierarchy.
func (l *lookup) moduleDefaultOptions(y *layer) (*lookupOptions, error) {
	return l.remembered(optionsKey{module: y.module, kind: 'd'}, func() (*lookupOptions, error) {
		m := l.meta()
		if m.ex != nil {
			defer m.ex.push(&Node{Type: NodeScope, Name: "Searching for \"" + optionsName + "\""})()
		}
		v, found, err := m.inDefaults(y, optionsRoot, hashMerge)
		if err != nil || !found {
			return nil, err
		}
		h, err := checkOptions(v, y.module)
		if err != nil {
			return nil, err
		}
		return compileOptions(h)
	})
}
