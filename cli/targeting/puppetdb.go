package targeting

import (
	"context"
	"net/http"

	"bolt/format/ordered"
	"bolt/inventory/plugin"
	"bolt/inventory/plugin/all"
	"bolt/puppetdb"
)

// PuppetDB returns the PuppetDB instances of the configuration. They read no file and open no
// connection before the first query.
func (s *Sources) PuppetDB() *puppetdb.Instances { return s.database }

func (s *Sources) newDatabase() *puppetdb.Instances {
	settings := func(key string) *ordered.Map {
		m, _ := s.o.Config.Settings.Value(key).(*ordered.Map)
		return m
	}
	return puppetdb.NewInstances(puppetdb.Settings{
		Default: settings("puppetdb"), Named: settings("puppetdb-instances"),
		Instance: s.o.Instance, Project: s.o.Project.Dir, Home: s.o.Home, System: puppetdb.SystemDir, Resolve: s.resolvePuppetDB,
		Base: s.ServerOptions(),
	})
}

// resolvePuppetDB replaces references in the settings of PuppetDB. References to PuppetDB
// itself are an error there.
func (s *Sources) resolvePuppetDB(ctx context.Context, v any) (any, error) {
	return s.plugins.ResolveAll(plugin.Needing(ctx, all.PuppetDB), v)
}

// ServerOptions returns the options of connections to PuppetDB and Puppet Server that are not
// settings.
func (s *Sources) ServerOptions() puppetdb.Options {
	return puppetdb.Options{Agent: "bolt/" + s.o.Version, Proxy: http.ProxyFromEnvironment, Log: s.log}
}
