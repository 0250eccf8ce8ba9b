// Package ordered provides Map, a string-keyed map that keeps the order in which its
// keys were added, as Ruby's hashes and JSON documents do. Inventories, results and
// configuration are shown in the order in which they were written.
package ordered

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Map is an insertion-ordered map from string to any of: nil, bool, int64, float64,
// string, []any, *Map, and *big.Int for integers that do not fit int64. A *big.Int must
// not be changed. The zero value is empty and ready to use; a nil *Map may be read. It
// is not safe for concurrent writes.
type Map struct {
	pairs []pair
	index map[string]int // of pairs; nil if there are few
}

type pair struct {
	key   string
	value any
}

// few is the largest number of pairs of a Map without an index. Most maps are small, and
// comparing each key is then faster, and takes less memory, than a Go map.
const few = 8

// Of makes a Map from alternating keys and values. It panics on an odd number of
// arguments or a key that is not a string, which is a programming error.
func Of(pairs ...any) *Map {
	if len(pairs)%2 != 0 {
		panic("ordered.Of: odd number of arguments")
	}
	m := &Map{pairs: make([]pair, 0, len(pairs)/2)}
	for i := 0; i < len(pairs); i += 2 {
		m.Set(pairs[i].(string), pairs[i+1])
	}
	return m
}

// Len returns the number of keys.
func (m *Map) Len() int {
	if m == nil {
		return 0
	}
	return len(m.pairs)
}

// find returns the index of the pair with a key, or -1 if there is none.
func (m *Map) find(key string) int {
	if m.index != nil {
		if i, ok := m.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range m.pairs {
		if m.pairs[i].key == key {
			return i
		}
	}
	return -1
}

// Get returns the value of key and whether the key exists.
func (m *Map) Get(key string) (any, bool) {
	if m == nil {
		return nil, false
	}
	i := m.find(key)
	if i < 0 {
		return nil, false
	}
	return m.pairs[i].value, true
}

// Value returns the value of key, nil if there is none.
func (m *Map) Value(key string) any {
	v, _ := m.Get(key)
	return v
}

// Set sets the value of key. A new key is added at the end; an existing key keeps its
// position.
func (m *Map) Set(key string, value any) {
	if i := m.find(key); i >= 0 {
		m.pairs[i].value = value
		return
	}
	m.pairs = append(m.pairs, pair{key, value})
	switch {
	case m.index != nil:
		m.index[key] = len(m.pairs) - 1
	case len(m.pairs) > few:
		m.reindex()
	}
}

// Grow makes room for n more pairs.
func (m *Map) Grow(n int) { m.pairs = slices.Grow(m.pairs, n) }

// Delete removes key.
func (m *Map) Delete(key string) {
	if m == nil {
		return
	}
	i := m.find(key)
	if i < 0 {
		return
	}
	m.pairs = slices.Delete(m.pairs, i, i+1)
	if m.index != nil {
		m.reindex()
	}
}

// reindex makes the index.
func (m *Map) reindex() {
	m.index = nil
	if len(m.pairs) <= few {
		return
	}
	m.index = make(map[string]int, 2*len(m.pairs))
	for i := range m.pairs {
		m.index[m.pairs[i].key] = i
	}
}

// Keys returns the keys in order; the slice is the caller's.
func (m *Map) Keys() []string {
	if m == nil {
		return nil
	}
	if len(m.pairs) == 0 {
		return nil
	}
	keys := make([]string, len(m.pairs))
	for i := range m.pairs {
		keys[i] = m.pairs[i].key
	}
	return keys
}

// All iterates over the pairs in order. The map must not change meanwhile.
func (m *Map) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if m == nil {
			return
		}
		for i := range m.pairs {
			if p := &m.pairs[i]; !yield(p.key, p.value) {
				return
			}
		}
	}
}

// Clone copies the map and all maps and lists inside it.
func (m *Map) Clone() *Map {
	c := &Map{}
	for k, v := range m.All() {
		c.Set(k, CloneValue(v))
	}
	return c
}

// CloneValue copies v deeply where it is a *Map or []any.
func CloneValue(v any) any {
	switch v := v.(type) {
	case *Map:
		return v.Clone()
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = CloneValue(e)
		}
		return c
	}
	return v
}

// Format formats each value of a map with the value's own methods, under every verb.
// Otherwise fmt would print the fields of the map, without the methods of values that
// hide their content.
func (m *Map) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "{")
	first := true
	for k, v := range m.All() {
		if !first {
			_, _ = io.WriteString(f, ", ")
		}
		first = false
		fmt.Fprintf(f, "%s: %v", k, v)
	}
	_, _ = io.WriteString(f, "}")
}

// Merge returns m merged with over: maps inside are merged in the same way, everything
// else is replaced. Neither is changed; keys of m come first.
func (m *Map) Merge(over *Map) *Map {
	c := m.Clone()
	for k, v := range over.All() {
		if a, ok := c.Value(k).(*Map); ok {
			if b, ok := v.(*Map); ok {
				c.Set(k, a.Merge(b))
				continue
			}
		}
		c.Set(k, CloneValue(v))
	}
	return c
}

// MarshalJSON writes the keys in order, without escaping HTML characters. Floats are
// written as AppendFloat does, so that they are floats when they are read. A nil Map is
// written as an empty map, but as null inside other data.
func (m *Map) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("{}"), nil
	}
	return AppendJSON(nil, m)
}

// AppendJSON appends data as JSON, in the form of Map.MarshalJSON.
func AppendJSON(b []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case *Map:
		if v == nil {
			return append(b, "null"...), nil
		}
		b = append(b, '{')
		for i := range v.pairs {
			if i > 0 {
				b = append(b, ',')
			}
			p := &v.pairs[i]
			b = append(AppendString(b, p.key), ':')
			if b, err = AppendJSON(b, p.value); err != nil {
				return b, fmt.Errorf("key %q: %w", p.key, err)
			}
		}
		return append(b, '}'), nil
	case []any:
		if v == nil {
			break
		}
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = AppendJSON(b, e); err != nil {
				return b, err
			}
		}
		return append(b, ']'), nil
	case nil:
		return append(b, "null"...), nil
	case string:
		return AppendString(b, v), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			break // the encoder returns the error
		}
		return AppendFloat(b, v), nil
	}
	return encode(b, v)
}

// encode appends v as the encoder of encoding/json writes it.
func encode(b []byte, v any) ([]byte, error) {
	out := bytes.NewBuffer(b)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return b, err
	}
	b = out.Bytes()
	return b[:len(b)-1], nil // without the encoder's newline
}

// AppendString appends a string as JSON, as the encoder of encoding/json writes it
// without its escapes for HTML: bytes that are not UTF-8 become U+FFFD.
func AppendString(b []byte, s string) []byte {
	begin := len(b)
	b = append(b, '"')
	written := 0 // bytes of s
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[written:i]...)
		written = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b, _ = encode(b[:begin], s) // never fails for a string
			return b
		}
	}
	return append(append(b, s[written:]...), '"')
}

// AppendFloat appends a finite float as Ruby writes it in JSON, always with a
// point: 1.0, 1.0e+20.
func AppendFloat(b []byte, f float64) []byte {
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		format = 'e'
	}
	s := strconv.FormatFloat(f, format, -1, 64)
	mantissa, exponent, scientific := strings.Cut(s, "e")
	b = append(b, mantissa...)
	if !strings.Contains(mantissa, ".") {
		b = append(b, ".0"...)
	}
	if scientific {
		b = append(append(b, 'e'), exponent...)
	}
	return b
}

// UnmarshalJSON is ParseJSON for an object.
func (m *Map) UnmarshalJSON(data []byte) error {
	v, err := ParseJSON(data)
	if err != nil {
		return err
	}
	o, ok := v.(*Map)
	if !ok {
		return fmt.Errorf("expected a JSON object, got %T", v)
	}
	*m = *o
	return nil
}

// maxDepth limits the nesting of a document. Documents written by hand are not so deep,
// and each level costs stack.
const maxDepth = 1000

// maxDigits limits integers: a longer number costs too much to convert, and has no
// practical use.
const maxDigits = 4096

// Strings returns a list of strings as data.
func Strings(texts []string) []any {
	list := make([]any, len(texts))
	for i, s := range texts {
		list[i] = s
	}
	return list
}

// Optional returns a string as data, nil for "".
func Optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// ParseJSON reads one JSON document of any kind into the types that a Map holds. The
// order of keys is kept. No number is rounded to a number of another kind: an integer
// without an exponent stays an integer, and a number that exceeds a float64 is an error.
// Errors contain the line.
func ParseJSON(data []byte) (any, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	v, err := parse(d, maxDepth)
	if err == nil {
		if _, after := d.ReadToken(); after != io.EOF {
			err = errors.New("text after the JSON document")
		}
	}
	if err != nil {
		offset := d.InputOffset()
		if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			offset, err = syntax.ByteOffset, syntax.Err
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("line %d: %w", bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))+1, err)
	}
	return v, nil
}

func parse(d *jsontext.Decoder, depth int) (any, error) {
	if depth == 0 {
		return nil, fmt.Errorf("JSON document is nested more than %d levels deep", maxDepth)
	}
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case '[':
		list := []any{}
		for d.PeekKind() != ']' {
			v, err := parse(d, depth-1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.ReadToken()
		return list, err
	case '{':
		m := &Map{}
		for d.PeekKind() != '}' {
			k, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			name := k.String() // the token ends with the next one
			v, err := parse(d, depth-1)
			if err != nil {
				return nil, err
			}
			m.Set(name, v)
		}
		_, err := d.ReadToken()
		return m, err
	case '0':
		return number(t.String())
	case '"':
		return t.String(), nil
	case 't', 'f':
		return t.Bool(), nil
	}
	return nil, nil
}

func number(s string) (any, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, fmt.Errorf("%.80s is too large for a number", s)
		}
		return f, nil
	}
	n, ok := new(big.Int), false
	if len(s) <= maxDigits {
		n, ok = n.SetString(s, 10)
	}
	if !ok {
		return nil, fmt.Errorf("a number of %d digits is too long", len(s))
	}
	return n, nil
}
