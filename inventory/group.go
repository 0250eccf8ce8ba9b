package inventory

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/nodeset"
	"bolt/internal/spelling"
	"bolt/inventory/match"
	"bolt/transport"
)

// group is one group of the tree. After New returns, only its data (guarded by
// Inventory.turn) and its members change.
type group struct {
	name    string
	parent  *group
	index   int // in preorder
	input   *ordered.Map
	groups  []*group
	defs    []*definition          // of its own targets, in order
	byName  map[string]*definition // the same, by name
	strings []string               // targets given as a string, not yet placed
	aliases []alias
	match   *match.Expr // members besides defs; nil if the group has no match
	dynamic bool        // it, or a group in it, has a match

	data *layer // input's data with references resolved, nil until needed

	// Changes that plans made to the members, guarded by Inventory.mu.
	added   []*Target
	removed map[*Target]bool // of defs

	// matched lists the targets of the file that match, in the order of the file,
	// once Inventory.settled is set; guarded by Inventory.mu.
	matched []*Target
}

type alias struct{ name, target string }

// definition is the entry of one target in one group.
type definition struct {
	group *group
	name  string
	uri   string // "" if the entry has no uri
	named bool   // the entry has a name, not only a URI
	alias []string
	// plain is set if alias is written as one string instead of a list.
	plain bool
	input *ordered.Map // nil if the entry has only a name or URI

	others int // number of differing definitions of this name in the group; they are ignored
}

// dataKeys are the keys that groups and targets share.
var dataKeys = [...]string{"config", "facts", "vars", "features", "plugin_hooks"}

func isDataKey(k string) bool {
	for _, d := range dataKeys {
		if k == d {
			return true
		}
	}
	return false
}

// illegal returns the first character of name that separates names on a command
// line.
func illegal(name string) (string, bool) {
	for _, r := range name {
		switch {
		case r == ',' || unicode.IsSpace(r):
			return string(r), true
		case unicode.IsControl(r):
			// Differs from Bolt: a name is printed to terminals.
			return strings.Trim(strconv.QuoteRune(r), "'"), true
		}
	}
	return "", false
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

func (g *group) walk(visit func(*group)) {
	visit(g)
	for _, c := range g.groups {
		c.walk(visit)
	}
}

// path lists the names of the group and of the groups that contain it, innermost
// first.
func (g *group) path() []string {
	var names []string
	for ; g != nil; g = g.parent {
		names = append(names, g.name)
	}
	return names
}

// maxGroupDepth limits the nesting of groups, because a plugin could generate
// groups without end.
const maxGroupDepth = 200

// readGroup builds the group that input describes, and all groups below it. If
// parent is nil, the group is "all".
func (inv *Inventory) readGroup(ctx context.Context, v any, parent *group, at *place) (*group, error) {
	v, err := inv.resolveTop(ctx, v, at, 0)
	if err != nil {
		return nil, err
	}
	var in []string // where the group is, for messages before it has a name
	if parent != nil {
		in = parent.path()
	}
	input, ok := v.(*ordered.Map)
	if !ok {
		return nil, inv.invalid(in, "A group must be a Hash, not %s", typeName(v))
	}
	if len(in) > maxGroupDepth {
		return nil, inv.invalid(in[:1], "Groups are nested deeper than %d", maxGroupDepth)
	}
	g := &group{parent: parent, input: input, byName: make(map[string]*definition)}
	if parent == nil {
		g.name = "all"
		if n, ok := input.Get("name"); ok && n != "all" {
			inv.opts.Warn("top_level_group_name", fmt.Sprintf("The top-level group cannot have a name: '%v' is ignored, it is 'all'.", n))
		}
	} else {
		name, err := inv.resolve(ctx, input.Value("name"), at.key("name"))
		if err != nil {
			return nil, err
		}
		if _, ok := input.Get("name"); !ok {
			return nil, inv.misplaced(input, "groups", inv.invalid(in, "A group does not have a name"))
		}
		if g.name, ok = Reveal(name).(string); !ok {
			return nil, inv.invalid(in, "A group's name must be a String, not %s", typeName(name))
		}
		if c, bad := illegal(g.name); bad {
			return nil, inv.invalid([]string{g.name}, "Illegal character '%s' in group name '%s'", c, SafeName(g.name))
		}
	}
	if err := inv.checkGroupKeys(g); err != nil {
		return nil, err
	}
	if err := inv.readMatch(g); err != nil {
		return nil, err
	}
	if err := inv.readTargets(ctx, g); err != nil {
		return nil, err
	}
	below := placeOf("group "+g.name, "groups")
	children, err := inv.resolveTop(ctx, input.Value("groups"), below, 0)
	if err != nil {
		return nil, err
	}
	for i, c := range listOf(children) {
		child, err := inv.readGroup(ctx, c, g, below.index(i))
		if err != nil {
			return nil, err
		}
		g.groups = append(g.groups, child)
		g.dynamic = g.dynamic || child.dynamic
	}
	return g, nil
}

// misplaced adds a hint to an error about a group or target without a name, if
// the entry looks like a whole inventory.
func (inv *Inventory) misplaced(input *ordered.Map, place string, err error) error {
	_, groups := input.Get("groups")
	_, targets := input.Get("targets")
	if f, ok := errors.AsType[*fault.Error](err); ok && groups && targets {
		f.Hint = "This entry is a whole inventory, but it must be a list of " + place + ". If the plugin ansible returned it, set 'as: " + place + "'."
	}
	return err
}

// groupKeys are the keys of a group, for the advice about an unknown key.
var groupKeys = []string{"name", "groups", "targets", "match", "config", "facts", "features", "vars", "plugin_hooks"}

func (inv *Inventory) checkGroupKeys(g *group) error {
	if _, ok := g.input.Get("nodes"); ok {
		return inv.invalid([]string{g.name}, "Found the key 'nodes' in group %s: that is an inventory of version 1, which is not supported. "+
			"Rename 'nodes' to 'targets', and write version 2 names (name, uri)", g.name)
	}
	var unexpected []string
	for k := range g.input.All() {
		if !isDataKey(k) && k != "name" && k != "groups" && k != "targets" && !(k == "version" && g.parent == nil) && !(k == "match" && g.parent != nil) {
			unexpected = append(unexpected, k)
		}
	}
	if unexpected != nil {
		text := fmt.Sprintf("Found unexpected key(s) %s in group %s", strings.Join(unexpected, ", "), g.name)
		if near := spelling.Near(unexpected[0], groupKeys); near != "" && len(unexpected) == 1 {
			text += fmt.Sprintf(". Did you mean '%s'?", near)
		}
		inv.opts.Warn("unknown_group_keys", text)
	}
	return inv.checkDataKeys(g.input, g, "")
}

func (inv *Inventory) readTargets(ctx context.Context, g *group) error {
	at := placeOf("group "+g.name, "targets")
	targets, err := inv.resolveTop(ctx, g.input.Value("targets"), at, 0)
	if err != nil {
		return err
	}
	for i, t := range listOf(targets) {
		switch t := t.(type) {
		case string:
			g.strings = append(g.strings, t)
		case transport.Secret: // names are not secret, even if a plugin that hides its values returned them
			g.strings = append(g.strings, t.Reveal())
		case *ordered.Map:
			var here *place
			if hasReference(t) {
				here = at.index(i)
			}
			if err := inv.readTarget(ctx, g, t, here); err != nil {
				return err
			}
		default:
			return inv.invalid([]string{g.name}, "A target must be a String or Hash, not %s", typeName(t))
		}
	}
	inv.warnOthers(g)
	return nil
}

// warnOthers warns about targets that a group defines in several different ways.
// An example is a mapping that gives one name to many machines.
func (inv *Inventory) warnOthers(g *group) {
	var names []string
	others := 0
	for _, d := range g.defs {
		if d.others > 0 {
			others += d.others
			names = append(names, SafeName(d.name))
		}
	}
	if others > 0 {
		inv.opts.Warn("duplicate_targets", fmt.Sprintf("Group %[2]s ignores %[1]s with the same name as an earlier target. Several targets have the name %[3]s.",
			targetCount(others), g.name, nodeset.Fold(names)))
	}
}

func (inv *Inventory) readTarget(ctx context.Context, g *group, input *ordered.Map, at *place) error {
	fail := func(format string, args ...any) error { return inv.invalid([]string{g.name}, format, args...) }
	d := &definition{group: g, input: input}
	for _, k := range []string{"name", "uri"} {
		v, err := inv.resolve(ctx, input.Value(k), at.key(k))
		if err != nil {
			return err
		}
		s, ok := Reveal(v).(string)
		switch {
		case v == nil:
			continue
		case !ok:
			return fail("A target's %s must be a String, not %s", k, typeName(v))
		case k == "uri":
			d.uri = s
		default:
			d.name, d.named = s, true
		}
	}
	if !d.named {
		d.name = d.uri
	}
	if d.name == "" {
		return inv.misplaced(input, "targets", fail("No name or uri for the target with the key(s) %s", strings.Join(input.Keys(), ", ")))
	}
	if !ascii(d.name) {
		return fail("Target name must be ASCII characters: %s", SafeName(d.name))
	}
	if first := g.byName[d.name]; first != nil { // the first definition takes effect
		if !reflect.DeepEqual(first.input, input) {
			first.others++
		}
		return nil
	}
	var unexpected []string
	for k := range input.All() {
		if !isDataKey(k) && k != "name" && k != "alias" && k != "uri" {
			unexpected = append(unexpected, k)
		}
	}
	if unexpected != nil {
		inv.opts.Warn("unknown_target_keys", fmt.Sprintf("Found unexpected key(s) %s in target %s", strings.Join(unexpected, ", "), SafeName(d.name)))
	}
	if err := inv.checkDataKeys(input, g, d.name); err != nil {
		return err
	}
	if err := inv.readAliases(ctx, g, d); err != nil {
		return err
	}
	g.add(d)
	return nil
}

func (inv *Inventory) readAliases(ctx context.Context, g *group, d *definition) error {
	fail := func(format string, args ...any) error { return inv.invalid([]string{g.name}, format, args...) }
	v, err := inv.resolve(ctx, d.input.Value("alias"), placeOf("target "+SafeName(d.name), "alias"))
	if err != nil || v == nil {
		return err
	}
	v = Reveal(v)
	switch v.(type) {
	case string:
		d.plain = true
	case []any:
	default:
		return fail("The alias of target %s must be a String or Array, not %s", SafeName(d.name), typeName(v))
	}
	for _, a := range listOf(v) {
		name, ok := a.(string)
		if !ok {
			return fail("An alias of target %s must be a String, not %s", SafeName(d.name), typeName(a))
		}
		if c, bad := illegal(name); bad {
			return fail("Illegal character '%s' in alias '%s'", c, SafeName(name))
		}
		for _, other := range g.aliases {
			if other.name == name {
				return fail("Alias %s refers to multiple targets: %s and %s", SafeName(name), SafeName(other.target), SafeName(d.name))
			}
		}
		g.aliases = append(g.aliases, alias{name, d.name})
		d.alias = append(d.alias, name)
	}
	return nil
}

func (g *group) add(d *definition) {
	g.defs = append(g.defs, d)
	g.byName[d.name] = d
}

// placeStrings decides for each target that was given as a string: it is a target
// that is defined elsewhere by that name or alias, or else a new one with that
// URI. Therefore all groups must be read first. A string with ranges stands for
// each of its names.
func (inv *Inventory) placeStrings() error {
	known := make(map[string]bool)
	aliases := make(map[string]string)
	index := 0
	inv.root.walk(func(g *group) {
		g.index = index
		index++
		for _, d := range g.defs {
			known[d.name] = true
		}
		for _, a := range g.aliases {
			aliases[a.name] = a.target
		}
	})
	var failed error
	inv.root.walk(func(g *group) {
		for _, s := range g.strings {
			names := []string{s}
			if !known[s] && aliases[s] == "" {
				list, _, ok, err := ranges(s)
				switch {
				case err != nil && failed == nil:
					failed = inv.invalid(g.path(), "Invalid target %s: %v", SafeName(s), err)
				case ok:
					names = list
				}
			}
			for _, n := range names {
				g.place(n, known[n], aliases[n])
			}
		}
		g.strings = nil
	})
	return failed
}

// place adds the target that a string names. If known is set, the string is the
// name of a defined target. If aliased is not "", the string is an alias of the
// target aliased. Otherwise the target is new.
func (g *group) place(s string, known bool, aliased string) {
	d := &definition{group: g, name: s}
	switch {
	case known:
		d.named = true
	case aliased != "":
		d.name, d.named = aliased, true
	default:
		d.uri = s
	}
	if g.byName[d.name] == nil {
		g.add(d)
	}
}

// checkNames makes sure that no name is used twice and that every URI is valid.
func (inv *Inventory) checkNames() error {
	groups := make(map[string]bool)
	targets := make(map[string]bool)
	aliases := make(map[string]string)
	var visit func(g *group) error
	visit = func(g *group) error {
		fail := func(format string, args ...any) error { return inv.invalid(g.path(), format, args...) }
		switch {
		case groups[g.name]:
			return fail("Tried to redefine group %s", SafeName(g.name))
		case targets[g.name]:
			return fail("Group %s conflicts with target of the same name", SafeName(g.name))
		case aliases[g.name] != "":
			return fail("Group %s conflicts with alias of the same name", SafeName(g.name))
		}
		groups[g.name] = true
		for _, d := range g.defs {
			if d.uri != "" {
				if _, err := parseURI(d.uri); err != nil {
					return fail("Invalid target uri %s: %v", SafeName(d.uri), err)
				}
			}
			switch {
			case groups[d.name]:
				return fail("Group %s conflicts with target of the same name", SafeName(d.name))
			case aliases[d.name] != "":
				return fail("Target name %s conflicts with alias of the same name", SafeName(d.name))
			}
			targets[d.name] = true
		}
		for _, a := range g.aliases {
			switch other := aliases[a.name]; {
			case groups[a.name]:
				return fail("Group %s conflicts with alias of the same name", SafeName(a.name))
			case targets[a.name]:
				return fail("Target name %s conflicts with alias of the same name", SafeName(a.name))
			case other != "":
				return fail("Alias %s refers to multiple targets: %s and %s", SafeName(a.name), SafeName(a.target), SafeName(other))
			}
			aliases[a.name] = a.target
		}
		for _, c := range g.groups {
			if err := visit(c); err != nil {
				return err
			}
		}
		return nil
	}
	return visit(inv.root)
}

// listOf returns v as a list: one value becomes a list with one element, nil an
// empty list.
func listOf(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// typeName returns the name of v's type for messages.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string, transport.Secret:
		return "String"
	case int64:
		return "Integer"
	case float64:
		return "Float"
	case bool:
		return "Boolean"
	case []any:
		return "Array"
	case *ordered.Map:
		return "Hash"
	}
	return fmt.Sprintf("%T", v)
}
