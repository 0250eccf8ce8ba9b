package value

import (
	"math"
	"math/big"
	"strings"
)

// isIntegerText reports whether s is an integer, with an optional sign and
// blanks before it. It can be decimal, hexadecimal with 0x or binary with 0b.
// Octal numbers are treated as digits.
func isIntegerText(s string) bool {
	s = unsigned(s)
	if len(s) > 2 && s[0] == '0' {
		switch s[1] | 0x20 {
		case 'x':
			return allIn(s[2:], 16)
		case 'b':
			return allIn(s[2:], 2)
		}
	}
	return allDigits(s)
}

// unsigned removes a sign and the blanks after it.
func unsigned(s string) string {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return strings.TrimLeft(s, " \t\n\v\f\r")
}

func allIn(digits string, base int) bool {
	for i := range len(digits) {
		if digitValue(digits[i]) >= base {
			return false
		}
	}
	return digits != ""
}

// isFloatText reports whether s is a number: decimal without leading zeros and
// with an optional fraction and exponent, or hexadecimal, octal or binary.
func isFloatText(s string) bool {
	s = unsigned(s)
	if len(s) > 1 && s[0] == '0' {
		switch s[1] | 0x20 {
		case 'x':
			return allIn(s[2:], 16)
		case 'b':
			return allIn(s[2:], 2)
		}
		if isDigit(s[1]) {
			return allIn(s[1:], 8)
		}
	}
	n := digitsAt(s, 0)
	if n == 0 || n == len(s) {
		return n > 0
	}
	_, ok := scanFraction(s[n:])
	return ok
}

// joinSign removes blanks and tabs between a sign and a number. If there are
// none, ok is false.
func joinSign(s string) (string, bool) {
	if s == "" || s[0] != '+' && s[0] != '-' {
		return s, false
	}
	rest := strings.TrimLeft(s[1:], " \t")
	return s[:1] + rest, len(rest) < len(s)-1
}

// numberArgs parses the arguments from, radix and abs of a number, which are
// positional or in a hash. For default, radix is nil.
func numberArgs(name string, args []Value, radix bool) (from, base Value, abs bool, err error) {
	keys := []string{"from", "abs"}
	most := 2
	if radix {
		keys = append(keys, "radix")
		most = 3
	}
	if err := count(name, args, 1, most); err != nil {
		return nil, nil, false, err
	}
	from, base = args[0], nil
	last := argument(args, most-1)
	if radix {
		base = argument(args, 1)
	}
	if h, ok := hashOnly(args, keys...); ok {
		if from, ok = h.GetString("from"); !ok {
			return nil, nil, false, convErr(KindArguments, "%s.new of a Hash needs the key from", name)
		}
		base, last = entry(h, "radix"), entry(h, "abs")
	}
	if last != nil {
		b, ok := last.(Bool)
		if !ok {
			return nil, nil, false, convErr(KindArguments, "abs of %s.new is a Boolean, not %s", name, article(last))
		}
		abs = bool(b)
	}
	return from, base, abs, nil
}

func cannot(v Value, name string) error {
	if s, ok := v.(String); ok {
		return convErr(KindValue, "the string %q cannot be converted to %s", clip(string(s)), name)
	}
	return convErr(KindValue, "%s cannot be converted to %s", article(v), name)
}

func newInteger(args []Value) (Value, error) {
	from, base, abs, err := numberArgs("Integer", args, true)
	if err != nil {
		return nil, err
	}
	radix := 0
	switch b := base.(type) {
	case nil, Default:
	case Int:
		radix = int(b)
		if b != 2 && b != 8 && b != 10 && b != 16 {
			return nil, convErr(KindArguments, "the radix of a number is 2, 8, 10, 16 or default, not %d", int64(b))
		}
	default:
		return nil, convErr(KindArguments, "the radix of a number is 2, 8, 10, 16 or default, not %s", article(b))
	}
	n, err := integerOf(from, radix)
	if err != nil {
		return nil, err
	}
	if abs {
		n.Abs(n)
	}
	if _, large := from.(*BigInt); large {
		return NewInteger(n), nil
	}
	return toValue(toInt(n))
}

// toValue returns a nil Value if there is an error.
func toValue[T Value](v T, err error) (Value, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

func integerOf(from Value, radix int) (*big.Int, error) {
	switch v := from.(type) {
	case Int, *BigInt, Timespan, Timestamp:
		return toInteger(v)
	case Float:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, cannot(v, "Integer")
		}
		return toInteger(v)
	case Bool:
		return big.NewInt(int64(boolInt(bool(v)))), nil
	case String:
		s := string(v)
		if !isIntegerText(s) {
			return nil, cannot(v, "Integer")
		}
		if n, ok := parseInteger(s, radix); ok {
			return n, nil
		}
		if s, ok := joinSign(s); ok {
			if n, ok := parseInteger(s, radix); ok {
				return n, nil
			}
		}
		return nil, cannot(v, "Integer")
	}
	return nil, cannot(from, "Integer")
}

func newFloat(args []Value) (Value, error) {
	from, _, abs, err := numberArgs("Float", args, false)
	if err != nil {
		return nil, err
	}
	x, err := floatOf(from)
	if err != nil {
		return nil, err
	}
	if abs {
		x = math.Abs(x)
	}
	return Float(x), nil
}

func floatOf(from Value) (float64, error) {
	switch v := from.(type) {
	case Int, *BigInt, Float, Timespan, Timestamp:
		return toFloat(v)
	case Bool:
		return float64(boolInt(bool(v))), nil
	case String:
		s := string(v)
		if !isFloatText(s) {
			return 0, cannot(v, "Float")
		}
		if len(s) > 1 && s[0] == '0' && s[1]|0x20 == 'b' {
			if n, ok := parseInteger(s, 0); ok {
				x, _ := new(big.Float).SetInt(n).Float64()
				return x, nil
			}
		}
		if x, ok := parseFloat(s); ok {
			return x, nil
		}
		if s, ok := joinSign(s); ok {
			if x, ok := parseFloat(s); ok {
				return x, nil
			}
		}
		return 0, cannot(v, "Float")
	}
	return 0, cannot(from, "Float")
}

func newNumeric(args []Value) (Value, error) {
	from, _, abs, err := numberArgs("Numeric", args, false)
	if err != nil {
		return nil, err
	}
	v, err := numericOf(from)
	if err != nil || !abs {
		return v, err
	}
	switch n := v.(type) {
	case Int:
		return toValue(toInt(new(big.Int).Abs(big.NewInt(int64(n)))))
	case Float:
		return Float(math.Abs(float64(n))), nil
	case *BigInt:
		return NewInteger(new(big.Int).Abs(n.n)), nil
	}
	return v, nil
}

func numericOf(from Value) (Value, error) {
	switch v := from.(type) {
	case Int, *BigInt:
		return v, nil
	case Float:
		if v != v {
			return nil, cannot(v, "Numeric")
		}
		return v, nil
	case Timespan:
		return Float(v.Seconds()), nil
	case Timestamp:
		return Float(v.Seconds()), nil
	case Bool:
		return Int(boolInt(bool(v))), nil
	case String:
		s := string(v)
		if !isFloatText(s) {
			return nil, cannot(v, "Numeric")
		}
		if len(s) > 1 && s[0] == '0' && (s[1]|0x20 == 'b' || s[1]|0x20 == 'x') {
			if n, ok := parseInteger(s, 0); ok {
				return toValue(toInt(n))
			}
		}
		if n, ok := ParseNumber(s); ok {
			return n, nil
		}
		return nil, cannot(v, "Numeric")
	}
	return nil, cannot(from, "Numeric")
}

func newBoolean(args []Value) (Value, error) {
	if err := count("Boolean", args, 1, 1); err != nil {
		return nil, err
	}
	switch v := args[0].(type) {
	case Bool:
		return v, nil
	case Int:
		return Bool(v != 0), nil
	case *BigInt:
		return Bool(true), nil
	case Float:
		return Bool(v != 0), nil
	case String:
		for _, s := range [...]string{"true", "yes", "y"} {
			if strings.EqualFold(string(v), s) {
				return Bool(true), nil
			}
		}
		for _, s := range [...]string{"false", "no", "n"} {
			if strings.EqualFold(string(v), s) {
				return Bool(false), nil
			}
		}
	}
	return nil, cannot(args[0], "Boolean")
}
