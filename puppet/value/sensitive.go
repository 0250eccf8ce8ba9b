package value

import (
	"fmt"
	"io"
)

// Redacted is printed instead of a sensitive value.
const Redacted = "Sensitive [value redacted]"

// A Sensitive hides a value. Code that prints or encodes it gets [Redacted].
// Only Unwrap reveals the value.
type Sensitive struct {
	v Value
}

// NewSensitive returns a Sensitive that hides v.
func NewSensitive(v Value) *Sensitive { return &Sensitive{v} }

func (*Sensitive) value() {}

// Unwrap returns the hidden value.
func (s *Sensitive) Unwrap() Value { return s.v }

// String returns [Redacted].
func (*Sensitive) String() string { return Redacted }

// GoString returns [Redacted].
func (*Sensitive) GoString() string { return Redacted }

// Format writes [Redacted] for all verbs.
func (*Sensitive) Format(f fmt.State, _ rune) { io.WriteString(f, Redacted) }

// MarshalText returns [Redacted].
func (*Sensitive) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// MarshalJSON returns [Redacted] as a string.
func (*Sensitive) MarshalJSON() ([]byte, error) { return []byte(`"` + Redacted + `"`), nil }

// MarshalBinary returns [Redacted], so that package gob encodes it.
func (*Sensitive) MarshalBinary() ([]byte, error) { return []byte(Redacted), nil }
