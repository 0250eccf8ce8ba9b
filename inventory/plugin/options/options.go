// Package options reads the options of a plugin: the keys of a reference, or of
// the plugin's configuration.
//
// A Reader keeps the first error, so that a plugin can read all of its options
// and then check Err once. The keys that were read are the known keys: Err
// returns an error for any other key.
package options

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/spelling"
	"bolt/transport"
)

// A Reader reads the options of one plugin.
type Reader struct {
	plugin string
	from   []*ordered.Map // the first map that has a key overrides the others
	asked  []string
	err    error
}

// New returns a Reader of a reference of the plugin. The plugin's configuration
// supplies the options that the reference does not set.
func New(plugin string, ref, config *ordered.Map) *Reader {
	return &Reader{plugin: plugin, from: []*ordered.Map{ref, config}}
}

// Wrong records an error of kind bolt/validation-error.
func (r *Reader) Wrong(format string, args ...any) {
	if r.err == nil {
		r.err = fault.New("bolt/validation-error", "The plugin %s %s", r.plugin, fmt.Sprintf(format, args...))
	}
}

// Value reads an option of any type; nil if it is not set.
func (r *Reader) Value(key string) any {
	r.asked = append(r.asked, key)
	for _, m := range r.from {
		if v := m.Value(key); v != nil {
			return v
		}
	}
	return nil
}

// Text reads a string; "" if it is not set.
func (r *Reader) Text(key string) string {
	switch v := r.Value(key).(type) {
	case nil:
	case string:
		return v
	case transport.Secret:
		return v.Reveal()
	default:
		r.Wrong("requires that '%s' is a String", key)
	}
	return ""
}

// Required reads a string that must be set and must not be empty.
func (r *Reader) Required(key string) string {
	s := r.Text(key)
	if s == "" {
		r.Wrong("requires a '%s'", key)
	}
	return s
}

// Secret reads a secret string.
func (r *Reader) Secret(key string) transport.Secret { return transport.NewSecret(r.Text(key)) }

// Number reads an integer that must be at least least.
func (r *Reader) Number(key string, otherwise, least int64) int64 {
	switch v := r.Value(key).(type) {
	case nil:
		return otherwise
	case int64:
		if v >= least {
			return v
		}
	}
	r.Wrong("requires that '%s' is an Integer of at least %d", key, least)
	return otherwise
}

// maxSeconds limits durations; no caller waits longer.
const maxSeconds = 1_000_000

// Seconds reads a duration as a number of seconds, at least 1.
func (r *Reader) Seconds(key string, otherwise time.Duration) time.Duration {
	return time.Duration(min(r.Number(key, int64(otherwise/time.Second), 1), maxSeconds)) * time.Second
}

// Texts reads a list of strings. A single string is a list of one.
func (r *Reader) Texts(key string) []string {
	switch v := r.Value(key).(type) {
	case nil:
		return nil
	case string:
		return []string{v}
	case []any:
		texts := make([]string, 0, len(v))
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				r.Wrong("requires that '%s' is an Array of Strings", key)
				return nil
			}
			texts = append(texts, s)
		}
		return texts
	}
	r.Wrong("requires that '%s' is a String or an Array of them", key)
	return nil
}

// Map reads a map; nil if it is not set.
func (r *Reader) Map(key string) *ordered.Map {
	switch v := r.Value(key).(type) {
	case nil:
	case *ordered.Map:
		return v
	default:
		r.Wrong("requires that '%s' is a Hash", key)
	}
	return nil
}

// Err returns the first error, nil if there is none. Call it after all options
// have been read. Keys that begin with "_" are not checked.
func (r *Reader) Err() error {
	if r.err != nil {
		return r.err
	}
	for _, m := range r.from {
		for key := range m.All() {
			if strings.HasPrefix(key, "_") || slices.Contains(r.asked, key) {
				continue
			}
			e := fault.New("bolt/validation-error", "The plugin %s has no option '%s'", r.plugin, key)
			if near := spelling.Near(key, r.asked); near != "" {
				e.Hint = "Did you mean '" + near + "'?"
			} else {
				e.Hint = "Its options are " + spelling.Or(r.asked) + "."
			}
			return e
		}
	}
	return nil
}
