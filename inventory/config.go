package inventory

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/schema"
	"bolt/transport"
	"bolt/transport/option"
)

// transportConfig merges and checks the options of a target's transport.
// Targets that have these options only from their groups share the result.
func (inv *Inventory) transportConfig(ctx context.Context, t *Target, name string, own *layer, groups *groupLayer) (*ordered.Map, error) {
	ownConfig, _ := own.config.Value(name).(*ordered.Map)
	if shared, ok := groups.config[name]; ok && ownConfig.Len() == 0 {
		return shared, nil
	}
	base, err := inv.baseConfig(ctx, name)
	if err != nil {
		return nil, err
	}
	groupConfig, _ := groups.layer.config.Value(name).(*ordered.Map)
	config, err := inv.finishConfig(name, base.Merge(groupConfig).Merge(ownConfig), "target "+t.SafeName())
	if err != nil {
		return nil, err
	}
	if ownConfig.Len() == 0 {
		groups.config[name] = config
	}
	return config, nil
}

// baseConfig returns the configuration below the inventory's, with references
// resolved.
func (inv *Inventory) baseConfig(ctx context.Context, name string) (*ordered.Map, error) {
	if m, ok := inv.base[name]; ok {
		return m, nil
	}
	m := inv.opts.Config[name]
	if hasReference(m) {
		v, err := inv.resolve(ctx, m, placeOf("the configuration of transports", name))
		if err != nil {
			return nil, err
		}
		resolved, ok := v.(*ordered.Map)
		if !ok {
			return nil, fault.New("bolt/validation-error", "The configuration of transport %s must be a Hash, not %s", name, typeName(v))
		}
		m = compact(resolved)
	}
	inv.base[name] = m
	return m, nil
}

// finishConfig checks merged options of a transport and lays them over the
// defaults. It drops keys that are not options of the transport, and puts the
// options in order. where is used in messages.
func (inv *Inventory) finishConfig(name string, merged *ordered.Map, where string) (*ordered.Map, error) {
	var secret []string // options whose values come from a plugin that hides its values
	if hides(merged) {
		for o, v := range merged.All() {
			if hides(v) {
				secret = append(secret, o)
			}
		}
		merged = RevealMap(merged)
	}
	table := inv.transports[name]
	chosen := table.chosen(merged)
	config := &ordered.Map{}
	if table.Defaults != nil {
		config = table.Defaults.Clone()
	}
	for _, o := range chosen.Options {
		if v := merged.Value(o.Name); v != nil {
			config.Set(o.Name, v)
		}
	}
	if table.Open {
		for o, v := range merged.All() {
			config.Set(o, v)
		}
	}
	if err := schema.Validate(config, inv.schemas.Properties[name], name+" configuration of "+where, nil); err != nil {
		return nil, err
	}
	if m, ok := config.Value("interpreters").(*ordered.Map); ok {
		config.Set("interpreters", normalizeInterpreters(m))
	}
	for _, o := range chosen.Options {
		if path, ok := config.Value(o.Name).(string); ok && o.Path {
			config.Set(o.Name, inv.expandPath(path))
		}
	}
	if chosen.Check != nil {
		err := chosen.Check(&option.Config{
			Values: option.Values{Map: config},
			Given:  option.Values{Map: merged},
			Warn:   inv.warnOnce,
			Fail: func(format string, args ...any) error {
				return schema.ValidationError(name+" configuration of "+where, []string{fmt.Sprintf(format, args...)})
			},
		})
		if err != nil {
			return nil, err
		}
	}
	for _, o := range secret {
		if v, ok := config.Get(o); ok {
			config.Set(o, Hide(v))
		}
	}
	inv.hideSecrets(config)
	return config, nil
}

// warnOnce prints each warning text only once. The caller holds turn.
func (inv *Inventory) warnOnce(id, text string) {
	if !inv.told[text] {
		inv.told[text] = true
		inv.opts.Warn(id, text)
	}
}

// expandPath makes path absolute, relative to the project directory and the
// home directory.
func (inv *Inventory) expandPath(path string) string {
	if inv.opts.Home != "" && (path == "~" || strings.HasPrefix(path, "~/")) {
		return filepath.Join(inv.opts.Home, path[1:])
	}
	if filepath.IsAbs(path) || inv.opts.Project == "" {
		return filepath.Clean(path)
	}
	return filepath.Join(inv.opts.Project, path)
}

// normalizeInterpreters adds the leading dot to extensions.
func normalizeInterpreters(m *ordered.Map) *ordered.Map {
	n := &ordered.Map{}
	for ext, v := range m.All() {
		n.Set("."+strings.TrimPrefix(ext, "."), v)
	}
	return n
}

// A secretOption describes how the values of an option name are hidden. They
// are hidden in the configuration of all transports, because some transports
// accept options of any name.
type secretOption struct {
	text    bool     // a string value is secret
	members []string // secret members of a hash
}

func (t tables) secrets() map[string]secretOption {
	secrets := make(map[string]secretOption)
	for _, table := range t {
		for _, tr := range append(slices.Clip(table.variants), table.Transport) {
			for _, o := range tr.Options {
				switch {
				case !o.Secret:
				case o.Schema.Type&schema.Hash != 0:
					secrets[o.Name] = secretOption{members: slices.Collect(maps.Keys(o.Schema.Properties))}
				default:
					secrets[o.Name] = secretOption{text: true}
				}
			}
		}
	}
	return secrets
}

// hideSecrets replaces the values of secret options by transport.Secret values.
func (inv *Inventory) hideSecrets(config *ordered.Map) {
	for k, v := range config.All() {
		secret, ok := inv.secrets[k]
		if !ok {
			continue
		}
		switch v := v.(type) {
		case string:
			if secret.text {
				config.Set(k, transport.NewSecret(v))
			}
		case *ordered.Map:
			for _, name := range secret.members {
				if s, ok := v.Value(name).(string); ok {
					v = v.Clone()
					v.Set(name, transport.NewSecret(s))
					config.Set(k, v)
				}
			}
		}
	}
}
