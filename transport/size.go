package transport

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseSize parses a number of bytes above 0 for Limits, with or without a unit
// (K, M, G, T).
func ParseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, "KMGT")
	shift := 0
	if unit := s[len(digits):]; unit != "" {
		shift = 10 * (strings.Index("KMGT", unit) + 1)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil:
		return 0, err
	case n <= 0 || len(s)-len(digits) > 1 || n > math.MaxInt64>>shift:
		return 0, fmt.Errorf("%s is not a size", s)
	}
	return n << shift, nil
}
