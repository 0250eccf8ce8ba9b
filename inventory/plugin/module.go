package plugin

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/modules"
)

// dataFile makes a module a plugin. It is a JSON object in which "hooks" can
// name the task of each hook ({"hooks": {"resolve_reference": {"task":
// "m::t"}}}). A hook that it does not name is the task <module>::<hook>, if
// that task exists. "sensitive" sets whether the values of resolve_reference
// are secret. If it is not set, they are secret if the plugin decrypts secrets.
const dataFile = "bolt_plugin.json"

// module reads the plugin of a module; it returns nil if the module is not a
// plugin.
func (p *Plugins) module(ctx context.Context, m modules.Module) (*plugin, error) {
	data, err := m.ReadFile(ctx, dataFile, readfile.Config)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, broken(m.Name, "%s cannot be read: %v", m.Path(dataFile), fault.WithoutPath(err))
	}
	v, err := ordered.ParseJSON(data)
	if err != nil {
		return nil, broken(m.Name, "%s: %v", m.Path(dataFile), err)
	}
	about, ok := v.(*ordered.Map)
	if !ok {
		return nil, broken(m.Name, "%s must be a JSON object", m.Path(dataFile))
	}
	if _, ok := about.Get("config"); ok {
		return nil, broken(m.Name, "Found unsupported key 'config' in %s. What can be configured are the parameters of the tasks of its hooks.", m.Path(dataFile))
	}
	if p.opts.Tasks == nil {
		return nil, executionError(m.Name, ResolveReference, errors.New("this command cannot run tasks"))
	}
	secret, given := about.Value("sensitive").(bool)
	if _, set := about.Get("sensitive"); set && !given {
		return nil, broken(m.Name, "'sensitive' must be true or false")
	}
	named := &ordered.Map{}
	if v, ok := about.Get("hooks"); ok {
		if named, ok = v.(*ordered.Map); !ok {
			return nil, broken(m.Name, "'hooks' must be a hash")
		}
	}
	l := hookLoader{p: p, module: m, hooks: make(map[Hook]hook), keys: make(map[string]bool)}
	for name, v := range named.All() {
		spec, _ := v.(*ordered.Map)
		task, ok := spec.Value("task").(string)
		if !ok {
			return nil, broken(m.Name, "the hook %s must be a hash with the name of a 'task'", name)
		}
		found, err := l.add(ctx, Hook(name), task)
		if err != nil {
			return nil, broken(m.Name, "the task '%s' of the hook %s: %v", task, name, err)
		}
		if !found {
			return nil, broken(m.Name, "the task '%s' of the hook %s does not exist", task, name)
		}
	}
	for _, name := range append(Hooks(), validateReference) {
		if _, ok := l.hooks[name]; !ok {
			if _, err := l.add(ctx, name, m.Name+"::"+string(name)); err != nil {
				return nil, err
			}
		}
	}
	if _, keeps := l.hooks[SecretDecrypt]; keeps && !given {
		secret = true
	}
	return &plugin{name: m.Name, hooks: l.hooks, secret: secret, configures: func(key string) bool { return l.keys[key] }}, nil
}

// A hookLoader collects the hooks of a module.
type hookLoader struct {
	p      *Plugins
	module modules.Module
	hooks  map[Hook]hook
	keys   map[string]bool // the parameters of the tasks of all hooks
}

// add makes a task a hook, if the task exists.
func (l *hookLoader) add(ctx context.Context, name Hook, task string) (bool, error) {
	takes, everything, ok, err := l.p.opts.Tasks.Parameters(ctx, task)
	if err != nil || !ok {
		return false, err
	}
	for _, key := range takes {
		l.keys[key] = true
	}
	if everything {
		takes = nil
	}
	if name == PuppetLibrary { // its task runs on targets
		l.hooks[name] = hook{task: task}
		return true, nil
	}
	l.hooks[name] = hook{task: task, run: func(ctx context.Context, config, opts *ordered.Map) (any, error) {
		params := parameters(config, opts, func(key string) bool { return everything || slices.Contains(takes, key) })
		params.Set("_boltdir", l.p.opts.Project)
		result, err := l.p.runTask(ctx, task, params, "")
		if err != nil || name == validateReference {
			return nil, err
		}
		v, ok := result.Get("value")
		if !ok {
			return nil, fault.New(kindPlugin, "Plugin %s result did not include a value, %s", l.module.Name, keysOf(result))
		}
		return v, nil
	}}
	return true, nil
}

// parameters merges the options of a reference or a command over the
// configuration keys that the hook takes. Keys that begin with an underscore
// are not passed to plugins.
func parameters(config, opts *ordered.Map, takes func(key string) bool) *ordered.Map {
	params := &ordered.Map{}
	for k, v := range config.All() {
		if takes(k) {
			params.Set(k, v)
		}
	}
	for k, v := range opts.All() {
		if !strings.HasPrefix(k, "_") {
			params.Set(k, v)
		}
	}
	return params
}

// broken returns the error for an invalid plugin.
func broken(name, format string, args ...any) error {
	return fault.New("bolt/invalid-plugin-data", "Invalid Plugin Data for "+name+": "+format, args...)
}
