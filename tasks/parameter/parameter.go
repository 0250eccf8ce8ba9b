// Package parameter reads what people write for parameters of tasks and plans
// that have types of the Puppet language.
//
// Values are in the types of package ordered.
//
// Source: Puppet Bolt, lib/bolt/pal.rb (parse_params).
package parameter

import (
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/puppet/value"
)

// Read makes a value of a text on the command line: what the text is as JSON,
// if the type takes that, or else the text. Without a type all is taken.
func Read(t value.Type, text string) any {
	v, err := ordered.ParseJSON([]byte(text))
	if err != nil || t != nil && !Accepts(t, v) {
		return text
	}
	return v
}

// Accepts reports whether a value is of the type.
func Accepts(t value.Type, v any) bool {
	typed, err := valuedata.Of(v)
	return err == nil && value.Instance(t, typed)
}

// Choices are the values of a type that has only some: an Enum, Boolean, or one
// of these that is optional. nil: any other.
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
