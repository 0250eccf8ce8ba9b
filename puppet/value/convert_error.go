package value

import (
	"fmt"
	"unicode/utf8"
)

// A Kind says what sort of error a [ConversionError] is.
type Kind uint8

const (
	// KindArguments: number or types of the arguments fit none of the ways to make such a value.
	KindArguments Kind = iota
	// KindValue: the value cannot be converted.
	KindValue
	// KindFormat: the format is not one, or not one for such a value.
	KindFormat
	// KindMismatch: the value was made but is not of the type.
	KindMismatch
	// KindUnsupported: no values of the type can be made.
	KindUnsupported
	// KindRange: the result is a number or time too large to be one.
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

// A ConversionError tells why a value could not be made, formatted or encoded.
type ConversionError struct {
	Kind Kind
	Msg  string
}

// Error returns the message.
func (e *ConversionError) Error() string { return e.Msg }

func convErr(k Kind, format string, args ...any) *ConversionError {
	return &ConversionError{k, fmt.Sprintf(format, args...)}
}

// clip shortens a text of the user's for a message.
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

// checkSize returns an error for values that are beyond [MaxDepth] or
// [MaxNodes].
func checkSize(v Value) error {
	switch depth, nodes := Measure(v); {
	case depth > MaxDepth:
		return convErr(KindLimit, "arrays and hashes stand more than %d deep in each other", MaxDepth)
	case nodes > MaxNodes:
		return convErr(KindLimit, "arrays and hashes hold more than %d values", MaxNodes)
	}
	return nil
}

// article names the kind of a value: "an Integer".
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
