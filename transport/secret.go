package transport

import (
	"fmt"
	"log/slog"
)

// redacted is printed in place of a Secret.
const redacted = "[redacted]"

// Secret is a string that prints itself redacted under every verb and encoder.
// It is comparable, so that it can be part of a Dest.
type Secret struct{ text string }

// NewSecret wraps text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal returns the text. No other method does.
func (s Secret) Reveal() string { return s.text }

// IsSet reports whether there is any text.
func (s Secret) IsSet() bool { return s.text != "" }

func (s Secret) String() string {
	if s.text == "" {
		return ""
	}
	return redacted
}

// Format covers every verb, %#v and %x among them.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// GoString, LogValue and MarshalText cover the other ways to print a value.
func (s Secret) GoString() string             { return s.String() }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(s.String()) }
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
