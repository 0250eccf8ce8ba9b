package main

import (
	"net/http"

	"bolt/internal/ordered"
	"bolt/puppetdb"
)

// puppetDB are the PuppetDBs that the configuration describes. Nothing is read
// or connected to before one is asked.
func (a *app) puppetDB() *puppetdb.Instances {
	if a.pdb == nil {
		settings := func(key string) *ordered.Map {
			m, _ := a.config.Settings.Value(key).(*ordered.Map)
			return m
		}
		a.pdb = puppetdb.NewInstances(puppetdb.Settings{
			Default: settings("puppetdb"), Named: settings("puppetdb-instances"),
			Instance: a.values.last("puppetdb"), Project: a.project.Dir, Home: home(a.sys), System: puppetdb.SystemDir, Resolve: a.resolved,
			Base: puppetdb.Options{Agent: "bolt/" + version, Proxy: http.ProxyFromEnvironment, Log: a.log},
		})
	}
	return a.pdb
}
