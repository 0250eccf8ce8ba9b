package site

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"bolt/catalog"
	"bolt/catalog/compile"
	"bolt/catalog/wire"
	"bolt/environment/inputs"
	"bolt/environment/program"
	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/inorder"
	"bolt/puppet/eval"
)

// A Compiled is the result of the compilation for one node.
type Compiled struct {
	Node    string
	Catalog *catalog.Catalog // nil after an error
	Stored  *ordered.Map     // the catalog in PuppetDB's form, after Store
	// Collected are the resources of other nodes in the catalog.
	Collected []compile.Collected
	// Inputs has the reads of the compilation; after an error, the reads before it. It is nil if Puppet
	// compiled the catalog, because then the reads are unknown.
	Inputs *inputs.Record
	Logs   []eval.Log
	Err    error
}

// A Compiler compiles the catalog of a node. It must be safe for concurrent use.
type Compiler interface {
	Compile(ctx context.Context, n Node) (*compile.Result, error)
}

// Concealing returns a compiler that marks the parameters with secrets of the node (Node.Secrets) as sensitive. If the title
// or a tag of a resource has a secret, the compilation fails, because it would be stored in clear.
func Concealing(c Compiler) Compiler { return concealing{c} }

type concealing struct{ Compiler }

// Compile implements Compiler.
func (c concealing) Compile(ctx context.Context, n Node) (*compile.Result, error) {
	made, err := c.Compiler.Compile(ctx, n)
	if err != nil {
		return nil, err
	}
	if r := made.Catalog.Exposing(n.Secrets); r != nil {
		return nil, fault.New(Kind, "%s:%d: the title or a tag of a resource %s contains a secret of the inventory, and would be stored in clear. Use the secret in a parameter instead", r.File, r.Line, r.Ref.Type)
	}
	made.Catalog.Conceal(n.Secrets)
	return made, nil
}

// CompileAll compiles the catalogs of nodes, as many at a time as there are processors. They come
// in the order of the nodes. A warning about a type that a module defines in Ruby is in the Logs of
// the first node only. limit is the time limit of each node; 0 is no limit. The Log of a Node is
// not called. If ctx ends, the remaining nodes have its error.
func CompileAll(ctx context.Context, c Compiler, nodes []Node, limit time.Duration) iter.Seq[*Compiled] {
	all := inorder.Each(nodes, func(n Node) *Compiled {
		ctx, cancel := program.Limited(ctx, limit)
		defer cancel()
		return compiled(ctx, c, n)
	})
	return func(yield func(*Compiled) bool) {
		warned := make(map[string]bool)
		for c := range all {
			c.Logs = slices.DeleteFunc(c.Logs, func(l eval.Log) bool {
				if l.Kind != compile.RubyType {
					return false
				}
				again := warned[l.Msg]
				warned[l.Msg] = true
				return again
			})
			if !yield(c) {
				return
			}
		}
	}
}

// Store sets Stored. If PuppetDB could not store the catalog, this is the error of the node.
func (c *Compiled) Store(o wire.Options) {
	if c.Err != nil {
		return
	}
	if c.Stored, c.Err = wire.Catalog(c.Catalog, o); c.Err != nil {
		c.Catalog, c.Collected = nil, nil
	}
}

// form returns the form in which the catalog is stored.
func (c *Compiled) form() json.Marshaler {
	if c.Stored != nil {
		return c.Stored
	}
	return c.Catalog
}

func compiled(ctx context.Context, c Compiler, n Node) *Compiled {
	done := &Compiled{Node: n.Name}
	if ctx.Err() != nil {
		done.Err = context.Cause(ctx)
		return done
	}
	defer func() {
		if p := recover(); p != nil { // a bug ends one node
			done.Catalog, done.Collected, done.Inputs, done.Err = nil, nil, nil, fault.New(Kind, "internal error: %v", p)
		}
	}()
	n.Inputs = func(r *inputs.Record) { done.Inputs = r }
	n.Log = func(l eval.Log) { done.Logs = append(done.Logs, l) }
	made, err := c.Compile(ctx, n)
	if err != nil {
		done.Err = err
		return done
	}
	done.Catalog, done.Collected = made.Catalog, made.Collected
	return done
}
