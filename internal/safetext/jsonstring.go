package safetext

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// JSONString is a filter for the inside of a JSON string, without its quotes. It
// escapes the characters of RFC 8259, section 7, and the characters that Terminal
// removes, because people also read JSON on terminals.
type JSONString struct {
	u UTF8
}

// NewJSONString returns a filter that writes to w.
func NewJSONString(w io.Writer) *JSONString { return &JSONString{UTF8{w: escaper{w}}} }

// Write filters p.
func (j *JSONString) Write(p []byte) (int, error) { return j.u.Write(p) }

// Flush writes the bytes that were held back.
func (j *JSONString) Flush() error { return j.u.Flush() }

// escaper escapes valid UTF-8.
type escaper struct{ w io.Writer }

func (e escaper) Write(p []byte) (int, error) {
	start := 0
	for i := 0; i < len(p); {
		if !mayEscape[p[i]] {
			i++
			continue
		}
		text, size := escape(p[i:])
		if text == "" {
			i += size
			continue
		}
		if i > start {
			if _, err := e.w.Write(p[start:i]); err != nil {
				return 0, err
			}
		}
		if _, err := io.WriteString(e.w, text); err != nil {
			return 0, err
		}
		i += size
		start = i
	}
	if start < len(p) {
		if _, err := e.w.Write(p[start:]); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// mayEscape contains the first byte of each character that is escaped. C2 begins the C1
// control characters; D8 and E2 begin the characters of isDeceptive.
var mayEscape = func() (first [256]bool) {
	for c := range first {
		first[c] = c < ' ' || c == '"' || c == '\\' || c == 0x7f || c == 0xc2 || c == 0xd8 || c == 0xe2
	}
	return first
}()

// escape returns the escape of the first character of p, and the character's size; ""
// if the character is not escaped.
func escape(p []byte) (text string, size int) {
	if p[0] < utf8.RuneSelf {
		return escapeASCII(p[0]), 1
	}
	r, size := utf8.DecodeRune(p)
	if r <= 0x9f || isDeceptive(r) {
		return fmt.Sprintf(`\u%04x`, r), size
	}
	return "", size
}

// escapeASCII returns the escape of c, a quote, a backslash or a control character.
func escapeASCII(c byte) string {
	switch c {
	case '"':
		return `\"`
	case '\\':
		return `\\`
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	return fmt.Sprintf(`\u%04x`, c)
}
