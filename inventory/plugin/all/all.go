// Package all lists the plugins that are separate packages or programs: a new plugin is
// added only here.
package all

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"bolt/inventory/plugin"
	"bolt/inventory/plugin/ansiblehosts"
	"bolt/inventory/plugin/external"
	"bolt/inventory/plugin/nodes"
	"bolt/inventory/plugin/program"
	"bolt/inventory/plugin/terraform"
	"bolt/inventory/plugin/vault"
	"bolt/modules"
	"bolt/puppetdb"
)

// PuppetDB is the name of the plugin that queries PuppetDB.
const PuppetDB = nodes.Name

// cloudsProgram is the program with the plugins for clouds. It is installed with bolt.
const cloudsProgram = "bolt-clouds"

// Options are the settings of plugins.
type Options struct {
	Project  string // directory
	Home     string // of the user
	Environ  []string
	Getenv   func(name string) (value string, ok bool)
	Agent    string // user agent in HTTP requests
	Modules  *modules.Path
	Database *puppetdb.Instances
	Warn     func(id, text string)
	Log      func(plugin, line string) // receives the log lines of programs, without the secrets of plugins
}

// New returns all plugins. rest has the options of plugin.New that Options does not set.
func New(o Options, rest plugin.Options) *plugin.Plugins {
	var p *plugin.Plugins // set before any program runs
	outside := programs(o, func(text string) string { return p.Redact(text) })
	rest.Project, rest.Env, rest.Modules, rest.Warn = o.Project, o.Getenv, o.Modules, o.Warn
	rest.Natives, rest.Programs = natives(o, outside), outside
	p = plugin.New(rest)
	return p
}

// natives returns the plugins of other packages, by name.
func natives(o Options, programs *external.Programs) []plugin.Native {
	ansible := &ansiblehosts.Plugin{Project: o.Project, Home: o.Home, Environ: o.Environ, Warn: o.Warn}
	exec := &program.Plugin{Project: o.Project, Environ: o.Environ}
	database := &nodes.Plugin{Database: o.Database, Warn: o.Warn}
	states := terraform.New(terraform.Options{Project: o.Project, Env: o.Getenv, Warn: o.Warn, Agent: o.Agent, Proxy: http.ProxyFromEnvironment})
	secrets := vault.New(vault.Options{Project: o.Project, Home: o.Home, Env: o.Getenv, Agent: o.Agent, Proxy: http.ProxyFromEnvironment})
	return []plugin.Native{
		{Name: "ansible", About: "Read an inventory of Ansible's.", Configures: ansiblehosts.Configures, Resolve: ansible.Resolve},
		programs.Part(cloudsProgram, "aws_inventory", "Make targets of the instances of Amazon EC2."),
		programs.Part(cloudsProgram, "azure_inventory", "Make targets of the virtual machines of Azure."),
		{Name: "exec", About: "Run a program of this machine that prints a value.", Configures: program.Configures, Resolve: exec.Resolve},
		programs.Part(cloudsProgram, "gcloud_inventory", "Make targets of the instances of Google Compute Engine."),
		{Name: nodes.Name, About: "Query PuppetDB for targets.", Resolve: database.Resolve},
		{Name: terraform.Name, About: "Make targets of the resources in a Terraform state.", Configures: terraform.Configures, Resolve: states.Resolve},
		{Name: vault.Name, About: "Read a secret from HashiCorp Vault.", Configures: vault.Configures, Secret: true, Resolve: secrets.Resolve},
	}
}

// programs returns the plugins that are separate programs.
func programs(o Options, redact func(string) string) *external.Programs {
	beside := ""
	if self, err := os.Executable(); err == nil {
		beside = filepath.Dir(self)
	}
	path, _ := o.Getenv("PATH")
	return external.New(external.Options{
		Beside: beside, Dirs: o.dirs, Path: path, Environ: o.Environ, Project: o.Project,
		Log:  func(plugin, line string) { o.Log(plugin, redact(line)) },
		Warn: func(id, text string) { o.Warn(id, redact(text)) },
	})
}

// dirs returns the directories of the project and its modules that may contain programs
// of plugins.
func (o *Options) dirs() []string {
	const folder = "plugins"
	dirs := []string{filepath.Join(o.Project, folder)}
	for _, m := range o.Modules.All() {
		if !m.BuiltIn() {
			dirs = append(dirs, m.Path(folder))
		}
	}
	return slices.Compact(dirs)
}
