package match

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
	"strings"

	"bolt/format/ordered"
)

// equal compares two values of any type. A string equals a value that is written
// like it.
func equal(a, b any) bool {
	if x, ok := numeric(a); ok {
		if y, ok := numeric(b); ok {
			return compareNumbers(x, y) == 0
		}
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case *ordered.Map:
		y, ok := b.(*ordered.Map)
		if !ok || x.Len() != y.Len() {
			return false
		}
		for k, v := range x.All() {
			if w, has := y.Get(k); !has || !equal(v, w) {
				return false
			}
		}
		return true
	}
	x, ok := textOf(a)
	y, also := textOf(b)
	return ok && also && x == y
}

// composite reports whether a value is a list or a map.
func composite(v any) bool {
	switch v.(type) {
	case []any, *ordered.Map:
		return true
	}
	return false
}

// compare orders two values, if they can be ordered: numbers by their value, all
// other values as strings.
func compare(a, b any) (int, bool) {
	if x, ok := numeric(a); ok {
		if y, ok := numeric(b); ok {
			return compareNumbers(x, y), true
		}
	}
	if !orderable(a) || !orderable(b) {
		return 0, false
	}
	x, _ := textOf(a)
	y, _ := textOf(b)
	return compareTexts(x, y), true
}

// orderable reports whether a value can be before or after another one.
func orderable(v any) bool {
	if _, ok := v.(string); ok {
		return true
	}
	_, ok := numeric(v)
	return ok
}

// numeric returns a number's value: int64, float64 or *big.Int. YAML's NaN does
// not count as a number.
func numeric(v any) (any, bool) {
	switch v := v.(type) {
	case number:
		return v.value, true
	case float64:
		return v, !math.IsNaN(v)
	case int64, *big.Int:
		return v, true
	}
	return nil, false
}

func compareNumbers(a, b any) int {
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	}
	x, ok := a.(float64)
	y, also := b.(float64)
	if ok && also {
		return cmp.Compare(x, y)
	}
	return exact(a).Cmp(exact(b))
}

// exact returns a number without rounding.
func exact(v any) *big.Float {
	switch v := v.(type) {
	case int64:
		return new(big.Float).SetInt64(v)
	case *big.Int:
		return new(big.Float).SetInt(v)
	}
	return big.NewFloat(v.(float64))
}

// textOf returns the string form of a value; ok is false for a list or map.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case number:
		return v.text, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case *big.Int:
		return v.String(), true
	}
	return "", false
}

// compareTexts orders strings in the manner of versions: runs of digits by their
// number, other parts by their bytes. If one string is a prefix of the other, the
// longer one comes later.
func compareTexts(a, b string) int {
	for a != "" && b != "" {
		if !digit(a[0]) || !digit(b[0]) {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, restA := digits(a)
		y, restB := digits(b)
		if c := cmp.Compare(len(x), len(y)); c != 0 {
			return c
		}
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
		a, b = restA, restB
	}
	return cmp.Compare(len(a), len(b))
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// digits splits the leading run of digits off s and removes its leading zeros.
func digits(s string) (run, rest string) {
	n := 0
	for n < len(s) && digit(s[n]) {
		n++
	}
	return strings.TrimLeft(s[:n], "0"), s[n:]
}

// describe returns the kind of a value for messages. It does not include the
// value, because variables may be secrets.
func describe(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "a string"
	case []any:
		return "a list"
	case *ordered.Map:
		return "a map"
	}
	return "a number"
}
