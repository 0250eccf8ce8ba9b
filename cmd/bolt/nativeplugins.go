package main

import (
	"net/http"

	"bolt/clouds/aws"
	"bolt/clouds/azure"
	"bolt/clouds/cloud"
	"bolt/clouds/gcloud"
	"bolt/inventory/plugin"
	"bolt/inventory/plugin/ansiblehosts"
	"bolt/inventory/plugin/nodes"
	"bolt/inventory/plugin/program"
	"bolt/inventory/plugin/terraform"
	"bolt/inventory/plugin/vault"
)

// nativePlugins are the plugins that are packages of their own.
func (a *app) nativePlugins() []plugin.Native {
	agent := "bolt/" + version
	ansible := &ansiblehosts.Plugin{Project: a.project.Dir, Home: home(a.sys), Environ: a.sys.environ(), Warn: a.logs.Warn}
	exec := &program.Plugin{Project: a.project.Dir, Environ: a.sys.environ()}
	database := &nodes.Plugin{Database: a.puppetDB(), Warn: a.logs.Warn}
	states := terraform.New(terraform.Options{Project: a.project.Dir, Env: a.sys.lookup, Warn: a.logs.Warn, Agent: agent, Proxy: http.ProxyFromEnvironment})
	secrets := vault.New(vault.Options{Project: a.project.Dir, Home: home(a.sys), Env: a.sys.lookup, Agent: agent, Proxy: http.ProxyFromEnvironment})
	clouds := cloud.Options{Project: a.project.Dir, Home: home(a.sys), Env: a.sys.lookup, Warn: a.logs.Warn, Agent: agent, Proxy: http.ProxyFromEnvironment}
	return []plugin.Native{
		{Name: "ansible", About: "Read an inventory of Ansible's.", Configures: ansiblehosts.Configures, Resolve: ansible.Resolve},
		{Name: aws.Name, About: "Make targets of the instances of Amazon EC2.", Configures: aws.Configures, Resolve: aws.New(clouds).Resolve},
		{Name: azure.Name, About: "Make targets of the virtual machines of Azure.", Configures: azure.Configures, Resolve: azure.New(clouds).Resolve},
		{Name: "exec", About: "Run a program of this machine that prints a value.", Configures: program.Configures, Resolve: exec.Resolve},
		{Name: gcloud.Name, About: "Make targets of the instances of Google Compute Engine.", Configures: gcloud.Configures, Resolve: gcloud.New(clouds).Resolve},
		{Name: nodes.Name, About: "Query PuppetDB for targets.", Resolve: database.Resolve},
		{Name: terraform.Name, About: "Make targets of the resources in a Terraform state.", Configures: terraform.Configures, Resolve: states.Resolve},
		{Name: vault.Name, About: "Read a secret from HashiCorp Vault.", Configures: vault.Configures, Secret: true, Resolve: secrets.Resolve},
	}
}
