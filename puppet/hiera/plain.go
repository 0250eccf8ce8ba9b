package hiera

import (
	"fmt"
	"iter"
	"sort"
	"strings"

	"bolt/puppet/value"
)

// maxDepth is how deep data may be nested. Nobody writes files so deep, and
// what walks values needs stack for each level.
const maxDepth = 1000

// fromPlain turns what a Decoder gives into a value.
func fromPlain(v any) (value.Value, error) { return convert(v, 0) }

func convert(v any, depth int) (value.Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the data is nested deeper than %d", maxDepth)
	}
	switch v := v.(type) {
	case nil:
		return value.Undef{}, nil
	case string:
		return value.String(v), nil
	case bool:
		return value.Bool(v), nil
	case int64:
		return value.Int(v), nil
	case int:
		return value.Int(v), nil
	case float64:
		return value.Float(v), nil
	case []byte:
		return value.NewBinary(v), nil
	case interface{ SymbolName() string }:
		switch name := v.SymbolName(); name {
		case "default":
			return value.Default{}, nil
		case "undef":
			return value.Undef{}, nil
		default: // an error if it is looked up
			return &value.Runtime{Runtime: "ruby", Name: "Symbol", Value: name}, nil
		}
	case []any:
		elems := make([]value.Value, len(v))
		for i, e := range v {
			c, err := convert(e, depth+1)
			if err != nil {
				return nil, err
			}
			elems[i] = c
		}
		return value.NewArray(elems...), nil
	case interface{ All() iter.Seq2[string, any] }:
		var b value.HashBuilder
		for k, e := range v.All() {
			c, err := convert(e, depth+1)
			if err != nil {
				return nil, err
			}
			b.Put(value.String(k), c)
		}
		return b.Build(), nil
	case interface{ All() iter.Seq2[any, any] }:
		var b value.HashBuilder
		for k, e := range v.All() {
			key, err := convert(k, depth+1)
			if err != nil {
				return nil, err
			}
			c, err := convert(e, depth+1)
			if err != nil {
				return nil, err
			}
			b.Put(key, c)
		}
		return b.Build(), nil
	case map[string]any: // from decoders that keep no order: any will do
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		var b value.HashBuilder
		for _, k := range keys {
			c, err := convert(v[k], depth+1)
			if err != nil {
				return nil, err
			}
			b.Put(value.String(k), c)
		}
		return b.Build(), nil
	}
	return nil, fmt.Errorf("a value of type %T cannot be data", v)
}

// isRichData tells whether v is what lookups may return: data, and values of
// the richer kinds in it. Keys of hashes are strings and numbers.
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
			case value.String, value.Int, value.Float:
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

// isData tells whether v is plain data: the type Data.
func isData(v value.Value) bool {
	switch v := v.(type) {
	case value.Undef, value.String, value.Int, value.Float, value.Bool:
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

// isScalar tells whether v is of the type Scalar.
func isScalar(v value.Value) bool {
	switch v.(type) {
	case value.String, value.Int, value.Float, value.Bool, *value.Regexp, *value.SemVer, *value.SemVerRange, value.Timespan, value.Timestamp:
		return true
	}
	return false
}

// interpolates tells whether v has something to interpolate.
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
