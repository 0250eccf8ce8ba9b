// Package plugin resolves the plugin references of an inventory: the values
// that are not written down but looked up, such as
//
//	password: {_plugin: env_var, var: DB_PASSWORD}
//
// Three of Puppet Bolt's plugins are built in: env_var reads an environment
// variable, prompt asks the user, yaml reads a file. The others that Bolt has
// are known by name, so that using one is told apart from a misspelling.
package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"bolt/internal/fault"
	"bolt/internal/ordered"
	"bolt/inventory"
	"bolt/transport"
)

// Options are what plugins may use of the world. The zero value is a world
// without environment and terminal.
type Options struct {
	// Project is the directory that relative paths start from.
	Project string
	// Env looks up an environment variable.
	Env func(name string) (string, bool)
	// Prompt shows a question and reads the answer without showing what is
	// typed.
	Prompt func(ctx context.Context, question string) (transport.Secret, error)
}

// Plugins is the set of plugins. It is safe for concurrent use.
type Plugins struct {
	opts Options

	mu      sync.Mutex
	answers map[string]transport.Secret // by message: nobody is asked the same twice
}

// New makes the set of plugins.
func New(o Options) *Plugins {
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
	return &Plugins{opts: o, answers: make(map[string]transport.Secret)}
}

var _ inventory.Resolver = (*Plugins)(nil).Resolve

// notBuiltIn are plugins of Puppet Bolt that this program does not have.
var notBuiltIn = []string{"aws_inventory", "azure_inventory", "choria", "gcloud_inventory", "openvox_bootstrap", "pkcs7",
	"puppet_agent", "puppet_connect_data", "puppetdb", "task", "terraform", "vault"}

// Names lists the plugins that are built in.
func Names() []string { return []string{"env_var", "prompt", "yaml"} }

// Resolve is an inventory.Resolver. Errors are *fault.Error of kind
// bolt/unknown-plugin, bolt/validation-error for a reference with bad
// options, or bolt/plugin-error for a plugin that could not do its work.
func (p *Plugins) Resolve(ctx context.Context, name string, ref *ordered.Map) (any, error) {
	var hook func(context.Context, *ordered.Map) (any, error)
	switch name {
	case "env_var":
		hook = p.envVar
	case "prompt":
		hook = p.prompt
	case "yaml":
		hook = p.yaml
	default:
		if slices.Contains(notBuiltIn, name) {
			return nil, executionError(name, fmt.Errorf("this plugin is not built in; the plugins are %s", strings.Join(Names(), ", ")))
		}
		return nil, fault.New("bolt/unknown-plugin", "Unknown plugin: '%s'\nThe plugins are %s", name, strings.Join(Names(), ", "))
	}
	return hook(ctx, ref)
}

// executionError is for a plugin that could not do its work.
func executionError(name string, err error) error {
	return &fault.Error{Kind: "bolt/plugin-error", Err: err,
		Msg: fmt.Sprintf("Error executing plugin %s from resolve_reference in %s: %v", name, name, err)}
}

// invalid is for a reference that is wrong in itself.
func invalid(format string, args ...any) error {
	return fault.New("bolt/validation-error", format, args...)
}

// text reads an option that must be a string. ok is false if it is not set.
func text(plugin string, ref *ordered.Map, key string) (s string, ok bool, err error) {
	v, ok := ref.Get(key)
	if !ok || v == nil {
		return "", false, nil
	}
	if s, ok = v.(string); !ok {
		return "", true, invalid("%s plugin requires that '%s' is a String", plugin, key)
	}
	return s, true, nil
}
