package site

import (
	"context"

	"bolt/catalog"
	"bolt/catalog/static"
	"bolt/modules"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
)

// Sources returns the files of an environment that catalogs can name. The error is a
// *fault.Error.
func Sources(ctx context.Context, path, name string) (*static.Sources, error) {
	dir, err := directory(path, name)
	if err != nil {
		return nil, err
	}
	c, err := readConfig(ctx, dir)
	if err != nil {
		return nil, err
	}
	return static.New(modules.NewPath(modules.Module{}, c.modulepath...)), nil
}

// Resolve makes the catalog of a node static. A source that cannot be resolved is a warning,
// because the target may not need its content. The error is the error of ctx.
func Resolve(ctx context.Context, files *static.Sources, c *catalog.Catalog, n Node) error {
	problems, err := files.Resolve(ctx, c)
	if err != nil || n.Log == nil {
		return err
	}
	for _, p := range problems {
		at := syntax.Position{File: p.Resource.File, Line: p.Resource.Line}
		n.Log(eval.Log{Level: eval.Warning, Kind: KindSource, Msg: p.Msg, Scope: p.Resource.Ref.String(), Pos: at})
	}
	return nil
}
