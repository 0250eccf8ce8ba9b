package eval

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// An Interp is one evaluation: a top scope, the classes that are evaluated, and
// the definitions of its own programs.
//
// Runs of one Interp can be concurrent if they only read named scopes and do
// not evaluate bodies of classes, defines or nodes. Local scopes and the
// matches of regular expressions belong to their run.
type Interp struct {
	env   Env
	world atomic.Pointer[world]
	top   *Scope
	used  atomic.Int64 // steps, of all threads
	said  sync.Map     // the arguments of FirstTime, up to maxSaid
	saids atomic.Int64 // number of entries in said

	classes sync.Map // their scopes, by name

	mu        sync.Mutex // guards the fields below, and changes of world
	nodes     []*Definition
	templates map[*syntax.Program]*code // by parsed program
}

// New returns an Interp.
func New(env Env) *Interp {
	in := &Interp{env: env}
	if env.Library == nil {
		in.env.Library = NewLibrary(nil)
	}
	in.world.Store(in.env.Library.world)
	in.top = in.NewScope(ScopeOptions{Kind: TopScope})
	vars := in.top.named.vars
	if env.Variables != nil {
		for k, v := range env.Variables.All() {
			if k, ok := k.(value.String); ok {
				vars[string(k)] = v
			}
		}
	}
	for name, h := range map[string]*value.Hash{"facts": env.Facts, "trusted": env.Trusted, "server_facts": env.ServerFacts} {
		if h != nil {
			vars[name] = h
		}
	}
	return in
}

// Env returns the configuration of the Interp.
func (in *Interp) Env() *Env { return &in.env }

// Top returns the top scope.
func (in *Interp) Top() *Scope { return in.top }

// ClassScope returns the scope of an evaluated class, or nil if the class is
// not evaluated. The name is in lower case and has no leading ::.
func (in *Interp) ClassScope(name string) *Scope {
	s, _ := in.classes.Load(name)
	scope, _ := s.(*Scope)
	return scope
}

// SetClassScope registers the scope of a class, so that $name::x is found.
func (in *Interp) SetClassScope(name string, s *Scope) {
	in.classes.Store(name, s)
}

// Nodes returns the node definitions of the programs that were run or defined,
// in order.
func (in *Interp) Nodes() []*Definition {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.nodes
}

// Site returns a Site for use outside of a program: for lookups, calls and
// bodies. If scope is nil, it is the top scope.
func (in *Interp) Site(ctx context.Context, scope *Scope) *Site {
	if scope == nil {
		scope = in.top
	}
	if scope == scope.named.root {
		scope = &Scope{named: scope.named} // with its own $0, $1, …
	}
	return &Site{Interp: in, Scope: scope, t: newThread(ctx, in)}
}

// Call calls a function by its name, from outside of a program.
func (in *Interp) Call(ctx context.Context, name string, args ...value.Value) (v value.Value, err error) {
	s := in.Site(ctx, nil)
	defer s.t.recover(&err)
	return s.Call(name, nil, args...)
}

// Run evaluates a program in a scope (nil: the top scope) and returns the value
// of its last expression. It first registers the definitions of the program.
// Its errors are *Error.
func (in *Interp) Run(ctx context.Context, p *syntax.Program, scope *Scope) (v value.Value, err error) {
	if err := in.Define(p, ""); err != nil {
		return nil, err
	}
	s := in.Site(ctx, scope)
	defer s.t.recover(&err)
	return s.t.program(s, p)
}

// RunAll is Run for the manifests of a directory, in the top scope. It
// registers the definitions of all programs before it evaluates the first.
func (in *Interp) RunAll(ctx context.Context, programs []*syntax.Program) (v value.Value, err error) {
	for _, p := range programs {
		if err := in.Define(p, ""); err != nil {
			return nil, err
		}
	}
	s := in.Site(ctx, nil)
	defer s.t.recover(&err)
	v = value.Undef{}
	for _, p := range programs {
		if v, err = s.t.program(s, p); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// Define registers the definitions of a program without running it. If a
// definition exists already, in this program or an earlier one, Define changes
// nothing and returns an *Error of the kind duplicate-definition.
func (in *Interp) Define(p *syntax.Program, module string) error {
	if len(p.Definitions) == 0 {
		return nil
	}
	list := Definitions(p, module)
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.defined(list); err != nil {
		return err
	}
	for _, d := range list {
		d.own = true
		if d.Kind == KindNode {
			in.nodes = append(in.nodes, d)
		}
	}
	in.world.Store(in.world.Load().with(list))
	return nil
}

// qualified returns a variable by its qualified name without leading ::, or nil
// if it is unknown. top is as for find. A variable of a class is not a variable
// of the top scope, because a fact cannot have :: in its name.
func (in *Interp) qualified(name string) (v value.Value, top bool) {
	i := strings.LastIndex(name, "::")
	if i < 0 {
		return in.top.named.vars[name], true
	}
	class, leaf := name[:i], name[i+2:]
	if class == "settings" && in.env.Settings != nil {
		if leaf == "all_local" {
			return in.env.Settings, false
		}
		if v, is := in.env.Settings.GetString(leaf); is {
			return v, false
		}
	}
	if v, is := in.top.named.vars[name]; is { // set by the arguments of a template
		return v, true
	}
	for s := in.ClassScope(class); s != nil; s = s.named.Inherits {
		if v, is := s.named.vars[leaf]; is {
			return v, false
		}
	}
	return nil, true
}
