// Package terraform is the plugin terraform: its targets are resources in a state of
// Terraform or OpenTofu.
//
//	targets:
//	  - _plugin: terraform
//	    dir: infrastructure
//	    resource_type: google_compute_instance.web
//	    target_mapping: {name: name, uri: network_interface.0.access_config.0.nat_ip}
//
// States are read from files and from the http backend; for other backends the
// program terraform, or tofu, pulls the state. A state contains secrets, so messages
// contain only the names of resources from it.
//
// Source: https://developer.hashicorp.com/terraform/language (backend, state,
// workspaces) and the code of Terraform for the two formats, and the plugin
// puppetlabs-terraform of Puppet Bolt for options and names of resources.
package terraform

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"bolt/format/ordered"
	"bolt/internal/regexp"
	"bolt/inventory/plugin/mapping"
	"bolt/inventory/plugin/options"
)

// Name is the name of the plugin.
const Name = "terraform"

// Options are the environment of the plugin.
type Options struct {
	Project string // directory that relative paths are relative to
	Env     func(name string) (string, bool)
	Warn    func(id, text string)
	Agent   string
	Proxy   func(*http.Request) (*url.URL, error)
	// Timeout is the time limit of a server, 0 for a minute; a program has five
	// times as long.
	Timeout time.Duration

	limit int64 // bytes of a state; maxState
}

// A Plugin makes targets from resources. It is safe for concurrent use.
type Plugin struct{ o Options }

// New returns the plugin.
func New(o Options) *Plugin {
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	o.limit = maxState
	return &Plugin{o}
}

// Configures reports whether the plugin's configuration can contain a key.
func Configures(key string) bool {
	switch key {
	case "dir", "resource_type", "state", "backend":
		return true
	}
	return false
}

// Resolve returns the targets of a reference; see plugin.Native.
func (p *Plugin) Resolve(ctx context.Context, config, ref *ordered.Map) (any, error) {
	r := options.New(Name, ref, config)
	s := source{Options: p.o, dir: r.Required("dir"), file: r.Text("state"), backend: r.Text("backend")}
	switch s.backend {
	case "", "local", "http", "remote":
	default:
		r.Wrong("has no backend '%s': the backends are local, http, and remote (terraform itself pulls the state from any other backend)", s.backend)
	}
	pattern := r.Required("resource_type")
	matcher, err := regexp.Compile(pattern)
	if err != nil {
		r.Wrong("requires that 'resource_type' is a regular expression: %v", err)
	}
	to, err := mapping.Parse(Name, ref)
	if err != nil {
		return nil, err
	}
	if r.Map(mapping.Key); !to.Has("name") && !to.Has("uri") {
		r.Wrong("requires a 'name' or a 'uri' in '%s'", mapping.Key)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(s.dir) {
		s.dir = filepath.Join(s.Project, s.dir)
	}
	data, from, err := s.load(ctx)
	if err != nil {
		return nil, fmt.Errorf("the state of %s: %w", s.dir, err)
	}
	targets, nameless := []any{}, []string{}
	err = resources(data, func(res resource) error {
		name := res.name
		if strings.Contains(pattern, "module") {
			name = res.module + name
		}
		if ok, err := matcher.Match(name); err != nil || !ok {
			return err
		}
		attributes, err := res.attributes()
		if err != nil {
			return err
		}
		t := to.Target(func(path string) (any, bool) { return mapping.Find(attributes, path) })
		if t.Value("name") == nil && t.Value("uri") == nil {
			nameless = append(nameless, res.module+res.name)
			return nil
		}
		targets = append(targets, t)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the state of %s, from %s: %w", s.dir, from, err)
	}
	if len(nameless) > 0 {
		p.o.Warn("terraform_nameless", fmt.Sprintf("Terraform state of %s: %d resources have no value for name or uri and are left out: %s", s.dir, len(nameless), some(nameless)))
	}
	return targets, nil
}

// some returns the first of names, and the number of the others.
func some(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
