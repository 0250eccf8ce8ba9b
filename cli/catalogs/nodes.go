package catalogs

import (
	"context"

	"bolt/catalog/site"
	"bolt/environment"
	"bolt/facts"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory"
)

// nodes returns the machines for which catalogs are compiled.
func (v *Invocation) nodes(ctx context.Context, o *selection) ([]site.Node, error) {
	if o.node != "" {
		if o.facts.Text == fromPuppetDB {
			n, err := v.storedNode(ctx, o)
			return []site.Node{n}, err
		}
		n, err := site.ReadNode(ctx, o.node, o.facts.Text, o.classes)
		return []site.Node{n}, err
	}
	targets, err := v.Targets(ctx, &o.targets)
	if err != nil {
		return nil, err
	}
	collected, err := v.collectedFacts(ctx, o, targets)
	if err != nil {
		return nil, err
	}
	nodes := make([]site.Node, len(targets))
	for i, t := range targets {
		data, err := t.Data(ctx)
		if err != nil {
			return nil, err
		}
		others, err := collected(ctx, t)
		if err != nil {
			return nil, err
		}
		if nodes[i], err = site.NodeOf(t.Name, data.FactsOver(others), o.classes); err != nil {
			return nil, err
		}
		if err := v.addVariables(&nodes[i], data); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// addVariables gives a node the variables of its target, as bolt apply does.
func (v *Invocation) addVariables(n *site.Node, data *inventory.Data) error {
	n.Secrets = data.Secrets()
	if data.Vars.Len() == 0 {
		return nil
	}
	of := environment.Target{Name: n.Name, Vars: inventory.RevealMap(data.Vars)}
	vars, odd, err := of.Variables(n.Facts)
	if err != nil {
		return fault.New(site.Kind, "The catalog of %s: %v", n.Name, err)
	}
	n.Variables = vars
	for _, l := range odd.Logs() {
		v.Logs.WarnEach(warningID(l), n.Name+": "+l.Msg)
	}
	return nil
}

// storedNode returns the node of --node with its facts in PuppetDB.
func (v *Invocation) storedNode(ctx context.Context, o *selection) (site.Node, error) {
	found, err := v.PuppetDB().Facts(ctx, []string{o.node}, "")
	if err != nil {
		return site.Node{}, err
	}
	m, ok := found.Value(o.node).(*ordered.Map)
	if !ok {
		return site.Node{}, fault.New(site.Kind, "PuppetDB has no facts of the node %s.", o.node)
	}
	return site.NodeOf(o.node, m, o.classes)
}

// collectedFacts returns a function for the facts of targets that are not in the inventory. "facts collect" has
// stored these facts; with --facts puppetdb, they come from PuppetDB. They are nil for a target without such
// facts.
func (v *Invocation) collectedFacts(ctx context.Context, o *selection, targets []*inventory.Target) (func(context.Context, *inventory.Target) (*ordered.Map, error), error) {
	if o.facts.Text == fromPuppetDB {
		q, err := facts.NewQuery(ctx, targets, func(ctx context.Context, certnames []string) (*ordered.Map, error) {
			return v.PuppetDB().Facts(ctx, certnames, "")
		})
		if err != nil {
			return nil, err
		}
		return q.Take, nil
	}
	if v.CachedFacts == nil {
		return func(context.Context, *inventory.Target) (*ordered.Map, error) { return nil, nil }, nil
	}
	return func(ctx context.Context, t *inventory.Target) (*ordered.Map, error) {
		return v.CachedFacts(ctx, t.Name, nil)
	}, nil
}
