package safetext

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"bolt/format/ordered"
)

// JSONString is a filter for the inside of a JSON string, without its quotes:
// it escapes what RFC 8259 section 7 says must be, and what a terminal must not
// get (Terminal), because people look at JSON, too.
type JSONString struct {
	u UTF8
}

// NewJSONString returns a filter that writes to w.
func NewJSONString(w io.Writer) *JSONString { return &JSONString{UTF8{w: escaper{w}}} }

// Write filters p.
func (j *JSONString) Write(p []byte) (int, error) { return j.u.Write(p) }

// Flush writes what was held back.
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
// control characters; D8 and E2 begin the characters of IsDeceptive.
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
	if r <= 0x9f || IsDeceptive(r) {
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

// Lazy is data that is made when it is written, so that all of a long list need
// not be there at once.
type Lazy interface {
	// Data is what is written in its place.
	Data() (any, error)
}

// WriteJSON writes v, of the types that an ordered.Map holds (and int, []string
// and Lazy), as JSON on one line without its end.
func WriteJSON(w io.Writer, v any) error { return writeJSON(w, v, nil) }

// WriteIndentedJSON writes v on many lines, two blanks a level. The braces of
// an empty map are on two lines, and the brackets of an empty list have an empty
// line between them. It is the layout of Ruby's JSON.pretty_generate (json 2.6).
func WriteIndentedJSON(w io.Writer, v any) error {
	level := 0
	return writeJSON(w, v, &level)
}

// writeJSON writes v; level is how deep it stands, nil for one line.
func writeJSON(w io.Writer, v any, level *int) error {
	b, ok := w.(*bufio.Writer)
	if !ok {
		b = bufio.NewWriter(w)
		if err := writeJSON(b, v, level); err != nil {
			return err
		}
		return b.Flush()
	}
	switch v := v.(type) {
	case *ordered.Map:
		return writeGroup(b, '{', '}', v.Len(), level, func(each func(func() error) error) error {
			for k, e := range v.All() {
				err := each(func() error {
					if err := writeString(b, k); err != nil {
						return err
					}
					colon := ":"
					if level != nil {
						colon = ": "
					}
					if _, err := b.WriteString(colon); err != nil {
						return err
					}
					return writeJSON(b, e, level)
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	case []any:
		return writeGroup(b, '[', ']', len(v), level, func(each func(func() error) error) error {
			for _, e := range v {
				if err := each(func() error { return writeJSON(b, e, level) }); err != nil {
					return err
				}
			}
			return nil
		})
	case []string:
		return writeGroup(b, '[', ']', len(v), level, func(each func(func() error) error) error {
			for _, e := range v {
				if err := each(func() error { return writeString(b, e) }); err != nil {
					return err
				}
			}
			return nil
		})
	case string:
		return writeString(b, v)
	case nil:
		return put(b, "null")
	case bool:
		return put(b, strconv.FormatBool(v))
	case int:
		return put(b, strconv.Itoa(v))
	case int64:
		return put(b, strconv.FormatInt(v, 10))
	case float64:
		return writeFloat(b, v)
	case Lazy:
		d, err := v.Data()
		if err != nil {
			return err
		}
		return writeJSON(b, d, level)
	default: // a type with a marshaller of its own
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
		_, err = b.Write(text)
		return err
	}
}

// writeGroup writes the frame of a list or map of n elements; elements calls
// back for each.
func writeGroup(b *bufio.Writer, begin, end byte, n int, level *int, elements func(each func(func() error) error) error) error {
	if err := b.WriteByte(begin); err != nil {
		return err
	}
	switch {
	case n == 0 && level != nil && begin == '[':
		return put(b, "\n\n"+strings.Repeat("  ", *level)+"]")
	case n == 0 && level != nil:
		return put(b, "\n"+strings.Repeat("  ", *level)+"}")
	case n == 0:
		return b.WriteByte(end)
	}
	if level != nil {
		*level++
	}
	first := true
	err := elements(func(write func() error) error {
		if !first {
			if err := b.WriteByte(','); err != nil {
				return err
			}
		}
		first = false
		if err := newline(b, level); err != nil {
			return err
		}
		return write()
	})
	if err != nil {
		return err
	}
	if level != nil {
		*level--
	}
	if err := newline(b, level); err != nil {
		return err
	}
	return b.WriteByte(end)
}

func newline(b *bufio.Writer, level *int) error {
	if level == nil {
		return nil
	}
	return put(b, "\n"+strings.Repeat("  ", *level))
}

func put(b *bufio.Writer, s string) error {
	_, err := b.WriteString(s)
	return err
}

func writeString(b *bufio.Writer, s string) error {
	if err := b.WriteByte('"'); err != nil {
		return err
	}
	j := NewJSONString(b)
	if _, err := io.WriteString(j, s); err != nil {
		return err
	}
	if err := j.Flush(); err != nil {
		return err
	}
	return b.WriteByte('"')
}

// writeFloat writes f as Ruby does: always with a point or an exponent.
func writeFloat(b *bufio.Writer, f float64) error {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return fmt.Errorf("write JSON: %v has no form there", f)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		format = 'e'
	}
	s := strconv.FormatFloat(f, format, -1, 64)
	if mantissa, exponent, _ := strings.Cut(s, "e"); !strings.Contains(mantissa, ".") {
		s = mantissa + ".0"
		if exponent != "" {
			s += "e" + exponent
		}
	}
	return put(b, s)
}
