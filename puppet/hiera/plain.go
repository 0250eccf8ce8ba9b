package hiera

import (
	"strings"

	"bolt/puppet/value"
)

// isRichData reports whether a lookup can return v: data, and values of the
// types in RichData. Keys of hashes are strings and numbers.
func isRichData(v value.Value) bool {
	switch v := v.(type) {
	case *value.Array:
		for _, e := range v.All() {
			if !isRichData(e) {
				return false
			}
		}
	case *value.Hash:
		for k, e := range v.All() {
			switch k.(type) {
			case value.String, value.Int, *value.BigInt, value.Float:
			default:
				return false
			}
			if !isRichData(e) {
				return false
			}
		}
	case *value.Sensitive:
		return isRichData(v.Unwrap())
	case *value.Runtime, *value.Iterator:
		return false
	}
	return true
}

// isData reports whether v is plain data: the type Data.
func isData(v value.Value) bool {
	switch v := v.(type) {
	case value.Undef, value.String, value.Int, *value.BigInt, value.Float, value.Bool:
		return true
	case *value.Array:
		for _, e := range v.All() {
			if !isData(e) {
				return false
			}
		}
		return true
	case *value.Hash:
		for k, e := range v.All() {
			if _, ok := k.(value.String); !ok || !isData(e) {
				return false
			}
		}
		return true
	}
	return false
}

// isScalar reports whether v is of the type Scalar.
func isScalar(v value.Value) bool {
	switch v.(type) {
	case value.String, value.Int, *value.BigInt, value.Float, value.Bool, *value.Regexp, *value.SemVer, *value.SemVerRange, value.Timespan, value.Timestamp:
		return true
	}
	return false
}

// interpolates reports whether v contains interpolations.
func interpolates(v value.Value) bool {
	switch v := v.(type) {
	case value.String:
		return strings.Contains(string(v), "%{")
	case *value.Array:
		for _, e := range v.All() {
			if interpolates(e) {
				return true
			}
		}
	case *value.Hash:
		for k, e := range v.All() {
			if interpolates(k) || interpolates(e) {
				return true
			}
		}
	}
	return false
}
