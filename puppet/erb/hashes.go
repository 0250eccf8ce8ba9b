package erb

// onHash returns a method of a hash.
func onHash(min, max int, f func(c *call, h *hash) (any, error)) method {
	return method{min, max, func(c *call) (any, error) { return f(c, c.recv.(*hash)) }}
}

// pairs returns a method that yields keys and values. Without a block, it returns an
// enumerator.
func pairs(min, max int, f func(c *call, h *hash) (any, error)) method {
	return onHash(min, max, func(c *call, h *hash) (any, error) {
		if c.block == nil {
			return &enumerator{c.recv, c.name, c.args}, nil
		}
		return f(c, h)
	})
}

// value returns the value of a key, or the default of the hash.
func (c *call) value(h *hash, k any) (any, error) {
	v, ok := h.get(k)
	switch {
	case ok:
		return v, nil
	case h.maker != nil:
		return c.yield(h.maker, h, k)
	}
	return h.missing, nil
}

// chosen returns the entries for which the block is true. If want is false, it
// returns the other entries.
func (c *call) chosen(h *hash, want bool) (*hash, error) {
	out := newHash(0)
	for i, k := range append([]any{}, h.keys...) {
		x := h.values[min(i, len(h.values)-1)]
		v, err := c.yield(c.block, k, x)
		if err != nil {
			return nil, err
		}
		if truthy(v) == want {
			out.set(k, x)
		}
	}
	return out, c.made(32 * len(out.keys))
}

// choose is select or reject. If change is set, the hash itself is changed. If
// nils is set, nil is returned if nothing changes.
func choose(want, change, nils bool) method {
	return pairs(0, 0, func(c *call, h *hash) (any, error) {
		out, err := c.chosen(h, want)
		if err != nil {
			return nil, err
		}
		if !change {
			return out, nil
		}
		same := len(out.keys) == len(h.keys)
		h.replace(out)
		if same && nils {
			return nil, nil
		}
		return h, nil
	})
}

// merged adds the entries of the arguments to a hash. If both have a key, the
// block determines the value.
func (c *call) merged(h *hash) (any, error) {
	for i := range c.args {
		o, err := c.hashArg(i)
		if err != nil {
			return nil, err
		}
		for j, k := range o.keys {
			v := o.values[j]
			if old, ok := h.get(k); ok && c.block != nil {
				if v, err = c.yield(c.block, k, old, v); err != nil {
					return nil, err
				}
			}
			h.set(k, v)
		}
		if err := c.fits(32 * len(h.keys)); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func hashMethods() map[string]method {
	each := pairs(0, 0, func(c *call, h *hash) (any, error) {
		for _, p := range h.pairs() {
			if _, err := c.yield(c.block, p); err != nil {
				return nil, err
			}
		}
		return h, nil
	})
	hasKey := onHash(1, 1, func(c *call, h *hash) (any, error) {
		_, ok := h.get(c.args[0])
		return ok, nil
	})
	hasValue := onHash(1, 1, func(c *call, h *hash) (any, error) {
		for _, v := range h.values {
			if equal(v, c.args[0]) {
				return true, nil
			}
		}
		return false, c.work(len(h.values))
	})
	store := onHash(2, 2, func(c *call, h *hash) (any, error) {
		h.set(c.args[0], c.args[1])
		return c.args[1], c.fits(32 * len(h.keys) / 8)
	})
	update := onHash(0, -1, func(c *call, h *hash) (any, error) { return c.merged(h) })
	mapped := func(keys bool) func(c *call, h *hash) (*hash, error) {
		return func(c *call, h *hash) (*hash, error) {
			out := newHash(len(h.keys))
			for i, k := range append([]any{}, h.keys...) {
				v := h.values[i]
				x := v
				if keys {
					x = k
				}
				x, err := c.yield(c.block, x)
				if err != nil {
					return nil, err
				}
				if keys {
					out.set(x, v)
				} else {
					out.set(k, x)
				}
			}
			return out, c.made(32 * len(out.keys))
		}
	}
	transform := func(keys, change bool) method {
		f := mapped(keys)
		return pairs(0, 0, func(c *call, h *hash) (any, error) {
			out, err := f(c, h)
			if err == nil && change {
				h.replace(out)
				return h, nil
			}
			return out, err
		})
	}
	t := map[string]method{
		"each": each, "each_pair": each,
		"each_key": pairs(0, 0, func(c *call, h *hash) (any, error) {
			for _, k := range append([]any{}, h.keys...) {
				if _, err := c.yield(c.block, k); err != nil {
					return nil, err
				}
			}
			return h, nil
		}),
		"each_value": pairs(0, 0, func(c *call, h *hash) (any, error) {
			for _, v := range append([]any{}, h.values...) {
				if _, err := c.yield(c.block, v); err != nil {
					return nil, err
				}
			}
			return h, nil
		}),
		"[]":  onHash(1, 1, func(c *call, h *hash) (any, error) { return c.value(h, c.args[0]) }),
		"[]=": store, "store": store,
		"dig": {1, -1, dig},
		"fetch": onHash(1, 2, func(c *call, h *hash) (any, error) {
			if v, ok := h.get(c.args[0]); ok {
				return v, nil
			}
			if c.block != nil {
				return c.yield(c.block, c.args[0])
			}
			if len(c.args) == 2 {
				return c.args[1], nil
			}
			return nil, c.raise("KeyError", "key not found: %s", inspect(c.args[0]))
		}),
		"key?": hasKey, "has_key?": hasKey, "include?": hasKey, "member?": hasKey,
		"value?": hasValue, "has_value?": hasValue,
		"key": onHash(1, 1, func(c *call, h *hash) (any, error) {
			for i, v := range h.values {
				if equal(v, c.args[0]) {
					return h.keys[i], nil
				}
			}
			return nil, c.work(len(h.values))
		}),
		"keys":   onHash(0, 0, func(c *call, h *hash) (any, error) { return c.list(append([]any{}, h.keys...)) }),
		"values": onHash(0, 0, func(c *call, h *hash) (any, error) { return c.list(append([]any{}, h.values...)) }),
		"values_at": onHash(0, -1, func(c *call, h *hash) (any, error) {
			out := make([]any, len(c.args))
			for i, k := range c.args {
				var err error
				if out[i], err = c.value(h, k); err != nil {
					return nil, err
				}
			}
			return c.list(out)
		}),
		"length": onHash(0, 0, func(c *call, h *hash) (any, error) { return int64(len(h.keys)), nil }),
		"size":   onHash(0, 0, func(c *call, h *hash) (any, error) { return int64(len(h.keys)), nil }),
		"empty?": onHash(0, 0, func(c *call, h *hash) (any, error) { return len(h.keys) == 0, nil }),
		"select": choose(true, false, false), "filter": choose(true, false, false), "reject": choose(false, false, false),
		"select!": choose(true, true, true), "filter!": choose(true, true, true), "reject!": choose(false, true, true),
		"keep_if": choose(true, true, false), "delete_if": choose(false, true, false),
		"merge":  onHash(0, -1, func(c *call, h *hash) (any, error) { return c.merged(h.copy()) }),
		"merge!": update, "update": update,
		"delete": onHash(1, 1, func(c *call, h *hash) (any, error) {
			if err := c.work(1 + len(h.keys)/16); err != nil {
				return nil, err
			}
			v, ok := h.delete(c.args[0])
			if !ok && c.block != nil {
				return c.yield(c.block, c.args[0])
			}
			return v, nil
		}),
		"clear": onHash(0, 0, func(c *call, h *hash) (any, error) { h.replace(newHash(0)); return h, nil }),
		"invert": onHash(0, 0, func(c *call, h *hash) (any, error) {
			out := newHash(len(h.keys))
			for i, k := range h.keys {
				out.set(h.values[i], k)
			}
			return out, c.made(32 * len(out.keys))
		}),
		"compact": onHash(0, 0, func(c *call, h *hash) (any, error) {
			out := newHash(len(h.keys))
			for i, k := range h.keys {
				if h.values[i] != nil {
					out.set(k, h.values[i])
				}
			}
			return out, c.made(32 * len(out.keys))
		}),
		"compact!": onHash(0, 0, func(c *call, h *hash) (any, error) {
			n := len(h.keys)
			for i := n - 1; i >= 0; i-- {
				if h.values[i] == nil {
					h.delete(h.keys[i])
				}
			}
			if len(h.keys) == n {
				return nil, nil
			}
			return h, c.work(n)
		}),
		"replace": onHash(1, 1, func(c *call, h *hash) (any, error) {
			o, err := c.hashArg(0)
			if err != nil {
				return nil, err
			}
			h.replace(o.copy())
			return h, c.made(32 * len(h.keys))
		}),
		"shift": onHash(0, 0, func(c *call, h *hash) (any, error) {
			if len(h.keys) == 0 {
				return nil, nil
			}
			k := h.keys[0]
			v, _ := h.delete(k)
			return &array{[]any{k, v}}, c.work(1 + len(h.keys)/16)
		}),
		"slice": onHash(0, -1, func(c *call, h *hash) (any, error) {
			out := newHash(0)
			for _, k := range c.args {
				if v, ok := h.get(k); ok {
					out.set(k, v)
				}
			}
			return out, nil
		}),
		"except": onHash(0, -1, func(c *call, h *hash) (any, error) {
			out := h.copy()
			for _, k := range c.args {
				out.delete(k)
			}
			return out, c.made(32 * len(h.keys))
		}),
		"flatten": onHash(0, 0, func(c *call, h *hash) (any, error) {
			out := make([]any, 0, 2*len(h.keys))
			for i, k := range h.keys {
				out = append(out, k, h.values[i])
			}
			return c.list(out)
		}),
		"transform_values":  transform(false, false),
		"transform_values!": transform(false, true),
		"transform_keys":    transform(true, false),
		"transform_keys!":   transform(true, true),
		"default":           onHash(0, 0, func(c *call, h *hash) (any, error) { return h.missing, nil }),
		"default=":          onHash(1, 1, func(c *call, h *hash) (any, error) { h.missing = c.args[0]; return h.missing, nil }),
		"to_hash":           onHash(0, 0, func(c *call, h *hash) (any, error) { return h, nil }),
	}
	enum := enumMethods()
	t["to_h"] = onHash(0, 0, func(c *call, h *hash) (any, error) {
		if c.block == nil {
			return h, nil
		}
		return enum["to_h"].run(c)
	})
	return t
}
