// Package valuedata makes values of the Puppet language of decoded files, with
// the order of their keys kept.
package valuedata

import (
	"fmt"

	"bolt/internal/ordered"
	"bolt/puppet/value"
)

// Of returns decoded data as a value: what package yaml and ordered.ParseJSON
// return (nil, bool, int64, float64, string, []any, *ordered.Map). The error
// is about a type that is none of these.
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
	}
	return nil, fmt.Errorf("data of type %T", v)
}
