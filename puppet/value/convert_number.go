package value

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// floatString returns a number as the language prints it: 1.5, 1.0, 1.0e+15,
// 1.0e-05, NaN, Infinity.
func floatString(x float64) string { return string(appendFloat(nil, x)) }

func appendFloat(b []byte, x float64) []byte {
	switch {
	case math.IsNaN(x):
		return append(b, "NaN"...)
	case math.IsInf(x, 1):
		return append(b, "Infinity"...)
	case math.IsInf(x, -1):
		return append(b, "-Infinity"...)
	}
	if abs := math.Abs(x); abs != 0 && (abs < 1e-4 || abs >= 1e15 && (abs >= 1e16 || abs == math.Trunc(abs))) {
		start := len(b)
		b = strconv.AppendFloat(b, x, 'e', -1, 64)
		i := start + strings.IndexByte(string(b[start:]), 'e')
		if strings.IndexByte(string(b[start:i]), '.') < 0 {
			b = append(b, 0, 0)
			copy(b[i+2:], b[i:])
			b[i], b[i+1] = '.', '0'
		}
		return b
	}
	start := len(b)
	b = strconv.AppendFloat(b, x, 'f', -1, 64)
	if strings.IndexByte(string(b[start:]), '.') < 0 {
		b = append(b, ".0"...)
	}
	return b
}

// maxDigits is the largest length of a string that is parsed as a number.
const maxDigits = 10000

// parseInteger parses an integer as Ruby's Integer does: with a sign, with a
// prefix 0x, 0b, 0o, 0d or 0, with single _ between digits, and with white
// space around it. If base is 0, the prefix determines the base.
func parseInteger(s string, base int) (*big.Int, bool) {
	s = strings.Trim(s, " \t\n\v\f\r")
	if len(s) > maxDigits {
		return nil, false
	}
	negative := false
	if s != "" && (s[0] == '+' || s[0] == '-') {
		negative = s[0] == '-'
		s = s[1:]
	}
	if len(s) > 1 && s[0] == '0' {
		of := 0
		switch s[1] | 0x20 {
		case 'x':
			of = 16
		case 'b':
			of = 2
		case 'o':
			of = 8
		case 'd':
			of = 10
		}
		switch {
		case of != 0 && (base == 0 || base == of):
			base, s = of, s[2:]
			if s != "" && s[0] == '_' {
				return nil, false
			}
		case base == 0:
			base = 8
		}
	}
	if base == 0 {
		base = 10
	}
	if s == "" || s[0] == '_' || s[len(s)-1] == '_' || strings.Contains(s, "__") {
		return nil, false
	}
	s = strings.ReplaceAll(s, "_", "")
	for i := range len(s) {
		if digitValue(s[i]) >= base {
			return nil, false
		}
	}
	n, ok := new(big.Int).SetString(s, base)
	if ok && negative {
		n.Neg(n)
	}
	return n, ok
}

func digitValue(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'z':
		return int(c|0x20-'a') + 10
	}
	return 99
}

// parseFloat parses a number as Ruby's Float does.
func parseFloat(s string) (float64, bool) {
	s = strings.Trim(s, " \t\n\v\f\r")
	t := strings.TrimLeft(s, "+-")
	hex := isHex(t)
	if t == "" || len(s)-len(t) > 1 || len(s) > maxDigits || !isDigit(t[0]) && t[0] != '.' || !isDigit(t[len(t)-1]) && !hex {
		return 0, false
	}
	base := 10
	if hex {
		base = 16
	}
	digitAt := func(i int) bool { return i >= 0 && i < len(t) && digitValue(t[i]) < base }
	point := false
	for i := range len(t) {
		switch t[i] {
		case '_':
			if i == 0 || i+1 == len(t) || !isDigit(t[i-1]) || !isDigit(t[i+1]) {
				return 0, false
			}
		case '.':
			if point = true; !digitAt(i+1) || i > 0 && !digitAt(i-1) {
				return 0, false
			}
		}
	}
	s = strings.ReplaceAll(s, "_", "")
	if hex && !strings.ContainsAny(s, "pP") {
		if point {
			return 0, false
		}
		s += "p0"
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(x, 0) {
		return 0, false
	}
	return x, true
}

// isHex reports whether s begins with 0x and a hexadecimal digit.
func isHex(s string) bool {
	return len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' && digitValue(s[2]) < 16
}

// ParseNumber parses a number as the language coerces strings: decimal, octal
// with a leading 0, hexadecimal with 0x, or with a fraction or an exponent. A
// sign and blanks can precede it. If s is not a number or is too large, ok is
// false.
func ParseNumber(s string) (v Value, ok bool) {
	s = strings.TrimPrefix(s, "::")
	s = strings.Trim(s, " \t")
	negative := false
	if s != "" && (s[0] == '+' || s[0] == '-') {
		negative = s[0] == '-'
		s = strings.TrimLeft(s[1:], " \t")
	}
	if s == "" || len(s) > maxDigits || !isDigit(s[0]) {
		return nil, false
	}
	if isHex(s) || allDigits(s) {
		n, ok := parseInteger(s, 0)
		if !ok {
			return nil, false
		}
		if negative {
			n.Neg(n)
		}
		if !n.IsInt64() {
			return nil, false
		}
		return Int(n.Int64()), true
	}
	whole := digitsAt(s, 0)
	rest, ok := scanFraction(s[whole:])
	if !ok {
		return nil, false
	}
	n, ok := parseInteger(s[:whole], 0)
	if !ok || n.Sign() == 0 && rest {
		return nil, false
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil && math.IsInf(x, 0) {
		return nil, false
	}
	if negative {
		x = -x
	}
	return Float(x), true
}

// scanFraction checks that s is a fraction, an exponent, or both. zero is true
// if it is zeros with an exponent. The language does not accept such a number
// if its integer part is zero, too.
func scanFraction(s string) (zero, ok bool) {
	i := 0
	zero = true
	if s[0] == '.' {
		if i = digitsAt(s, 1); i == 1 {
			return false, false
		}
		zero = strings.Trim(s[1:i], "0") == ""
	}
	if i == len(s) {
		return false, true
	}
	if s[i]|0x20 != 'e' {
		return false, false
	}
	i++
	if i < len(s) && s[i] == '-' {
		i++
	}
	n := digitsAt(s, i)
	return zero, n > i && n == len(s)
}

// toInt returns n as a value. Differs from Puppet: a conversion to an integer
// that does not fit in 64 bits is an error.
func toInt(n *big.Int) (Int, error) {
	if !n.IsInt64() {
		return 0, convErr(KindRange, "%s does not fit a whole number of 64 bits", clip(n.String()))
	}
	return Int(n.Int64()), nil
}
