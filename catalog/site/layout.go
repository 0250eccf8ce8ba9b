package site

import (
	"context"
	"io/fs"
	"path/filepath"

	"bolt/environment"
	"bolt/format/fault"
	"bolt/modules"
)

// A Layout is where the code of an environment is.
type Layout struct {
	Dir string // an absolute path
	// Manifest is a manifest, or a directory of manifests.
	Manifest string
	// Modules are the directories of modules.
	Modules []string
}

// LayoutOf returns the layout of the environment with a name below a directory. The error is a *fault.Error.
func LayoutOf(ctx context.Context, path, name string) (*Layout, error) {
	dir, err := directory(path, name)
	if err != nil {
		return nil, err
	}
	return LayoutIn(ctx, dir)
}

// LayoutIn returns the layout of the environment in a directory, such as a checkout of a control repository. The error is
// a *fault.Error.
func LayoutIn(ctx context.Context, dir string) (*Layout, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fault.File(dir, err, "The directory '%s' could not be found: %v", dir, err)
	}
	c, err := readConfig(ctx, abs)
	if err != nil {
		return nil, err
	}
	return &Layout{abs, c.manifest, c.modulepath}, nil
}

// Options returns o for the modules and data of the layout. builtin are modules that every environment has.
func (l *Layout) Options(o environment.Options, builtin fs.FS) environment.Options {
	o.Modules = modules.NewPath(modules.Module{}, l.Modules...)
	if builtin != nil {
		o.Modules = o.Modules.With(builtin)
	}
	o.Dir = l.Dir
	return o
}

// Open reads the manifests of the layout, and makes a Site with this name of an environment. o are the options that
// Options returned. The error is a *fault.Error.
func (l *Layout) Open(ctx context.Context, name string, o environment.Options) (*Site, error) {
	programs, err := manifests(ctx, l.Manifest)
	if err != nil {
		return nil, err
	}
	return newSite(name, o, programs), nil
}

// Manifests returns the files of the manifests of the layout, in the order of their paths. The error is a *fault.Error.
func (l *Layout) Manifests(ctx context.Context) ([]string, error) {
	return manifestFiles(ctx, l.Manifest)
}
