package value

import (
	"fmt"
	"unicode/utf8"
)

// A Kind is the kind of a [ConversionError].
type Kind uint8

const (
	// KindArguments: the number or types of the arguments do not fit the type.
	KindArguments Kind = iota
	// KindValue: the value cannot be converted.
	KindValue
	// KindFormat: the format is invalid, or invalid for such a value.
	KindFormat
	// KindMismatch: the value was made but is not an instance of the type.
	KindMismatch
	// KindUnsupported: values of the type cannot be made.
	KindUnsupported
	// KindRange: the result is a number or a time that is out of range.
	KindRange
	// KindLimit: the result, or the work for it, would be too large.
	KindLimit
	// KindInfinite: the result of an operator is infinite.
	KindInfinite
)

// String returns the kind as one word.
func (k Kind) String() string {
	return [...]string{"arguments", "value", "format", "mismatch", "unsupported", "range", "limit", "infinite"}[k]
}

// A ConversionError is the error of making, formatting or encoding a value.
type ConversionError struct {
	Kind Kind
	Msg  string
}

// Error returns the message.
func (e *ConversionError) Error() string { return e.Msg }

func convErr(k Kind, format string, args ...any) *ConversionError {
	return &ConversionError{k, fmt.Sprintf(format, args...)}
}

// clip shortens a string of the user for a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// checkSize returns an error for values that exceed [MaxDepth] or [MaxNodes].
func checkSize(v Value) error {
	switch depth, nodes := Measure(v); {
	case depth > MaxDepth:
		return convErr(KindLimit, "arrays and hashes stand more than %d deep in each other", MaxDepth)
	case nodes > MaxNodes:
		return convErr(KindLimit, "arrays and hashes hold more than %d values", MaxNodes)
	}
	return nil
}

// article describes the kind of a value, such as "an Integer".
func article(v Value) string {
	name := valueKind(v)
	switch name[0] {
	case 'A', 'E', 'I', 'O':
		return "an " + name
	case 'U':
		if name == "Undef" {
			return name
		}
	case 'D':
		return name
	}
	return "a " + name
}

func valueKind(v Value) string {
	switch v := v.(type) {
	case Undef:
		return "Undef"
	case Default:
		return "Default"
	case Bool:
		return "Boolean"
	case Int, *BigInt:
		return "Integer"
	case Float:
		return "Float"
	case String:
		return "String"
	case Timespan:
		return "Timespan"
	case Timestamp:
		return "Timestamp"
	case *SemVer:
		return "SemVer"
	case *SemVerRange:
		return "SemVerRange"
	case *Sensitive:
		return "Sensitive"
	case *Binary:
		return "Binary"
	case *Regexp:
		return "Regexp"
	case *URI:
		return "URI"
	case *Array:
		return "Array"
	case *Hash:
		return "Hash"
	case *Iterator:
		return "Iterator"
	case *Object:
		if name := v.Type().Name(); name != "" {
			return name
		}
		return "Object"
	case Type:
		return "Type"
	}
	return "Runtime"
}
