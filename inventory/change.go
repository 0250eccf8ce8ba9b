package inventory

import (
	"context"
	"slices"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/schema"
)

// edit changes what is said about the target itself. change gets a copy of that,
// whose parts belong to older states, so it replaces them; it may be asked more
// than once. The file's part must be there first, because what merging gives
// depends on the order, and its references are resolved no more than once.
func (t *Target) edit(ctx context.Context, change func(n *state, own *layer) error) error {
	var file *layer
	if t.now.Load().own == nil {
		var err error
		if file, err = t.fileLayer(ctx); err != nil {
			return err
		}
	}
	var failed error
	t.update(func(s *state) *state {
		n := s.next()
		if n.own == nil { // which it never becomes again
			n.own, n.early = file, len(file.features)
		}
		own := *n.own
		n.own = &own
		if failed = change(n, &own); failed != nil {
			return s
		}
		return n
	})
	return failed
}

// fileLayer is readFile for callers without turn.
func (t *Target) fileLayer(ctx context.Context) (*layer, error) {
	if l := t.file.Load(); l != nil {
		return l, nil
	}
	if err := t.inv.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer t.inv.endTurn()
	return t.readFile(ctx)
}

// SetVar sets a variable of the target, as plans' set_var does: it replaces the
// whole value, whatever groups say. v is kept and must not be changed. An error
// is one of Data's: the inventory's file must be readable as far as it is about
// the target. That is so for AddFacts, SetFeature and SetConfig too.
func (t *Target) SetVar(ctx context.Context, name string, v any) error {
	return t.edit(ctx, func(_ *state, own *layer) error {
		own.vars = overlay(own.vars, ordered.Of(name, v))
		return nil
	})
}

// AddFacts lays facts over those of the target, as plans' add_facts does: maps
// inside are merged, all else is replaced. Facts come from machines, so nothing
// in them is taken for a plugin reference. They are kept and must not be
// changed.
func (t *Target) AddFacts(ctx context.Context, facts *ordered.Map) error {
	return t.edit(ctx, func(_ *state, own *layer) error {
		own.facts = deepOverlay(own.facts, facts)
		return nil
	})
}

// SetFeature gives the target a feature or takes one away, as plans'
// set_feature does. A feature that a group gives cannot be taken away.
func (t *Target) SetFeature(ctx context.Context, name string, on bool) error {
	return t.edit(ctx, func(n *state, own *layer) error {
		if name == agent {
			n.noAgent = !on
		}
		if on {
			own.features = union(own.features, []string{name})
		} else if i := slices.Index(own.features, name); i >= 0 {
			own.features = slices.Delete(slices.Clone(own.features), i, i+1)
			if i < n.early {
				n.early--
			}
		}
		return nil
	})
}

// SetConfig sets configuration of the target, as plans' set_config does: path
// leads from a transport's name, or "transport", to an option; what is missing
// on the way is made. An empty path replaces all that was said about the target
// itself; groups' configuration lies below it still. A nil value leaves an
// option unset, whatever groups say. Plugin references in v are resolved; v is
// kept and must not be changed.
//
// Differs from Puppet: a value of the wrong type is refused here, with
// bolt/validation-error, where Bolt notices it once the option is used. What
// depends on several options (native-ssh) is checked when Data is next asked
// for, so they may be set one after the other.
func (t *Target) SetConfig(ctx context.Context, path []string, v any) error {
	where := "config of target " + t.SafeName()
	v, err := t.inv.readConfig(ctx, path, v, where)
	if err != nil {
		return err
	}
	return t.edit(ctx, func(_ *state, own *layer) error {
		if len(path) == 0 {
			own.config = v.(*ordered.Map)
			return nil
		}
		config, err := setIn(own.config, path, v, where)
		if err == nil {
			own.config = config
		}
		return err
	})
}

// readConfig resolves and checks what a plan sets at a path of a target's
// configuration; without a path it is a *ordered.Map.
func (inv *Inventory) readConfig(ctx context.Context, path []string, v any, where string) (any, error) {
	if err := inv.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer inv.endTurn()
	at := &place{of: "the " + where}
	for _, key := range path {
		at = at.key(key)
	}
	v, err := inv.resolve(ctx, v, at)
	if err != nil {
		return nil, err
	}
	whole, ok := v.(*ordered.Map)
	if len(path) > 0 {
		whole, err = setIn(nil, path, v, where)
	} else if !ok {
		err = fault.New("bolt/validation-error", "The %s must be a Hash, not %s", where, typeName(v))
	}
	if err != nil {
		return nil, err
	}
	return v, inv.checkConfig(whole, where)
}

// checkConfig checks configuration that a plan gives as that of the file is
// checked. The caller holds turn.
func (inv *Inventory) checkConfig(config *ordered.Map, where string) error {
	return schema.Validate(Reveal(compact(config)), inv.schemas, where, inv.opts.Warn)
}

// setIn returns m with the value at path replaced. m is not changed. where is
// for messages.
func setIn(m *ordered.Map, path []string, v any, where string) (*ordered.Map, error) {
	key := path[0]
	if len(path) > 1 {
		inner, ok := m.Value(key).(*ordered.Map)
		if old := m.Value(key); !ok && old != nil {
			return nil, fault.New("bolt/validation-error", "The value at '%s' in the %s is not a Hash but %s, so there is no '%s' in it to set",
				key, where, typeName(old), path[1])
		}
		set, err := setIn(inner, path[1:], v, where)
		if err != nil {
			return nil, err
		}
		v = set
	}
	return overlay(m, ordered.Of(key, v)), nil
}
