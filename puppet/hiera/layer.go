package hiera

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"bolt/puppet/value"
)

// A layer is a hiera.yaml in a session.
type layer struct {
	place      string
	module     string // of a module's layer
	root       string // directory; paths are relative to it
	configPath string
	required   bool // if the file does not exist, the default configuration is used

	// Guarded by the session's mutex:
	loaded   bool
	c        *config
	err      error
	variants []*resolved
	last     *resolved
}

// A resolved is a hierarchy with the paths that result from the variables.
type resolved struct {
	providers []*provider
	defaults  []*provider
	used      []usedVariable
}

// maxVariants is the number of sets of paths that a session caches for a layer.
// There are several if scopes differ in variables that paths use.
const maxVariants = 8

func (y *layer) name() string {
	n := y.place
	if y.module != "" {
		n += " \"" + y.module + "\""
	}
	return n + " Data Provider (hiera configuration version 5)"
}

// config returns the configuration of the layer, or nil if there is none. If
// reading was canceled, the error is not cached.
func (y *layer) config(ctx context.Context, s *Session) (*config, error) {
	s.mu.Lock()
	if y.loaded {
		defer s.mu.Unlock()
		return y.c, y.err
	}
	s.mu.Unlock()
	c, err := new(config), error(nil) // a layer without a path has no data
	if y.configPath != "" {
		c, err = s.h.config(ctx, y.configPath, y.place)
	}
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	if c == nil && err == nil && y.required {
		c = defaultConfig()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !y.loaded {
		y.loaded, y.c, y.err = true, c, err
	}
	return y.c, y.err
}

// environment returns the layer of the environment, or nil.
func (s *Session) environment(ctx context.Context) (*layer, error) {
	if s.h.o.Environment == "" {
		return nil, nil
	}
	s.mu.Lock()
	if s.env == nil {
		dir := s.h.o.Environment
		s.env = &layer{place: placeEnv, root: dir, configPath: path.Join(dir, "hiera.yaml")}
	}
	y := s.env
	s.mu.Unlock()
	if c, err := y.config(ctx, s); c == nil {
		return nil, err
	}
	return y, nil
}

// moduleLayer returns the layer of a module, or nil. known reports whether the
// module exists.
func (s *Session) moduleLayer(ctx context.Context, name string) (y *layer, known bool, err error) {
	if s.h.o.Modules == nil {
		return nil, false, nil
	}
	s.mu.Lock()
	y = s.modules[name]
	s.mu.Unlock()
	if y == nil {
		dir, ok := s.h.o.Modules.Root(name)
		if !ok {
			return nil, false, nil
		}
		s.mu.Lock()
		if y = s.modules[name]; y == nil {
			y = &layer{place: placeModule, module: name, root: dir, configPath: path.Join(dir, "hiera.yaml")}
			s.modules[name] = y
		}
		s.mu.Unlock()
	}
	if c, err := y.config(ctx, s); c == nil {
		return nil, true, err
	}
	return y, true, nil
}

// inLayer searches the hierarchy of a layer.
func (l *lookup) inLayer(y *layer, k *lookupKey, m *strategy) (value.Value, bool, error) {
	return l.inHierarchy(y, k, m, func(r *resolved) []*provider { return r.providers })
}

// inDefaults searches the default_hierarchy of a module.
func (l *lookup) inDefaults(y *layer, k *lookupKey, m *strategy) (value.Value, bool, error) {
	return l.inHierarchy(y, k, m, func(r *resolved) []*provider { return r.defaults })
}

func (l *lookup) inHierarchy(y *layer, k *lookupKey, m *strategy, part func(*resolved) []*provider) (v value.Value, found bool, err error) {
	err = l.check(k.text, func() error {
		if l.ex != nil {
			n := &Node{Type: NodeProvider, Name: y.name(), Module: y.module}
			if c, err := y.config(l.ctx, l.s); err == nil && c != nil {
				n.Config = c.path
			}
			defer l.ex.push(n)()
		}
		r, err := l.resolve(y)
		if err != nil {
			return err
		}
		providers := part(r)
		if len(providers) == 0 {
			l.ex.notFound(k.text)
			return nil
		}
		v, found, err = l.search(k.text, m, len(providers), func(i int) (value.Value, bool, error) {
			return l.inProvider(providers[i], k, m)
		})
		return err
	})
	return v, found, err
}

// resolve returns the hierarchy of the layer, with the paths for the present
// variables.
func (l *lookup) resolve(y *layer) (*resolved, error) {
	c, err := y.config(l.ctx, l.s)
	if err == nil {
		err = c.late
	}
	if err != nil {
		return nil, err
	}
	s := l.s
	s.mu.Lock()
	variants, last := slices.Clone(y.variants), y.last
	s.mu.Unlock()
	for _, r := range variants {
		if l.stable(r) {
			if r != last {
				s.mu.Lock()
				y.last = r
				s.mu.Unlock()
			}
			return r, nil
		}
	}
	if last != nil {
		l.ex.text("The paths of the hierarchy are resolved again: variables that they use have changed")
	}
	m := l.meta()
	m.ex = nil // Puppet does not explain it either
	var used []usedVariable
	m.used = &used
	r := &resolved{}
	hierarchy := c.hierarchy
	if s.o.Plan && c.plan != nil {
		hierarchy = c.plan
	}
	if r.providers, err = m.providers(y, c, hierarchy); err != nil {
		return nil, err
	}
	if c.hasDefaults {
		if r.defaults, err = m.providers(y, c, c.defaults); err != nil {
			return nil, err
		}
	}
	r.used = used
	s.mu.Lock()
	defer s.mu.Unlock()
	y.variants = append([]*resolved{r}, y.variants[:min(len(y.variants), maxVariants-1)]...)
	y.last = r
	return r, nil
}

// stable reports whether the variables that r depends on are unchanged.
func (l *lookup) stable(r *resolved) bool {
	if len(r.used) == 0 {
		return true
	}
	quiet := l.meta()
	quiet.ex = nil
	for _, u := range r.used {
		v, ok := quiet.caller.Variable(u.root, u.segments...)
		if !ok {
			v = value.Undef{}
		} else if len(u.segments) > 0 {
			found, ok, err := quiet.digInto(u.key, u.segments, v)
			if v = found; err != nil || !ok {
				v = value.Undef{}
			}
		}
		if !value.Same(v, u.value) {
			return false
		}
	}
	return true
}

// remember records the variables that a path depends on. Variables of the top
// scope that have a value do not change.
func (l *lookup) remember(key, root string, segments []value.Value, v value.Value) {
	if l.used == nil || l.local != nil && l.local.name == root || strings.HasPrefix(key, "::") && !isUndef(v) {
		return
	}
	if slices.ContainsFunc(*l.used, func(u usedVariable) bool { return u.key == key }) {
		return
	}
	*l.used = append(*l.used, usedVariable{key, root, segments, v})
}

// A location is a file or a URI that a level reads.
type location struct {
	original string // before interpolation
	path     string
	uri      bool
	exists   bool
}

// providers resolves the levels of a hierarchy.
func (l *lookup) providers(y *layer, c *config, levels []*entry) ([]*provider, error) {
	var out []*provider
	for _, e := range levels {
		p, err := l.provider(y, c, e)
		if err != nil {
			return nil, c.blame(err, e)
		}
		if p != nil {
			out = append(out, p)
		}
	}
	return out, nil
}

// blame adds the position in hiera.yaml to an error of a level, unless the
// error has a position.
func (c *config) blame(err error, e *entry) error {
	b, ok := err.(*Error)
	if !ok || b.File != "" || c.path == "" {
		return err
	}
	b.File = c.path
	if c.at != nil {
		b.Line, b.Column = c.at(e.at...)
	}
	return b
}

// A level is a level of a hierarchy, for messages.
type level struct {
	config *config
	entry  *entry
}

// String returns the position of the level in hiera.yaml, and its name.
func (v level) String() string {
	e := Error{File: v.config.path, Msg: fmt.Sprintf("level '%s'", v.entry.name)}
	if v.config.at != nil {
		e.Line, e.Column = v.config.at(v.entry.at...)
	}
	return e.Error()
}

func (l *lookup) provider(y *layer, c *config, e *entry) (*provider, error) {
	p := &provider{layer: y, config: c, entry: e}
	dir, err := l.expand(join(y.root, e.datadir))
	if err != nil {
		return nil, err
	}
	if p.locations, err = l.locations(dir, c, e); err != nil {
		return nil, err
	}
	if c.path == "" {
		p.locations = slices.DeleteFunc(p.locations, func(loc *location) bool { return !loc.exists })
		if len(p.locations) == 0 {
			return nil, nil
		}
	}
	if e.location == "" {
		p.locations = []*location{nil}
	}
	options, err := l.interpolate(e.options, false)
	if err != nil {
		return nil, err
	}
	p.options, _ = options.(*value.Hash)
	p.contexts = make([]*functionContext, len(p.locations))
	for i := range p.contexts {
		p.contexts[i] = &functionContext{}
	}
	return p, nil
}

// expand is interpolate for the strings of a configuration.
func (l *lookup) expand(s string) (string, error) {
	v, err := l.interpolate(value.String(s), false)
	if err != nil {
		return "", err
	}
	return value.ToString(v), nil
}

func (l *lookup) locations(dir string, c *config, e *entry) ([]*location, error) {
	outer := l.level
	l.level = level{c, e}
	defer func() { l.level = outer }()
	if e.location == "mapped_paths" {
		return l.mappedPaths(dir, e.values)
	}
	var out []*location
	for _, original := range e.values {
		text, err := l.expand(original)
		if err != nil {
			return nil, err
		}
		switch e.location {
		case "path", "paths":
			out = append(out, l.file(dir, original, text))
		case "glob", "globs":
			pattern := join(dir, text)
			files, err := l.s.h.o.Files.Glob(l.ctx, pattern)
			if l.ctx.Err() != nil {
				return nil, ended(l.ctx, pattern)
			}
			if err != nil {
				return nil, errorf("config", "the pattern '%s' cannot be expanded: %v", pattern, err)
			}
			for _, f := range files {
				out = append(out, &location{original: pattern, path: f, exists: true})
			}
		default:
			if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
				return nil, errorf("config", "'%s' is not a URI: it has white space or control characters", text)
			}
			out = append(out, &location{original: original, path: text, uri: true, exists: true})
		}
	}
	return out, nil
}

func (l *lookup) file(dir, original, name string) *location {
	p := join(dir, name)
	_, ok := l.s.h.o.Files.Stat(p)
	return &location{original: original, path: p, exists: ok}
}

// mappedPaths makes a path from each element of a variable.
func (l *lookup) mappedPaths(dir string, triple []string) ([]*location, error) {
	v, err := l.variable(triple[0], triple[0])
	if err != nil {
		return nil, err
	}
	var list []value.Value
	switch v := v.(type) {
	case value.Undef:
	case value.String:
		if v != "" {
			list = append(list, v)
		}
	case *value.Array:
		list = v.Elems()
	case *value.Hash:
		for k, e := range v.All() {
			list = append(list, value.NewArray(k, e))
		}
	default:
		return nil, errorf("config", "mapped_paths: the variable '%s' must be a string, an array or a hash, not %s", triple[0], typeName(v))
	}
	var out []*location
	outer := l.local
	defer func() { l.local = outer }()
	for _, e := range list {
		l.local = &localVariable{triple[1], e}
		name, err := l.expand(triple[2])
		if err != nil {
			return nil, err
		}
		out = append(out, l.file(dir, triple[2], name))
	}
	return out, nil
}
