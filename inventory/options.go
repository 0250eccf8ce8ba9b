package inventory

import (
	"maps"
	"slices"

	"bolt/format/ordered"
	"bolt/format/schema"
	"bolt/transport/option"
)

// tables maps names to the transports that an inventory can configure.
type tables map[string]*table

// A table is one transport with its variants.
type table struct {
	option.Transport
	variants []option.Transport
}

// tablesOf builds the tables of a list of transports. It adds Remote, and adds to
// each transport the option that all transports have.
func tablesOf(list []option.Transport) tables {
	t := make(tables)
	for _, tr := range slices.Concat(list, []option.Transport{remote()}) {
		tr.Options = append(slices.Clip(tr.Options), option.Text(refuseOption))
		name := tr.Name
		if tr.VariantOf != "" {
			name = tr.VariantOf
		}
		if t[name] == nil {
			t[name] = &table{}
		}
		if tr.VariantOf != "" {
			t[name].variants = append(t[name].variants, tr)
		} else {
			t[name].Transport = tr
		}
	}
	return t
}

// names lists the names, sorted.
func (t tables) names() []string { return slices.Sorted(maps.Keys(t)) }

// here returns the name of the transport to this machine, "" if there is none.
func (t tables) here() string {
	for name, table := range t {
		if table.Here {
			return name
		}
	}
	return ""
}

// chosen returns the transport that config selects under this name: the transport
// itself or one of its variants.
func (t *table) chosen(config *ordered.Map) *option.Transport {
	for i := range t.variants {
		if config.Value(t.variants[i].Flag) == true {
			return &t.variants[i]
		}
	}
	return &t.Transport
}

// refuseOption is the reason why a target must not be used. A plugin sets it if it
// reads a setting that cannot be honoured. Without the setting, bolt could reach
// another machine or user. Puppet Bolt does not have it.
const refuseOption = "refuse"

// Remote is the transport of devices: targets without a shell of their own,
// for which tasks run on another target.
const Remote = "remote"

// runOnOption names the target that tasks for a device run on.
const runOnOption = "run-on"

func remote() option.Transport {
	return option.Transport{
		Name:     Remote,
		Options:  []option.Option{option.Text(runOnOption)},
		Defaults: ordered.Of(runOnOption, "localhost"),
		Open:     true,
	}
}

// TransportNames lists the names of the transports in list, and "remote", sorted.
func TransportNames(list []option.Transport) []string { return tablesOf(list).names() }

// ConfigSchema describes a map of transport configuration: the value of config in an
// inventory and of inventory-config in bolt-defaults.yaml. It has the key transport
// and one key for each transport. The caller may change the result.
func ConfigSchema(list []option.Transport) *schema.Schema { return tablesOf(list).schema() }

func (t tables) schema() *schema.Schema {
	props := map[string]*schema.Schema{
		"transport": {Type: schema.String, Enum: t.names(), Plugins: schema.PluginsAllowed},
	}
	for name, table := range t {
		own := make(map[string]*schema.Schema)
		for _, v := range table.variants {
			for _, o := range v.Options {
				own[o.Name] = o.Schema
			}
		}
		for _, o := range table.Options {
			own[o.Name] = o.Schema
		}
		props[name] = &schema.Schema{Type: schema.Hash, Properties: own, Open: table.Open, Plugins: schema.PluginsAllowed}
	}
	return &schema.Schema{Type: schema.Hash, Properties: props, Plugins: schema.PluginsAllowed}
}

// fileSchema describes a whole inventory file, with the schema of config.
func fileSchema(config *schema.Schema) *schema.Schema {
	type s = schema.Schema
	text := &s{Type: schema.String, Plugins: schema.PluginsAllowed}
	hash := &s{Type: schema.Hash, Plugins: schema.PluginsAllowed}
	data := map[string]*s{
		"config":   config,
		"facts":    hash,
		"features": {Type: schema.Array, Unique: true, Items: text, Plugins: schema.PluginsAllowed},
		"vars":     hash,
		"plugin_hooks": {Type: schema.Hash, Plugins: schema.PluginsAllowed,
			Properties: map[string]*s{"puppet_library": hash}},
	}
	with := func(more map[string]*s) map[string]*s {
		m := maps.Clone(data)
		maps.Copy(m, more)
		return m
	}
	targets := &s{Type: schema.Array, Plugins: schema.PluginsAllowed, Items: &s{
		Type: schema.String | schema.Hash, Plugins: schema.PluginsAllowed,
		Properties: with(map[string]*s{
			"name": text, "uri": text,
			"alias": {Type: schema.String | schema.Array, Unique: true, Items: text, Plugins: schema.PluginsAllowed},
		}),
	}}
	groups := &s{Type: schema.Array, Plugins: schema.PluginsAllowed}
	// checkGroupKeys warns about unknown keys of a group, also if a plugin has returned them.
	groups.Items = &s{Type: schema.Hash, Plugins: schema.PluginsAllowed, Additional: &s{Plugins: schema.PluginsAllowed}, Required: []string{"name"},
		Properties: with(map[string]*s{"name": text, "targets": targets, "groups": groups, "match": {Type: schema.String, Plugins: schema.PluginsForbidden}})}
	return &s{Type: schema.Hash, Plugins: schema.PluginsAllowed, Properties: with(map[string]*s{
		"targets": targets, "groups": groups, "version": {Type: schema.Integer, Plugins: schema.PluginsForbidden},
	})}
}
