package value

import (
	"errors"
	"math"
	"math/big"
	"math/bits"
)

// ErrDivisionByZero is what / and % say of a whole number 0 at their right.
var ErrDivisionByZero = errors.New("division by zero")

// AddInt is a + b. The error of this and the others is a *[ConversionError] of
// [KindRange] where the result does not fit 64 bits.
func AddInt(a, b Int) (Int, error) {
	sum := a + b
	if (a >= 0) == (b >= 0) && (sum >= 0) != (a >= 0) {
		return 0, overflow("+", new(big.Int).Add(big.NewInt(int64(a)), big.NewInt(int64(b))))
	}
	return sum, nil
}

// SubInt is a - b.
func SubInt(a, b Int) (Int, error) {
	d := a - b
	if (a >= 0) != (b >= 0) && (d >= 0) != (a >= 0) {
		return 0, overflow("-", new(big.Int).Sub(big.NewInt(int64(a)), big.NewInt(int64(b))))
	}
	return d, nil
}

// MulInt is a * b.
func MulInt(a, b Int) (Int, error) {
	p, ok := mulInt(int64(a), int64(b))
	if !ok {
		return 0, overflow("*", new(big.Int).Mul(big.NewInt(int64(a)), big.NewInt(int64(b))))
	}
	return Int(p), nil
}

// DivInt is a / b, rounded down: -7 / 2 is -4. The error is
// [ErrDivisionByZero] or as of [AddInt].
func DivInt(a, b Int) (Int, error) {
	switch {
	case b == 0:
		return 0, ErrDivisionByZero
	case b == -1:
		if a == math.MinInt64 {
			return 0, overflow("/", new(big.Int).Neg(big.NewInt(int64(a))))
		}
		return -a, nil
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q, nil
}

// ModInt is a % b, with the sign of b: -7 % 3 is 2. The error is
// [ErrDivisionByZero].
func ModInt(a, b Int) (Int, error) {
	switch b {
	case 0:
		return 0, ErrDivisionByZero
	case -1:
		return 0, nil
	}
	r := a % b
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r, nil
}

// ShiftInt is a << b; a negative b shifts to the right, where the sign stays.
func ShiftInt(a, b Int) (Int, error) {
	switch {
	case a == 0 || b == 0:
		return a, nil
	case b <= -63:
		return a >> 63, nil
	case b < 0:
		return a >> uint(-b), nil
	}
	room := Int(bits.LeadingZeros64(uint64(a^(a>>63)))) - 1
	if b <= room {
		return a << uint(b), nil
	}
	if b < 1024 {
		return 0, overflow("<<", new(big.Int).Lsh(big.NewInt(int64(a)), uint(b)))
	}
	return 0, convErr(KindRange, "the result of << does not fit 64 bits: a shift by %d", b)
}

// ShiftRightInt is a >> b.
func ShiftRightInt(a, b Int) (Int, error) {
	if b == math.MinInt64 {
		b++
	}
	return ShiftInt(a, -b)
}

func overflow(op string, n *big.Int) error {
	return convErr(KindRange, "the result of %s does not fit 64 bits: %s", op, clip(n.String()))
}
