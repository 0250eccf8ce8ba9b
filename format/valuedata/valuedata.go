// Package valuedata converts decoded data to values of the Puppet language and
// values to data. Data is what packages ordered and yaml decode and package
// safejson writes.
//
// Each direction is one total function: it converts every part or returns an
// *[Error] that names the part. The order of keys does not change. Data that JSON
// can hold is equal after it was converted to a value and back.
//
// [Of] makes values of data:
//
//   - nil, bool, int64, float64 and string become the values of these names.
//     Floats keep their kind and their sign: 1.0 and -0.0 stay floats.
//   - A *big.Int becomes a *value.BigInt, or an Int if it fits in 64 bits.
//   - []any becomes an Array; *ordered.Map and mappings of yaml.DecodeData become
//     a Hash, in which keys of YAML keep their types.
//   - []byte becomes a Binary. A symbol of YAML becomes its name.
//
// [To] makes data of values:
//
//   - Undef becomes nil. Booleans, numbers and strings stay what they are.
//   - NaN and the infinities are errors: JSON does not have them.
//   - Keys of hashes become strings, as Ruby's to_s writes them. Two keys with
//     the same string are an error.
//   - A Sensitive becomes the string value.Redacted. [Converter] can reveal it.
//   - An Iterator becomes the list of its elements.
//   - An object becomes what its type defines as its data (value.Native), and
//     otherwise a string.
//   - Default, Regexp, Timestamp, Timespan, SemVer, Binary (as base64), URI and
//     types become the strings that the language interpolates.
package valuedata

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"bolt/format/ordered"
	"bolt/puppet/value"
)

// maxDepth limits how deep data can be nested. Each level costs stack in the
// functions that walk values. Decoders stop much earlier.
const maxDepth = value.MaxDepth

// Of converts data to a value.
func Of(v any) (value.Value, error) {
	return WithSymbols(v, func(name string) value.Value { return value.String(name) })
}

// WithSymbols is [Of], except that symbol returns the value of a symbol of YAML.
func WithSymbols(v any, symbol func(name string) value.Value) (value.Value, error) {
	d, err := reader{symbol}.value(v, 0)
	if err != nil {
		return nil, err.closed()
	}
	return d, nil
}

// An Error names the part of data or of a value that cannot be converted.
type Error struct {
	Path    []any // the keys and indexes that lead to the part
	Problem string
}

// Error returns "outputs[3].id: problem".
func (e *Error) Error() string {
	const most = 10 // keys and indexes
	var b strings.Builder
	for i, p := range e.Path {
		if i == most {
			b.WriteString("…")
			break
		}
		switch p := p.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", p)
		case string:
			b.WriteString(keyText(p, i == 0))
		default:
			fmt.Fprintf(&b, "[%v]", p)
		}
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	return b.String() + e.Problem
}

// keyText returns a key as part of a path.
func keyText(key string, first bool) string {
	plain := key != "" && !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || strings.ContainsRune(`.[]"'`, r) })
	switch {
	case !plain:
		return "[" + strconv.Quote(key) + "]"
	case first:
		return key
	}
	return "." + key
}

// within adds the key or index of the part that contains e. The path is built
// from its end.
func (e *Error) within(key any) *Error {
	e.Path = append(e.Path, key)
	return e
}

// closed reverses the path into its final order.
func (e *Error) closed() *Error {
	slices.Reverse(e.Path)
	return e
}

func tooDeep() *Error {
	return &Error{Problem: fmt.Sprintf("the data is nested deeper than %d", maxDepth)}
}

// A reader converts data to values.
type reader struct {
	symbol func(name string) value.Value
}

func (r reader) value(v any, depth int) (value.Value, *Error) {
	if depth > maxDepth {
		return nil, tooDeep()
	}
	switch v := v.(type) {
	case *ordered.Map:
		return hashOf(r, v.All(), depth)
	case []any:
		return listOf(r, v, depth)
	case []string:
		return listOf(r, v, depth)
	case nil:
		return value.Undef{}, nil
	case bool:
		return value.Bool(v), nil
	case int:
		return value.Int(v), nil
	case int64:
		return value.Int(v), nil
	case float64:
		return value.Float(v), nil
	case *big.Int:
		return value.NewInteger(v), nil
	case string:
		return value.String(v), nil
	case []byte:
		return value.NewBinary(v), nil
	case interface{ SymbolName() string }:
		return r.symbol(v.SymbolName()), nil
	case interface{ All() iter.Seq2[any, any] }:
		return hashOf(r, v.All(), depth)
	}
	return nil, &Error{Problem: fmt.Sprintf("data of type %T", v)}
}

func listOf[E any](r reader, elems []E, depth int) (value.Value, *Error) {
	list := make([]value.Value, len(elems))
	for i, e := range elems {
		var err *Error
		if list[i], err = r.value(e, depth+1); err != nil {
			return nil, err.within(i)
		}
	}
	return value.NewArray(list...), nil
}

func hashOf[K any](r reader, pairs iter.Seq2[K, any], depth int) (value.Value, *Error) {
	var h value.HashBuilder
	for k, e := range pairs {
		key, err := r.value(k, depth+1)
		if err != nil {
			return nil, err.within(k)
		}
		v, err := r.value(e, depth+1)
		if err != nil {
			return nil, err.within(k)
		}
		h.Put(key, v)
	}
	return h.Build(), nil
}

// To converts a value to data.
func To(v value.Value) (any, error) { return Converter{}.To(v) }

// A Converter converts values to data. The zero Converter is [To].
type Converter struct {
	// Reveal converts the content of a Sensitive in place of value.Redacted.
	Reveal bool
	// Object converts objects. If ok is false, the object is converted as without
	// Object. If Object is nil, all objects are.
	Object func(o *value.Object) (data any, ok bool, err error)
}

// To converts a value to data.
func (c Converter) To(v value.Value) (any, error) {
	d, err := c.data(v, 0)
	if err != nil {
		return nil, err.closed()
	}
	return d, nil
}

// Map converts a hash to a map.
func (c Converter) Map(h *value.Hash) (*ordered.Map, error) {
	m, err := c.hash(h, 0)
	if err != nil {
		return nil, err.closed()
	}
	return m, nil
}

func (c Converter) data(v value.Value, depth int) (any, *Error) {
	if depth > maxDepth {
		return nil, tooDeep()
	}
	switch v := v.(type) {
	case nil, value.Undef:
		return nil, nil
	case value.Bool:
		return bool(v), nil
	case value.Int:
		return int64(v), nil
	case *value.BigInt:
		return v.Big(), nil
	case value.Float:
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, &Error{Problem: value.ToString(v) + " has no form in JSON"}
		}
		return float64(v), nil
	case value.String:
		return string(v), nil
	case *value.Array:
		return c.list(v.Elems(), depth)
	case *value.Hash:
		return c.hash(v, depth)
	case *value.Iterator:
		elems, _, err := value.Elements(v)
		if err != nil {
			return nil, problemOf(err)
		}
		return c.list(elems, depth)
	case *value.Sensitive:
		if c.Reveal {
			return c.data(v.Unwrap(), depth)
		}
		return value.Redacted, nil
	case *value.Object:
		return c.object(v, depth)
	}
	return text(v)
}

func (c Converter) list(elems []value.Value, depth int) (any, *Error) {
	list := make([]any, len(elems))
	for i, e := range elems {
		var err *Error
		if list[i], err = c.data(e, depth+1); err != nil {
			return nil, err.within(i)
		}
	}
	return list, nil
}

func (c Converter) hash(h *value.Hash, depth int) (*ordered.Map, *Error) {
	m := &ordered.Map{}
	for k, e := range h.All() {
		key, err := text(k)
		if err != nil {
			return nil, err
		}
		if _, twice := m.Get(key); twice {
			return nil, &Error{Problem: fmt.Sprintf("two keys have the same string %q", key)}
		}
		v, err := c.data(e, depth+1)
		if err != nil {
			return nil, err.within(key)
		}
		m.Set(key, v)
	}
	return m, nil
}

func (c Converter) object(o *value.Object, depth int) (any, *Error) {
	if c.Object != nil {
		if d, ok, err := c.Object(o); err != nil {
			return nil, problemOf(err)
		} else if ok {
			return d, nil
		}
	}
	v, ok, err := o.Data()
	switch {
	case err != nil:
		return nil, problemOf(err)
	case ok:
		return c.data(v, depth+1)
	}
	return text(o)
}

// problemOf returns an error of a part, with the path in the part.
func problemOf(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		path := slices.Clone(e.Path)
		slices.Reverse(path)
		return &Error{path, e.Problem}
	}
	return &Error{Problem: err.Error()}
}

// text returns a value as Ruby's to_s writes it.
func text(v value.Value) (string, *Error) {
	s, err := value.RubyText(v, nil)
	if err != nil {
		return "", problemOf(err)
	}
	return s, nil
}

// Shown returns data as Ruby's inspect shows it, "?" if it is not data.
func Shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case string:
		return strconv.Quote(v)
	}
	data, err := Of(v)
	if err != nil {
		return "?"
	}
	return value.RubyShown(data)
}
