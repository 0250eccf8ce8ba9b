package catalog

import (
	"encoding/base64"
	"fmt"

	"bolt/format/ordered"
)

// Plain returns a parameter's value in the form for applying it: without Sensitive around it or in it, and
// with other rich data as strings. Binary data becomes a string with these bytes. It returns an error for a
// Deferred, which only a Puppet agent can compute, and for a Binary that is not base64.
func Plain(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, x := range v {
			var err error
			if list[i], err = Plain(x); err != nil {
				return nil, err
			}
		}
		return list, nil
	case *ordered.Map:
		if name, rich := v.Value(richType).(string); rich {
			return plainRich(name, v)
		}
		m := &ordered.Map{}
		for k, x := range v.All() {
			p, err := Plain(x)
			if err != nil {
				return nil, err
			}
			m.Set(k, p)
		}
		return m, nil
	}
	return v, nil
}

func plainRich(name string, v *ordered.Map) (any, error) {
	inner := v.Value("__pvalue")
	switch name {
	case "Default":
		return "default", nil
	case "Hash": // a hash with keys that are not strings
		pairs, _ := inner.([]any)
		m := &ordered.Map{}
		for i := 0; i+1 < len(pairs); i += 2 {
			k, err := Plain(pairs[i])
			if err != nil {
				return nil, err
			}
			x, err := Plain(pairs[i+1])
			if err != nil {
				return nil, err
			}
			m.Set(fmt.Sprint(k), x)
		}
		return m, nil
	case "Deferred":
		return nil, fmt.Errorf("has a Deferred value, which only a Puppet agent can compute")
	case "Binary":
		text, _ := inner.(string)
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("has a Binary value that is not base64")
		}
		return string(data), nil
	}
	return Plain(inner)
}
