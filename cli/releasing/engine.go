package releasing

import (
	"context"
	"sync"

	"bolt/apply/fleet"
	"bolt/catalog"
	"bolt/cli/acting"
	"bolt/inventory"
	"bolt/release"
)

// programs chooses the programs for the nodes of a new release: the compiler, and the engine with the Ruby code of modules.
type programs struct {
	v *Invocation
	o *CreateOptions

	mu sync.Mutex
	// code has the Ruby code of the modules by environments.
	code map[string][]byte
}

func (v *Invocation) programs(o *CreateOptions) *programs {
	return &programs{v: v, o: o, code: make(map[string][]byte)}
}

// engines returns the engines of nodes by their names. They come from --engine or from the inventory. engines is safe for concurrent use.
func (p *programs) engines(ctx context.Context, names []string) (map[string]string, error) {
	engines := make(map[string]string, len(names))
	for _, name := range names {
		engines[name] = p.o.engine
	}
	if p.o.engine != "" || len(names) == 0 {
		return engines, nil
	}
	p.mu.Lock() // the inventory is read once
	defer p.mu.Unlock()
	targets, err := p.v.Targets(ctx, &acting.Targets{Names: names})
	if err != nil {
		return nil, err
	}
	for _, t := range targets {
		if engines[t.Name], err = fleet.EngineOf(ctx, t); err != nil {
			return nil, err
		}
	}
	return engines, nil
}

// making returns the programs for a node. It is safe for concurrent use.
func (p *programs) making(ctx context.Context, c *catalog.Catalog, engine string) (release.Making, error) {
	var by release.Making
	if p.o.from == "" {
		by.Compiler = p.o.Compiler()
	}
	if engine != fleet.EnginePuppet {
		return by, nil
	}
	by.Engine = release.EnginePuppet
	p.mu.Lock()
	defer p.mu.Unlock()
	code, known := p.code[c.Environment]
	if !known {
		path, err := p.v.Catalogs.Modules(ctx, &p.o.Subject, c.Environment)
		if err != nil {
			return by, err
		}
		if path != nil {
			if code, err = fleet.PackPlugins(path); err != nil {
				return by, err
			}
		}
		p.code[c.Environment] = code
	}
	by.Plugins = code
	return by, nil
}

// puppet returns the function for fleet.Delivery.Puppet for the nodes of a release.
func puppet(a *release.Archive, r *release.Release) func(context.Context, *inventory.Target) (*fleet.Puppet, error) {
	plugins := a.Plugins()
	return func(ctx context.Context, t *inventory.Target) (*fleet.Puppet, error) {
		n := r.Nodes[t.Name]
		if n.Engine != release.EnginePuppet {
			return nil, nil
		}
		code, err := plugins.Of(ctx, n)
		return &fleet.Puppet{Plugins: code}, failed(err)
	}
}
