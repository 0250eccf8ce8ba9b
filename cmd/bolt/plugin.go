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

// plugins returns the set of plugins, one for each invocation.
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

// resolved returns data with its references resolved, in clear text.
func (a *app) resolved(ctx context.Context, v any) (any, error) {
	v, err := a.plugins().ResolveAll(ctx, v)
	return inventory.Reveal(v), err
}

// redacted returns a text without the secrets that plugins have returned. Any
// receiver of a secret may have put it into the text.
func (a *app) redacted(text string) string {
	if a.plug == nil {
		return text
	}
	return a.plug.Redact(text)
}

// savePlugins stores the results of plugins. If it cannot store them, it prints a
// warning, and the next invocation calls the plugins again.
func (a *app) savePlugins(ctx context.Context) {
	if a.plug == nil {
		return
	}
	if err := a.plug.Save(context.WithoutCancel(ctx)); err != nil {
		a.logs.WarnOnce("unwriteable_file", fmt.Sprintf("The results of plugins were not cached: %v", err))
	}
}
