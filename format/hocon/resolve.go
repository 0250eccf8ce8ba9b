package hocon

import (
	"fmt"
	"strings"

	"bolt/format/ordered"
)

// resolver replaces substitutions.
//
// A substitution finds its path in the unresolved document. It passes through
// objects without resolving them, and resolves only the values that block the
// path. While the parts of a merge are resolved, a part that is a
// substitution only sees the parts below it. So "path = ${path}:/bin" finds
// the older path. A reference to any other value that is being resolved is a
// cycle. A cycle makes an optional substitution vanish, and is an error for
// any other.
type resolver struct {
	root *object
	o    Options
	// below holds, for each merge that is being resolved, the parts that the
	// current part may see (nil: none).
	below map[*merge][]node
	// busy holds the substitutions and joins that are being resolved.
	busy  map[node]bool
	size  int
	depth int
}

// errCycle ends the resolution of a value that refers to itself.
type errCycle struct{ at *ref }

func (errCycle) Error() string { return "cycle" }

func resolve(root *object, o Options) (*ordered.Map, error) {
	r := &resolver{root: root, o: o, below: map[*merge][]node{}, busy: map[node]bool{}}
	n, err := r.resolve(root)
	if err != nil {
		return nil, err
	}
	return plain(n).(*ordered.Map), nil
}

// spend counts the data that substitutions make, including repetitions.
func (r *resolver) spend(n int, at node) error {
	if r.size += n; r.size > maxSize {
		return &Error{Line: at.at(), Problem: "the substitutions make more data, or take more steps, than is allowed"}
	}
	return nil
}

// resolve returns n without substitutions, or nil if nothing is left of it.
func (r *resolver) resolve(n node) (node, error) {
	if r.depth++; r.depth > maxDepth*10 {
		return nil, &Error{Line: n.at(), Problem: "the substitutions lead to others without end"}
	}
	defer func() { r.depth-- }()
	if err := r.spend(1, n); err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case *scalar:
		return n, r.spend(len(n.text)/8, n)
	case *object:
		return r.object(n)
	case *list:
		out := &list{line: n.line}
		for _, e := range n.elems {
			v, err := r.resolve(e)
			if err != nil {
				return nil, err
			}
			if v != nil {
				out.elems = append(out.elems, v)
			}
		}
		return out, nil
	case *ref:
		return r.ref(n)
	case *concat:
		return r.concat(n)
	case *merge:
		return r.merge(n)
	}
	return nil, nil
}

func (r *resolver) object(n *object) (node, error) {
	out := newObject(n.line)
	for _, k := range n.keys {
		v, err := r.resolve(n.fields[k])
		if err != nil {
			return nil, err
		}
		if v != nil {
			out.set(k, v)
		}
	}
	return out, nil
}

func (r *resolver) ref(n *ref) (node, error) {
	if r.busy[n] {
		return nil, errCycle{n}
	}
	r.busy[n] = true
	defer delete(r.busy, n)
	v, err := r.lookup(r.root, n.path)
	if err == nil && v != nil {
		v, err = r.resolve(v)
	}
	if _, cycle := err.(errCycle); cycle {
		if n.optional {
			return nil, nil
		}
		return nil, &Error{Line: n.line, Problem: fmt.Sprintf("the substitution ${%s} leads back to itself", strings.Join(n.path, "."))}
	}
	if err != nil {
		return nil, err
	}
	if v == nil && r.o.Getenv != nil {
		if s, ok := r.o.Getenv(strings.Join(n.path, ".")); ok {
			v = &scalar{line: n.line, v: s, text: s}
		}
	}
	if v == nil && !n.optional {
		return nil, &Error{Line: n.line, Problem: fmt.Sprintf("nothing is found for the substitution ${%s}", strings.Join(n.path, "."))}
	}
	return v, nil
}

func (r *resolver) concat(n *concat) (node, error) {
	var pieces []node
	for _, p := range n.pieces {
		v, err := r.resolve(p)
		if err != nil {
			return nil, err
		}
		if v != nil {
			pieces = append(pieces, v)
		}
	}
	if len(pieces) == 0 {
		return nil, nil
	}
	joined, err := consolidate(pieces)
	if err != nil {
		return nil, err
	}
	if s, ok := joined[0].(*scalar); ok {
		return s, r.spend(len(s.text)/8, n)
	}
	return joined[0], nil
}

// remember returns a function that restores the visible parts of n.
func (r *resolver) remember(n *merge) func() {
	below, set := r.below[n]
	return func() {
		if set {
			r.below[n] = below
		} else {
			delete(r.below, n)
		}
	}
}

func (r *resolver) merge(n *merge) (node, error) {
	if _, busy := r.below[n]; busy {
		return r.fold(n, r.below[n])
	}
	return r.fold(n, n.stack)
}

// fold merges parts, the newest first, until a part hides all parts below it.
func (r *resolver) fold(n *merge, parts []node) (node, error) {
	restore := r.remember(n)
	defer restore()
	if len(parts) == 0 {
		return nil, errCycle{}
	}
	var objects []node
	for i, part := range parts {
		restore()
		if open(part) {
			r.below[n] = parts[i+1:]
		}
		v, err := r.resolve(part)
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		if _, ok := v.(*object); !ok {
			if objects == nil {
				return v, nil
			}
			break
		}
		objects = append(objects, v)
	}
	if objects == nil {
		return nil, nil
	}
	return overResolved(objects), nil
}

// lookup finds the value at path below n, unresolved; nil if there is none.
func (r *resolver) lookup(n node, path []string) (node, error) {
	if r.depth++; r.depth > maxDepth*10 {
		return nil, &Error{Line: n.at(), Problem: "the substitutions lead to others without end"}
	}
	defer func() { r.depth-- }()
	if len(path) == 0 {
		return n, nil
	}
	switch n := n.(type) {
	case *object:
		child, ok := n.fields[path[0]]
		if !ok {
			return nil, nil
		}
		return r.lookup(child, path[1:])
	case *merge:
		parts, busy := r.below[n]
		if !busy {
			parts = n.stack
		}
		return r.lookupMerge(n, parts, path)
	case *ref, *concat:
		v, err := r.resolve(n)
		if err != nil || v == nil {
			return nil, err
		}
		return r.lookup(v, path)
	}
	return nil, nil
}

// lookupMerge searches each part that is an object, and merges the values
// that it finds.
func (r *resolver) lookupMerge(n *merge, parts []node, path []string) (node, error) {
	restore := r.remember(n)
	defer restore()
	var found []node
	for i, part := range parts {
		if err := r.spend(1, n); err != nil {
			return nil, err
		}
		restore()
		if open(part) {
			r.below[n] = parts[i+1:]
		}
		if open(part) {
			v, err := r.resolve(part)
			if _, cycle := err.(errCycle); cycle {
				continue // the part contains the substitution
			}
			if err != nil {
				return nil, err
			}
			if v == nil {
				continue
			}
			part = v
		}
		o, ok := part.(*object)
		if !ok {
			break
		}
		v, err := r.lookup(o, path)
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		if found = append(found, v); closed(found[0]) {
			break
		}
	}
	if found == nil {
		return nil, nil
	}
	return overResolved(found), nil
}

// plain converts a node to the value that callers get.
func plain(n node) any {
	switch n := n.(type) {
	case *scalar:
		return n.v
	case *list:
		out := make([]any, len(n.elems))
		for i, e := range n.elems {
			out[i] = plain(e)
		}
		return out
	case *object:
		m := &ordered.Map{}
		for _, k := range n.keys {
			m.Set(k, plain(n.fields[k]))
		}
		return m
	}
	return nil
}
