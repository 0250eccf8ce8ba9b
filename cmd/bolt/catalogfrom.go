package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"bolt/catalog/exports"
	"bolt/catalog/site"
	"bolt/catalog/wire"
	"bolt/cli"
	"bolt/facts"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/inventory"
)

// The values of --exports that are not a directory. fromPuppetDB is one of --facts, too.
const (
	exportsOwn   = "own"
	exportsFleet = "fleet"
	fromPuppetDB = "puppetdb"
)

// formatPuppetDB is a format of catalog compile that no other command has.
const formatPuppetDB = "puppetdb"

// completeExports completes the values of --exports.
func completeExports(context.Context, cli.Query) cli.Completions {
	return cli.Completions{Files: true, Words: []cli.Word{
		{Text: exportsOwn, About: "only those of the node itself"},
		{Text: exportsFleet, About: "those of the nodes of this run"},
		{Text: fromPuppetDB, About: "those that PuppetDB has"},
	}}
}

// exporting gives a compiler the exported resources that --exports names.
func (a *app) exporting(ctx context.Context, o *compileOptions, with exportsCompiler, nodes []site.Node) (site.Compiler, error) {
	switch o.exports {
	case "":
		return with(nil), nil
	case exportsOwn:
		return with(&exports.Index{}), nil
	case fromPuppetDB:
		return with(exports.NewPuppetDB(a.puppetDB(), "")), nil
	case exportsFleet:
		x, failed, err := site.Gather(ctx, with(&exports.Index{}), nodes, a.timeout())
		if ctx.Err() != nil {
			return nil, errPrinted // the user knows
		}
		if err != nil {
			return nil, err
		}
		if failed > 0 {
			a.logs.Warn("missing_exports", fmt.Sprintf("%d of %d nodes could not be compiled at first: no node collects their exported resources.", failed, len(nodes)))
		}
		return with(x), nil
	}
	if info, err := os.Stat(o.exports); err != nil || !info.IsDir() {
		return nil, hinted(usagef("'%s' of --exports is not a directory", o.exports),
			"--exports takes puppetdb, fleet, own, or a directory of catalogs that \"bolt catalog compile --format puppetdb\" wrote")
	}
	x, err := site.ReadExports(ctx, o.exports)
	if err != nil {
		return nil, err
	}
	if x.Len() == 0 {
		a.logs.Warn("missing_exports", fmt.Sprintf("The catalogs in '%s' have no exported resources. Only catalogs of --format puppetdb have those that their own node does not collect.", o.exports))
	}
	return with(x), nil
}

// warnNoExports warns once that exported resources are not collected.
func (a *app) warnNoExports() {
	a.logs.WarnOnce("catalog_no_exports", "Exported resources of other nodes are not collected. --exports puppetdb, --exports fleet or --exports DIR collects them; --exports own ends this warning.")
}

// storeOptions are those of a catalog for PuppetDB.
func storeOptions() wire.Options {
	name, _ := os.Hostname() // a catalog needs no producer
	return wire.Options{Producer: name, Produced: time.Now()}
}

// storedNode is the node of --node with the facts that PuppetDB has.
func (a *app) storedNode(ctx context.Context, o *compileOptions) (site.Node, error) {
	found, err := a.puppetDB().Facts(ctx, []string{o.node}, "")
	if err != nil {
		return site.Node{}, err
	}
	m, ok := found.Value(o.node).(*ordered.Map)
	if !ok {
		return site.Node{}, fault.New(site.Kind, "PuppetDB has no facts of the node %s.", o.node)
	}
	return site.NodeOf(o.node, m, o.classes)
}

// collectedFacts returns a function for the facts of targets beside those of the inventory.
// They are stored by "facts collect"; with --facts puppetdb, they come from PuppetDB. They are
// nil for a target without such facts.
func (a *app) collectedFacts(ctx context.Context, o *compileOptions, targets []*inventory.Target) (func(context.Context, *inventory.Target) (*ordered.Map, error), error) {
	if o.facts.Text == fromPuppetDB {
		q, err := facts.NewQuery(ctx, targets, func(ctx context.Context, certnames []string) (*ordered.Map, error) {
			return a.puppetDB().Facts(ctx, certnames, "")
		})
		if err != nil {
			return nil, err
		}
		return q.Take, nil
	}
	if a.factStore().Empty() {
		return func(context.Context, *inventory.Target) (*ordered.Map, error) { return nil, nil }, nil
	}
	return func(ctx context.Context, t *inventory.Target) (*ordered.Map, error) {
		return a.cachedFacts(ctx, t.Name, nil)
	}, nil
}
