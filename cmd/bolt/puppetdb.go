package main

import (
	"context"
	"net/http"

	"bolt/format/ordered"
	"bolt/inventory/plugin"
	"bolt/inventory/plugin/all"
	"bolt/puppetdb"
)

// puppetDB returns the PuppetDB instances of the configuration. It reads no file and opens no
// connection before the first query.
func (a *app) puppetDB() *puppetdb.Instances {
	if a.pdb == nil {
		settings := func(key string) *ordered.Map {
			m, _ := a.config.Settings.Value(key).(*ordered.Map)
			return m
		}
		a.pdb = puppetdb.NewInstances(puppetdb.Settings{
			Default: settings("puppetdb"), Named: settings("puppetdb-instances"),
			Instance: a.global.puppetdb, Project: a.project.Dir, Home: home(a.sys), System: puppetdb.SystemDir, Resolve: a.resolvePuppetDB,
			Base: a.serverOptions(),
		})
	}
	return a.pdb
}

// resolvePuppetDB replaces references in the settings of PuppetDB. References to PuppetDB
// itself are an error there.
func (a *app) resolvePuppetDB(ctx context.Context, v any) (any, error) {
	return a.plugins().ResolveAll(plugin.Needing(ctx, all.PuppetDB), v)
}

// serverOptions returns the options of connections to PuppetDB and Puppet Server that are not
// settings.
func (a *app) serverOptions() puppetdb.Options {
	return puppetdb.Options{Agent: "bolt/" + version, Proxy: http.ProxyFromEnvironment, Log: a.log}
}
