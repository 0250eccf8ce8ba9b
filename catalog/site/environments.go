package site

import (
	"context"
	"sync"

	"bolt/catalog/compile"
)

// Environments compile each node in the environment that it names. It is safe for
// concurrent use.
type Environments struct {
	name string // of nodes that name none
	open func(name string) (*Site, error)

	mu    sync.Mutex // guards sites
	sites map[string]*opening
}

// An opening is an environment that is opened once.
type opening struct {
	once sync.Once
	site *Site
	err  error
}

// NewEnvironments returns the environments of nodes. name is the environment of nodes that
// name none. open opens an environment, once for all nodes; the time limit of a node does
// not end it.
func NewEnvironments(name string, open func(name string) (*Site, error)) *Environments {
	return &Environments{name: name, open: open, sites: make(map[string]*opening)}
}

// Compile compiles the catalog of a node in its environment.
func (e *Environments) Compile(ctx context.Context, n Node) (*compile.Result, error) {
	name := n.Environment
	if name == "" {
		name = e.name
	}
	e.mu.Lock()
	o := e.sites[name]
	if o == nil {
		o = &opening{}
		e.sites[name] = o
	}
	e.mu.Unlock()
	o.once.Do(func() { o.site, o.err = e.open(name) })
	if o.err != nil {
		return nil, o.err
	}
	return o.site.Compile(ctx, n)
}
