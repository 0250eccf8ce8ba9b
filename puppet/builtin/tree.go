package builtin

import (
	"iter"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// trees returns the function tree_each.
func trees() []*eval.Function {
	const params = "Variant[Iterator, Array, Hash, Object] $tree, " +
		"Struct[{Optional[container_type] => Type, Optional[include_root] => Boolean, Optional[include_containers] => Boolean, Optional[include_values] => Boolean, " +
		"Optional[order] => Enum['depth_first', 'breadth_first'], Optional[include_refs] => Boolean}] $options = {}"
	walk := func(two bool) func(c *eval.Call) (value.Value, error) {
		return func(c *eval.Call) (value.Value, error) {
			t, err := newTree(c)
			if err != nil {
				return nil, err
			}
			for path, v := range t.all {
				if two {
					_, err = c.Yield(path, v)
				} else {
					_, err = c.Yield(v)
				}
				if err != nil {
					return c.Args[0], unlessBreak(err)
				}
			}
			return c.Args[0], nil
		}
	}
	return []*eval.Function{{
		Name: "tree_each",
		Doc: "Visits a value and all values in it, at any depth. The block gets the path of each value (keys and indexes) and the value, or only the value; " +
			"without a block, it returns an iterator of paths with values. Options: include_root, include_containers, include_values, container_type, order (depth_first, breadth_first), include_refs.",
		Signatures: []eval.Signature{
			{Params: params, Block: "Callable[2, 2]", Run: walk(true)},
			{Params: params, Block: "Callable[1, 1]", Run: walk(false)},
			{Params: params, Run: func(c *eval.Call) (value.Value, error) {
				t, err := newTree(c)
				if err != nil {
					return nil, err
				}
				return value.NewIterator(nil, func(yield func(value.Value) bool) {
					t.all(func(path, v value.Value) bool { return yield(value.NewArray(path, v)) })
				}), nil
			}},
		},
	}}
}

// A tree is a value that tree_each visits.
type tree struct {
	root                    value.Value
	container               value.Type // nil: arrays, hashes and objects
	withRoot, inner, leaves bool
	breadth, refs           bool
}

func newTree(c *eval.Call) (*tree, error) {
	if err := measured(c, c.Args[0]); err != nil {
		return nil, err
	}
	t := &tree{root: c.Args[0], withRoot: true, inner: true, leaves: true}
	if o, ok := c.Arg(1).(*value.Hash); ok {
		for k, v := range o.All() {
			yes := v == value.Bool(true)
			switch k {
			case value.String("container_type"):
				t.container = v.(value.Type)
			case value.String("include_root"):
				t.withRoot = yes
			case value.String("include_containers"):
				t.inner = yes
			case value.String("include_values"):
				t.leaves = yes
			case value.String("order"):
				t.breadth = v == value.String("breadth_first")
			case value.String("include_refs"):
				t.refs = yes
			}
		}
	}
	if !t.inner && !t.leaves {
		return nil, eval.Errorf("invalid-option", "include_containers and include_values are both false, so tree_each would not visit any value")
	}
	return t, nil
}

// A node is a position in a tree.
type node struct {
	path []value.Value
	v    value.Value
}

// all yields paths and values in the order of the tree.
func (t *tree) all(yield func(path, v value.Value) bool) {
	todo := []node{{nil, t.root}}
	for len(todo) > 0 {
		var n node
		if t.breadth {
			n, todo = todo[0], todo[1:]
		} else {
			n, todo = todo[len(todo)-1], todo[:len(todo)-1]
		}
		children, is := t.children(n.v)
		shown := t.leaves
		if is {
			shown = t.inner
		}
		if n.path == nil && !t.withRoot {
			shown = false
		}
		if shown && !yield(value.NewArray(n.path...), n.v) {
			return
		}
		if !is {
			continue
		}
		begin := len(todo)
		for k, v := range children {
			path := append(n.path[:len(n.path):len(n.path)], k)
			todo = append(todo, node{path, v})
		}
		if !t.breadth { // the first child must be removed from the end first
			for i, j := begin, len(todo)-1; i < j; i, j = i+1, j-1 {
				todo[i], todo[j] = todo[j], todo[i]
			}
		}
	}
}

// children returns the values in a container.
func (t *tree) children(v value.Value) (seq iter.Seq2[value.Value, value.Value], is bool) {
	if t.container != nil && !value.Instance(t.container, v) {
		return nil, false
	}
	switch v := v.(type) {
	case *value.Array:
		return func(yield func(k, e value.Value) bool) {
			for i, e := range v.All() {
				if !yield(value.Int(i), e) {
					return
				}
			}
		}, true
	case *value.Hash:
		return v.All(), true
	case *value.Iterator:
		return func(yield func(k, e value.Value) bool) {
			i := value.Int(0)
			for e := range v.All() {
				if !yield(i, e) {
					return
				}
				i++
			}
		}, true
	case *value.Object:
		return func(yield func(k, e value.Value) bool) {
			for _, a := range v.Type().Attributes() {
				if a.Kind == "reference" && !t.refs {
					continue
				}
				if e, ok := v.Get(a.Name); ok && !yield(value.String(a.Name), e) {
					return
				}
			}
		}, true
	}
	return nil, false
}
