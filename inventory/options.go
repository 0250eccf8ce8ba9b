package inventory

import (
	"maps"
	"slices"

	"bolt/format/ordered"
	"bolt/format/schema"
)

// transportInfo is what a transport may be configured with.
type transportInfo struct {
	options  []string     // names, in the order in which they are shown
	native   []string     // ssh only: those that reach native SSH
	extra    []string     // accepted, but neither shown nor documented with the others
	defaults *ordered.Map // values of options that are always set
	open     bool         // any other option is accepted too
}

// runAsOptions are shared by all transports that have a shell.
var runAsOptions = []string{"run-as", "run-as-command", "sudo-executable", "sudo-password"}

// transports lists the transports that Puppet Bolt has
// (lib/bolt/config/transport/*.rb), with their options. Which of them can be
// dialed is not this package's business: an inventory that names winrm targets
// is a good inventory.
//
// Each of them has refuseOption, too, which Puppet Bolt does not have.
func transports() map[string]transportInfo {
	all := boltTransports()
	for name, info := range all {
		info.options = append(info.options, refuseOption)
		if info.native != nil {
			info.native = append(info.native, refuseOption)
		}
		all[name] = info
	}
	return all
}

// refuseOption is the reason why a target must not be used. A plugin sets it if it
// reads a setting that cannot be honoured. Without the setting, bolt could reach
// another machine or user.
const refuseOption = "refuse"

func boltTransports() map[string]transportInfo {
	withRunAs := func(options ...string) []string {
		return slices.Sorted(slices.Values(append(options, runAsOptions...)))
	}
	return map[string]transportInfo{
		"ssh": {
			options: withRunAs("batch-mode", "cleanup", "connect-timeout", "disconnect-timeout", "encryption-algorithms",
				"extensions", "forward-agent", "gssapi-authentication", "gssapi-delegate-credentials", "host", "host-key-algorithms", "host-key-check", "interpreters", "keepalive", "kex-algorithms", "load-config",
				"login-shell", "mac-algorithms", "password", "port", "private-key", "proxy-command", "proxyjump", "script-dir", "tmpdir", "tty", "user"),
			native: withRunAs("batch-mode", "cleanup", "copy-command", "forward-agent", "host", "host-key-check", "interpreters", "native-ssh",
				"port", "private-key", "script-dir", "ssh-command", "tmpdir", "user"),
			extra: []string{"copy-command", "native-ssh", "ssh-command"},
			defaults: ordered.Of("batch-mode", true, "cleanup", true, "connect-timeout", int64(10), "disconnect-timeout", int64(5),
				"load-config", true, "login-shell", "bash", "tty", false),
		},
		"winrm": {
			options: []string{"basic-auth-only", "cacert", "cleanup", "connect-timeout", "extensions", "file-protocol", "host",
				"interpreters", "password", "port", "realm", "smb-port", "ssl", "ssl-verify", "tmpdir", "user"},
			defaults: ordered.Of("basic-auth-only", false, "cleanup", true, "connect-timeout", int64(10), "ssl", true,
				"ssl-verify", true, "file-protocol", "winrm"),
		},
		"local": {
			options:  withRunAs("bundled-ruby", "cleanup", "extensions", "interpreters", "tmpdir"),
			defaults: ordered.Of("bundled-ruby", true, "cleanup", true),
		},
		"docker": {
			options:  withRunAs("cleanup", "host", "interpreters", "service-url", "shell-command", "tmpdir", "tty"),
			defaults: ordered.Of("cleanup", true),
		},
		"podman": {
			options:  withRunAs("cleanup", "host", "interpreters", "shell-command", "tmpdir", "tty"),
			defaults: ordered.Of("cleanup", true),
		},
		"lxd": {
			options:  withRunAs("cleanup", "interpreters", "remote", "shell-command", "tmpdir", "tty"),
			defaults: ordered.Of("cleanup", true, "remote", "local"),
		},
		"jail": {
			options:  withRunAs("cleanup", "host", "interpreters", "shell-command", "tmpdir", "user"),
			defaults: ordered.Of("cleanup", true),
		},
		"remote": {
			options:  []string{"run-on"},
			defaults: ordered.Of("run-on", "localhost"),
			open:     true,
		},
		"choria": {
			options: []string{"broker-timeout", "brokers", "cleanup", "collective", "command-timeout", "config-file", "host",
				"interpreters", "mcollective-certname", "puppet-environment", "rpc-timeout", "ssl-ca", "ssl-cert", "ssl-key",
				"task-agent", "task-timeout", "tmpdir"},
			defaults: ordered.Of("broker-timeout", int64(30), "cleanup", true, "command-timeout", int64(60),
				"puppet-environment", "production", "rpc-timeout", int64(30), "task-timeout", int64(300), "tmpdir", "/tmp"),
		},
	}
}

// Transports lists the names of the transports that configuration may name,
// sorted.
func Transports() []string { return slices.Sorted(maps.Keys(transports())) }

// optionSchemas describes every option of every transport; an option means the
// same in all that have it.
func optionSchemas() map[string]*schema.Schema {
	type s = schema.Schema
	text := func() *s { return &s{Type: schema.String, Plugins: schema.PluginsAllowed} }
	flag := func() *s { return &s{Type: schema.Boolean, Plugins: schema.PluginsAllowed} }
	seconds := func() *s {
		return &s{Type: schema.Integer, Min: schema.Limit(1), Plugins: schema.PluginsAllowed}
	}
	port := func() *s {
		return &s{Type: schema.Integer, Min: schema.Limit(0), Max: schema.Limit(65535), Plugins: schema.PluginsAllowed}
	}
	enum := func(values ...string) *s {
		return &s{Type: schema.String, Enum: values, Plugins: schema.PluginsAllowed}
	}
	set := func() *s {
		return &s{Type: schema.Array, Unique: true, Items: &s{Type: schema.String}, Plugins: schema.PluginsAllowed}
	}
	words := func(t schema.Type) *s {
		return &s{Type: t, Items: &s{Type: schema.String}, Plugins: schema.PluginsAllowed}
	}
	return map[string]*s{
		"basic-auth-only":       flag(),
		"batch-mode":            flag(),
		"broker-timeout":        seconds(),
		"brokers":               words(schema.String | schema.Array),
		"bundled-ruby":          {Type: schema.Boolean, Plugins: schema.PluginsForbidden},
		"cacert":                text(),
		"cleanup":               flag(),
		"collective":            text(),
		"command-timeout":       seconds(),
		"config-file":           text(),
		"connect-timeout":       seconds(),
		"copy-command":          words(schema.Array | schema.String),
		"disconnect-timeout":    seconds(),
		"encryption-algorithms": set(),
		"extensions":            set(),
		"file-protocol":         enum("smb", "winrm"),
		"forward-agent":         flag(),
		"host":                  text(),
		"host-key-algorithms":   set(),
		"host-key-check":        flag(),
		"interpreters": {Type: schema.Hash, Plugins: schema.PluginsAllowed,
			Additional: &s{Type: schema.String | schema.Array, Plugins: schema.PluginsForbidden}},
		"keepalive":            seconds(),
		"kex-algorithms":       set(),
		"load-config":          flag(),
		"login-shell":          enum("sh", "bash", "zsh", "dash", "ksh", "csh", "tcsh", "fish", "powershell"),
		"mac-algorithms":       set(),
		"mcollective-certname": text(),
		"native-ssh":           flag(),
		"password":             text(),
		"port":                 port(),
		"private-key": {Type: schema.Hash | schema.String, Plugins: schema.PluginsAllowed, Required: []string{"key-data"},
			Properties: map[string]*s{"key-data": {Type: schema.String}}},
		"proxy-command":      text(),
		"proxyjump":          text(),
		"puppet-environment": text(),
		"realm":              text(),
		refuseOption:         text(),
		"remote":             text(),
		"rpc-timeout":        seconds(),
		"run-as":             text(),
		"run-as-command":     words(schema.Array),
		"run-on":             text(),
		"script-dir":         text(),
		"service-url":        text(),
		"shell-command":      text(),
		"smb-port":           port(),
		"ssh-command":        words(schema.Array | schema.String),
		"ssl":                flag(),
		"ssl-ca":             text(),
		"ssl-cert":           text(),
		"ssl-key":            text(),
		"ssl-verify":         flag(),
		"sudo-executable":    text(),
		"sudo-password":      text(),
		"task-agent":         enum("bolt_tasks", "shell"),
		"task-timeout":       seconds(),
		"tmpdir":             text(),
		"tty":                flag(),
		"user":               text(),

		"gssapi-authentication":       flag(),
		"gssapi-delegate-credentials": flag(),
	}
}

// ConfigSchema describes a map of transport configuration, as it stands under
// config in an inventory and under inventory-config in bolt-defaults.yaml: the
// key transport, and one key for each transport. The result is the caller's to
// change.
func ConfigSchema() *schema.Schema {
	options := optionSchemas()
	props := map[string]*schema.Schema{
		"transport": {Type: schema.String, Enum: Transports(), Plugins: schema.PluginsAllowed},
	}
	for name, info := range transports() {
		own := make(map[string]*schema.Schema)
		for _, list := range [][]string{info.options, info.extra} {
			for _, o := range list {
				own[o] = options[o]
			}
		}
		props[name] = &schema.Schema{Type: schema.Hash, Properties: own, Open: info.open, Plugins: schema.PluginsAllowed}
	}
	return &schema.Schema{Type: schema.Hash, Properties: props, Plugins: schema.PluginsAllowed}
}

// Schema describes a whole inventory file.
func Schema() *schema.Schema {
	type s = schema.Schema
	text := &s{Type: schema.String, Plugins: schema.PluginsAllowed}
	hash := &s{Type: schema.Hash, Plugins: schema.PluginsAllowed}
	data := map[string]*s{
		"config":   ConfigSchema(),
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
	groups.Items = &s{Type: schema.Hash, Plugins: schema.PluginsAllowed, Required: []string{"name"},
		Properties: with(map[string]*s{"name": text, "targets": targets, "groups": groups, "match": {Type: schema.String, Plugins: schema.PluginsForbidden}})}
	return &s{Type: schema.Hash, Plugins: schema.PluginsAllowed, Properties: with(map[string]*s{
		"targets": targets, "groups": groups, "version": {Type: schema.Integer, Plugins: schema.PluginsForbidden},
	})}
}
