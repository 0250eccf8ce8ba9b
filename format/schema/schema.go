// Package schema describes the permitted form of decoded configuration data,
// and checks data against such a description.
//
// A Schema is plain data: types, closed lists of values, limits, keys and
// elements. Check walks a value and collects every error instead of stopping at
// the first, and every warning (unknown and deprecated keys). The wording and
// the warnings' IDs are the same as in Puppet Bolt.
package schema

import (
	"strings"

	"bolt/format/fault"
)

// Type is a set of the types that a value may have.
type Type uint8

// The types. The zero set accepts every value.
const (
	String Type = 1 << iota
	Integer
	Float
	Boolean
	Hash
	Array
	Null
)

// Plugins selects whether a plugin reference (a map with the key "_plugin") may
// replace a value.
type Plugins uint8

const (
	// PluginsInherit is the rule of the value that contains this one. At the
	// top, it forbids references.
	PluginsInherit Plugins = iota
	// PluginsAllowed allows a reference. Its own keys are not checked.
	PluginsAllowed
	// PluginsForbidden makes a reference an error.
	PluginsForbidden
)

// Schema describes a value. The zero Schema accepts anything. Schemas may be
// shared and may contain themselves (a group has groups); Check reads only.
type Schema struct {
	Type Type

	// Enum lists the strings that are allowed.
	Enum []string

	// Min and Max limit an integer; nil is no limit.
	Min, Max *int64

	// Properties describes a map's keys. If Properties is set and neither
	// Additional nor Open is, other keys cause a warning. Without Properties a
	// map may have any keys.
	Properties map[string]*Schema
	Additional *Schema // describes the values of keys not in Properties
	Open       bool    // other keys are not checked
	Required   []string

	// Items describes each element of a list; Unique forbids equal elements.
	Items  *Schema
	Unique bool

	Plugins Plugins

	// Deprecated, if set, is the advice for users of this deprecated key: a
	// sentence.
	Deprecated string
}

// Limit is for Min and Max.
func Limit(n int64) *int64 { return &n }

// A warning is a message for the user that does not stop the work.
// disable-warnings names its ID.
type warning struct {
	ID, Text string
}

// check compares value with s. where names the source in messages, usually a
// file's path; "" if it has no name. Errors are lines without indentation and
// full stop; ValidationError joins them. Both lists are in the order of the
// data.
func check(value any, s *Schema, where string) (errs []string, warns []warning) {
	c := checker{where: where}
	c.value(value, s, false)
	return c.errs, c.warns
}

// Validate is Check with the errors joined to one (nil if there is none) and
// the warnings passed to warn, which may be nil.
func Validate(value any, s *Schema, where string, warn func(id, text string)) error {
	errs, warns := check(value, s, where)
	for _, w := range warns {
		if warn != nil {
			warn(w.ID, w.Text)
		}
	}
	if len(errs) > 0 {
		return ValidationError(where, errs)
	}
	return nil
}

// ValidationError makes one error (kind bolt/validation-error) that reports all
// of errs.
func ValidationError(where string, errs []string) *fault.Error {
	var b strings.Builder
	b.WriteString("Invalid configuration")
	if where != "" {
		b.WriteString(" at " + where)
	}
	b.WriteByte(':')
	for _, e := range errs {
		b.WriteString("\n  " + e)
	}
	return &fault.Error{Kind: "bolt/validation-error", Msg: b.String()}
}
