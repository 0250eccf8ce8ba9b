package main

import (
	"bolt/inventory/plugin"
	"bolt/inventory/plugin/nodes"
)

// nativePlugins are the plugins that are packages of their own.
func (a *app) nativePlugins() []plugin.Native {
	return []plugin.Native{
		{Name: nodes.Name, About: "Query PuppetDB for targets.", Resolve: (&nodes.Plugin{
			Database: a.puppetDB(), Warn: a.logs.Warn,
		}).Resolve},
	}
}
