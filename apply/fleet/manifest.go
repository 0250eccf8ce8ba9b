package fleet

import (
	"context"
	"slices"
	"strings"
	"time"

	"bolt/catalog"
	"bolt/catalog/site"
	"bolt/environment"
	"bolt/environment/inputs"
	"bolt/environment/program"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// A Manifest compiles the catalogs of targets as Puppet Bolt does: with the facts and variables of the
// target, and the variables of a plan, as variables of the top scope. It is safe for concurrent use, and its fields are not changed while it is used.
type Manifest struct {
	Site *site.Site
	Plan *value.Hash // variables of a plan; nil for none
	// Loose makes an unknown variable undef, and warns about mistakes that are errors in Puppet 8. Puppet Bolt
	// compiles apply blocks of plans in this way.
	Loose bool
	// Host returns environment.Node.Host of a compilation; nil for none.
	Host    func() any
	Timeout time.Duration // for one catalog; 0: none
	// Log gets messages of programs, and warnings. It is called from several goroutines. nil discards.
	Log func(ctx context.Context, t *inventory.Target, l eval.Log)
}

// Compile is the function for Apply.Compile. If it returns ErrMoreFacts, it has logged nothing.
func (m *Manifest) Compile(ctx context.Context, t *inventory.Target, facts *ordered.Map, partial bool) (*catalog.Catalog, error) {
	data, err := t.Data(ctx)
	if err != nil {
		return nil, err
	}
	known := &ordered.Map{}
	for k, v := range facts.All() {
		known.Set(k, v)
	}
	known.Set("bolt", true)
	of := environment.Target{Name: t.Name, Facts: known, Vars: inventory.RevealMap(data.Vars), Plan: m.Plan}
	node, odd, err := of.Node()
	if err != nil {
		return nil, err
	}
	var held []eval.Log // until it is known whether this compilation is the last one
	log := func(l eval.Log) {
		mistake := l.Kind == site.KindOrder || l.Kind == site.KindValue // the helper refuses the catalog for it
		switch {
		case m.Log == nil || mistake:
		case partial:
			held = append(held, l)
		default:
			m.Log(ctx, t, l)
		}
	}
	for _, l := range odd.Logs() {
		log(l)
	}
	if m.Loose {
		node.Strict, node.LooseVariables = eval.StrictWarning, true
	}
	if m.Host != nil {
		node.Host = m.Host()
	}
	limited, cancel := program.Limited(ctx, m.Timeout)
	defer cancel()
	n := site.Node{Name: t.Name, As: &node, Resolve: true, Log: log}
	var read *inputs.Record
	if partial {
		n.Inputs = func(r *inputs.Record) { read = r }
	}
	made, err := m.Site.Compile(limited, n)
	if read != nil && ctx.Err() == nil && slices.ContainsFunc(read.Facts(), func(path string) bool { return unknown(path, known, node.Variables) }) {
		return nil, ErrMoreFacts
	}
	for _, l := range held {
		m.Log(ctx, t, l)
	}
	if err != nil {
		return nil, err
	}
	made.Catalog.Conceal(data.Secrets())
	return made.Catalog, nil
}

// unknown reports whether a path of inputs.Record is one of a fact that is not known. Other variables of the
// top scope are also recorded as facts. A variable that the manifest itself sets counts as an unknown fact.
func unknown(path string, facts *ordered.Map, variables *value.Hash) bool {
	if path == inputs.Everything {
		return true
	}
	parts := strings.Split(path, ".")
	if parts[0] == "trusted" {
		return false
	}
	if _, is := facts.Get(parts[0]); !is {
		_, is = variables.GetString(parts[0])
		return !is
	}
	var at any = facts
	for _, part := range parts { // one in quotes is not found
		m, is := at.(*ordered.Map)
		if !is {
			return false // there is a value, and nothing below it
		}
		if at, is = m.Get(part); !is {
			return true
		}
	}
	_, is := at.(*ordered.Map)
	return is // there can be more in it
}

// Known returns the facts that the inventory has of a target, for Apply.Facts.
func Known(ctx context.Context, t *inventory.Target) (*ordered.Map, error) {
	data, err := t.Data(ctx)
	if err != nil {
		return nil, err
	}
	return inventory.RevealMap(data.Facts), nil
}
