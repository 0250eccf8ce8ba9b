package fleet

import (
	"context"
	"time"

	"bolt/catalog"
	"bolt/catalog/site"
	"bolt/environment"
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
	// Loose makes an unknown variable undef, and mistakes warnings that Puppet 8 has for errors. Blocks of plans are so in Puppet Bolt.
	Loose bool
	// Host returns environment.Node.Host of a compilation; nil for none.
	Host    func() any
	Timeout time.Duration // for one catalog; 0: none
	// Log gets messages of programs, and warnings. It is called from several goroutines. nil discards.
	Log func(ctx context.Context, t *inventory.Target, l eval.Log)
}

// The kinds of warnings about the variables of a target.
const (
	warnOverridden = "variable-overridden"
	warnRefused    = "variable-refused"
)

// Compile is for Apply.Compile.
func (m *Manifest) Compile(ctx context.Context, t *inventory.Target, facts *ordered.Map) (*catalog.Catalog, error) {
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
	log := func(l eval.Log) {
		mistake := l.Kind == site.KindOrder || l.Kind == site.KindValue // the helper refuses the catalog for it
		if m.Log != nil && !mistake {
			m.Log(ctx, t, l)
		}
	}
	for _, text := range odd.Overridden {
		log(eval.Log{Level: eval.Warning, Kind: warnOverridden, Msg: text})
	}
	for _, err := range odd.Refused {
		log(eval.Log{Level: eval.Warning, Kind: warnRefused, Msg: err.Error()})
	}
	if m.Loose {
		node.Strict, node.LooseVariables = eval.StrictWarning, true
	}
	if m.Host != nil {
		node.Host = m.Host()
	}
	ctx, cancel := program.Limited(ctx, m.Timeout)
	defer cancel()
	made, err := m.Site.Compile(ctx, site.Node{Name: t.Name, As: &node, Resolve: true, Log: log})
	if err != nil {
		return nil, err
	}
	return made.Catalog, nil
}

// Known returns the facts that the inventory has of a target, for Apply.Facts.
func Known(ctx context.Context, t *inventory.Target) (*ordered.Map, error) {
	data, err := t.Data(ctx)
	if err != nil {
		return nil, err
	}
	return inventory.RevealMap(data.Facts), nil
}
