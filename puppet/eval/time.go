package eval

import (
	"math"
	"math/big"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// times calculates with Timespans and Timestamps. Numbers are seconds.
func (n *arithNode) times(t *thread, x, y value.Value) (value.Value, error) {
	if timed(y) && !timed(x) {
		_, span := y.(value.Timespan)
		switch {
		case n.op == syntax.Add, n.op == syntax.Mul && span:
			x, y = y, x
		case n.op == syntax.Sub && span:
			d, ok := spanOf(nanos(x))
			if !ok {
				return nil, n.tooLong(t)
			}
			x = d
		default:
			return nil, n.pair(t, x, y)
		}
	}
	switch a := x.(type) {
	case value.Timespan:
		return n.span(t, a, y)
	case value.Timestamp:
		return n.moment(t, a, y)
	}
	return nil, n.pair(t, x, y)
}

func (n *arithNode) pair(t *thread, x, y value.Value) error {
	return t.fail(n.xAt, "operator-not-applicable", "the operator %s cannot be applied to %s and %s", n.op, t.kindOf(x), t.kindOf(y))
}

func (n *arithNode) tooLong(t *thread) error {
	return t.fail(n.pos, "overflow", "the result of %s is out of range", n.op)
}

func spanOf(n *big.Int) (value.Timespan, bool) {
	return value.Timespan(n.Int64()), n.IsInt64()
}

func (n *arithNode) spanResult(t *thread, b *big.Int) (value.Value, error) {
	d, ok := spanOf(b)
	if !ok {
		return nil, n.tooLong(t)
	}
	return d, nil
}

func (n *arithNode) spanFloat(t *thread, f float64) (value.Value, error) {
	if f >= -(1<<63) && f < 1<<63 {
		return value.Timespan(f), nil
	}
	return nil, n.tooLong(t) // also if the result is NaN
}

func (n *arithNode) span(t *thread, a value.Timespan, y value.Value) (value.Value, error) {
	ns := big.NewInt(int64(a))
	switch b := y.(type) {
	case value.Timespan:
		switch n.op {
		case syntax.Add:
			return n.spanResult(t, ns.Add(ns, big.NewInt(int64(b))))
		case syntax.Sub:
			return n.spanResult(t, ns.Sub(ns, big.NewInt(int64(b))))
		case syntax.Div:
			f := float64(a) / float64(b)
			if math.IsInf(f, 0) {
				return nil, t.fail(n.xAt, "overflow", "the result of %s is infinite", n.op)
			}
			return value.Float(f), nil
		}
	case value.Timestamp:
		if n.op == syntax.Add {
			return n.made(t, b, a)
		}
	case value.Int, value.Float:
		switch n.op {
		case syntax.Add:
			return n.spanResult(t, ns.Add(ns, nanos(b)))
		case syntax.Sub:
			return n.spanResult(t, ns.Sub(ns, nanos(b)))
		case syntax.Mul:
			return n.scale(t, ns, b)
		case syntax.Div:
			return n.divide(t, ns, b)
		case syntax.Mod:
			return n.modulo(t, a, b)
		}
	}
	if n.op == syntax.Shl || n.op == syntax.Shr {
		return nil, n.inapplicable(t, a)
	}
	return nil, t.fail(n.pos, "operator-not-applicable", "the operator %s cannot be applied to %s and %s", n.op, t.kindOf(a), t.kindOf(y))
}

func (n *arithNode) scale(t *thread, ns *big.Int, y value.Value) (value.Value, error) {
	if i, is := y.(value.Int); is {
		return n.spanResult(t, ns.Mul(ns, big.NewInt(int64(i))))
	}
	return n.spanFloat(t, float(y)*float64(ns.Int64()))
}

func (n *arithNode) divide(t *thread, ns *big.Int, y value.Value) (value.Value, error) {
	switch b := y.(type) {
	case value.Int:
		if b == 0 {
			return nil, t.fail(n.yAt, "division-by-zero", "division by zero")
		}
		// Round down, as Ruby's division does.
		q, m := new(big.Int).QuoRem(ns, big.NewInt(int64(b)), new(big.Int))
		if m.Sign() != 0 && (m.Sign() < 0) != (b < 0) {
			q.Sub(q, big.NewInt(1))
		}
		return n.spanResult(t, q)
	case value.Float:
		if b == 0 {
			return nil, t.fail(n.yAt, "division-by-zero", "division by zero")
		}
		return n.spanFloat(t, math.Floor(float64(ns.Int64())/float64(b)))
	}
	return nil, n.pair(t, value.Timespan(ns.Int64()), y)
}

func (n *arithNode) modulo(t *thread, a value.Timespan, y value.Value) (value.Value, error) {
	b, is := y.(value.Int)
	if !is {
		return nil, n.pair(t, a, y) // the error is the same for all floats
	}
	if b == 0 {
		return nil, t.fail(n.yAt, "division-by-zero", "division by zero")
	}
	seconds := int64(a) / 1e9
	if int64(a)%1e9 < 0 {
		seconds--
	}
	c := seconds % int64(b)
	if c != 0 && (c < 0) != (b < 0) {
		c += int64(b)
	}
	return number(c), nil
}

// made returns the Timestamp that is d after m.
func (n *arithNode) made(t *thread, m value.Timestamp, d value.Timespan) (value.Value, error) {
	r, err := m.Add(d)
	if err != nil {
		return nil, n.tooLong(t)
	}
	return r, nil
}

func (n *arithNode) moment(t *thread, a value.Timestamp, y value.Value) (value.Value, error) {
	if n.op != syntax.Add && n.op != syntax.Sub {
		return nil, n.inapplicable(t, a)
	}
	switch b := y.(type) {
	case value.Timespan:
		if n.op == syntax.Add {
			return n.made(t, a, b)
		}
		if b != math.MinInt64 {
			return n.made(t, a, -b)
		}
	case value.Timestamp:
		if n.op == syntax.Sub {
			d, err := a.Sub(b)
			if err != nil {
				return nil, n.tooLong(t)
			}
			return d, nil
		}
	case value.Int, value.Float:
		ns := nanos(b)
		if n.op == syntax.Sub {
			ns.Neg(ns)
		}
		if d, ok := spanOf(ns); ok {
			return n.made(t, a, d)
		}
		return nil, n.tooLong(t)
	}
	return nil, t.fail(n.pos, "operator-not-applicable", "the operator %s cannot be applied to %s and %s", n.op, t.kindOf(a), t.kindOf(y))
}
