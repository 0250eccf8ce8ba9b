package project

import (
	"bolt/format/schema"
	"bolt/internal/logging"
	"bolt/inventory"
)

// projectKeys are the settings of bolt-project.yaml.
var projectKeys = []string{
	"analytics", applyKey, "audit", "color", "compile-concurrency", "concurrency", "disable-warnings", factCacheKey, "format", "future",
	"hiera-config", "log", "modulepath", "module-install", "modules", "name", "plans", "plugin-cache", "plugin-hooks",
	"plugins", "policies", "pool", "puppetdb", "puppetdb-instances", "puppetserver", releasesKey, "rerunfile", "save-rerun", "spinner", "stream", "tasks",
	"trusted-external-command", webhooksKey,
}

// defaultsKeys are the settings of bolt-defaults.yaml.
var defaultsKeys = []string{
	"analytics", "audit", "color", "compile-concurrency", "concurrency", "disable-warnings", factCacheKey, "format", "inventory-config", "log",
	"module-install", "plugin-cache", "plugin-hooks", "plugins", "pool", "puppetdb", "puppetdb-instances", "puppetserver", "save-rerun",
	"spinner", "stream",
}

// webhooksKey is the setting of webhooks of rollouts. rollout/webhook parses it, because it can contain plugin references.
const webhooksKey = "webhooks"

// flagKeys are the settings that are validated if they are from the command line. The
// other flags cannot have invalid values.
var flagKeys = []string{"compile-concurrency", "concurrency", "format", "log", "modulepath", "transport"}

// tables holds the schemas of all settings. Creating them takes tens of microseconds,
// so Find and Load create them once each.
type tables struct {
	settings   map[string]*schema.Schema // of bolt-project.yaml and bolt-defaults.yaml
	inventory  *schema.Schema            // of inventory-config: transport, ssh, …
	transports []string
	ownFormats []string // Sources.OwnFormats
	paths      []string // settings and options that are the path of a file
}

func newTables(s Sources) *tables {
	transports := s.Transports
	t := &tables{
		settings: settings(s.Formats), inventory: inventory.ConfigSchema(transports), transports: inventory.TransportNames(transports),
		ownFormats: s.OwnFormats,
		paths:      []string{"inventoryfile", "hiera-config"},
	}
	for _, tr := range transports {
		for _, o := range tr.Options {
			if o.Path {
				t.paths = append(t.paths, o.Name)
			}
		}
	}
	// In bolt-defaults.yaml, inventory-config as a whole cannot be a plugin reference.
	t.inventory.Plugins = schema.PluginsForbidden
	t.settings["inventory-config"] = t.inventory
	t.settings["transport"] = t.inventory.Properties["transport"]
	return t
}

// pick returns the schema of a map with the settings in keys.
func (t *tables) pick(keys []string) *schema.Schema {
	s := &schema.Schema{Type: schema.Hash, Properties: make(map[string]*schema.Schema, len(keys))}
	for _, k := range keys {
		s.Properties[k] = t.settings[k]
	}
	return s
}

// isInventoryKey reports whether key configures transports: "transport" or
// the name of one.
func (t *tables) isInventoryKey(key string) bool {
	_, ok := t.inventory.Properties[key]
	return ok
}

// settings returns the schemas of the settings of both files, without the options of
// transports (Puppet Bolt, lib/bolt/config/options.rb).
func settings(formats []string) map[string]*schema.Schema {
	boolean := &schema.Schema{Type: schema.Boolean}
	text := &schema.Schema{Type: schema.String}
	number := &schema.Schema{Type: schema.Integer, Min: schema.Limit(1)}
	secret := &schema.Schema{Type: schema.String, Plugins: schema.PluginsAllowed}
	list := &schema.Schema{Type: schema.Array}
	texts := &schema.Schema{Type: schema.Array, Items: text}
	hash := func(properties map[string]*schema.Schema) *schema.Schema {
		return &schema.Schema{Type: schema.Hash, Properties: properties}
	}

	level := &schema.Schema{Type: schema.String, Enum: logging.Levels()}
	logTo := func(properties map[string]*schema.Schema) *schema.Schema {
		return &schema.Schema{Type: schema.String | schema.Hash, Enum: []string{logDisabled}, Properties: properties}
	}

	seconds := &schema.Schema{Type: schema.Integer, Min: schema.Limit(1), Plugins: schema.PluginsAllowed}
	puppetdb := map[string]*schema.Schema{
		"cacert": secret, "cert": secret, "key": secret, "token": secret,
		"connect_timeout": seconds, "read_timeout": seconds,
		"headers":     {Type: schema.Hash, Plugins: schema.PluginsAllowed},
		"server_urls": {Type: schema.Array, Plugins: schema.PluginsAllowed},
	}

	return map[string]*schema.Schema{
		"analytics": boolean,
		applyKey: hash(map[string]*schema.Schema{
			"dir": {Type: schema.String}, "evaltrace": boolean, "show_diff": boolean, "trace": boolean,
			"keep-reports": {Type: schema.Integer, Min: schema.Limit(0)},
			"log_level":    {Type: schema.String, Enum: []string{"debug", "info", "notice", "warning", "err", "alert", "emerg", "crit"}},
		}),
		auditKey:              auditSchema(),
		"color":               boolean,
		"compile-concurrency": number,
		"concurrency":         number,
		"disable-warnings":    texts,
		factCacheKey:          factCacheSchema(),
		"format":              {Type: schema.String, Enum: formats},
		"future": hash(map[string]*schema.Schema{
			"file_paths": {Type: schema.Boolean,
				Deprecated: "It has no effect: scripts are always looked for in a module's scripts directory, too."},
			"script_interpreter": boolean,
		}),
		"hiera-config": text,
		"log": {Type: schema.Hash,
			Properties: map[string]*schema.Schema{"console": logTo(map[string]*schema.Schema{"level": level})},
			Additional: logTo(map[string]*schema.Schema{"append": boolean, "level": level})},
		"modulepath": {Type: schema.Array | schema.String, Items: text},
		"module-install": hash(map[string]*schema.Schema{
			"forge": hash(map[string]*schema.Schema{"authorization_token": secret, "baseurl": text, "proxy": text}),
			"proxy": text,
		}),
		"modules": {Type: schema.Array, Items: &schema.Schema{Type: schema.Hash | schema.String}},
		"name":    text,
		"plans":   list,
		"plugin-cache": {Type: schema.Hash, Required: []string{"ttl"},
			Properties: map[string]*schema.Schema{"ttl": {Type: schema.Integer, Min: schema.Limit(0)}}},
		"plugin-hooks": {Type: schema.Hash, Plugins: schema.PluginsAllowed},
		"plugins": {Type: schema.Hash,
			Additional: &schema.Schema{Type: schema.Hash, Plugins: schema.PluginsAllowed}},
		"policies": list,
		poolKey:    poolSchema(),
		"puppetdb": {Type: schema.Hash, Properties: puppetdb, Plugins: schema.PluginsAllowed},
		"puppetdb-instances": {Type: schema.Hash, Plugins: schema.PluginsAllowed,
			Additional: &schema.Schema{Type: schema.Hash, Properties: puppetdb}},
		"puppetserver":             {Type: schema.Hash, Properties: puppetdb, Plugins: schema.PluginsAllowed},
		releasesKey:                hash(map[string]*schema.Schema{"allowed-signers": text}),
		"rerunfile":                text,
		"save-rerun":               boolean,
		"spinner":                  boolean,
		"stream":                   boolean,
		"tasks":                    texts,
		"trusted-external-command": text,
		webhooksKey:                {Type: schema.Array, Plugins: schema.PluginsAllowed},
	}
}
