package erb

import (
	"math"
	"strconv"
)

// arith returns the result of an operator such as a + b. Differs from Puppet: a
// result that does not fit in 64 bits is an error.
func arith(c *call, op string, a, b any) (any, error) {
	x, isInt := a.(int64)
	y, bInt := b.(int64)
	if isInt && bInt {
		return arithInt(c, op, x, y)
	}
	f, ok := asFloat(a)
	g, is := asFloat(b)
	if !ok || !is {
		name := className(b)
		if b == nil {
			name = "nil"
		}
		return nil, c.raise("TypeError", "%s can't be coerced into %s", name, className(a))
	}
	switch op {
	case "+":
		return f + g, nil
	case "-":
		return f - g, nil
	case "*":
		return f * g, nil
	case "/":
		return f / g, nil
	case "**":
		return math.Pow(f, g), nil
	}
	if g == 0 {
		return math.NaN(), nil
	}
	m := math.Mod(f, g)
	if m != 0 && (m < 0) != (g < 0) {
		m += g
	}
	return m, nil
}

func asFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func arithInt(c *call, op string, x, y int64) (any, error) {
	var z int64
	ok := true
	switch op {
	case "+":
		z = x + y
		ok = (z > x) == (y > 0)
	case "-":
		z = x - y
		ok = (z < x) == (y > 0)
	case "*":
		z = x * y
		ok = x == 0 || z/x == y && !(x == -1 && y == math.MinInt64)
	case "/", "%":
		if y == 0 {
			return nil, c.raise("ZeroDivisionError", "divided by 0")
		}
		if y == -1 {
			if op == "%" {
				return int64(0), nil
			}
			z, ok = -x, x != math.MinInt64
			break
		}
		q, m := x/y, x%y
		if m != 0 && (m < 0) != (y < 0) {
			q--
			m += y
		}
		if op == "%" {
			return m, nil
		}
		z = q
	case "**":
		if y < 0 {
			return nil, c.subset("a Rational number")
		}
		z = 1
		for ; y > 0 && ok; y-- {
			if err := c.work(1); err != nil {
				return nil, err
			}
			if x == 0 || x == 1 {
				return x, nil
			}
			n := z * x
			ok = n/x == z && !(x == -1 && z == math.MinInt64)
			z = n
		}
	}
	if !ok {
		return nil, c.subset("an Integer of more than 64 bits")
	}
	return z, nil
}

func numberMethods() map[string]method {
	t := map[string]method{}
	for _, op := range []string{"+", "-", "*", "/", "%", "**"} {
		t[op] = method{1, 1, func(c *call) (any, error) { return arith(c, op, c.recv, c.args[0]) }}
	}
	t["modulo"], t["pow"] = t["%"], t["**"]
	comparisons(t)
	bits := func(f func(x, y int64) int64) method {
		return method{1, 1, func(c *call) (any, error) {
			x, is := c.recv.(int64)
			y, ok := c.args[0].(int64)
			if !is || !ok {
				return nil, c.raise("TypeError", "%s needs Integers", c.name)
			}
			return f(x, y), nil
		}}
	}
	t["&"] = bits(func(x, y int64) int64 { return x & y })
	t["|"] = bits(func(x, y int64) int64 { return x | y })
	t["^"] = bits(func(x, y int64) int64 { return x ^ y })
	t[">>"] = bits(func(x, y int64) int64 { return x >> min(uint64(max(y, 0)), 63) })
	t["<<"] = method{1, 1, func(c *call) (any, error) {
		n, err := c.int(0)
		x, is := c.recv.(int64)
		if err != nil || !is {
			return nil, c.raise("TypeError", "<< needs Integers")
		}
		if n < 0 || n > 62 || x<<n>>n != x {
			return nil, c.subset("an Integer of more than 64 bits")
		}
		return x << n, nil
	}}
	t["-@"] = method{0, 0, func(c *call) (any, error) { return arith(c, "*", c.recv, int64(-1)) }}
	t["to_i"] = method{0, 0, func(c *call) (any, error) {
		if f, is := c.recv.(float64); is {
			return toInt(c, f)
		}
		return c.recv, nil
	}}
	t["to_int"], t["truncate"] = t["to_i"], t["to_i"]
	t["to_f"] = method{0, 0, func(c *call) (any, error) {
		f, _ := asFloat(c.recv)
		return f, nil
	}}
	t["to_s"] = method{0, 1, func(c *call) (any, error) {
		n, is := c.recv.(int64)
		if is && len(c.args) == 1 {
			base, err := c.int(0)
			if err != nil || base < 2 || base > 36 {
				return nil, c.raise("ArgumentError", "invalid radix")
			}
			return &text{strconv.FormatInt(n, base)}, nil
		}
		return &text{toS(c.recv)}, nil
	}}
	t["round"] = rounding(math.Round)
	t["floor"] = rounding(math.Floor)
	t["ceil"] = rounding(math.Ceil)
	t["fdiv"] = method{1, 1, func(c *call) (any, error) {
		f, _ := asFloat(c.recv)
		return arith(c, "/", f, c.args[0])
	}}
	t["div"] = method{1, 1, func(c *call) (any, error) {
		v, err := arith(c, "/", c.recv, c.args[0])
		if f, is := v.(float64); is {
			return toInt(c, math.Floor(f))
		}
		return v, err
	}}
	t["divmod"] = method{1, 1, func(c *call) (any, error) {
		q, err := arith(c, "/", c.recv, c.args[0])
		if err != nil {
			return nil, err
		}
		if f, is := q.(float64); is {
			if q, err = toInt(c, math.Floor(f)); err != nil {
				return nil, err
			}
		}
		m, err := arith(c, "%", c.recv, c.args[0])
		return &array{[]any{q, m}}, err
	}}
	t["abs"] = method{0, 0, func(c *call) (any, error) {
		if f, _ := asFloat(c.recv); f < 0 {
			return arith(c, "*", c.recv, int64(-1))
		}
		return c.recv, nil
	}}
	sign := func(f func(x float64) bool) method {
		return method{0, 0, func(c *call) (any, error) {
			x, _ := asFloat(c.recv)
			return f(x), nil
		}}
	}
	t["zero?"] = sign(func(x float64) bool { return x == 0 })
	t["positive?"] = sign(func(x float64) bool { return x > 0 })
	t["negative?"] = sign(func(x float64) bool { return x < 0 })
	t["nan?"] = sign(math.IsNaN)
	t["integer?"] = method{0, 0, func(c *call) (any, error) { _, is := c.recv.(int64); return is, nil }}
	t["even?"] = method{0, 0, func(c *call) (any, error) { n, is := c.recv.(int64); return is && n%2 == 0, nil }}
	t["odd?"] = method{0, 0, func(c *call) (any, error) { n, is := c.recv.(int64); return is && n%2 != 0, nil }}
	t["succ"] = method{0, 0, func(c *call) (any, error) { return arith(c, "+", c.recv, int64(1)) }}
	t["next"] = t["succ"]
	t["pred"] = method{0, 0, func(c *call) (any, error) { return arith(c, "-", c.recv, int64(1)) }}
	t["chr"] = method{0, 0, func(c *call) (any, error) {
		n, is := c.recv.(int64)
		if !is || n < 0 || n > 255 {
			return nil, c.raise("RangeError", "%s out of char range", toS(c.recv))
		}
		return &text{string([]byte{byte(n)})}, nil
	}}
	t["times"] = method{0, 0, func(c *call) (any, error) {
		n, _ := c.recv.(int64)
		return c.count(0, n-1, 1)
	}}
	t["upto"] = method{1, 1, func(c *call) (any, error) {
		n, _ := c.recv.(int64)
		to, err := c.int(0)
		if err != nil {
			return nil, err
		}
		return c.count(n, int64(to), 1)
	}}
	t["downto"] = method{1, 1, func(c *call) (any, error) {
		n, _ := c.recv.(int64)
		to, err := c.int(0)
		if err != nil {
			return nil, err
		}
		return c.count(n, int64(to), -1)
	}}
	t["step"] = method{2, 2, func(c *call) (any, error) {
		n, _ := c.recv.(int64)
		to, err := c.int(0)
		if err != nil {
			return nil, err
		}
		by, err := c.int(1)
		if err != nil {
			return nil, err
		}
		return c.count(n, int64(to), int64(by))
	}}
	return t
}

// count yields the numbers in a range.
func (c *call) count(from, to, by int64) (any, error) {
	if c.block == nil {
		return &enumerator{c.recv, c.name, c.args}, nil
	}
	if by == 0 {
		return nil, c.raise("ArgumentError", "step can't be 0")
	}
	for n := from; by > 0 && n <= to || by < 0 && n >= to; n += by {
		if _, err := c.yield(c.block, n); err != nil {
			return nil, err
		}
	}
	return c.recv, nil
}

func rounding(f func(float64) float64) method {
	return method{0, 2, func(c *call) (any, error) {
		digits := 0
		if len(c.args) > 0 {
			if _, is := c.args[0].(*hash); is {
				return nil, c.subset("an option of %s", c.name)
			}
			var err error
			if digits, err = c.int(0); err != nil {
				return nil, err
			}
		}
		switch v := c.recv.(type) {
		case float64:
			if digits <= 0 {
				scale := math.Pow10(-digits)
				return toInt(c, f(v/scale)*scale)
			}
			scale := math.Pow10(min(digits, 300))
			if x := f(v*scale) / scale; !math.IsInf(x, 0) && !math.IsNaN(x) {
				return x, nil
			}
			return v, nil
		case int64:
			if digits < 0 && digits > -19 {
				scale := math.Pow10(-digits)
				return int64(f(float64(v)/scale) * scale), nil
			}
		}
		return c.recv, nil
	}}
}

// comparisons adds <, >, between? and similar methods.
func comparisons(t map[string]method) {
	with := func(f func(n int) bool) method {
		return method{1, 1, func(c *call) (any, error) {
			n, ok := compare(c.recv, c.args[0])
			if !ok {
				other := inspect(c.args[0])
				if _, is := c.args[0].(*text); is {
					other = "String"
				}
				return nil, c.raise("ArgumentError", "comparison of %s with %s failed", className(c.recv), other)
			}
			return f(n), nil
		}}
	}
	t["<"] = with(func(n int) bool { return n < 0 })
	t["<="] = with(func(n int) bool { return n <= 0 })
	t[">"] = with(func(n int) bool { return n > 0 })
	t[">="] = with(func(n int) bool { return n >= 0 })
	t["between?"] = method{2, 2, func(c *call) (any, error) {
		lo, ok := compare(c.recv, c.args[0])
		hi, is := compare(c.recv, c.args[1])
		if !ok || !is {
			return nil, c.raise("ArgumentError", "comparison of %s failed", className(c.recv))
		}
		return lo >= 0 && hi <= 0, nil
	}}
	t["clamp"] = method{2, 2, func(c *call) (any, error) {
		if n, _ := compare(c.recv, c.args[0]); n < 0 {
			return c.args[0], nil
		}
		if n, _ := compare(c.recv, c.args[1]); n > 0 {
			return c.args[1], nil
		}
		return c.recv, nil
	}}
}
