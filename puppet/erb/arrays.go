package erb

import (
	"slices"
	"strings"
)

// self returns the array that a method is called on.
func (c *call) self() *array { return c.recv.(*array) }

// onArray returns a method of the elements of an array.
func onArray(min, max int, f func(c *call, a *array) (any, error)) method {
	return method{min, max, func(c *call) (any, error) { return f(c, c.self()) }}
}

func arrayMethods() map[string]method {
	push := onArray(0, -1, func(c *call, a *array) (any, error) {
		if err := c.host.Size(16 * (len(a.e) + len(c.args))); err != nil {
			return nil, err
		}
		a.e = append(a.e, c.args...)
		return a, c.made(16 * len(c.args))
	})
	t := map[string]method{
		"each": over(0, 0, func(c *call, _ []any) (any, error) {
			// Elements that the block appends are yielded, too.
			for a, i := c.self(), 0; i < len(a.e); i++ {
				if _, err := c.yield(c.block, a.e[i]); err != nil {
					return nil, err
				}
			}
			return c.recv, nil
		}),
		"each_index": over(0, 0, func(c *call, list []any) (any, error) {
			for i := range list {
				if _, err := c.yield(c.block, int64(i)); err != nil {
					return nil, err
				}
			}
			return c.recv, nil
		}),
		"length": onArray(0, 0, func(c *call, a *array) (any, error) { return int64(len(a.e)), nil }),
		"empty?": onArray(0, 0, func(c *call, a *array) (any, error) { return len(a.e) == 0, nil }),
		"[]":     onArray(1, 2, elementsAt),
		"at":     onArray(1, 1, elementsAt),
		"[]=":    onArray(2, 3, setElement),
		"dig":    {1, -1, dig},
		"fetch": onArray(1, 2, func(c *call, a *array) (any, error) {
			i, err := c.int(0)
			if err != nil {
				return nil, err
			}
			if at := i; at < len(a.e) && at >= -len(a.e) {
				if at < 0 {
					at += len(a.e)
				}
				return a.e[at], nil
			}
			if c.block != nil {
				return c.yield(c.block, c.args[0])
			}
			if len(c.args) == 2 {
				return c.args[1], nil
			}
			return nil, c.raise("IndexError", "index %d outside of array bounds", i)
		}),
		"values_at": onArray(0, -1, func(c *call, a *array) (any, error) {
			out := make([]any, len(c.args))
			for i := range c.args {
				in := *c
				in.args = c.args[i : i+1]
				var err error
				if out[i], err = elementsAt(&in, a); err != nil {
					return nil, err
				}
			}
			return c.list(out)
		}),
		"last": onArray(0, 1, func(c *call, a *array) (any, error) {
			if len(c.args) == 0 {
				if len(a.e) == 0 {
					return nil, nil
				}
				return a.e[len(a.e)-1], nil
			}
			n, err := c.int(0)
			if err != nil {
				return nil, err
			}
			return c.list(append([]any{}, a.e[len(a.e)-min(max(n, 0), len(a.e)):]...))
		}),
		"<<": push, "push": push, "append": push,
		"concat": onArray(0, -1, func(c *call, a *array) (any, error) {
			for i := range c.args {
				more, err := c.arr(i)
				if err != nil {
					return nil, err
				}
				if err := c.fits(16 * (len(a.e) + len(more))); err != nil {
					return nil, err
				}
				a.e = append(a.e, more...)
			}
			return a, nil
		}),
		"unshift": onArray(0, -1, func(c *call, a *array) (any, error) {
			a.e = append(append([]any{}, c.args...), a.e...)
			return a, c.fits(16 * len(a.e))
		}),
		"insert": onArray(1, -1, func(c *call, a *array) (any, error) {
			i, err := c.int(0)
			if err != nil {
				return nil, err
			}
			if i < 0 {
				i += len(a.e) + 1
			}
			if i < 0 || i > len(a.e) {
				return nil, c.raise("IndexError", "index %d outside of array", i)
			}
			a.e = slices.Insert(a.e, i, c.args[1:]...)
			return a, c.fits(16 * len(a.e))
		}),
		"pop": onArray(0, 0, func(c *call, a *array) (any, error) {
			if len(a.e) == 0 {
				return nil, nil
			}
			last := a.e[len(a.e)-1]
			a.e = a.e[:len(a.e)-1]
			return last, nil
		}),
		"shift": onArray(0, 0, func(c *call, a *array) (any, error) {
			if len(a.e) == 0 {
				return nil, nil
			}
			head := a.e[0]
			a.e = a.e[1:]
			return head, nil
		}),
		"clear": onArray(0, 0, func(c *call, a *array) (any, error) { a.e = nil; return a, nil }),
		"replace": onArray(1, 1, func(c *call, a *array) (any, error) {
			list, err := c.arr(0)
			a.e = append([]any{}, list...)
			return a, err
		}),
		"delete": onArray(1, 1, func(c *call, a *array) (any, error) {
			n := len(a.e)
			a.e = slices.DeleteFunc(append([]any{}, a.e...), func(x any) bool { return equal(x, c.args[0]) })
			if len(a.e) == n {
				return nil, c.work(n)
			}
			return c.args[0], c.work(n)
		}),
		"delete_at": onArray(1, 1, func(c *call, a *array) (any, error) {
			i, err := c.int(0)
			if err != nil {
				return nil, err
			}
			if i < 0 {
				i += len(a.e)
			}
			if i < 0 || i >= len(a.e) {
				return nil, nil
			}
			x := a.e[i]
			a.e = slices.Delete(append([]any{}, a.e...), i, i+1)
			return x, nil
		}),
		"join": onArray(0, 1, func(c *call, a *array) (any, error) {
			sep := ""
			if len(c.args) == 1 && c.args[0] != nil {
				var err error
				if sep, err = c.str(0); err != nil {
					return nil, err
				}
			}
			var b strings.Builder
			if err := c.join(&b, a, sep, 0); err != nil {
				return nil, err
			}
			return c.rendering.str(b.String())
		}),
		"reverse": onArray(0, 0, func(c *call, a *array) (any, error) {
			out := append([]any{}, a.e...)
			slices.Reverse(out)
			return c.list(out)
		}),
		"rotate": onArray(0, 1, func(c *call, a *array) (any, error) {
			n := 1
			if len(c.args) == 1 {
				var err error
				if n, err = c.int(0); err != nil {
					return nil, err
				}
			}
			if len(a.e) == 0 {
				return &array{}, nil
			}
			n = (n%len(a.e) + len(a.e)) % len(a.e)
			return c.list(append(append([]any{}, a.e[n:]...), a.e[:n]...))
		}),
		"compact": onArray(0, 0, func(c *call, a *array) (any, error) {
			return c.list(slices.DeleteFunc(append([]any{}, a.e...), func(x any) bool { return x == nil }))
		}),
		"flatten": onArray(0, 1, func(c *call, a *array) (any, error) {
			levels := maxData
			if len(c.args) == 1 && c.args[0] != nil {
				n, err := c.int(0)
				if err != nil {
					return nil, err
				}
				if n >= 0 {
					levels = n
				}
			}
			out, err := c.flatten(nil, a.e, levels)
			if err != nil {
				return nil, err
			}
			return c.list(out)
		}),
		"+": onArray(1, 1, func(c *call, a *array) (any, error) {
			more, err := c.arr(0)
			if err != nil {
				return nil, err
			}
			return c.list(append(append([]any{}, a.e...), more...))
		}),
		"-": onArray(1, 1, func(c *call, a *array) (any, error) {
			return c.against(a, false)
		}),
		"&": onArray(1, 1, func(c *call, a *array) (any, error) {
			v, err := c.against(a, true)
			if err != nil {
				return nil, err
			}
			return c.send(v, "uniq", nil, nil)
		}),
		"|": onArray(1, 1, func(c *call, a *array) (any, error) {
			more, err := c.arr(0)
			if err != nil {
				return nil, err
			}
			return c.send(&array{append(append([]any{}, a.e...), more...)}, "uniq", nil, nil)
		}),
		"*": onArray(1, 1, func(c *call, a *array) (any, error) {
			if s, is := c.args[0].(*text); is {
				return c.send(a, "join", []any{s}, nil)
			}
			n, err := c.int(0)
			if err != nil {
				return nil, err
			}
			if n < 0 {
				return nil, c.raise("ArgumentError", "argument must be non-negative")
			}
			if err := c.host.Size(16 * min(n, 1<<40) * len(a.e)); err != nil {
				return nil, err
			}
			return c.list(slices.Repeat(a.e, n))
		}),
		"transpose": onArray(0, 0, func(c *call, a *array) (any, error) {
			var out []any
			for _, x := range a.e {
				row, is := x.(*array)
				if !is || len(out) > 0 && len(out) != len(row.e) {
					return nil, c.raise("IndexError", "element size differs")
				}
				for i, y := range row.e {
					if i == len(out) {
						out = append(out, &array{})
					}
					out[i].(*array).e = append(out[i].(*array).e, y)
				}
			}
			return c.list(out)
		}),
		"product": onArray(1, 1, func(c *call, a *array) (any, error) {
			other, err := c.arr(0)
			if err != nil {
				return nil, err
			}
			if err := c.fits(48 * len(a.e) * len(other)); err != nil {
				return nil, err
			}
			out := &array{}
			for _, x := range a.e {
				for _, y := range other {
					out.e = append(out.e, &array{[]any{x, y}})
				}
			}
			return out, nil
		}),
		"to_a":  onArray(0, 0, func(c *call, a *array) (any, error) { return a, nil }),
		"index": enumMethods()["find_index"],
		"rindex": onArray(1, 1, func(c *call, a *array) (any, error) {
			for i := len(a.e) - 1; i >= 0; i-- {
				if equal(a.e[i], c.args[0]) {
					return int64(i), nil
				}
			}
			return nil, c.work(len(a.e))
		}),
	}
	for name, of := range map[string]string{"size": "length", "slice": "[]", "to_ary": "to_a", "prepend": "unshift", "difference": "-", "union": "|", "intersection": "&"} {
		t[name] = t[of]
	}
	enum := enumMethods()
	for _, name := range []string{"sort", "sort_by", "map", "collect", "select", "filter", "reject", "uniq"} {
		t[name+"!"] = arrayBang(enum[name], name)
	}
	for _, name := range []string{"compact", "flatten", "reverse"} {
		t[name+"!"] = arrayBang(t[name], name)
	}
	t["delete_if"], t["keep_if"] = alwaysSelf(t["reject!"]), alwaysSelf(t["select!"])
	return t
}

// arrayBang makes a method that changes its array from a method that returns
// another array.
func arrayBang(m method, name string) method {
	nils := name == "select" || name == "filter" || name == "reject" || name == "uniq" || name == "compact" || name == "flatten"
	return method{m.min, m.max, func(c *call) (any, error) {
		v, err := m.run(c)
		out, is := v.(*array)
		if err != nil || !is {
			return v, err
		}
		a := c.self()
		same := len(a.e) == len(out.e)
		a.e = out.e
		if nils && same {
			return nil, nil
		}
		return a, nil
	}}
}

func alwaysSelf(m method) method {
	return method{m.min, m.max, func(c *call) (any, error) {
		_, err := m.run(c)
		return c.recv, err
	}}
}

// against returns the elements of a that are in the argument. If in is false,
// it returns the other elements.
func (c *call) against(a *array, in bool) (any, error) {
	other, err := c.arr(0)
	if err != nil {
		return nil, err
	}
	known := newHash(len(other))
	for _, x := range other {
		known.set(x, true)
	}
	var out []any
	for _, x := range a.e {
		if _, ok := known.get(x); ok == in {
			out = append(out, x)
		}
	}
	return c.list(out)
}

func (c *call) flatten(out, list []any, levels int) ([]any, error) {
	for _, x := range list {
		a, is := x.(*array)
		if !is || levels == 0 {
			out = append(out, x)
			if err := c.work(1); err != nil {
				return nil, err
			}
			continue
		}
		var err error
		if out, err = c.flatten(out, a.e, levels-1); err != nil {
			return nil, err
		}
		if err := c.host.Size(16 * len(out)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// join writes the elements, including those of nested arrays.
func (c *call) join(b *strings.Builder, a *array, sep string, depth int) error {
	if depth > maxData {
		return c.raise("ArgumentError", "recursive array join")
	}
	for i, x := range a.e {
		if i > 0 {
			b.WriteString(sep)
		}
		if in, is := x.(*array); is {
			if err := c.join(b, in, sep, depth+1); err != nil {
				return err
			}
			continue
		}
		s, err := c.toS(x)
		if err != nil {
			return err
		}
		if err := c.host.Size(b.Len() + len(s)); err != nil {
			return err
		}
		if err := c.work(1); err != nil {
			return err
		}
		b.WriteString(s)
	}
	return nil
}

// elementsAt implements []. It returns an element or a subarray.
func elementsAt(c *call, a *array) (any, error) {
	from, to, ok, err := c.extent(c.args, len(a.e))
	if err != nil || !ok {
		return nil, err
	}
	if _, span := c.args[0].(*span); len(c.args) == 1 && !span {
		if from < len(a.e) {
			return a.e[from], nil
		}
		return nil, nil
	}
	return c.list(append([]any{}, a.e[from:to]...))
}

func setElement(c *call, a *array) (any, error) {
	if _, span := c.args[0].(*span); span || len(c.args) == 3 {
		return nil, c.subset("an assignment to a part of an array")
	}
	i, err := c.int(0)
	if err != nil {
		return nil, err
	}
	if i < 0 {
		if i += len(a.e); i < 0 {
			return nil, c.raise("IndexError", "index too small for array")
		}
	}
	if i >= len(a.e) {
		if i > 1<<40 {
			return nil, c.raise("IndexError", "index %d too big", i)
		}
		if err := c.fits(16 * (i + 1)); err != nil {
			return nil, err
		}
		a.e = append(a.e, make([]any, i+1-len(a.e))...)
	}
	a.e[i] = c.args[1]
	return c.args[1], nil
}

// dig follows nested keys and indexes.
func dig(c *call) (any, error) {
	v, err := c.send(c.recv, "[]", c.args[:1], nil)
	if v == nil || err != nil || len(c.args) == 1 {
		return v, err
	}
	return c.send(v, "dig", c.args[1:], nil)
}
