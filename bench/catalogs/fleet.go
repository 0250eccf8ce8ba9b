package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"bolt/bench/measure"
)

// profiles is the number of classes of a node.
const profiles = 10

// fleet writes a control repository with an inventory, and compiles all nodes of two versions of it.
func (b *bench) fleet(ctx context.Context) error {
	for _, version := range []string{"before", "after"} {
		if err := b.repository(version); err != nil {
			return err
		}
	}
	var tools []tool
	for _, version := range []string{"before", "after"} {
		tools = append(tools, tool{"bolt, " + version, b.compile(filepath.Join(b.dir, version), "-t", "all", "--output", b.made(version), "--inventoryfile", filepath.Join(b.dir, "inventory.yaml"))})
	}
	return b.measure(ctx, fmt.Sprintf("%d nodes with %d resources, each written to a file", b.nodes, b.resources), tools...)
}

func (b *bench) made(version string) string { return filepath.Join(b.dir, "made-"+version) }

func (b *bench) diff(ctx context.Context) error {
	return b.measure(ctx, fmt.Sprintf("2 versions of %d catalogs with %d resources compared", b.nodes, b.resources),
		tool{"bolt", []string{b.bolt, "catalog", "diff", b.made("before"), b.made("after")}})
}

// release compiles all nodes, and makes releases of them. The first release, which stores all
// catalogs, is not measured with the others.
func (b *bench) release(ctx context.Context) error {
	nodes := []string{"--environment-path", filepath.Join(b.dir, "before"), "-t", "all", "--inventoryfile", filepath.Join(b.dir, "inventory.yaml")}
	create := append([]string{b.bolt, "release", "create", "--state", filepath.Join(b.dir, "state")}, nodes...)
	if _, err := measure.Run(ctx, measure.Program{Argv: create, Env: []string{"HOME=" + b.dir}, Dir: b.dir}); err != nil {
		return err
	}
	return b.measure(ctx, fmt.Sprintf("A release of %d nodes with %d resources, which have not changed", b.nodes, b.resources),
		tool{"bolt catalog compile", append([]string{b.bolt, "catalog", "compile"}, nodes...)}, tool{"bolt release create", create})
}

// profile is one of the classes of a node: half of the resources are made from templates and data.
const profile = `class profile::p%[1]d (
  Integer $port,
  Hash[String, String] $options = {},
) {
  $count = lookup('resources')
  package { 'p%[1]d': ensure => installed }
  -> Profile::Conf <| tag == 'p%[1]d' |>
  ~> service { 'p%[1]d': ensure => running, enable => true }
  Integer[1, $count].each |$i| {
    profile::conf { "p%[1]d-${i}": options => $options + { 'port' => "${$port}", 'node' => $trusted['certname'], 'os' => $facts['os']['family'] } }
  }
}
`

const conf = `define profile::conf (Hash[String, String] $options) {
  file { "/etc/conf/${title}":
    content => epp('profile/conf.epp', { 'title' => $title, 'options' => $options }),
    owner   => 'root',
    mode    => '%s',
  }
}
`

const template = `<%- | String $title, Hash $options | -%>
# <%= $title %>
<% $options.each |$k, $v| { -%>
<%= $k %> = <%= $v %>
<% } -%>
`

// repository writes a version of the control repository, and the inventory.
func (b *bench) repository(version string) error {
	mode := map[string]string{"before": "0644", "after": "0640"}[version]
	each := (b.resources/profiles - 2) / 2 // a conf is two resources
	files := map[string]string{
		"hiera.yaml":                              "version: 5\nhierarchy:\n  - {name: node, path: \"nodes/%{trusted.certname}.yaml\"}\n  - {name: os, path: \"os/%{facts.os.family}.yaml\"}\n  - {name: common, path: common.yaml}\n",
		"manifests/site.pp":                       "node default { include role }\n",
		"modules/role/manifests/init.pp":          "class role { Integer[1, 10].each |$i| { include \"profile::p${i}\" } }\n",
		"modules/profile/manifests/conf.pp":       fmt.Sprintf(conf, mode),
		"modules/profile/templates/conf.epp":      template,
		"data/os/Debian.yaml":                     "profile::p1::options: {family: debian}\n",
		"data/os/RedHat.yaml":                     "profile::p1::options: {family: redhat}\n",
		"data/nodes/n0001.fleet.example.com.yaml": "profile::p2::port: 1\n",
	}
	var data strings.Builder
	fmt.Fprintf(&data, "resources: %d\n", each)
	for i := 1; i <= profiles; i++ {
		fmt.Fprintf(&data, "profile::p%d::port: %d\n", i, 8000+i)
		files[fmt.Sprintf("modules/profile/manifests/p%d.pp", i)] = fmt.Sprintf(profile, i)
	}
	files["data/common.yaml"] = data.String()
	for name, text := range files {
		if err := write(b.dir, filepath.Join(version, "production", name), text); err != nil {
			return err
		}
	}
	var inventory strings.Builder
	inventory.WriteString("targets:\n")
	for i := range b.nodes {
		family := []string{"Debian", "RedHat"}[i%2]
		fmt.Fprintf(&inventory, "  - {uri: n%04d.fleet.example.com, facts: {os: {family: %s}}}\n", i, family)
	}
	return write(b.dir, "inventory.yaml", inventory.String())
}
