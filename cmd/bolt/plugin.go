package main

import (
	"context"
	"fmt"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/inventory/plugin"
	"bolt/inventory/plugin/all"
	"bolt/output/listing"
)

func showPlugins(ctx context.Context, a *app) error {
	list, err := a.plugins().List(ctx)
	if err != nil {
		return err
	}
	return written(listing.PrintPluginList(a.sys.out, a.listOptions(), list, a.modules.Dirs()))
}

// plugins is the set of plugins, one for each invocation.
func (a *app) plugins() *plugin.Plugins {
	if a.plug == nil {
		o := all.Options{
			Project: a.project.Dir, Home: home(a.sys), Environ: a.sys.environ(), Getenv: a.sys.lookup, Agent: "bolt/" + version,
			Modules: a.modules, Database: a.puppetDB(), Warn: a.logs.Warn,
			WarnRedacted: func(id, text string) { a.logs.Warn(id, a.redacted(text)) },
			Log:          func(plugin, line string) { a.log.Info("The plugin " + plugin + ": " + a.redacted(line)) },
		}
		programs := all.Programs(o)
		a.plug = plugin.New(plugin.Options{
			Project:   a.project.Dir,
			Env:       a.sys.lookup,
			Prompt:    a.Ask.Secret,
			Natives:   all.Natives(o, programs),
			Programs:  programs,
			Modules:   a.modules,
			Tasks:     a.tasksHere(),
			Config:    a.config.Plugins,
			CacheFile: a.project.PluginCache(),
			CacheTTL:  a.config.PluginCache,
			Warn:      a.logs.Warn,
		})
	}
	return a.plug
}

// resolved is data with the references in it resolved, in clear.
func (a *app) resolved(ctx context.Context, v any) (any, error) {
	v, err := a.plugins().ResolveAll(ctx, v)
	return inventory.Reveal(v), err
}

// redacted is a text without the secrets that plugins have given: whoever was given
// one may have put it into it.
func (a *app) redacted(text string) string {
	if a.plug == nil {
		return text
	}
	return a.plug.Redact(text)
}

// pluginHooks are the project's. References among them are resolved for whom
// they are shown to; one that stands for all is resolved at once, as all are
// laid over others.
func (a *app) pluginHooks(ctx context.Context) (*ordered.Map, error) {
	if _, whole := a.config.PluginHooks.Get("_plugin"); !whole {
		return a.config.PluginHooks, nil
	}
	v, err := a.plugins().ResolveAll(ctx, a.config.PluginHooks)
	if err != nil {
		return nil, err
	}
	hooks, ok := v.(*ordered.Map)
	if !ok {
		return nil, fault.New("bolt/validation-error", "The plugin that stands for plugin-hooks in the configuration must return a Hash")
	}
	return hooks, nil
}

// savePlugins keeps what plugins found out. That it could not is a warning: the
// next invocation asks them again.
func (a *app) savePlugins(ctx context.Context) {
	if a.plug == nil {
		return
	}
	if err := a.plug.Save(context.WithoutCancel(ctx)); err != nil {
		a.logs.WarnOnce("unwriteable_file", fmt.Sprintf("What plugins found out was not kept: %v", err))
	}
}
