package inventory

import (
	"strings"

	"bolt/format/ordered"
	"bolt/transport"
)

// Hide returns data of package ordered with all strings in it as
// transport.Secret values, which are printed redacted. Keys of maps are not
// hidden.
func Hide(v any) any {
	return mapped(v, func(v any) any {
		if s, ok := v.(string); ok {
			return transport.NewSecret(s)
		}
		return v
	})
}

// Reveal returns data with all transport.Secret values replaced by their
// strings, for the code that uses them. It may return its argument.
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

// Secrets returns the secret texts in the facts and variables of a target, also without the blanks around them.
func (d *Data) Secrets() []string {
	return appendSecrets(appendSecrets(nil, d.Facts), d.Vars)
}

func appendSecrets(list []string, v any) []string {
	switch v := v.(type) {
	case transport.Secret:
		text := v.Reveal()
		list = append(list, text)
		if trimmed := strings.TrimSpace(text); trimmed != text {
			list = append(list, trimmed)
		}
	case *ordered.Map:
		for _, e := range v.All() {
			list = appendSecrets(list, e)
		}
	case []any:
		for _, e := range v {
			list = appendSecrets(list, e)
		}
	}
	return list
}

// hides reports whether data contains a transport.Secret value.
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

// mapped returns data with change applied to each value that is not a map or
// list.
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
