package stdlib

import (
	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// hashes returns the functions for hashes.
func hashes() []*eval.Function {
	return []*eval.Function{
		old("deep_merge", "Any $hash, Any $more, Any *$rest", "Merges hashes: later values override earlier ones, but two hashes at the same key are merged in the same way. The empty string is treated as an empty hash.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				out := value.NewHash()
				for _, v := range args {
					switch v := v.(type) {
					case *value.Hash:
						out = deepMerge(out, v)
					case value.String:
						if v != "" {
							return nil, wrong(c, v, "hashes")
						}
					default:
						return nil, wrong(c, v, "hashes")
					}
				}
				return out, nil
			}),
		old("join_keys_to_values", "Any $hash, Any $between", "Returns an array of strings: each key, a separator and the value. For a value that is an array, there is one string for each of its elements.", joinKeys),
		{Name: "stdlib::nested_values", Doc: "Returns the values of a hash and of the hashes in it, at any depth.",
			Signatures: one("Hash $hash", func(c *eval.Call) (value.Value, error) {
				return value.NewArray(nestedValues(nil, c.Args[0].(*value.Hash))...), nil
			})},
		{Name: "stdlib::merge", Doc: "Merges hashes: later values override earlier ones. With a block, it merges the hashes that the block returns for each item. The arguments of the block are the hash so far, and the item, or key and value, or index and item.",
			Signatures: []eval.Signature{
				{Params: "Variant[Hash[Scalar, Any], Undef, String[0, 0]] *$hashes", Run: func(c *eval.Call) (value.Value, error) {
					out := value.NewHash()
					for _, v := range c.Args {
						if h, ok := v.(*value.Hash); ok {
							out = out.Merge(h)
						}
					}
					return out, nil
				}},
				{Params: "Iterable *$items", Block: "Callable[3, 3]", Run: merging(2)},
				{Params: "Iterable *$items", Block: "Callable[2, 2]", Run: merging(1)},
			}},
	}
}

// deepMerge returns a with the entries of b. Hashes at the same key are merged
// in the same way.
func deepMerge(a, b *value.Hash) *value.Hash {
	var out value.HashBuilder
	for k, v := range a.All() {
		out.Put(k, v)
	}
	for k, v := range b.All() {
		if was, ok := a.Get(k); ok {
			x, isHash := was.(*value.Hash)
			if y, too := v.(*value.Hash); isHash && too {
				v = deepMerge(x, y)
			}
		}
		out.Put(k, v)
	}
	return out.Build()
}

func joinKeys(c *eval.Call, args []value.Value) (value.Value, error) {
	h, ok := args[0].(*value.Hash)
	if !ok {
		return nil, wrong(c, args[0], "a hash")
	}
	between, ok := args[1].(value.String)
	if !ok {
		return nil, wrong(c, args[1], "a string as its second argument")
	}
	var out []value.Value
	all := made{c: c}
	add := func(text string) error {
		v, err := all.text(text)
		out = append(out, v)
		return err
	}
	for k, v := range h.All() {
		key, err := builtin.Text(c, k)
		if err != nil {
			return nil, err
		}
		if list, ok := v.(*value.Array); ok {
			for _, e := range list.All() {
				text, err := builtin.Text(c, e)
				if err != nil {
					return nil, err
				}
				if err := add(key + string(between) + text); err != nil {
					return nil, err
				}
			}
			continue
		}
		text, err := builtin.Text(c, v)
		if err != nil {
			return nil, err
		}
		if text != "undef" {
			key += string(between) + text
		}
		if err := add(key); err != nil {
			return nil, err
		}
	}
	return value.NewArray(out...), nil
}

func nestedValues(out []value.Value, h *value.Hash) []value.Value {
	for _, v := range h.All() {
		if inner, ok := v.(*value.Hash); ok {
			out = nestedValues(out, inner)
		} else {
			out = append(out, v)
		}
	}
	return out
}

// merging merges the results of the block. The block gets n values of an item.
func merging(n int) func(c *eval.Call) (value.Value, error) {
	return func(c *eval.Call) (value.Value, error) {
		if len(c.Args) != 1 {
			return nil, eval.Errorf("argument-count", "%s() with a block takes one argument, got %d", bare(c), len(c.Args))
		}
		out := value.NewHash()
		each := eval.NewBlock(n, n, func(args []value.Value) (value.Value, error) {
			v, err := c.Yield(append([]value.Value{out}, args...)...)
			if h, ok := v.(*value.Hash); ok {
				out = out.Merge(h)
			}
			return value.Undef{}, err
		})
		_, err := c.Call("each", each, c.Args[0])
		return out, err
	}
}
