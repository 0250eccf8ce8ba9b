package catalogs

import (
	"context"
	"fmt"
	"os"

	"bolt/catalog/exports"
	"bolt/catalog/site"
	"bolt/cli"
	"bolt/run"
)

// The values of --exports that are not a directory. fromPuppetDB is also a value of --facts.
const (
	exportsOwn   = "own"
	exportsFleet = "fleet"
	fromPuppetDB = "puppetdb"
)

// CompleteExports completes the values of --exports.
func CompleteExports(context.Context, cli.Query) cli.Completions {
	return cli.Completions{Files: true, Words: []cli.Word{
		{Text: exportsOwn, About: "only the exported resources of the node itself"},
		{Text: exportsFleet, About: "the exported resources of the nodes of this run"},
		{Text: fromPuppetDB, About: "the exported resources in PuppetDB"},
	}}
}

// exporting returns a compiler with the exported resources that --exports selects.
func (v *Invocation) exporting(ctx context.Context, o *selection, with exportsCompiler, nodes []site.Node) (site.Compiler, error) {
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
			return nil, run.ErrStopped // the user knows it
		}
		if err != nil {
			return nil, err
		}
		if len(nodes) == 1 {
			v.Logs.Warn("missing_exports", "--exports fleet collects the exported resources of the nodes of this run, but the run has only one node. Choose the exporting nodes with --targets (-t), too.")
		}
		if failed > 0 {
			v.Logs.Warn("missing_exports", fmt.Sprintf("%d of %d nodes failed to compile in the first pass: no node collects their exported resources.", failed, len(nodes)))
		}
		return with(x), nil
	}
	if info, err := os.Stat(o.exports); err != nil || !info.IsDir() {
		return nil, cli.Hinted(cli.Errorf("'%s' of --exports is not a directory", o.exports),
			"give puppetdb, fleet, own, or a directory of catalogs from \"bolt catalog compile --format puppetdb\"")
	}
	x, err := site.ReadExports(ctx, o.exports)
	if err != nil {
		return nil, err
	}
	if x.Len() == 0 {
		v.Logs.Warn("missing_exports", fmt.Sprintf("The catalogs in '%s' have no exported resources. Write the catalogs with --format puppetdb: other formats leave out exported resources that the node itself does not collect.", o.exports))
	}
	return with(x), nil
}

// warnNoExports warns once that exported resources are not collected.
func (v *Invocation) warnNoExports() {
	v.Logs.WarnOnce("catalog_no_exports", "Exported resources of other nodes are not collected. Collect them with --exports puppetdb, --exports fleet or --exports DIR, or end this warning with --exports own.")
}
