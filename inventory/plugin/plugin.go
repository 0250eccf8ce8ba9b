// Package plugin resolves plugin references: values of an inventory or a configuration
// that are looked up, such as
//
//	password: {_plugin: env_var, var: DB_PASSWORD}
//
// Four of Puppet Bolt's plugins are in this package: env_var reads an environment
// variable, prompt prompts the user, yaml reads a file, task runs a task on this
// machine. Other built-in plugins are packages of their own, and Options lists them
// (Native). A module with a bolt_plugin.json is a plugin whose hooks are tasks. pkcs7,
// which decrypts secrets, is such a module. Separate programs can be plugins, too
// (Options.Programs). A plugin has hooks. Resolve calls the hook resolve_reference and
// all checks that belong to it. Call calls any other hook, and List lists them all.
//
// Each set of Plugins resolves the same reference only once. If the reference sets a
// time to live (_cache), or the default does, the result is also cached in a file, which
// Save writes.
package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/modules"
	"bolt/transport"
)

// Options set the environment of plugins. With the zero value there are no environment
// variables, no terminal, no modules and no tasks.
type Options struct {
	// Project is the directory that relative paths are relative to.
	Project string
	// Env looks up an environment variable.
	Env func(name string) (string, bool)
	// Prompt prints a question and reads the answer without echoing it.
	Prompt func(ctx context.Context, question string) (transport.Secret, error)
	// Natives are built-in plugins of other packages.
	Natives []Native
	// Programs are plugins, too, if no other plugin has their name; nil for none.
	Programs Programs
	// Modules can be plugins.
	Modules *modules.Path
	// Tasks runs the tasks of module plugins and of the plugin task.
	Tasks Tasks
	// Config contains the configuration of plugins by name. The values are maps, which
	// may be or contain plugin references.
	Config *ordered.Map
	// CacheFile is the file in which results are cached; "" disables the cache.
	CacheFile string
	// CacheTTL is the time to live of results whose references do not set one; 0
	// disables caching of them.
	CacheTTL time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Warn receives warnings; it may be called from several goroutines.
	Warn func(id, text string)
}

// A Native is a plugin of another package. A module with the same name overrides it.
type Native struct {
	Name  string
	About string // for lists: one sentence
	// Secret reports that the strings of its values are secret. It also applies to a
	// module that overrides the plugin.
	Secret bool
	// Configures reports whether the configuration can contain a key; nil is for plugins
	// without configuration.
	Configures func(key string) bool
	// Resolve returns the value of a reference. A transport.Secret in the value is
	// always secret. Both maps contain no references, and config is never nil. An error
	// of kind bolt/validation-error means that the reference itself is invalid; any
	// other error is reported with the plugin's name.
	Resolve func(ctx context.Context, config, ref *ordered.Map) (any, error)
	// Describe, if it is not nil, returns the description for lists. It overrides About.
	Describe func(ctx context.Context) (string, error)
}

// Programs finds plugins that are separate programs. It is safe for concurrent use.
type Programs interface {
	// Names returns the names of all such plugins.
	Names() []string
	// Plugin returns the plugin with that name; ok is false if no program provides it.
	Plugin(name string) (n Native, ok bool)
}

// Plugins is the set of plugins. It is safe for concurrent use.
type Plugins struct {
	opts  Options
	cache *cache

	// loading is held while a plugin is loaded, so that two plugins whose configurations
	// depend on each other do not wait for each other.
	loading chan struct{}

	mu      sync.Mutex
	loaded  map[string]*plugin
	flights map[string]*flight          // current and finished resolutions, by the digests of their references
	answers map[string]transport.Secret // by message: the user is not prompted twice for the same message
	secrets []string                    // secret strings, and their quoted forms
	known   map[string]bool             // the same, as a set
	told    map[string]bool             // warnings that were printed
	sorted  bool                        // secrets is sorted, longest first
}

// New returns the set of plugins.
func New(o Options) *Plugins {
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Warn == nil {
		o.Warn = func(string, string) {}
	}
	return &Plugins{
		opts:    o,
		cache:   &cache{file: o.CacheFile, now: o.Now, warn: o.Warn},
		loading: make(chan struct{}, 1),
		loaded:  make(map[string]*plugin),
		flights: make(map[string]*flight),
		answers: make(map[string]transport.Secret),
		known:   make(map[string]bool),
		told:    make(map[string]bool),
	}
}

var _ inventory.Resolver = (*Plugins)(nil).Resolve

// Save writes cached results to the cache's file. Call it after references have been
// resolved; it may be called again.
func (p *Plugins) Save(ctx context.Context) error { return p.cache.save(ctx) }

// Hook is an operation that a plugin can have.
type Hook string

// The hooks.
const (
	PuppetLibrary    Hook = "puppet_library" // install an agent on a target
	ResolveReference Hook = "resolve_reference"
	SecretEncrypt    Hook = "secret_encrypt"    // takes plaintext_value
	SecretDecrypt    Hook = "secret_decrypt"    // takes encrypted_value
	SecretCreateKeys Hook = "secret_createkeys" // takes force

	// validateReference checks a reference before it is resolved.
	validateReference Hook = "validate_resolve_reference"
)

// Hooks lists the public hooks, in the order of lists.
func Hooks() []Hook {
	return []Hook{PuppetLibrary, ResolveReference, SecretEncrypt, SecretDecrypt, SecretCreateKeys}
}

// A plugin is a plugin that was found.
type plugin struct {
	name   string
	hooks  map[Hook]hook
	config *ordered.Map // nil until resolved, never nil afterwards

	// configures reports whether the configuration can contain a key; nil is for plugins
	// without configuration, which check no keys.
	configures func(key string) bool
	fixed      bool // no module overrides it
	secret     bool // strings of its values are secret

	// takes lists the options of references; nil for plugins that check their options
	// themselves.
	takes []string
}

// A hook works on the plugin's configuration and the options of a reference or a
// command. A hook without run is run by other packages. about is its description in
// lists, if task is "".
type hook struct {
	run      func(ctx context.Context, config, opts *ordered.Map) (any, error)
	task     string
	about    string
	describe func(ctx context.Context) (string, error) // instead of about, if not nil
}

// notBuiltIn lists plugins of Puppet Bolt that this program does not have.
var notBuiltIn = []string{"choria", "puppet_agent", "puppet_connect_data"}

// builtIn returns the names of the built-in plugins.
func (p *Plugins) builtIn() []string {
	names := []string{"env_var", "prompt", "task", "yaml"}
	for _, n := range p.opts.Natives {
		names = append(names, n.Name)
	}
	return names
}

// Resolve is an inventory.Resolver. Errors are *fault.Error of kind bolt/unknown-plugin;
// bolt/unsupported-hook; bolt/invalid-plugin-data for a broken plugin;
// bolt/validation-error for a reference or a configuration with invalid options; or
// bolt/plugin-error for a plugin that failed.
func (p *Plugins) Resolve(ctx context.Context, name string, ref *ordered.Map) (any, error) {
	ref = inventory.RevealMap(ref) // other plugins' values can be secret
	if err := p.reserved(name, ref); err != nil {
		return nil, err
	}
	if err := neededBy(ctx).refuse(name); err != nil {
		return nil, err
	}
	ttl, err := p.ttl(ref)
	if err != nil {
		return nil, err
	}
	wanted, err := sensitive(ref)
	if err != nil {
		return nil, err
	}
	key, keyed := digest(name, ref, p.opts.Config.Value(name))
	if keyed && ttl > 0 {
		if v, secret, ok := p.cache.get(ctx, key, ttl); ok {
			return p.hidden(v, secret || wanted), nil
		}
	}
	// The plugin is loaded before the flight starts, so that a flight never waits for
	// another one.
	pl, err := p.load(ctx, name)
	if err != nil {
		return nil, err
	}
	p.options(pl, ref)
	secret := pl.secret || wanted
	work := func() (any, error) { return p.fresh(ctx, pl, ref) }
	if !keyed {
		v, err := work()
		return p.hidden(v, secret), err
	}
	v, first, err := p.once(ctx, key, work)
	if err == nil && first && ttl > 0 {
		p.cache.put(key, v, secret, ttl)
	}
	return p.hidden(v, secret), err
}

// ResolveAll replaces all references in v.
func (p *Plugins) ResolveAll(ctx context.Context, v any) (any, error) {
	return inventory.ResolveReferences(ctx, v, p.Resolve)
}

// fresh resolves a reference.
func (p *Plugins) fresh(ctx context.Context, pl *plugin, ref *ordered.Map) (any, error) {
	h, err := pl.hook(ResolveReference)
	if err != nil {
		return nil, err
	}
	if check, ok := pl.hooks[validateReference]; ok {
		if _, err := check.run(ctx, pl.config, ref); err != nil {
			return nil, err
		}
	}
	v, err := h.run(ctx, pl.config, ref)
	if err == nil {
		return v, nil
	}
	// Errors in the reference are returned without the plugin's prefix.
	if f, ok := errors.AsType[*fault.Error](err); ok && slices.Contains([]string{kindInvalid, "bolt/unknown-task"}, f.Kind) {
		return nil, p.redacted(f)
	}
	return nil, p.redacted(executionError(pl.name, ResolveReference, err))
}

// Call runs a hook of a plugin. Its errors are like those of Resolve, but a failure of
// the plugin keeps the kind that the plugin set.
func (p *Plugins) Call(ctx context.Context, name string, h Hook, opts *ordered.Map) (any, error) {
	pl, err := p.load(ctx, name)
	if err != nil {
		return nil, err
	}
	does, err := pl.hook(h)
	if err != nil {
		return nil, err
	}
	return does.run(ctx, pl.config, opts)
}

func (pl *plugin) hook(name Hook) (hook, error) {
	h, ok := pl.hooks[name]
	if !ok || h.run == nil {
		return hook{}, fault.New("bolt/unsupported-hook", "Plugin %s does not support %s", pl.name, name)
	}
	return h, nil
}

// load finds a plugin and reads its configuration.
func (p *Plugins) load(ctx context.Context, name string) (*plugin, error) {
	known := func() *plugin {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.loaded[name]
	}
	if pl := known(); pl != nil {
		return pl, nil
	}
	needed := neededBy(ctx)
	if !needed.loading {
		select {
		case p.loading <- struct{}{}:
			defer func() { <-p.loading }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if pl := known(); pl != nil { // loaded by another goroutine while this one waited
			return pl, nil
		}
	}
	pl, err := p.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if pl.config, err = p.configuration(needed.by(ctx, name, true), pl); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loaded[name] = pl
	return pl, nil
}

// configuration resolves and checks the plugin's configuration in the project.
func (p *Plugins) configuration(ctx context.Context, pl *plugin) (*ordered.Map, error) {
	raw, ok := p.opts.Config.Get(pl.name)
	if !ok || pl.configures == nil {
		return &ordered.Map{}, nil
	}
	v, err := p.ResolveAll(ctx, raw)
	if err != nil {
		return nil, err
	}
	config, ok := inventory.Reveal(v).(*ordered.Map)
	if !ok {
		return nil, invalid("Config for %s plugin must be a Hash", pl.name)
	}
	for key := range config.All() {
		if !pl.configures(key) {
			return nil, invalid("Config for %s plugin contains unexpected key %s", pl.name, key)
		}
	}
	return config, nil
}

// find returns the plugin with that name.
func (p *Plugins) find(ctx context.Context, name string) (*plugin, error) {
	native := p.native(name)
	if native != nil && native.fixed {
		return native, nil
	}
	if p.opts.Modules != nil {
		m, ok := p.opts.Modules.Module(name)
		if ok && (native == nil || !m.BuiltIn()) {
			pl, err := p.module(ctx, m)
			if pl != nil && native != nil {
				pl.secret = pl.secret || native.secret
			}
			if pl != nil || err != nil {
				return pl, err
			}
		}
	}
	if native != nil {
		return native, nil
	}
	if p.opts.Programs != nil {
		if n, ok := p.opts.Programs.Plugin(name); ok {
			return n.plugin(), nil
		}
	}
	if slices.Contains(notBuiltIn, name) {
		return nil, executionError(name, ResolveReference, fmt.Errorf("this plugin is not built in; the plugins are %s", strings.Join(p.names(), ", ")))
	}
	e := fault.New("bolt/unknown-plugin", "Unknown plugin: '%s'", name)
	e.Hint = "The plugins are " + strings.Join(p.names(), ", ") + "."
	if p.opts.Programs != nil && modules.ValidName(name) {
		e.Hint += " Alternatively, install a program bolt-plugin-" + name + " on PATH."
	}
	return nil, e
}

// names lists all existing plugins, sorted.
func (p *Plugins) names() []string {
	names := p.builtIn()
	if p.opts.Modules != nil {
		for _, m := range p.opts.Modules.All() {
			if _, err := m.Stat(dataFile); err == nil {
				names = append(names, m.Name)
			}
		}
	}
	if p.opts.Programs != nil {
		names = append(names, p.opts.Programs.Names()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// native returns a built-in plugin, nil if there is none with that name.
func (p *Plugins) native(name string) *plugin {
	one := func(about string, run func(context.Context, *ordered.Map, *ordered.Map) (any, error), takes ...string) *plugin {
		return &plugin{name: name, hooks: map[Hook]hook{ResolveReference: {run: run, about: about}}, fixed: true, takes: takes}
	}
	switch name {
	case "env_var":
		return one("Read a value from an environment variable.", p.envVar, "var", "default", "optional", "json")
	case "prompt":
		pl := one("Ask the user for a value, which is not shown.", p.prompt, "message")
		pl.secret = true
		return pl
	case "task":
		pl := one("Run a task on this machine.", p.task, "task", "parameters")
		pl.hooks[PuppetLibrary] = hook{about: "Run a task that installs an agent."}
		return pl
	case "yaml":
		pl := one("Read the data of a YAML file.", p.yaml, "filepath")
		pl.configures = func(key string) bool { return key == "filepath" }
		pl.fixed = false
		return pl
	}
	for _, n := range p.opts.Natives {
		if n.Name == name {
			return n.plugin()
		}
	}
	return nil
}

func (n Native) plugin() *plugin {
	resolve := hook{run: n.Resolve, about: n.About, describe: n.Describe}
	return &plugin{name: n.Name, hooks: map[Hook]hook{ResolveReference: resolve}, configures: n.Configures, secret: n.Secret}
}

const (
	kindPlugin  = "bolt/plugin-error"
	kindInvalid = "bolt/validation-error"
)

// executionError returns the error for a plugin that failed.
func executionError(name string, h Hook, err error) *fault.Error {
	hint := ""
	if f, ok := errors.AsType[*fault.Error](err); ok {
		hint = f.Hint
	}
	return &fault.Error{Kind: kindPlugin, Err: err, Hint: hint,
		Msg: fmt.Sprintf("Error executing plugin %s from %s in %s: %v", name, h, name, err)}
}

// invalid returns the error for an invalid reference.
func invalid(format string, args ...any) error { return fault.New(kindInvalid, format, args...) }

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

// Hooks returns the setting plugin-hooks of a project. References in it are resolved
// later, when they are printed. A reference in place of all hooks is resolved at once,
// because hooks are merged.
func (p *Plugins) Hooks(ctx context.Context, setting *ordered.Map) (*ordered.Map, error) {
	if _, whole := setting.Get("_plugin"); !whole {
		return setting, nil
	}
	v, err := p.ResolveAll(ctx, setting)
	if err != nil {
		return nil, err
	}
	hooks, ok := v.(*ordered.Map)
	if !ok {
		return nil, invalid("The plugin that stands for plugin-hooks in the configuration must return a Hash")
	}
	return hooks, nil
}
