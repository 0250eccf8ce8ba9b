package eval

import (
	"strings"

	"bolt/puppet/value"
)

// Reads of variables are found as follows (Env.Read). All paths to a variable
// of the top scope end in namedScope.lookup, Scope.LookupPath or Scope.All. A
// lookup without keys records a read of the whole value, because the program
// can use the value anywhere. Expressions that apply keys to a variable
// immediately are more exact: $x[k], and calls of functions with a Path. They
// evaluate the variable with trace, add their keys, and record the result.

// A trace is the list of keys that an expression applies to a variable.
type trace struct {
	name string // of a variable of the top scope; "" for others
	path []string
	// ended is set if more keys would not narrow the read, because they do not lead into
	// a hash.
	ended bool
}

// A tracer is an expression whose value is a variable or a part of a variable.
type tracer interface {
	// trace is eval, but the caller records the read.
	trace(t *thread, s *Scope, r *trace) (value.Value, error)
}

// tracerOf returns an expression as a tracer, or nil if it is not a tracer.
func tracerOf(n node) tracer {
	switch n := n.(type) {
	case *nameVar:
		return n
	case *looseVar:
		return n
	case *qualifiedVar:
		return n
	case *indexNode:
		if n.from != nil {
			return n
		}
	}
	return nil
}

// follow adds a key that is looked up in v.
func (r *trace) follow(v, key value.Value) {
	_, isHash := v.(*value.Hash)
	k, isText := key.(value.String)
	if r.ended = r.ended || !isHash || !isText; !r.ended {
		r.path = append(r.path, string(k))
	}
}

// along adds keys that lead from v through nested hashes.
func (r *trace) along(v value.Value, keys []value.Value) {
	for _, k := range keys {
		r.follow(v, k)
		if r.ended {
			return
		}
		if v, _ = v.(*value.Hash).Get(k); v == nil {
			return
		}
	}
}

// record records the read of a variable of the top scope.
func (r *trace) record(in *Interp) {
	if r.name != "" {
		in.env.Read(r.name, r.path)
	}
}

// tracing returns an empty trace. It reuses the last trace that ended, if there
// is one.
func (t *thread) tracing() *trace {
	r := t.spare
	if r == nil {
		return &trace{}
	}
	t.spare = nil
	*r = trace{path: r.path[:0]}
	return r
}

// traceEnds records the read, and keeps the trace for the next one.
func (t *thread) traceEnds(r *trace) {
	r.record(t.in)
	t.spare = r
}

// recordRead records that the whole value of a variable of the top scope is read.
func (in *Interp) recordRead(name string) {
	if in.env.Read != nil {
		in.env.Read(strings.TrimPrefix(name, "::"), nil)
	}
}

// traced returns the value of a variable that find found.
func (t *thread) traced(at pos, name string, v value.Value, top bool, r *trace) (value.Value, error) {
	if top {
		r.name = name
	}
	if v == nil {
		return t.unknown(at, name)
	}
	return v, nil
}

func (n *nameVar) trace(t *thread, s *Scope, r *trace) (value.Value, error) {
	v, top := s.named.find(n.name)
	return t.traced(n.pos, n.name, v, top, r)
}

func (n *looseVar) trace(t *thread, s *Scope, r *trace) (value.Value, error) {
	if v := s.local(n.name); v != nil {
		return v, nil
	}
	v, top := s.named.find(n.name)
	return t.traced(n.pos, n.name, v, top, r)
}

func (n *qualifiedVar) trace(t *thread, _ *Scope, r *trace) (value.Value, error) {
	v, top := t.in.qualified(n.name)
	return t.traced(n.pos, n.name, v, top, r)
}

func (n *indexNode) trace(t *thread, s *Scope, r *trace) (value.Value, error) {
	x, err := n.from.trace(t, s, r)
	if err != nil {
		return nil, err
	}
	if h, is := x.(*value.Hash); is && len(n.keys) == 1 {
		k, err := n.key(t, s, x, 0)
		if err != nil {
			return nil, err
		}
		r.follow(x, k)
		if v, is := h.Get(k); is {
			return v, nil
		}
		return value.Undef{}, nil
	}
	keys := make([]value.Value, len(n.keys))
	for i := range keys {
		if keys[i], err = n.key(t, s, x, i); err != nil {
			return nil, err
		}
	}
	r.ended = true
	return n.access(t, s, x, keys)
}

// arguments evaluates the arguments of a call of d, which can be nil.
func (n *callNode) arguments(t *thread, s *Scope, d *Definition) ([]value.Value, error) {
	if n.from == nil || !t.reads {
		return n.args.eval(t, s)
	}
	return n.traceArguments(t, s, d)
}

func (n *callNode) traceArguments(t *thread, s *Scope, d *Definition) ([]value.Value, error) {
	if d == nil || d.Function == nil || d.Function.Path == nil {
		return n.args.eval(t, s)
	}
	r := t.tracing()
	defer t.traceEnds(r)
	args := make([]value.Value, len(n.args.nodes))
	var err error
	if args[0], err = n.from.trace(t, s, r); err != nil {
		return nil, err
	}
	for i, x := range n.args.nodes[1:] {
		if args[i+1], err = x.eval(t, s); err != nil {
			return nil, err
		}
	}
	r.along(args[0], d.Function.Path(args))
	return args, nil
}
