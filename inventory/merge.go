package inventory

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"bolt/format/ordered"
)

// layer is the data of one group, of one definition of a target, or of several of
// them merged. It never changes.
type layer struct {
	config, vars, facts, hooks *ordered.Map
	features                   []string
}

// groupLayer is the merged data of all groups that contain a target. Targets in
// the same groups share it.
type groupLayer struct {
	layer
	names  []string                // of the groups, nearest first
	config map[string]*ordered.Map // finished transport configuration, by transport
}

// mergeLayers merges winner over loser.
func mergeLayers(loser, winner *layer) *layer {
	return &layer{
		config:   loser.config.Merge(winner.config),
		vars:     overlay(loser.vars, winner.vars),
		facts:    loser.facts.Merge(winner.facts),
		hooks:    overlay(loser.hooks, winner.hooks),
		features: union(loser.features, winner.features),
	}
}

// overlay merges by key: values are replaced as a whole. It may return one of its
// arguments.
func overlay(under, over *ordered.Map) *ordered.Map {
	switch {
	case over.Len() == 0:
		return under
	case under.Len() == 0:
		return over
	}
	m := &ordered.Map{}
	for k, v := range under.All() {
		m.Set(k, v)
	}
	for k, v := range over.All() {
		m.Set(k, v)
	}
	return m
}

// deepOverlay is overlay, but merges nested maps likewise.
func deepOverlay(under, over *ordered.Map) *ordered.Map {
	switch {
	case over.Len() == 0:
		return under
	case under.Len() == 0:
		return over
	}
	return under.Merge(over)
}

func union(a, b []string) []string {
	if len(b) == 0 {
		return a
	}
	list := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// closure is the part of the tree that contains some groups and all their
// ancestors.
type closure struct {
	root     *group
	children map[*group][]*group // in order
}

// closureOf returns the closure of groups. groups must be in preorder, so that
// children stay in order.
func closureOf(groups []*group) closure {
	c := closure{children: make(map[*group][]*group)}
	var include func(g *group)
	include = func(g *group) {
		if _, known := c.children[g]; known {
			return
		}
		c.children[g] = nil
		if g.parent == nil {
			c.root = g
			return
		}
		include(g.parent)
		c.children[g.parent] = append(c.children[g.parent], g)
	}
	for _, g := range groups {
		include(g)
	}
	return c
}

// fold merges the values that own returns for the groups of c. A child overrides
// its parent, and the earlier of two siblings overrides the later.
func fold[T any](c closure, own func(*group) (T, bool), merge func(loser, winner T) T) (T, bool) {
	var visit func(g *group) (T, bool)
	visit = func(g *group) (T, bool) {
		var acc T
		have := false
		for _, child := range c.children[g] {
			v, ok := visit(child)
			switch {
			case ok && have:
				acc = merge(v, acc)
			case ok:
				acc, have = v, true
			}
		}
		v, ok := own(g)
		switch {
		case ok && have:
			return merge(v, acc), true
		case ok:
			return v, true
		}
		return acc, have
	}
	return visit(c.root)
}

// readLayer resolves the references in those data keys of input that keys lists,
// and checks the result.
func (inv *Inventory) readLayer(ctx context.Context, input *ordered.Map, g *group, target string, keys []string) (*layer, error) {
	data := &ordered.Map{}
	for _, k := range keys {
		v, into := input.Value(k), k
		if k == addressKeys {
			into = "config"
			v = addressOf(input.Value(into))
		}
		if hasReference(v) {
			owner := "group " + g.name
			if target != "" {
				owner = "target " + SafeName(target)
			}
			var err error
			if v, err = inv.resolveOnce(ctx, field{input, k}, v, placeOf(owner, into)); err != nil {
				return nil, err
			}
		}
		if v != nil {
			data.Set(into, v)
		}
	}
	if err := inv.checkDataKeys(data, g, target); err != nil {
		return nil, err
	}
	hash := func(k string) *ordered.Map {
		m, _ := data.Value(k).(*ordered.Map)
		return m
	}
	return &layer{
		config: inv.pruned(hash("config")), vars: hash("vars"), facts: hash("facts"), hooks: hash("plugin_hooks"),
		features: featureList(Reveal(data.Value("features"))),
	}, nil
}

func featureList(v any) []string {
	var list []string
	for _, f := range flatten(v, nil) {
		list = union(list, []string{fmt.Sprint(f)})
	}
	return list
}

// flatten lists the elements of nested lists.
func flatten(v any, to []any) []any {
	for _, e := range listOf(v) {
		if inner, ok := e.([]any); ok {
			to = flatten(inner, to)
		} else {
			to = append(to, e)
		}
	}
	return to
}

// pruned removes nulls from transport configuration: an optional reference
// without a value leaves the option unset.
func (inv *Inventory) pruned(config *ordered.Map) *ordered.Map {
	if !hasNull(config) {
		return config
	}
	m := &ordered.Map{}
	for k, v := range config.All() {
		if _, ok := inv.transports[k]; ok {
			if h, ok := v.(*ordered.Map); ok {
				v = compact(h)
			}
		}
		m.Set(k, v)
	}
	return m
}

func hasNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case *ordered.Map:
		for _, e := range v.All() {
			if hasNull(e) {
				return true
			}
		}
	}
	return false
}

// compact removes nulls, and nested maps that contain only nulls.
func compact(m *ordered.Map) *ordered.Map {
	c := &ordered.Map{}
	for k, v := range m.All() {
		if h, ok := v.(*ordered.Map); ok {
			if h = compact(h); h.Len() == 0 {
				continue
			}
			v = h
		}
		if v != nil {
			c.Set(k, v)
		}
	}
	return c
}

// checkDataKeys checks the types of data keys, before and after references are
// resolved, because the schema does not see the results of plugins.
func (inv *Inventory) checkDataKeys(data *ordered.Map, g *group, target string) error {
	what := "group " + g.name
	if target != "" {
		what = "target " + SafeName(target)
	}
	for _, k := range dataKeys {
		v, ok := data.Get(k)
		if !ok || isReference(v) {
			continue
		}
		want := "Hash"
		if k == "features" {
			want = "Array"
		}
		if typeName(v) != want {
			return inv.invalid([]string{g.name}, "Expected %s to be of type %s, not %s, for %s", k, want, typeName(v), what)
		}
	}
	config, ok := data.Value("config").(*ordered.Map)
	if !ok || isReference(config) {
		return nil
	}
	var unexpected []string
	for k := range config.All() {
		if _, ok := inv.transports[k]; !ok && k != "transport" {
			unexpected = append(unexpected, k)
		}
	}
	if unexpected != nil {
		if target != "" {
			what += " in group " + g.name
		}
		inv.opts.Warn("unknown_config_keys", fmt.Sprintf("Found unexpected key(s) %s in config for %s", strings.Join(unexpected, ", "), what))
	}
	return nil
}

// groupLayer returns the merged data of the groups that contain a target, and of
// their ancestors. The caller holds Inventory.turn.
func (inv *Inventory) groupLayer(ctx context.Context, groups []*group) (*groupLayer, error) {
	var key []byte
	for _, g := range groups {
		key = binary.AppendUvarint(key, uint64(g.index))
	}
	if l, ok := inv.layers[string(key)]; ok {
		return l, nil
	}
	c := closureOf(groups)
	var names []string
	if err := c.each(func(g *group) error {
		names = append(names, g.name)
		if g.data == nil {
			data, err := inv.readLayer(ctx, g.input, g, "", dataKeys[:])
			if err != nil {
				return err
			}
			g.data = data
		}
		return nil
	}); err != nil {
		return nil, err
	}
	merged, _ := fold(c, func(g *group) (*layer, bool) { return g.data, true }, mergeLayers)
	l := &groupLayer{layer: *merged, names: names, config: make(map[string]*ordered.Map)}
	inv.layers[string(key)] = l
	return l, nil
}

// each visits the groups of c, children before their parent.
func (c closure) each(visit func(*group) error) error {
	var walk func(g *group) error
	walk = func(g *group) error {
		for _, child := range c.children[g] {
			if err := walk(child); err != nil {
				return err
			}
		}
		return visit(g)
	}
	return walk(c.root)
}

// readFile returns the target's own data from the file, with references resolved.
// It resolves them only once, because a plugin may prompt the user. The caller
// holds Inventory.turn.
func (t *Target) readFile(ctx context.Context) (*layer, error) {
	if l := t.file.Load(); l != nil {
		return l, nil
	}
	l, err := t.inv.definedLayer(ctx, t.defined, t.Name, dataKeys[:])
	if err != nil {
		return nil, err
	}
	l = t.local(l)
	t.file.Store(l)
	return l, nil
}

// local sets the transport of the target "localhost" to the one for this machine,
// even if its groups set another one: localhost does not need SSH.
func (t *Target) local(l *layer) *layer {
	if t.Name != "localhost" {
		return l
	}
	here := t.inv.transports.here()
	if here == "" {
		return l
	}
	own := *l
	own.config = ordered.Of("transport", here).Merge(l.config)
	return &own
}

// definedLayer merges the entries of a target in groups of the file. It reads
// only the data keys in keys.
func (inv *Inventory) definedLayer(ctx context.Context, groups []*group, name string, keys []string) (*layer, error) {
	var read map[*group]*layer
	for _, g := range groups {
		d := g.byName[name]
		if d.input == nil || !slices.ContainsFunc(dataKeys[:], func(k string) bool { _, ok := d.input.Get(k); return ok }) {
			continue
		}
		l, err := inv.readLayer(ctx, d.input, g, name, keys)
		if err != nil {
			return nil, err
		}
		if read == nil {
			read = make(map[*group]*layer)
		}
		read[g] = l
	}
	switch {
	case len(read) == 0:
		return inv.nothing, nil
	case len(groups) == 1:
		return read[groups[0]], nil
	}
	l, _ := fold(closureOf(groups), func(g *group) (*layer, bool) { l, ok := read[g]; return l, ok }, mergeLayers)
	return l, nil
}
