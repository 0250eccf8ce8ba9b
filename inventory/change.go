package inventory

import (
	"context"
	"slices"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/schema"
)

// edit changes the data of the target itself. change gets a copy of the target's
// own layer and must replace the layer's parts instead of changing them, because
// older states share them. edit may call change more than once. edit reads the
// file's part first, because the result of merging depends on the order.
// References in the file's part are resolved only once.
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
		if n.own == nil { // own never becomes nil again.
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

// fileLayer is readFile for callers that do not hold turn.
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

// SetVar sets a variable of the target, as set_var does in plans. It replaces
// the whole value and overrides the groups' values. SetVar keeps v, so the
// caller must not change v. Errors are the errors of Data: the part of the
// inventory file about the target must be readable. Both rules also apply to
// AddFacts, SetFeature and SetConfig.
func (t *Target) SetVar(ctx context.Context, name string, v any) error {
	return t.edit(ctx, func(_ *state, own *layer) error {
		own.vars = overlay(own.vars, ordered.Of(name, v))
		return nil
	})
}

// AddFacts merges facts over the facts of the target, as add_facts does in
// plans: nested maps are merged, and all other values are replaced. Facts come
// from machines, so AddFacts does not resolve plugin references in them. The
// caller must not change facts afterwards.
func (t *Target) AddFacts(ctx context.Context, facts *ordered.Map) error {
	return t.edit(ctx, func(_ *state, own *layer) error {
		own.facts = deepOverlay(own.facts, facts)
		return nil
	})
}

// SetFeature adds a feature to the target or removes it, as set_feature does in
// plans. A feature that comes from a group cannot be removed.
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

// SetConfig sets configuration of the target, as set_config does in plans. path
// leads from the name of a transport, or "transport", to an option; SetConfig
// creates missing maps on the way. An empty path replaces the whole
// configuration of the target itself; the configuration of its groups still
// applies below it. A nil value leaves an option unset, even if a group sets it.
// SetConfig resolves plugin references in v. The caller must not change v
// afterwards.
//
// Differs from Puppet: SetConfig rejects a value of the wrong type with
// bolt/validation-error; Bolt notices it when the option is used. Rules that
// depend on several options (native-ssh) are checked at the next call of Data,
// so the options can be set one after the other.
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

// readConfig resolves and checks a value that a plan sets at path in a target's
// configuration. If path is empty, the result is a *ordered.Map.
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

// checkConfig checks configuration from a plan in the same way as configuration
// from the file. The caller holds turn.
func (inv *Inventory) checkConfig(config *ordered.Map, where string) error {
	return schema.Validate(Reveal(compact(config)), inv.schemas, where, inv.opts.Warn)
}

// setIn returns m with the value at path replaced. It does not change m. where
// is used in messages.
func setIn(m *ordered.Map, path []string, v any, where string) (*ordered.Map, error) {
	key := path[0]
	if len(path) > 1 {
		inner, ok := m.Value(key).(*ordered.Map)
		if old := m.Value(key); !ok && old != nil {
			return nil, fault.New("bolt/validation-error", "The value at '%s' in the %s is not a Hash but %s, so bolt cannot set '%s' in it",
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
