package value

import (
	"math"
	"math/big"
)

// A BigInt is an integer that does not fit in 64 bits. Only data contains such
// integers. Programs can pass them on, compare them and print them. Arithmetic
// operators and conversions return errors.
type BigInt struct{ n *big.Int }

func (*BigInt) value() {}

// NewInteger returns n as an [Int] if n fits in 64 bits, otherwise as a
// *[BigInt].
func NewInteger(n *big.Int) Value {
	if n.IsInt64() {
		return Int(n.Int64())
	}
	return &BigInt{new(big.Int).Set(n)}
}

// Big returns a copy of the number.
func (b *BigInt) Big() *big.Int { return new(big.Int).Set(b.n) }

// String returns the decimal digits.
func (b *BigInt) String() string { return b.n.String() }

// ClampInt returns an integer as an [Int]. It returns the nearest Int for a
// *[BigInt], and 0 for values that are not integers.
func ClampInt(v Value) Int {
	switch v := v.(type) {
	case Int:
		return v
	case *BigInt:
		if v.n.Sign() < 0 {
			return math.MinInt64
		}
		return math.MaxInt64
	}
	return 0
}

// typ returns the narrowest type that b is an instance of. The bounds of types
// have 64 bits.
func (b *BigInt) typ() *IntegerType {
	if b.n.Sign() < 0 {
		return &IntegerType{Max: math.MinInt64, HasMax: true}
	}
	return &IntegerType{Min: math.MaxInt64, HasMin: true}
}

// holdsBig reports whether b is an instance of t.
func (t *IntegerType) holdsBig(b *BigInt) bool {
	if b.n.Sign() < 0 {
		return !t.HasMin
	}
	return !t.HasMax
}

// compare orders b and a number of any kind.
func (b *BigInt) compare(x number) int {
	switch {
	case x.big != nil:
		return b.n.Cmp(x.big.n)
	case x.kind == 'f' && math.IsNaN(x.f):
		return -1
	case x.kind == 'f' && math.IsInf(x.f, 0):
		return compareFloats(0, x.f)
	case x.kind == 'f':
		return new(big.Float).SetInt(b.n).Cmp(big.NewFloat(x.f))
	}
	return b.n.Sign() // all other numbers have fewer bits
}
