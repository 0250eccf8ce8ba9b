// Package valuedata makes values of the Puppet language of decoded files, and
// data of values, with the order of their keys kept.
package valuedata

import (
	"fmt"
	"iter"
	"math"

	"bolt/internal/ordered"
	"bolt/puppet/value"
)

// Of returns decoded data as a value: what package yaml and ordered.ParseJSON
// return (nil, bool, int64, float64, string, []byte, []any, *ordered.Map, and
// the mappings and symbols of yaml.DecodeData). The error is about a type that
// is none of these.
func Of(v any) (value.Value, error) {
	switch v := v.(type) {
	case *ordered.Map:
		var h value.HashBuilder
		for k, e := range v.All() {
			x, err := Of(e)
			if err != nil {
				return nil, err
			}
			h.Put(value.String(k), x)
		}
		return h.Build(), nil
	case []any:
		list := make([]value.Value, len(v))
		for i, e := range v {
			var err error
			if list[i], err = Of(e); err != nil {
				return nil, err
			}
		}
		return value.NewArray(list...), nil
	case nil:
		return value.Undef{}, nil
	case bool:
		return value.Bool(v), nil
	case int64:
		return value.Int(v), nil
	case float64:
		return value.Float(v), nil
	case string:
		return value.String(v), nil
	case []byte:
		return value.NewBinary(v), nil
	case interface{ SymbolName() string }:
		return value.String(v.SymbolName()), nil
	case interface{ All() iter.Seq2[any, any] }:
		var h value.HashBuilder
		for k, e := range v.All() {
			key, err := Of(k)
			if err != nil {
				return nil, err
			}
			x, err := Of(e)
			if err != nil {
				return nil, err
			}
			h.Put(key, x)
		}
		return h.Build(), nil
	}
	return nil, fmt.Errorf("data of type %T", v)
}

// To returns a value as data that package safetext writes as JSON, with the
// order of keys kept. What JSON does not have is text: a sensitive value is
// value.Redacted.
func To(v value.Value) any {
	switch v := v.(type) {
	case nil, value.Undef:
		return nil
	case value.Bool:
		return bool(v)
	case value.Int:
		return int64(v)
	case value.Float:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return value.RubyString(v)
		}
		return float64(v)
	case value.String:
		return string(v)
	case *value.Array:
		list := make([]any, v.Len())
		for i, e := range v.All() {
			list[i] = To(e)
		}
		return list
	case *value.Hash:
		m := &ordered.Map{}
		for k, e := range v.All() {
			m.Set(value.RubyString(k), To(e))
		}
		return m
	}
	return value.RubyString(v)
}
