// Package parameter reads the values that users write for parameters of tasks
// and plans with types of the Puppet language.
//
// Values are in the types of package ordered.
//
// Source: Puppet Bolt, lib/bolt/pal.rb (parse_params).
package parameter

import (
	"fmt"

	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/internal/safetext"
	"bolt/puppet/value"
)

// Read parses a string of the command line as JSON. If that fails or the type
// does not accept the value, Read returns the string itself. If t is nil, all
// values are accepted.
func Read(t value.Type, text string) any {
	v, err := ordered.ParseJSON([]byte(text))
	if err != nil || t != nil && !Accepts(t, v) {
		return text
	}
	return v
}

// Accepts reports whether a value has the type.
func Accepts(t value.Type, v any) bool {
	typed, err := valuedata.Of(v)
	return err == nil && value.Instance(t, typed)
}

// Choices returns the values of a type whose number is limited: an Enum,
// Boolean, or an Optional of these. For other types it returns nil.
func Choices(t value.Type) []string {
	switch t := t.(type) {
	case *value.EnumType:
		return t.Values
	case *value.BooleanType:
		return []string{"true", "false"}
	case *value.OptionalType:
		if t.Type != nil {
			return Choices(t.Type)
		}
	}
	return nil
}

// Mismatch describes a value of the command line that is not of the type of its parameter.
func Mismatch(name string, t value.Type, text any) string {
	return fmt.Sprintf("The type of %s is %s, and the value %s is not of this type.", name, value.TypeString(t), safetext.Message(fmt.Sprint(text)))
}
