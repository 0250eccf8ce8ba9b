package erb

import (
	"slices"
)

// An enumerator is the result of each, map and the like without a block.
type enumerator struct {
	recv any
	name string
	args []any
}

// elements returns the elements over which a value iterates.
func (r *rendering) elements(v any) ([]any, error) {
	switch v := v.(type) {
	case *array:
		return v.e, nil
	case *hash:
		return v.pairs(), r.fits(48 * len(v.keys))
	case *span:
		return r.spanElements(v)
	case *enumerator:
		var list []any
		_, err := r.send(v.recv, v.name, v.args, &proc{native: func(args []any) (any, error) {
			if len(args) == 1 {
				list = append(list, args[0])
			} else {
				list = append(list, &array{args})
			}
			if err := r.host.Size(elementSize * len(list)); err != nil {
				return nil, err
			}
			return nil, r.made(elementSize)
		}})
		return list, err
	}
	return nil, r.raise("NoMethodError", "undefined method \"each\" for %s", orNil(v))
}

// sortValues sorts values that can be compared. It is only for symbols and
// strings.
func sortValues(list []any) {
	slices.SortStableFunc(list, func(a, b any) int { n, _ := compare(a, b); return n })
}

// sorted returns the elements in the order of f.
func (c *call) sorted(list []any, f func(a, b any) (int, error)) ([]any, error) {
	out := append([]any{}, list...)
	if err := c.fits(16 * len(out)); err != nil {
		return nil, err
	}
	var fault error
	slices.SortStableFunc(out, func(a, b any) int {
		if fault != nil {
			return 0
		}
		n, err := f(a, b)
		if err == nil {
			err = c.work(1)
		}
		if err != nil {
			fault = err
		}
		return n
	})
	return out, fault
}

func (c *call) order(a, b any) (int, error) {
	n, ok := compare(a, b)
	if !ok {
		with := inspect(b)
		switch b.(type) {
		case *text, *array, *hash:
			with = className(b)
		}
		return 0, c.raise("ArgumentError", "comparison of %s with %s failed", className(a), with)
	}
	return n, nil
}

// byBlock compares with the block, which returns a number.
func (c *call) byBlock(a, b any) (int, error) {
	if c.block == nil {
		return c.order(a, b)
	}
	v, err := c.yield(c.block, a, b)
	if err != nil {
		return 0, err
	}
	switch n := v.(type) {
	case int64:
		return order(n, 0), nil
	case float64:
		return order(n, 0), nil
	}
	return 0, c.raise("ArgumentError", "comparison of %s with %s failed", className(a), className(b))
}

// over returns a method that iterates over elements. Without a block, it returns an
// enumerator.
func over(min, max int, f func(c *call, list []any) (any, error)) method {
	return method{min, max, func(c *call) (any, error) {
		if c.block == nil {
			return &enumerator{c.recv, c.name, c.args}, nil
		}
		list, err := c.elements(c.recv)
		if err != nil {
			return nil, err
		}
		return f(c, list)
	}}
}

// of returns a method on the elements that does not need a block.
func of(min, max int, f func(c *call, list []any) (any, error)) method {
	return method{min, max, func(c *call) (any, error) {
		list, err := c.elements(c.recv)
		if err != nil {
			return nil, err
		}
		if err := c.work(len(list)); err != nil {
			return nil, err
		}
		return f(c, list)
	}}
}

// test reports whether an element satisfies the condition of all?, any? and
// similar methods.
func (c *call) test(x any) (bool, error) {
	if len(c.args) == 1 {
		return c.caseEqual(c.args[0], x)
	}
	if c.block == nil {
		return truthy(x), nil
	}
	v, err := c.yield(c.block, x)
	return truthy(v), err
}

// counting returns the number of elements that pass the test, up to most.
func (c *call) counting(list []any, most int, want bool) (int, error) {
	n := 0
	for _, x := range list {
		ok, err := c.test(x)
		if err != nil {
			return 0, err
		}
		if ok == want {
			if n++; n == most {
				break
			}
		}
	}
	return n, nil
}

// filter is select. If want is false, it is reject.
func filter(want bool) method {
	return over(0, 0, func(c *call, list []any) (any, error) {
		var out []any
		for _, x := range list {
			ok, err := c.test(x)
			if err != nil {
				return nil, err
			}
			if ok == want {
				out = append(out, x)
			}
		}
		return c.list(out)
	})
}

// keyed returns the value of the block for each element.
func (c *call) keyed(list []any) ([]any, error) {
	keys := make([]any, len(list))
	for i, x := range list {
		var err error
		if keys[i], err = c.yield(c.block, x); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// extreme is min or max. sign is -1 or 1.
func extreme(sign int, by bool) method {
	run := func(c *call, list []any) (any, error) {
		count := -1
		if len(c.args) == 1 {
			var err error
			if count, err = c.int(0); err != nil {
				return nil, err
			}
		}
		keys, cmp := list, c.byBlock
		if by {
			var err error
			if keys, err = c.keyed(list); err != nil {
				return nil, err
			}
			cmp = c.order
		}
		if count >= 0 {
			pairs := make([]any, len(list))
			for i := range list {
				pairs[i] = &array{[]any{keys[i], list[i]}}
			}
			pairs, err := c.sorted(pairs, func(a, b any) (int, error) {
				n, err := cmp(a.(*array).e[0], b.(*array).e[0])
				return -sign * n, err
			})
			if err != nil {
				return nil, err
			}
			for i, p := range pairs {
				pairs[i] = p.(*array).e[1]
			}
			return c.list(pairs[:min(count, len(pairs))])
		}
		best := -1
		for i, k := range keys {
			if best < 0 {
				best = i
				continue
			}
			n, err := cmp(k, keys[best])
			if err != nil {
				return nil, err
			}
			if n*sign > 0 {
				best = i
			}
		}
		if best < 0 {
			return nil, nil
		}
		return list[best], nil
	}
	if by {
		return over(0, 1, run)
	}
	return of(0, 1, run)
}

// enumMethods returns the methods of all values that can be iterated.
func enumMethods() map[string]method {
	t := map[string]method{
		"map": over(0, 0, func(c *call, list []any) (any, error) {
			out, err := c.keyed(list)
			if err != nil {
				return nil, err
			}
			return c.list(out)
		}),
		"flat_map": over(0, 0, func(c *call, list []any) (any, error) {
			var out []any
			for _, x := range list {
				v, err := c.yield(c.block, x)
				if err != nil {
					return nil, err
				}
				if a, is := v.(*array); is {
					out = append(out, a.e...)
				} else {
					out = append(out, v)
				}
				if err := c.host.Size(16 * len(out)); err != nil {
					return nil, err
				}
			}
			return c.list(out)
		}),
		"filter_map": over(0, 0, func(c *call, list []any) (any, error) {
			var out []any
			for _, x := range list {
				v, err := c.yield(c.block, x)
				if err != nil {
					return nil, err
				}
				if truthy(v) {
					out = append(out, v)
				}
			}
			return c.list(out)
		}),
		"each_entry": over(0, 0, each),
		"each_with_index": over(0, 0, func(c *call, list []any) (any, error) {
			for i, x := range list {
				if _, err := c.yield(c.block, x, int64(i)); err != nil {
					return nil, err
				}
			}
			return c.recv, nil
		}),
		"each_with_object": over(1, 1, func(c *call, list []any) (any, error) {
			for _, x := range list {
				if _, err := c.yield(c.block, x, c.args[0]); err != nil {
					return nil, err
				}
			}
			return c.args[0], nil
		}),
		"reverse_each": over(0, 0, func(c *call, list []any) (any, error) {
			for i := len(list) - 1; i >= 0; i-- {
				if _, err := c.yield(c.block, list[i]); err != nil {
					return nil, err
				}
			}
			return c.recv, nil
		}),
		"select": filter(true), "reject": filter(false),
		"partition": over(0, 0, func(c *call, list []any) (any, error) {
			yes, no := &array{}, &array{}
			for _, x := range list {
				ok, err := c.test(x)
				if err != nil {
					return nil, err
				}
				if ok {
					yes.e = append(yes.e, x)
				} else {
					no.e = append(no.e, x)
				}
			}
			return c.list([]any{yes, no})
		}),
		"find": over(0, 0, func(c *call, list []any) (any, error) {
			for _, x := range list {
				if ok, err := c.test(x); ok || err != nil {
					return x, err
				}
			}
			return nil, nil
		}),
		"find_index": of(0, 1, func(c *call, list []any) (any, error) {
			for i, x := range list {
				ok := len(c.args) == 1 && equal(x, c.args[0])
				if len(c.args) == 0 {
					var err error
					if ok, err = c.test(x); err != nil {
						return nil, err
					}
				}
				if ok {
					return int64(i), nil
				}
			}
			return nil, nil
		}),
		"all?": of(0, 1, func(c *call, list []any) (any, error) {
			n, err := c.counting(list, 1, false)
			return n == 0, err
		}),
		"any?": of(0, 1, func(c *call, list []any) (any, error) {
			n, err := c.counting(list, 1, true)
			return n > 0, err
		}),
		"none?": of(0, 1, func(c *call, list []any) (any, error) {
			n, err := c.counting(list, 1, true)
			return n == 0, err
		}),
		"one?": of(0, 1, func(c *call, list []any) (any, error) {
			n, err := c.counting(list, 2, true)
			return n == 1, err
		}),
		"count": of(0, 1, func(c *call, list []any) (any, error) {
			if len(c.args) == 0 && c.block == nil {
				return int64(len(list)), nil
			}
			if len(c.args) == 1 {
				n := 0
				for _, x := range list {
					if equal(x, c.args[0]) {
						n++
					}
				}
				return int64(n), nil
			}
			n, err := c.counting(list, -1, true)
			return int64(n), err
		}),
		"inject": of(0, 2, inject),
		"grep":   of(1, 1, grep(true)), "grep_v": of(1, 1, grep(false)),
		"minmax": of(0, 0, func(c *call, list []any) (any, error) {
			out, err := c.sorted(list, c.byBlock)
			if err != nil || len(out) == 0 {
				return &array{[]any{nil, nil}}, err
			}
			return &array{[]any{out[0], out[len(out)-1]}}, nil
		}),
		"min": extreme(-1, false), "max": extreme(1, false), "min_by": extreme(-1, true), "max_by": extreme(1, true),
		"sort": of(0, 0, func(c *call, list []any) (any, error) {
			out, err := c.sorted(list, c.byBlock)
			return &array{out}, err
		}),
		"sort_by": over(0, 0, func(c *call, list []any) (any, error) {
			keys, err := c.keyed(list)
			if err != nil {
				return nil, err
			}
			at := make([]any, len(list))
			for i := range list {
				at[i] = i
			}
			at, err = c.sorted(at, func(a, b any) (int, error) { return c.order(keys[a.(int)], keys[b.(int)]) })
			if err != nil {
				return nil, err
			}
			out := make([]any, len(list))
			for i, k := range at {
				out[i] = list[k.(int)]
			}
			return c.list(out)
		}),
		"group_by": over(0, 0, func(c *call, list []any) (any, error) {
			h := newHash(0)
			for _, x := range list {
				k, err := c.yield(c.block, x)
				if err != nil {
					return nil, err
				}
				if v, ok := h.get(k); ok {
					a := v.(*array)
					a.e = append(a.e, x)
				} else {
					h.set(k, &array{[]any{x}})
				}
			}
			return h, c.made(32 * len(list))
		}),
		"tally": of(0, 0, func(c *call, list []any) (any, error) {
			h := newHash(0)
			for _, x := range list {
				n, _ := h.get(x)
				count, _ := n.(int64)
				h.set(x, count+1)
			}
			return h, c.made(32 * len(list))
		}),
		"to_a":  of(0, 0, func(c *call, list []any) (any, error) { return c.list(append([]any{}, list...)) }),
		"first": of(0, 1, first),
		"take":  of(1, 1, first),
		"drop": of(1, 1, func(c *call, list []any) (any, error) {
			n, err := c.int(0)
			if err != nil {
				return nil, err
			}
			return c.list(append([]any{}, list[min(max(n, 0), len(list)):]...))
		}),
		"take_while": over(0, 0, func(c *call, list []any) (any, error) {
			n, err := c.leading(list)
			if err != nil {
				return nil, err
			}
			return c.list(append([]any{}, list[:n]...))
		}),
		"drop_while": over(0, 0, func(c *call, list []any) (any, error) {
			n, err := c.leading(list)
			if err != nil {
				return nil, err
			}
			return c.list(append([]any{}, list[n:]...))
		}),
		"include?": of(1, 1, func(c *call, list []any) (any, error) {
			return slices.ContainsFunc(list, func(x any) bool { return equal(x, c.args[0]) }), nil
		}),
		"zip": of(1, -1, func(c *call, list []any) (any, error) {
			out := make([]any, len(list))
			for i, x := range list {
				row := &array{[]any{x}}
				for k := range c.args {
					other, err := c.arr(k)
					if err != nil {
						return nil, err
					}
					var y any
					if i < len(other) {
						y = other[i]
					}
					row.e = append(row.e, y)
				}
				out[i] = row
			}
			return c.list(out)
		}),
		"each_slice": over(1, 1, groups(func(n int) int { return n })),
		"each_cons":  over(1, 1, groups(func(int) int { return 1 })),
		"sum": of(0, 1, func(c *call, list []any) (any, error) {
			var total any = int64(0)
			if len(c.args) == 1 {
				total = c.args[0]
			}
			for _, x := range list {
				var err error
				if c.block != nil {
					if x, err = c.yield(c.block, x); err != nil {
						return nil, err
					}
				}
				if total, err = c.send(total, "+", []any{x}, nil); err != nil {
					return nil, err
				}
			}
			return total, nil
		}),
		"uniq": of(0, 0, func(c *call, list []any) (any, error) {
			seen := newHash(len(list))
			var out []any
			for _, x := range list {
				k := x
				if c.block != nil {
					var err error
					if k, err = c.yield(c.block, x); err != nil {
						return nil, err
					}
				}
				if _, ok := seen.get(k); !ok {
					seen.set(k, true)
					out = append(out, x)
				}
			}
			return c.list(out)
		}),
		"to_h": of(0, 0, func(c *call, list []any) (any, error) {
			h := newHash(len(list))
			for _, x := range list {
				if c.block != nil {
					var err error
					if x, err = c.yield(c.block, x); err != nil {
						return nil, err
					}
				}
				pair, is := x.(*array)
				if !is || len(pair.e) != 2 {
					return nil, c.raise("TypeError", "wrong element type %s (expected array)", orNil(x))
				}
				h.set(pair.e[0], pair.e[1])
			}
			return h, c.made(32 * len(list))
		}),
	}
	for name, of := range map[string]string{"collect": "map", "collect_concat": "flat_map", "filter": "select", "find_all": "select", "detect": "find", "reduce": "inject", "entries": "to_a", "member?": "include?"} {
		t[name] = t[of]
	}
	return t
}

func each(c *call, list []any) (any, error) {
	for _, x := range list {
		if _, err := c.yield(c.block, x); err != nil {
			return nil, err
		}
	}
	return c.recv, nil
}

func first(c *call, list []any) (any, error) {
	if len(c.args) == 0 {
		if len(list) == 0 {
			return nil, nil
		}
		return list[0], nil
	}
	n, err := c.int(0)
	if err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, c.raise("ArgumentError", "negative array size")
	}
	return c.list(append([]any{}, list[:min(n, len(list))]...))
}

// leading returns the number of elements at the beginning that pass the test.
func (c *call) leading(list []any) (int, error) {
	for i, x := range list {
		if ok, err := c.test(x); !ok || err != nil {
			return i, err
		}
	}
	return len(list), nil
}

// groups yields groups of elements. step returns the distance between their
// beginnings.
func groups(step func(n int) int) func(c *call, list []any) (any, error) {
	return func(c *call, list []any) (any, error) {
		n, err := c.int(0)
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			return nil, c.raise("ArgumentError", "invalid size")
		}
		for i := 0; i < len(list); i += step(n) {
			end := min(i+min(n, len(list)), len(list))
			if end-i < n && step(n) == 1 {
				break
			}
			if _, err := c.yield(c.block, &array{append([]any{}, list[i:end]...)}); err != nil {
				return nil, err
			}
			if end == len(list) {
				break
			}
		}
		return c.recv, nil
	}
}

// grep returns the elements that match a pattern. If want is false, it returns
// the other elements.
func grep(want bool) func(c *call, list []any) (any, error) {
	return func(c *call, list []any) (any, error) {
		var out []any
		for _, x := range list {
			ok, err := c.caseEqual(c.args[0], x)
			if err != nil {
				return nil, err
			}
			if ok != want {
				continue
			}
			if c.block != nil {
				if x, err = c.yield(c.block, x); err != nil {
					return nil, err
				}
			}
			out = append(out, x)
		}
		return c.list(out)
	}
}

func inject(c *call, list []any) (any, error) {
	args := c.args
	block := c.block
	if block == nil {
		if len(args) == 0 {
			return nil, c.needBlock()
		}
		op, is := args[len(args)-1].(symbol)
		if !is {
			return nil, c.raise("TypeError", "%s is not a symbol", inspect(args[len(args)-1]))
		}
		args, block = args[:len(args)-1], c.symbolProc(op)
	}
	var memo any
	if len(args) > 0 {
		memo = args[0]
	} else if len(list) > 0 {
		memo, list = list[0], list[1:]
	}
	for _, x := range list {
		var err error
		if memo, err = c.yield(block, memo, x); err != nil {
			return nil, err
		}
	}
	return memo, nil
}

func enumeratorMethods() map[string]method {
	t := enumMethods()
	withIndex := method{0, 1, func(c *call) (any, error) {
		e := c.recv.(*enumerator)
		from := 0
		if len(c.args) == 1 && c.args[0] != nil {
			var err error
			if from, err = c.int(0); err != nil {
				return nil, err
			}
		}
		if c.block == nil {
			return &enumerator{c.recv, c.name, c.args}, nil
		}
		i := int64(from) - 1
		return c.send(e.recv, e.name, e.args, &proc{native: func(args []any) (any, error) {
			i++
			if len(args) == 1 {
				return c.yield(c.block, args[0], i)
			}
			return c.yield(c.block, &array{args}, i)
		}})
	}}
	t["with_index"], t["each_with_index"] = withIndex, withIndex
	t["with_object"] = t["each_with_object"]
	t["size"], t["each"] = t["count"], over(0, 0, each)
	return t
}
