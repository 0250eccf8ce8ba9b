package value

import (
	"fmt"
	"io"
)

// Redacted is what is shown instead of a value that is sensitive.
const Redacted = "Sensitive [value redacted]"

// A Sensitive hides a value: whatever prints or encodes it shows [Redacted].
// Only Unwrap reveals it.
type Sensitive struct {
	v Value
}

// NewSensitive returns v, hidden.
func NewSensitive(v Value) *Sensitive { return &Sensitive{v} }

func (*Sensitive) value() {}

// Unwrap returns what is hidden.
func (s *Sensitive) Unwrap() Value { return s.v }

// String returns [Redacted].
func (*Sensitive) String() string { return Redacted }

// GoString returns [Redacted].
func (*Sensitive) GoString() string { return Redacted }

// Format writes [Redacted], whatever the verb.
func (*Sensitive) Format(f fmt.State, _ rune) { io.WriteString(f, Redacted) }

// MarshalText returns [Redacted].
func (*Sensitive) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// MarshalJSON returns [Redacted] as a string.
func (*Sensitive) MarshalJSON() ([]byte, error) { return []byte(`"` + Redacted + `"`), nil }

// MarshalBinary returns [Redacted], which is what package gob then encodes.
func (*Sensitive) MarshalBinary() ([]byte, error) { return []byte(Redacted), nil }
