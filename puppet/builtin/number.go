package builtin

import (
	"math"
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// numbers returns the functions of arithmetic.
func numbers() []*eval.Function {
	return []*eval.Function{
		{Name: "abs", Doc: "Returns a number without its sign.",
			Signatures: []eval.Signature{
				{Params: "Numeric $number", Run: func(c *eval.Call) (value.Value, error) { return abs(c.Args[0]) }},
				{Params: "String $number", Run: func(c *eval.Call) (value.Value, error) {
					c.Deprecated("abs() of a string, which is made a number, is deprecated")
					s := string(c.Args[0].(value.String))
					v, ok := value.ParseNumber(s)
					if !ok || !isDecimal(s) {
						return nil, eval.Errorf("not-numeric", "%s is not a number", inspect(c.Args[0]))
					}
					return abs(v)
				}},
			}},
		{Name: "ceiling", Doc: "Returns the smallest integer that is not below a number.", Signatures: rounding(math.Ceil)},
		{Name: "floor", Doc: "Returns the largest integer that is not above a number.", Signatures: rounding(math.Floor)},
		{Name: "round", Doc: "Rounds a number to the nearest integer; halves are rounded away from zero.",
			Signatures: one("Numeric $number", func(c *eval.Call) (value.Value, error) {
				return whole(c.Args[0], func(x float64) float64 {
					if x > 0 {
						return math.Trunc(x + 0.5)
					}
					return math.Trunc(x - 0.5)
				})
			})},
	}
}

func abs(v value.Value) (value.Value, error) {
	switch v := v.(type) {
	case value.Int:
		if v < 0 {
			return value.SubInt(0, v)
		}
	case *value.BigInt:
		n := v.Big()
		return value.NewInteger(n.Abs(n)), nil
	case value.Float:
		return value.Float(math.Abs(float64(v))), nil
	}
	return v, nil
}

// isDecimal reports whether s consists of digits with an optional sign and
// fraction. abs() accepts such strings.
func isDecimal(s string) bool {
	whole, fraction, dot := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return isDigits(whole) && (!dot || isDigits(fraction))
}

// rounding returns the signatures of a function that rounds numbers.
func rounding(round func(float64) float64) []eval.Signature {
	return []eval.Signature{
		{Params: "Numeric $number", Run: func(c *eval.Call) (value.Value, error) { return whole(c.Args[0], round) }},
		{Params: "String $number", Run: func(c *eval.Call) (value.Value, error) {
			c.Deprecated(c.Name + "() of a string, which is made a number, is deprecated")
			v, ok := value.ParseNumber(strings.TrimSpace(string(c.Args[0].(value.String))))
			if !ok {
				return nil, eval.Errorf("not-numeric", "%s is not a number", inspect(c.Args[0]))
			}
			return whole(v, round)
		}},
	}
}

func whole(v value.Value, round func(float64) float64) (value.Value, error) {
	f, ok := v.(value.Float)
	if !ok {
		return v, nil
	}
	x := round(float64(f))
	if !(math.Abs(x) < 1<<63) {
		return nil, eval.Errorf("out-of-range", "%s is not in the range of integers", inspect(v))
	}
	return value.Int(x), nil
}
