package value

import "math"

// Calculate is a op b for numbers, timespans and timestamps, op being one of
// + - * / % << and >>. What the operators do to arrays, hashes and other values
// is not for here, nor is making numbers of strings.
//
// The error is [ErrDivisionByZero], or a *[ConversionError] of [KindUnsupported]
// if the operator is not for such values, of [KindInfinite] if the result is
// infinite, or of [KindRange] if it does not fit.
func Calculate(op string, a, b Value) (Value, error) {
	if ia, ok := a.(Int); ok {
		if ib, ok := b.(Int); ok {
			return calculateInt(op, ia, ib)
		}
	}
	if isTime(a) || isTime(b) {
		return calculateTime(op, a, b)
	}
	x, ok1 := floatValue(a)
	y, ok2 := floatValue(b)
	if !ok1 || !ok2 {
		return nil, notApplicable(op, a, b)
	}
	var r float64
	switch op {
	case "+":
		r = x + y
	case "-":
		r = x - y
	case "*":
		r = x * y
	case "/":
		r = x / y
	case "<<", ">>":
		// A shift by a number with a fraction leaves it out.
		if n, ok := a.(Int); ok && y > -1<<62 && y < 1<<62 {
			return calculateInt(op, n, Int(y))
		}
		return nil, notApplicable(op, a, b)
	default:
		return nil, notApplicable(op, a, b)
	}
	if math.IsInf(r, 0) {
		return nil, infiniteResult(op)
	}
	return Float(r), nil
}

func notApplicable(op string, a, b Value) error {
	return convErr(KindUnsupported, "the operator %s is not for %s and %s", op, article(a), article(b))
}

func infiniteResult(op string) error {
	return convErr(KindInfinite, "the result of %s is infinite", op)
}

func calculateInt(op string, a, b Int) (Value, error) {
	switch op {
	case "+":
		return toValue(AddInt(a, b))
	case "-":
		return toValue(SubInt(a, b))
	case "*":
		return toValue(MulInt(a, b))
	case "/":
		return toValue(DivInt(a, b))
	case "%":
		return toValue(ModInt(a, b))
	case "<<":
		return toValue(ShiftInt(a, b))
	case ">>":
		return toValue(ShiftRightInt(a, b))
	}
	return nil, notApplicable(op, a, b)
}

func isTime(v Value) bool {
	switch v.(type) {
	case Timespan, Timestamp:
		return true
	}
	return false
}

func floatValue(v Value) (float64, bool) {
	switch v := v.(type) {
	case Int:
		return float64(v), true
	case Float:
		return float64(v), true
	}
	return 0, false
}

// calculateTime is Calculate where a or b is a time.
func calculateTime(op string, a, b Value) (Value, error) {
	bad := notApplicable(op, a, b)
	if op == "%" {
		if _, ok := b.(Float); ok {
			return nil, bad
		}
	}
	if !isTime(a) {
		if _, ok := floatValue(a); !ok {
			return nil, bad
		}
		_, span := b.(Timespan)
		switch {
		case op == "+" || op == "*" && span:
			a, b = b, a
		case op == "-" && span:
			left, err := TimespanOfSeconds(a)
			if err != nil {
				return nil, err
			}
			a = left
		default:
			return nil, bad
		}
	}
	switch t := a.(type) {
	case Timespan:
		return t.calculate(op, b, bad)
	case Timestamp:
		return t.calculate(op, b, bad)
	}
	return nil, bad
}

// calculate is t op b; bad is the error if there is no such operator.
func (t Timespan) calculate(op string, b Value, bad error) (Value, error) {
	switch op {
	case "+":
		if at, ok := b.(Timestamp); ok {
			return toValue(at.Add(t))
		}
		d, err := spanOf(b, bad)
		if err != nil {
			return nil, err
		}
		sum, ok := addInt(int64(t), int64(d))
		if !ok && d != 0 {
			return nil, errTimespanRange()
		}
		return Timespan(sum), nil
	case "-":
		d, err := spanOf(b, bad)
		if err != nil {
			return nil, err
		}
		r, err := SubInt(Int(t), Int(d))
		if err != nil {
			return nil, errTimespanRange()
		}
		return Timespan(r), nil
	case "*":
		return t.times(b, bad)
	case "/":
		return t.over(b, bad)
	case "%":
		n, ok := b.(Int)
		if !ok {
			return nil, bad
		}
		return toValue(ModInt(Int(floorSeconds(int64(t)).Int64()), n))
	}
	return nil, bad
}

// spanOf is a timespan, or that of so many seconds.
func spanOf(v Value, bad error) (Timespan, error) {
	switch v := v.(type) {
	case Timespan:
		return v, nil
	case Int, Float:
		return TimespanOfSeconds(v)
	}
	return 0, bad
}

func (t Timespan) times(b Value, bad error) (Value, error) {
	switch n := b.(type) {
	case Int:
		ns, ok := mulInt(int64(t), int64(n))
		if !ok {
			return nil, errTimespanRange()
		}
		return Timespan(ns), nil
	case Float:
		return timespanOfFloat(math.Trunc(float64(t) * float64(n)))
	}
	return nil, bad
}

func (t Timespan) over(b Value, bad error) (Value, error) {
	switch n := b.(type) {
	case Timespan:
		r := float64(t) / float64(n)
		if math.IsInf(r, 0) {
			return nil, infiniteResult("/")
		}
		return Float(r), nil
	case Int:
		q, err := DivInt(Int(t), n)
		if err != nil {
			return nil, err
		}
		return Timespan(q), nil
	case Float:
		if n == 0 {
			return nil, ErrDivisionByZero
		}
		return timespanOfFloat(math.Floor(float64(t) / float64(n)))
	}
	return nil, bad
}

// timespanOfFloat is the timespan of a whole number of nanoseconds.
func timespanOfFloat(ns float64) (Value, error) {
	if !(ns >= -1<<63 && ns < 1<<63) {
		return nil, errTimespanRange()
	}
	return Timespan(ns), nil
}

// calculate is t op b; bad is the error if there is no such operator.
func (t Timestamp) calculate(op string, b Value, bad error) (Value, error) {
	if o, ok := b.(Timestamp); ok && op == "-" {
		return toValue(t.Sub(o))
	}
	if op != "+" && op != "-" {
		return nil, bad
	}
	d, err := spanOf(b, bad)
	if err != nil {
		return nil, err
	}
	if op == "-" {
		if d == math.MinInt64 {
			return nil, errTimespanRange()
		}
		d = -d
	}
	return toValue(t.Add(d))
}
