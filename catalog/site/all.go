package site

import (
	"context"
	"iter"
	"runtime"

	"bolt/catalog"
	"bolt/format/fault"
	"bolt/puppet/eval"
)

// A Compiled is the outcome of the compilation for one node.
type Compiled struct {
	Node    string
	Catalog *catalog.Catalog // nil after an error
	Logs    []eval.Log
	Err     error
}

// CompileAll compiles the catalogs of nodes, as many at a time as there are processors.
// They come in the order of the nodes. The Log of a Node is not called.
func (s *Site) CompileAll(ctx context.Context, nodes []Node) iter.Seq[*Compiled] {
	return func(yield func(*Compiled) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		workers := min(runtime.GOMAXPROCS(0), len(nodes))
		// A worker that is ahead waits, so that few catalogs are in memory.
		pending := make(chan chan *Compiled, workers)
		go func() {
			defer close(pending)
			for _, n := range nodes {
				one := make(chan *Compiled, 1)
				select {
				case pending <- one:
					go func() { one <- s.compiled(ctx, n) }()
				case <-ctx.Done():
					return
				}
			}
		}()
		for one := range pending {
			if !yield(<-one) {
				stop()
				for rest := range pending {
					<-rest
				}
				return
			}
		}
	}
}

func (s *Site) compiled(ctx context.Context, n Node) *Compiled {
	done := &Compiled{Node: n.Name}
	defer func() {
		if p := recover(); p != nil { // a bug ends one node
			done.Catalog, done.Err = nil, fault.New(Kind, "internal error: %v", p)
		}
	}()
	n.Log = func(l eval.Log) { done.Logs = append(done.Logs, l) }
	done.Catalog, done.Err = s.Compile(ctx, n)
	return done
}
