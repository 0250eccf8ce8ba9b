package stdlib

import (
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// sets returns the functions that treat arrays as sets. Elements are equal if they
// are the same key of a hash: 1 is not 1.0, and case matters.
func sets() []*eval.Function {
	two := func(run func(a, b *value.Array) value.Value) runOld {
		return func(c *eval.Call, args []value.Value) (value.Value, error) {
			a, ok := args[0].(*value.Array)
			b, too := args[1].(*value.Array)
			if !ok || !too {
				return nil, invalid(c, "it takes two arrays, got %s and %s", value.DescribeValue(args[0]), value.DescribeValue(args[1]))
			}
			return run(a, b), nil
		}
	}
	return []*eval.Function{
		old("difference", "Any $list, Any $other", "Returns the elements of an array that another does not have.", two(func(a, b *value.Array) value.Value {
			in := setOf(b)
			out, _ := without(a, func(_, v value.Value) bool { _, has := in.Get(v); return has })
			return out
		})),
		old("intersection", "Any $list, Any $other", "Returns the elements that two arrays have in common, without duplicates.", two(func(a, b *value.Array) value.Value {
			in := setOf(b)
			var out value.HashBuilder
			for _, v := range a.All() {
				if _, has := in.Get(v); has {
					out.Put(v, v)
				}
			}
			return out.Build().Keys()
		})),
		old("union", "Any $list, Any $other, Any *$rest", "Returns the elements of several arrays, without duplicates.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				var out value.HashBuilder
				for _, v := range args {
					a, ok := v.(*value.Array)
					if !ok {
						return nil, wrong(c, v, "arrays")
					}
					for _, e := range a.All() {
						if _, has := out.Get(e); !has {
							out.Put(e, e)
						}
					}
				}
				return out.Build().Keys(), nil
			}),
		old("member", "Any $list, Any $items, Any *$ignored", "Returns whether an array has a string or a whole number, or all elements of another array.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				list, ok := args[0].(*value.Array)
				if !ok {
					return nil, wrong(c, args[0], "an array")
				}
				items := args[1:2]
				switch v := args[1].(type) {
				case value.String, value.Int:
				case *value.Array:
					if items = v.Elems(); len(items) == 0 {
						return nil, invalid(c, "the list of items to look for is empty")
					}
				default:
					return nil, wrong(c, v, "a string, a whole number or an array to look for")
				}
				in := setOf(list)
				for _, v := range items {
					if _, has := in.Get(v); !has {
						return value.Bool(false), nil
					}
				}
				return value.Bool(true), nil
			}),
	}
}

// setOf returns a hash with the elements of an array as keys.
func setOf(a *value.Array) *value.Hash {
	var b value.HashBuilder
	for _, v := range a.All() {
		b.Put(v, v)
	}
	return b.Build()
}
