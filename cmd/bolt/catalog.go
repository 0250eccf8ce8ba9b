package main

import (
	"context"

	"bolt/cli/catalogs"
)

func runCatalogCompile(ctx context.Context, a *app, o *catalogs.CompileOptions) error {
	if o.Stores() {
		a.config.Format = "json" // for errors
	}
	if o.OneNode() {
		collectLate(64) // enough for 10,000 resources
	}
	return a.catalogs().Compile(ctx, o)
}
