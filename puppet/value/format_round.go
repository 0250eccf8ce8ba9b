package value

import (
	"math"
	"strconv"
	"strings"
)

// Ruby first rounds a number to a few digits in floating point. If the result
// is so near to the middle between two numbers that it can be wrong, Ruby uses
// the even number. So 2.675 with two digits is 2.68, although the number is
// slightly less than the middle. The following functions do the same, because
// the results must be the same. If the number is not near to the middle,
// strconv rounds it.

// maxQuick is the largest number of digits for which this rounding is used.
const maxQuick = 14

// appendFixed appends x, which is not negative, with prec digits after the
// point.
func appendFixed(b []byte, x float64, prec int) []byte {
	if digits, k, ok := quickTie(x, func(k int) int { return prec + k + 1 }); ok {
		for k < 0 {
			digits, k = "0"+digits, k+1
		}
		b = append(b, digits[:k+1]...)
		if prec > 0 {
			b = append(append(b, '.'), digits[k+1:]...)
		}
		return b
	}
	return strconv.AppendFloat(b, x, 'f', prec, 64)
}

// appendExponent appends x, which is not negative, with an exponent.
func appendExponent(b []byte, x float64, prec int) []byte {
	if digits, k, ok := quickTie(x, func(int) int { return prec + 1 }); ok {
		b = append(b, digits[0])
		if prec > 0 {
			b = append(append(b, '.'), digits[1:prec+1]...)
		}
		b = append(b, 'e', '+')
		if k < 0 {
			b[len(b)-1], k = '-', -k
		}
		if k < 10 {
			b = append(b, '0')
		}
		return strconv.AppendInt(b, int64(k), 10)
	}
	return strconv.AppendFloat(b, x, 'e', prec, 64)
}

// quickTie returns the digits of x and the power of ten of the first digit, if
// x is near the middle between two numbers with count(k) digits, where k is
// that power.
func quickTie(x float64, count func(k int) int) (digits string, k int, ok bool) {
	if x == 0 {
		return "", 0, false
	}
	s := strconv.FormatFloat(x, 'e', -1, 64)
	e := strings.IndexByte(s, 'e')
	k, err := strconv.Atoi(s[e+1:])
	n := count(k)
	if err != nil || n < 1 || n > maxQuick {
		return "", 0, false
	}
	d, errors := scale(x, k)
	eps := math.Ldexp(errors*d+7, -52) * math.Pow10(n-1)
	b := make([]byte, 0, n)
	for i := 0; ; i++ {
		digit := math.Floor(d)
		if digit < 0 || digit > 9 {
			return "", 0, false
		}
		d -= digit
		b = append(b, '0'+byte(digit))
		if d == 0 || i == n-1 {
			break
		}
		d *= 10
	}
	if len(b) < n || math.Abs(d-0.5) > eps {
		return "", 0, false
	}
	if (b[n-1]-'0')%2 == 0 {
		return string(b), k, true
	}
	i := n - 1
	for ; i >= 0 && b[i] == '9'; i-- {
		b[i] = '0'
	}
	if i >= 0 {
		b[i]++
		return string(b), k, true
	}
	return "1" + string(b), k + 1, true
}

// zerosStay reports whether %g keeps trailing zeros. Ruby does not remove them
// from a number that is above the middle but is rounded down.
func zerosStay(x float64, prec int) bool {
	digits, k, ok := quickTie(x, func(int) int { return prec })
	if !ok || len(digits) > prec || digits[prec-1] != '0' {
		return false
	}
	exact := strings.Replace(strconv.FormatFloat(x, 'e', 60, 64), ".", "", 1)
	middle := digits + "5"
	return strings.HasSuffix(exact, exponentOf(k)) && exact[:len(middle)] >= middle && strings.Trim(exact[len(middle):61], "0") != ""
}

func exponentOf(k int) string {
	s := string(strconv.AppendInt(nil, int64(max(k, -k)), 10))
	if len(s) < 2 {
		s = "0" + s
	}
	if k < 0 {
		return "e-" + s
	}
	return "e+" + s
}

// scale returns x divided by the power k of ten, in as many steps as Ruby uses.
// errors is the number of these steps that add an error, plus two.
func scale(x float64, k int) (d, errors float64) {
	errors = 2
	power := func(j int) float64 {
		p := math.Pow10(j & 15)
		for i, rest := 0, j>>4; rest > 0; i, rest = i+1, rest>>1 {
			if rest&1 != 0 {
				errors++
				p *= math.Pow10(16 << i)
			}
		}
		return p
	}
	switch {
	case k > 0:
		if k&256 != 0 {
			x /= 1e256
			errors++
			k -= 256
		}
		x /= power(k)
	case k < 0:
		j := -k
		x *= math.Pow10(j & 15)
		for i, rest := 0, j>>4; rest > 0; i, rest = i+1, rest>>1 {
			if rest&1 != 0 {
				errors++
				x *= math.Pow10(16 << i)
			}
		}
	}
	return x, errors
}
