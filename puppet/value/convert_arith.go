package value

import "math/big"

// SubInt returns a - b. If the result does not fit in 64 bits, the error is a
// *[ConversionError] of [KindRange].
func SubInt(a, b Int) (Int, error) {
	d := a - b
	if (a >= 0) != (b >= 0) && (d >= 0) != (a >= 0) {
		n := new(big.Int).Sub(big.NewInt(int64(a)), big.NewInt(int64(b)))
		return 0, convErr(KindRange, "the result of - does not fit 64 bits: %s", clip(n.String()))
	}
	return d, nil
}
