package main

import "bolt/inventory/plugin"

// nativePlugins are the plugins that are packages of their own.
func (a *app) nativePlugins() []plugin.Native {
	return []plugin.Native{}
}
