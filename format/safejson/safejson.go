// Package safejson writes data as JSON (RFC 8259) that is safe to show on a
// terminal; safetext.JSONString describes the escapes.
package safejson

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"bolt/format/ordered"
	"bolt/internal/safetext"
)

// Lazy is data that is made when it is written, so that a long list need not be
// in memory as a whole.
type Lazy interface {
	// Data returns the data to write.
	Data() (any, error)
}

// Write writes v as JSON on one line, without the end of the line. v has a type
// of an ordered.Map's value, or is an int, []string or Lazy.
func Write(w io.Writer, v any) error { return writeValue(w, v, nil) }

// WriteIndented writes v on many lines, two blanks a level. The braces of
// an empty map are on two lines, and the brackets of an empty list have an empty
// line between them. It is the layout of Ruby's JSON.pretty_generate (json 2.6).
func WriteIndented(w io.Writer, v any) error {
	level := 0
	return writeValue(w, v, &level)
}

// writeValue writes v. level is the depth of nesting, nil for one line.
func writeValue(w io.Writer, v any, level *int) error {
	b, ok := w.(*bufio.Writer)
	if !ok {
		b = bufio.NewWriter(w)
		if err := writeValue(b, v, level); err != nil {
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
					return writeValue(b, e, level)
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
				if err := each(func() error { return writeValue(b, e, level) }); err != nil {
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
		return writeValue(b, d, level)
	default: // a type with its own marshaller
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
		_, err = b.Write(text)
		return err
	}
}

// writeGroup writes the brackets of a list or map of n elements; elements calls
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
	j := safetext.NewJSONString(b)
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
	_, err := b.Write(ordered.AppendFloat(b.AvailableBuffer(), f))
	return err
}
