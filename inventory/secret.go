package inventory

import (
	"bolt/format/ordered"
	"bolt/transport"
)

// Hide returns data of package ordered with all texts in it as transport.Secret
// values, which show themselves redacted. Keys of maps stay as they are.
func Hide(v any) any {
	return mapped(v, func(v any) any {
		if s, ok := v.(string); ok {
			return transport.NewSecret(s)
		}
		return v
	})
}

// Reveal returns data with all that is secret in it in clear, for where it is
// used. It may return its argument.
func Reveal(v any) any {
	if !hides(v) {
		return v
	}
	return mapped(v, func(v any) any {
		if s, ok := v.(transport.Secret); ok {
			return s.Reveal()
		}
		return v
	})
}

// RevealMap is Reveal for a map, which may be nil.
func RevealMap(m *ordered.Map) *ordered.Map {
	if m == nil {
		return nil
	}
	return Reveal(m).(*ordered.Map)
}

// hides reports whether there is something secret in data.
func hides(v any) bool {
	switch v := v.(type) {
	case transport.Secret:
		return true
	case *ordered.Map:
		for _, e := range v.All() {
			if hides(e) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if hides(e) {
				return true
			}
		}
	}
	return false
}

// mapped returns data with each value in it that is no map or list as change
// makes it.
func mapped(v any, change func(any) any) any {
	switch v := v.(type) {
	case *ordered.Map:
		m := &ordered.Map{}
		for k, e := range v.All() {
			m.Set(k, mapped(e, change))
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = mapped(e, change)
		}
		return list
	}
	return change(v)
}
