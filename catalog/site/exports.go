package site

import (
	"context"
	"maps"
	"slices"
	"time"

	"bolt/catalog/exports"
	"bolt/format/fault"
)

// ReadExports reads the exported resources in the catalogs of a directory, or of one file. It keeps
// only one catalog in memory. The error is a *fault.Error.
func ReadExports(ctx context.Context, path string) (*exports.Index, error) {
	named, err := files(path)
	if err != nil {
		return nil, err
	}
	x := &exports.Index{}
	for _, file := range slices.Sorted(maps.Keys(named)) {
		c, err := read(ctx, named[file])
		if err != nil {
			return nil, err
		}
		if err := x.Add(c); err != nil {
			return nil, fault.File(named[file], nil, "The catalog '%s' cannot be used: %v", named[file], err)
		}
	}
	return x, nil
}

// Gather compiles nodes as CompileAll does, and keeps only their exported resources. alone is a compiler that
// does not collect exports of other nodes. Gather returns the number of nodes whose compilation failed. The
// error is a *fault.Error, or the cause of the end of ctx.
func Gather(ctx context.Context, alone Compiler, nodes []Node, limit time.Duration) (x *exports.Index, failed int, err error) {
	x = &exports.Index{}
	for c := range CompileAll(ctx, alone, nodes, limit) {
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		if c.Err != nil {
			failed++
		} else if err := x.Add(c.Catalog); err != nil {
			return nil, 0, fault.New(Kind, "The exports of the nodes cannot be collected: %v", err)
		}
	}
	return x, failed, nil
}
