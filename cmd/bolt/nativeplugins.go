package main

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
)

// cloudsProgram is the program that is installed with bolt and has the plugins for
// clouds.
const cloudsProgram = "bolt-clouds"

// nativePlugins are the plugins that are packages of their own.
func (a *app) nativePlugins() []plugin.Native {
	agent := "bolt/" + version
	ansible := &ansiblehosts.Plugin{Project: a.project.Dir, Home: home(a.sys), Environ: a.sys.environ(), Warn: a.logs.Warn}
	exec := &program.Plugin{Project: a.project.Dir, Environ: a.sys.environ()}
	database := &nodes.Plugin{Database: a.puppetDB(), Warn: a.logs.Warn}
	states := terraform.New(terraform.Options{Project: a.project.Dir, Env: a.sys.lookup, Warn: a.logs.Warn, Agent: agent, Proxy: http.ProxyFromEnvironment})
	secrets := vault.New(vault.Options{Project: a.project.Dir, Home: home(a.sys), Env: a.sys.lookup, Agent: agent, Proxy: http.ProxyFromEnvironment})
	programs := a.pluginPrograms()
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

// pluginPrograms are the plugins that are programs of their own.
func (a *app) pluginPrograms() *external.Programs {
	beside := ""
	if self, err := os.Executable(); err == nil {
		beside = filepath.Dir(self)
	}
	return external.New(external.Options{
		Beside:  beside,
		Dirs:    a.pluginDirs,
		Path:    a.sys.env("PATH"),
		Environ: a.sys.environ(),
		Project: a.project.Dir,
		Log: func(plugin, line string) {
			a.log.Info("The plugin " + plugin + ": " + a.redacted(line))
		},
		Warn: func(id, text string) { a.logs.Warn(id, a.redacted(text)) },
	})
}

// pluginDirs are the directories of the project and of its modules that may have
// programs of plugins.
func (a *app) pluginDirs() []string {
	const folder = "plugins"
	dirs := []string{filepath.Join(a.project.Dir, folder)}
	for _, m := range a.modules.All() {
		if !m.BuiltIn() {
			dirs = append(dirs, m.Path(folder))
		}
	}
	return slices.Compact(dirs)
}
