package environment

import (
	"context"

	"bolt/puppet/eval"
	"bolt/puppet/hiera"
)

// Backends returns the functions that a hiera.yaml of the environment or, if module is set, of a module gets its
// data from; see hiera.Hiera.
func (e *Environment) Backends(ctx context.Context, file string, module bool) ([]hiera.Backend, error) {
	return e.hiera.Backends(ctx, file, module)
}

// A Finder finds names as the programs of an Environment do.
type Finder struct{ site *eval.Site }

// Finder returns a Finder. It is for one goroutine.
func (e *Environment) Finder(ctx context.Context) Finder {
	return Finder{e.Evaluation(Node{}).Interp.Site(ctx, nil)}
}

// Find returns the definition of a name; nil if there is none. If the definition is in Ruby, the error is
// eval.ErrForeign. For a resource type in Go there is a definition only if a module defines the type, too.
func (f Finder) Find(kind eval.Kind, name string) (*eval.Definition, error) {
	return f.site.Find(kind, name)
}

// HasResourceType reports whether a resource type or a defined type exists.
func (f Finder) HasResourceType(name string) (bool, error) { return f.site.HasResourceType(name) }
