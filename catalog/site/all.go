package site

import (
	"context"
	"iter"
	"time"

	"bolt/catalog"
	"bolt/environment/program"
	"bolt/format/fault"
	"bolt/internal/inorder"
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
// They come in the order of the nodes. limit is the time for each; 0 is no limit. The Log of
// a Node is not called. When ctx ends, the nodes that are left have its error.
func (s *Site) CompileAll(ctx context.Context, nodes []Node, limit time.Duration) iter.Seq[*Compiled] {
	return inorder.Each(nodes, func(n Node) *Compiled {
		ctx, cancel := program.Limited(ctx, limit)
		defer cancel()
		return s.compiled(ctx, n)
	})
}

func (s *Site) compiled(ctx context.Context, n Node) *Compiled {
	done := &Compiled{Node: n.Name}
	if ctx.Err() != nil {
		done.Err = context.Cause(ctx)
		return done
	}
	defer func() {
		if p := recover(); p != nil { // a bug ends one node
			done.Catalog, done.Err = nil, fault.New(Kind, "internal error: %v", p)
		}
	}()
	n.Log = func(l eval.Log) { done.Logs = append(done.Logs, l) }
	done.Catalog, done.Err = s.Compile(ctx, n)
	return done
}
