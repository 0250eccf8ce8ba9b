package inventory

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/schema"
)

// maxReferenceDepth is how often a reference may lead to another one.
const maxReferenceDepth = 100

// isReference reports whether v is a plugin reference.
func isReference(v any) bool {
	m, ok := v.(*ordered.Map)
	if !ok {
		return false
	}
	_, ok = m.Get(schema.PluginKey)
	return ok
}

// hasReference reports whether v is or contains a plugin reference.
func hasReference(v any) bool {
	switch v := v.(type) {
	case *ordered.Map:
		for k, e := range v.All() {
			if k == schema.PluginKey || hasReference(e) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if hasReference(e) {
				return true
			}
		}
	}
	return false
}

// ResolveReferences replaces every plugin reference in v, the innermost first,
// until none is left. It returns v itself if it has none. Without a Resolver
// all plugins are unknown.
func ResolveReferences(ctx context.Context, v any, r Resolver) (any, error) {
	if !hasReference(v) {
		return v, nil
	}
	return r.resolveAll(ctx, v, &place{}, 0)
}

// resolve is ResolveReferences for a value of the inventory, with its place for
// messages.
func (inv *Inventory) resolve(ctx context.Context, v any, at *place) (any, error) {
	if !hasReference(v) {
		return v, nil
	}
	return inv.opts.Resolve.resolveAll(ctx, v, at, 0)
}

func (r Resolver) resolveAll(ctx context.Context, v any, at *place, depth int) (any, error) {
	if depth > maxReferenceDepth {
		return nil, errLoop()
	}
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			var err error
			if list[i], err = r.resolveAll(ctx, e, at.index(i), depth); err != nil {
				return nil, err
			}
		}
		return list, nil
	case *ordered.Map:
		m := &ordered.Map{}
		for k, e := range v.All() {
			e, err := r.resolveAll(ctx, e, at.key(k), depth)
			if err != nil {
				return nil, err
			}
			m.Set(k, e)
		}
		if !isReference(m) {
			return m, nil
		}
		value, err := r.call(ctx, m, at)
		if err != nil {
			return nil, err
		}
		return r.resolveAll(ctx, value, at, depth+1)
	}
	return v, nil
}

// resolveTop resolves v until it is no reference, and if it is a list, each
// element likewise, making one flat list. References deeper inside are left
// for later: they belong to targets that nobody may ask for.
func (inv *Inventory) resolveTop(ctx context.Context, v any, at *place, depth int) (any, error) {
	if depth > maxReferenceDepth {
		return nil, errLoop()
	}
	switch {
	case isReference(v):
		ref := &ordered.Map{}
		for k, e := range v.(*ordered.Map).All() {
			e, err := inv.resolve(ctx, e, at.key(k))
			if err != nil {
				return nil, err
			}
			ref.Set(k, e)
		}
		value, err := inv.opts.Resolve.call(ctx, ref, at)
		if err != nil {
			return nil, err
		}
		return inv.resolveTop(ctx, value, at, depth+1)
	default:
		list, ok := v.([]any)
		if !ok {
			return v, nil
		}
		flat := make([]any, 0, len(list))
		for i, e := range list {
			r, err := inv.resolveTop(ctx, e, at.index(i), depth+1)
			if err != nil {
				return nil, err
			}
			if inner, ok := r.([]any); ok {
				flat = append(flat, inner...)
			} else {
				flat = append(flat, r)
			}
		}
		return flat, nil
	}
}

// call resolves one reference, all inside which are resolved.
func (r Resolver) call(ctx context.Context, ref *ordered.Map, at *place) (any, error) {
	name, ok := Reveal(ref.Value(schema.PluginKey)).(string)
	if !ok {
		return nil, fault.New("bolt/validation-error", "The value of %s must be the name of a plugin, not %s",
			schema.PluginKey, typeName(ref.Value(schema.PluginKey)))
	}
	if r == nil {
		return nil, fault.New("bolt/unknown-plugin", "Unknown plugin: '%s'", name)
	}
	v, err := r(ctx, name, ref)
	return v, at.tell(err)
}

func errLoop() error {
	return fault.New("bolt/recursive-reference-loop", "Stack depth exceeded while recursively resolving references.")
}

// A place is where a reference stands: what has the value, and the way into it.
// nil is a value that nobody needs to be told of.
type place struct {
	of    string // the owner of the value, in the first place
	above *place
	step  string // ".key" or "[index]"
}

// placeOf is the place of what belongs to a group, a target or another owner.
func placeOf(owner, key string) *place { return (&place{of: owner}).key(key) }

func (p *place) key(k string) *place { return p.into("." + k) }

func (p *place) index(i int) *place { return p.into("[" + strconv.Itoa(i) + "]") }

func (p *place) into(step string) *place {
	if p == nil {
		return nil
	}
	return &place{above: p, step: step}
}

// tell adds the place to the advice about an error.
func (p *place) tell(err error) error {
	f, ok := err.(*fault.Error)
	if !ok || p == nil {
		return err
	}
	told := *f // which others may have too
	told.Hint = "The reference is " + p.String() + "."
	if hint := strings.TrimSpace(f.Hint); hint != "" {
		if !strings.ContainsRune(".!?", rune(hint[len(hint)-1])) {
			hint += "."
		}
		told.Hint = hint + " " + told.Hint
	}
	return &told
}

func (p *place) String() string {
	var steps []string
	owner := ""
	for ; p != nil; p = p.above {
		steps = append(steps, p.step)
		owner = p.of
	}
	slices.Reverse(steps)
	way := strings.TrimPrefix(strings.Join(steps, ""), ".")
	switch {
	case owner == "" && way == "":
		return "the value itself"
	case owner == "":
		return "at " + way
	case way == "":
		return "in " + owner
	}
	return "at " + way + " of " + owner
}
