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

// maxReferenceDepth limits how many references may lead from one to the next.
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

// ResolveReferences replaces every plugin reference in v, innermost first,
// until none is left. It returns v itself if v has no reference. If r is nil,
// all plugins are unknown.
func ResolveReferences(ctx context.Context, v any, r Resolver) (any, error) {
	if !hasReference(v) {
		return v, nil
	}
	return r.resolveAll(ctx, v, &place{}, 0)
}

// resolve is ResolveReferences for a value of the inventory, with its position
// for messages.
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

// resolveTop resolves v until v is not a reference. If v is a list, it also
// resolves each element and returns one flat list. It does not resolve
// references deeper inside: they belong to targets whose data may never be
// needed.
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

// call resolves one reference. All references inside ref are resolved already.
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

// A place is the position of a reference: the owner of the value and the path
// into the value. A nil place stands for a value whose position need not be
// reported.
type place struct {
	of    string // the owner of the value, set only in the outermost place
	above *place
	step  string // ".key" or "[index]"
}

// placeOf returns the place of a key of a group, a target or another owner.
func placeOf(owner, key string) *place { return (&place{of: owner}).key(key) }

func (p *place) key(k string) *place { return p.into("." + k) }

func (p *place) index(i int) *place { return p.into("[" + strconv.Itoa(i) + "]") }

func (p *place) into(step string) *place {
	if p == nil {
		return nil
	}
	return &place{above: p, step: step}
}

// tell adds the place to the hint of an error.
func (p *place) tell(err error) error {
	f, ok := err.(*fault.Error)
	if !ok || p == nil {
		return err
	}
	told := *f // others may hold the original
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
