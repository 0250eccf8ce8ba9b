package release

import (
	"context"
	"sync"

	"bolt/store"
)

// Plugins reads the Ruby code of modules from an archive, each package once. It is safe for concurrent use.
type Plugins struct {
	archive *Archive
	mu      sync.Mutex
	read    map[store.Digest][]byte
}

// Plugins returns a reader of the Ruby code for nodes with EnginePuppet.
func (a *Archive) Plugins() *Plugins {
	return &Plugins{archive: a, read: make(map[store.Digest][]byte)}
}

// Of returns the Ruby code for a node; nil for none.
func (p *Plugins) Of(ctx context.Context, n Node) ([]byte, error) {
	if n.Plugins == "" {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if code, known := p.read[n.Plugins]; known {
		return code, nil
	}
	code, err := p.archive.Content(ctx, n.Plugins)
	if err == nil {
		p.read[n.Plugins] = code
	}
	return code, err
}
