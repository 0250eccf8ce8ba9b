// Package nodes is the plugin puppetdb: its targets are the nodes of a PuppetDB.
//
//	targets:
//	  - _plugin: puppetdb
//	    query: inventory[certname] { facts.os.name = "Debian" }
//	    target_mapping:
//	      name: certname
//	      config: {ssh: {host: facts.networking.ip}}
//
// A mapping can contain "certname", paths below "facts.", or "facts" for all facts
// of a node in PuppetDB. If it has neither a name nor a uri, the certname is the
// uri.
//
// Source: Puppet Bolt, lib/bolt/plugin/puppetdb.rb.
package nodes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory/plugin/mapping"
	"bolt/inventory/plugin/options"
	"bolt/puppetdb"
)

// Name is the name of the plugin.
const Name = "puppetdb"

// A Database returns the nodes for a query, as *puppetdb.Instances does.
type Database interface {
	Nodes(ctx context.Context, query any, instance string, paths []string) ([]puppetdb.Node, error)
}

// A Plugin makes targets from nodes.
type Plugin struct {
	Database Database
	// Warn receives warnings.
	Warn func(id, text string)
}

// Resolve returns the targets of a reference; see plugin.Native.
func (p *Plugin) Resolve(ctx context.Context, config, ref *ordered.Map) (any, error) {
	r := options.New(Name, ref, config)
	query := r.Value("query")
	switch query.(type) {
	case string, []any:
	case nil:
		r.Wrong("requires a 'query'")
	default:
		r.Wrong("requires that 'query' is a String or an Array")
	}
	instance := r.Text("instance")
	to, err := mapping.Parse(Name, ref)
	if err != nil {
		return nil, err
	}
	r.Map(mapping.Key)
	paths := to.Paths()
	for _, path := range paths {
		if !valid(path) {
			r.Wrong("cannot map '%s': facts begin with 'facts.', the name of a node is 'certname'", path)
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	facts := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return path == certname })
	found, err := p.Database.Nodes(ctx, query, instance, facts)
	if err != nil {
		return nil, about(query, err)
	}
	lacks := make([]lack, len(facts))
	targets := make([]any, len(found))
	for i, node := range found {
		values := map[string]any{certname: node.Certname}
		for j, path := range facts {
			v, ok := mapping.Find(node.Facts, path)
			if safe := mapping.Safe(v); !ok || !safe {
				lacks[j].add(node.Certname, !safe)
				continue
			}
			values[path] = v
		}
		targets[i] = target(to, node.Certname, values)
	}
	for j, l := range lacks {
		if l.n > 0 {
			p.Warn("puppetdb_missing_fact", l.text(facts[j]))
		}
	}
	return targets, nil
}

const certname = "certname"

// valid reports whether path is a path of a node.
func valid(path string) bool {
	fact, ok := strings.CutPrefix(path, "facts.")
	return path == certname || path == "facts" || ok && !slices.Contains(strings.Split(fact, "."), "")
}

// target returns the target that the mapping makes from a node.
func target(to *mapping.Mapping, name string, values map[string]any) *ordered.Map {
	t := to.Target(func(path string) (any, bool) {
		v, ok := values[path]
		return v, ok
	})
	if t.Value("uri") == nil && t.Value("name") == nil {
		t.Set("uri", name)
	}
	return t
}

// A lack is a fact that some nodes do not have.
type lack struct {
	n     int
	first []string // nodes
	// references is the number of nodes on which the fact contains a plugin
	// reference. It is dropped, because only the author of the inventory may choose
	// plugins to run.
	references int
}

// shown is the number of nodes that a warning names.
const shown = 3

func (l *lack) add(node string, reference bool) {
	if l.n++; len(l.first) < shown {
		l.first = append(l.first, node)
	}
	if reference {
		l.references++
	}
}

func (l *lack) text(fact string) string {
	names := strings.Join(l.first, ", ")
	if more := l.n - len(l.first); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	text := fmt.Sprintf("Could not find fact %s for node %s", fact, names)
	if l.n > 1 {
		text = fmt.Sprintf("Could not find fact %s for %d nodes: %s", fact, l.n, names)
	}
	if l.references > 0 {
		text += fmt.Sprintf(" (on %d of them it contains the key _plugin and is ignored: facts cannot be plugin references)", l.references)
	}
	return text
}

// about adds the query to an error.
func about(query any, err error) error {
	text, ok := query.(string)
	f, isFault := err.(*fault.Error)
	if !ok || !isFault || strings.Contains(f.Msg, text) {
		return err
	}
	e := *f
	e.Msg = fmt.Sprintf("the query '%s': %s", text, f.Msg)
	return &e
}
