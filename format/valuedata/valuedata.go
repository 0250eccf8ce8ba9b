// Package valuedata makes values of the Puppet language of decoded files, and
// data of values, with the order of their keys kept.
package valuedata

import (
	"fmt"
	"iter"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"bolt/format/ordered"
	"bolt/puppet/value"
)

// maxDepth is how deep data may be nested. Nobody writes files so deep, and
// what walks values needs stack for each level.
const maxDepth = 1000

// Of returns decoded data as a value: what package yaml and ordered.ParseJSON
// return (nil, bool, int64, float64, string, []byte, []any, *ordered.Map, and
// the mappings and symbols of yaml.DecodeData). A symbol is its name. The error,
// an *Error, is about a whole number that the language does not have (a
// *big.Int), a type that is none of these, or data that is nested too deep.
func Of(v any) (value.Value, error) {
	return WithSymbols(v, func(name string) value.Value { return value.String(name) })
}

// WithSymbols is Of where symbols are what symbol returns for their names.
func WithSymbols(v any, symbol func(name string) value.Value) (value.Value, error) {
	d, err := converter{symbol}.value(v, 0)
	if err != nil {
		slices.Reverse(err.Path)
		return nil, err
	}
	return d, nil
}

// An Error says which datum is no value, and why.
type Error struct {
	Path    []any // the keys and indexes that lead to it
	Problem string
}

// Error returns "a.b.0: problem".
func (e *Error) Error() string {
	const most = 10 // names; what is deeper has lost the reader anyway
	var b strings.Builder
	for i, p := range e.Path {
		switch {
		case i == most:
			return b.String() + "…: " + e.Problem
		case i > 0:
			b.WriteByte('.')
		}
		fmt.Fprint(&b, p)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	return b.String() + e.Problem
}

// within is an error of what stands under a key or index. The path is made
// from its end.
func (e *Error) within(key any) *Error {
	e.Path = append(e.Path, key)
	return e
}

type converter struct {
	symbol func(name string) value.Value
}

func (c converter) value(v any, depth int) (value.Value, *Error) {
	if depth > maxDepth {
		return nil, &Error{Problem: fmt.Sprintf("the data is nested deeper than %d", maxDepth)}
	}
	switch v := v.(type) {
	case *ordered.Map:
		return hashOf(c, v.All(), depth)
	case []any:
		list := make([]value.Value, len(v))
		for i, e := range v {
			var err *Error
			if list[i], err = c.value(e, depth+1); err != nil {
				return nil, err.within(i)
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
	case *big.Int: // Differs from Puppet, which keeps it until somebody counts with it.
		return nil, &Error{Problem: fmt.Sprintf("%.80s does not fit a whole number of 64 bits", v.String())}
	case string:
		return value.String(v), nil
	case []byte:
		return value.NewBinary(v), nil
	case interface{ SymbolName() string }:
		return c.symbol(v.SymbolName()), nil
	case interface{ All() iter.Seq2[any, any] }:
		return hashOf(c, v.All(), depth)
	}
	return nil, &Error{Problem: fmt.Sprintf("data of type %T", v)}
}

func hashOf[K any](c converter, pairs iter.Seq2[K, any], depth int) (value.Value, *Error) {
	var h value.HashBuilder
	for k, e := range pairs {
		key, err := c.value(k, depth+1)
		if err != nil {
			return nil, err.within(k)
		}
		v, err := c.value(e, depth+1)
		if err != nil {
			return nil, err.within(k)
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
			return value.RubyShown(v)
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
			m.Set(value.RubyShown(k), To(e))
		}
		return m
	}
	return value.RubyShown(v)
}

// Shown is data as Ruby's inspect shows it; "?" for what is no value.
func Shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case string:
		return strconv.Quote(v)
	}
	data, err := Of(v)
	if err != nil {
		return "?"
	}
	return value.RubyShown(data)
}
