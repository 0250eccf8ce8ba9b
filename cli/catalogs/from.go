package catalogs

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
	"bolt/run"
)

// The values of --exports that are not a directory. fromPuppetDB is one of --facts, too.
const (
	exportsOwn   = "own"
	exportsFleet = "fleet"
	fromPuppetDB = "puppetdb"
)

// FormatPuppetDB is a format of catalog compile that no other command has.
const FormatPuppetDB = "puppetdb"

// Stores reports whether catalogs have the form that PuppetDB stores.
func (o *CompileOptions) Stores() bool { return o.format == FormatPuppetDB }

// CompleteExports completes the values of --exports.
func CompleteExports(context.Context, cli.Query) cli.Completions {
	return cli.Completions{Files: true, Words: []cli.Word{
		{Text: exportsOwn, About: "only those of the node itself"},
		{Text: exportsFleet, About: "those of the nodes of this run"},
		{Text: fromPuppetDB, About: "those that PuppetDB has"},
	}}
}

// exporting gives a compiler the exported resources that --exports names.
func (v *Invocation) exporting(ctx context.Context, o *CompileOptions, with exportsCompiler, nodes []site.Node) (site.Compiler, error) {
	switch o.exports {
	case "":
		return with(nil), nil
	case exportsOwn:
		return with(&exports.Index{}), nil
	case fromPuppetDB:
		return with(exports.NewPuppetDB(v.PuppetDB(), "")), nil
	case exportsFleet:
		x, failed, err := site.Gather(ctx, with(&exports.Index{}), nodes, v.Timeout)
		if ctx.Err() != nil {
			return nil, run.ErrStopped // the user knows
		}
		if err != nil {
			return nil, err
		}
		if failed > 0 {
			v.Logs.Warn("missing_exports", fmt.Sprintf("%d of %d nodes could not be compiled at first: no node collects their exported resources.", failed, len(nodes)))
		}
		return with(x), nil
	}
	if info, err := os.Stat(o.exports); err != nil || !info.IsDir() {
		return nil, cli.Hinted(cli.Errorf("'%s' of --exports is not a directory", o.exports),
			"--exports takes puppetdb, fleet, own, or a directory of catalogs that \"bolt catalog compile --format puppetdb\" wrote")
	}
	x, err := site.ReadExports(ctx, o.exports)
	if err != nil {
		return nil, err
	}
	if x.Len() == 0 {
		v.Logs.Warn("missing_exports", fmt.Sprintf("The catalogs in '%s' have no exported resources. Only catalogs of --format puppetdb have those that their own node does not collect.", o.exports))
	}
	return with(x), nil
}

// warnNoExports warns once that exported resources are not collected.
func (v *Invocation) warnNoExports() {
	v.Logs.WarnOnce("catalog_no_exports", "Exported resources of other nodes are not collected. --exports puppetdb, --exports fleet or --exports DIR collects them; --exports own ends this warning.")
}

// storeOptions are those of a catalog for PuppetDB.
func storeOptions() wire.Options {
	name, _ := os.Hostname() // a catalog needs no producer
	return wire.Options{Producer: name, Produced: time.Now()}
}

// storedNode is the node of --node with the facts that PuppetDB has.
func (v *Invocation) storedNode(ctx context.Context, o *CompileOptions) (site.Node, error) {
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

// collectedFacts returns a function for the facts of targets beside those of the inventory.
// They are stored by "facts collect"; with --facts puppetdb, they come from PuppetDB. They are
// nil for a target without such facts.
func (v *Invocation) collectedFacts(ctx context.Context, o *CompileOptions, targets []*inventory.Target) (func(context.Context, *inventory.Target) (*ordered.Map, error), error) {
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
