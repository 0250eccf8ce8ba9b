package main

import (
	"context"
	"fmt"

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
		a.plug = all.New(all.Options{
			Project: a.project.Dir, Home: home(a.sys), Environ: a.sys.environ(), Getenv: a.sys.lookup, Agent: "bolt/" + version,
			Modules: a.modules, Database: a.puppetDB(), Warn: a.logs.Warn,
			Log: func(plugin, line string) { a.log.Info("The plugin " + plugin + ": " + line) },
		}, plugin.Options{
			Prompt: a.Ask.Secret, Tasks: a.tasksHere(), Config: a.config.Plugins,
			CacheFile: a.project.PluginCache(), CacheTTL: a.config.PluginCache,
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
