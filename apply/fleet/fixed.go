package fleet

import (
	"context"

	"bolt/catalog"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/run"
)

// Fixed returns the action of applying a catalog that exists already, on its target. version is the version of bolt. In noop mode, the
// target is never changed: Fixed ignores "noop => false" of resources, with which they would be applied.
func Fixed(c *catalog.Catalog, d *Delivery, version string) *Apply {
	a := &Apply{
		Facts: func(ctx context.Context, s *run.Site) (*ordered.Map, error) { return Known(ctx, s.Target) },
		Compile: func(context.Context, *inventory.Target, *ordered.Map, bool) (*catalog.Catalog, error) {
			if d.Noop {
				return c.Map(harmless)
			}
			return c, nil
		},
		Deliver: d.Deliver, Version: version, Noop: d.Noop,
	}
	a.Compiles(1)
	return a
}

// harmless returns a resource without "noop => false".
func harmless(r *catalog.Resource) (*catalog.Resource, error) {
	if v, given := r.Params.Get("noop"); !given || v != false && v != "false" {
		return r, nil
	}
	out := *r
	out.Params = r.Params.Clone()
	out.Params.Delete("noop")
	return &out, nil
}
