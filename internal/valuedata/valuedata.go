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

// maxDepth is how deep data may be nested. Nobody writes files so deep, and
// what walks values needs stack for each level.
const maxDepth = 1000

// Of returns decoded data as a value: what package yaml and ordered.ParseJSON
// return (nil, bool, int64, float64, string, []byte, []any, *ordered.Map, and
// the mappings and symbols of yaml.DecodeData). A symbol is its name. The error
// is about a type that is none of these, or data that is nested too deep.
func Of(v any) (value.Value, error) {
	return WithSymbols(v, func(name string) value.Value { return value.String(name) })
}

// WithSymbols is Of where symbols are what symbol returns for their names.
func WithSymbols(v any, symbol func(name string) value.Value) (value.Value, error) {
	return converter{symbol}.value(v, 0)
}

type converter struct {
	symbol func(name string) value.Value
}

func (c converter) value(v any, depth int) (value.Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the data is nested deeper than %d", maxDepth)
	}
	switch v := v.(type) {
	case *ordered.Map:
		return hashOf(c, v.All(), depth)
	case []any:
		list := make([]value.Value, len(v))
		for i, e := range v {
			var err error
			if list[i], err = c.value(e, depth+1); err != nil {
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
		return c.symbol(v.SymbolName()), nil
	case interface{ All() iter.Seq2[any, any] }:
		return hashOf(c, v.All(), depth)
	}
	return nil, fmt.Errorf("data of type %T", v)
}

func hashOf[K any](c converter, pairs iter.Seq2[K, any], depth int) (value.Value, error) {
	var h value.HashBuilder
	for k, e := range pairs {
		key, err := c.value(k, depth+1)
		if err != nil {
			return nil, err
		}
		v, err := c.value(e, depth+1)
		if err != nil {
			return nil, err
		}
		h.Put(key, v)
	}
	return h.Build(), nil
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
