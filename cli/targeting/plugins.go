package targeting

import (
	"context"
	"fmt"

	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/inventory/plugin"
	"bolt/inventory/plugin/all"
	"bolt/tasks/here"
	"bolt/tasks/natives"
)

func (s *Sources) newPlugins() *plugin.Plugins {
	o := &s.o
	return all.New(all.Options{
		Project: o.Project.Dir, Home: o.Home, Environ: o.Environ, Getenv: o.Getenv, Agent: "bolt/" + o.Version,
		Modules: o.Content.Modules, Database: s.database, Warn: o.Logs.Warn,
		Log: func(plugin, line string) { s.log.Info("The plugin " + plugin + ": " + line) },
	}, plugin.Options{
		Prompt: o.Ask, Tasks: s.tasks(), Config: o.Config.Plugins,
		CacheFile: o.Project.PluginCache(), CacheTTL: o.Config.PluginCache,
	})
}

// tasks returns the tasks in the form for plugins.
func (s *Sources) tasks() *here.Tasks {
	return here.New(here.Options{
		Library: s.o.Content.Tasks, Natives: natives.All(s.o.Project.Dir), Settings: s.localSettings,
		Project: s.o.Project.Dir, Home: s.o.Home, Timeout: s.o.TaskTimeout, Warn: s.o.Logs.Warn, Logger: s.log,
	})
}

// localSettings returns the options of the transport local from configuration
// files, and from the inventory for all targets. The code that reads the inventory
// reports its errors.
func (s *Sources) localSettings(ctx context.Context) []*ordered.Map {
	list := []*ordered.Map{s.o.Config.Transports["local"]}
	if data, err := s.data(ctx); err == nil {
		config, _ := data.Value("config").(*ordered.Map)
		options, _ := config.Value("local").(*ordered.Map)
		list = append(list, options)
	}
	return list
}

// Plugins returns the plugins.
func (s *Sources) Plugins() *plugin.Plugins { return s.plugins }

// Resolved returns data with its references resolved, in clear text.
func (s *Sources) Resolved(ctx context.Context, v any) (any, error) {
	v, err := s.plugins.ResolveAll(ctx, v)
	return inventory.Reveal(v), err
}

// Redact returns a text without the secrets that plugins have returned. Any
// receiver of a secret may have put it into the text.
func (s *Sources) Redact(text string) string { return s.plugins.Redact(text) }

// Save stores the results of plugins. If it cannot store them, it prints a
// warning, and the next invocation calls the plugins again.
func (s *Sources) Save(ctx context.Context) {
	if err := s.plugins.Save(context.WithoutCancel(ctx)); err != nil {
		s.o.Logs.WarnOnce("unwriteable_file", fmt.Sprintf("The results of plugins were not cached: %v", err))
	}
}
