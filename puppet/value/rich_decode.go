package value

import (
	"bolt/puppet/timeformat"
	"math"
	"strconv"
	"strings"
)

// UnmarshalRich is the inverse of [MarshalRich]. Hashes with the key __ptype
// represent other values. The names of types are those of the language. The
// error is a *[ConversionError] or a *[TypeError].
func UnmarshalRich(b []byte) (Value, error) {
	data, err := FromJSON(b)
	if err != nil {
		return nil, err
	}
	if err := checkSize(data); err != nil {
		return nil, err
	}
	d := richReader{root: data}
	return d.value(data, 0)
}

// A richReader converts data to values.
type richReader struct {
	root Value
	// refs holds the targets of references. A target is nil while it is being
	// made.
	refs map[Value]Value
}

func badRich(format string, args ...any) error {
	return convErr(KindValue, "rich data: "+format, args...)
}

func (d *richReader) value(v Value, depth int) (Value, error) {
	if depth > MaxDepth {
		return nil, convErr(KindLimit, "rich data stand more than %d deep in each other", MaxDepth)
	}
	switch v := v.(type) {
	case *Array:
		elems := make([]Value, v.Len())
		for i, e := range v.All() {
			var err error
			if elems[i], err = d.value(e, depth+1); err != nil {
				return nil, err
			}
		}
		return NewArray(elems...), nil
	case *Hash:
		t, ok := v.GetString(richType)
		if !ok {
			return d.hash(v, depth)
		}
		switch t := t.(type) {
		case String:
			return d.typed(string(t), v, depth)
		case *Hash:
			made, err := d.value(t, depth+1)
			if err != nil {
				return nil, err
			}
			if typ, ok := made.(Type); ok {
				return d.instance(typ, v, depth)
			}
			return nil, badRich("%s is not a type", article(made))
		}
		return d.hash(v, depth)
	}
	return v, nil
}

// hash converts a hash that represents a hash or a float.
func (d *richReader) hash(h *Hash, depth int) (Value, error) {
	if h.Len() == 1 {
		if f, ok := h.GetString(richFloat); ok {
			if s, ok := f.(String); ok {
				switch s {
				case "NaN":
					return Float(math.NaN()), nil
				case "Infinity":
					return Float(math.Inf(1)), nil
				case "-Infinity":
					return Float(math.Inf(-1)), nil
				}
			}
		}
	}
	var b HashBuilder
	for k, v := range h.All() {
		made, err := d.value(v, depth+1)
		if err != nil {
			return nil, err
		}
		b.Put(k, made)
	}
	return b.Build(), nil
}

// typed converts a hash that represents a value of a type.
func (d *richReader) typed(name string, h *Hash, depth int) (Value, error) {
	of, hasValue := h.GetString(richValue)
	switch name {
	case "Hash":
		if list, ok := of.(*Array); ok && list.Len()%2 == 0 {
			return d.pairs(list, depth)
		}
		return nil, badRich("a Hash needs a list of keys and values")
	case "Sensitive":
		if !hasValue {
			return nil, badRich("a Sensitive needs a value")
		}
		v, err := d.value(of, depth+1)
		if err != nil {
			return nil, err
		}
		return NewSensitive(v), nil
	case "Default":
		return Default{}, nil
	case "Symbol":
		if s, ok := of.(String); ok {
			if s == "default" {
				return Default{}, nil
			}
			return s, nil
		}
		return nil, badRich("a Symbol needs a text")
	case "LocalRef":
		if s, ok := of.(String); ok {
			return d.reference(string(s), depth)
		}
		return nil, badRich("a reference needs a path")
	}
	if s, ok := of.(String); ok {
		if v, ok, err := fromText(name, string(s)); ok {
			return v, err
		}
	}
	if short, ok := strings.CutPrefix(name, "Pcore::"); ok {
		return d.typ(strings.TrimSuffix(short, "Type"), h, depth)
	}
	t, ok := typeNamed(name)
	if !ok {
		return nil, badRich("the type %s does not exist", clip(name))
	}
	return d.instance(t, h, depth)
}

// typeNamed finds a type of the language by its name in rich data.
func typeNamed(name string) (Type, bool) {
	switch name {
	case "Error":
		return ErrorType(), true
	case "Deferred":
		return DeferredType(), true
	}
	return Builtin(name)
}

// fromText converts a value that is represented by a string.
func fromText(name, s string) (v Value, ok bool, err error) {
	switch name {
	case "Binary":
		v, err = toValue(parseBase64(s))
	case "Regexp":
		v, err = toValue(NewRegexp(s))
	case "SemVer":
		v, err = toValue(ParseSemVer(s))
	case "SemVerRange":
		v, err = toValue(parseSemVerRange(s))
	case "Timespan":
		v, err = toValue(parseTimespan(s, timeformat.SpanFormats()...))
	case "Timestamp":
		v, err = toValue(ParseTimestamp(s, nil, ""))
	case "URI":
		v, err = toValue(ParseURI(s))
	default:
		return nil, false, nil
	}
	return v, true, err
}

func (d *richReader) pairs(list *Array, depth int) (Value, error) {
	var b HashBuilder
	for i := 0; i < list.Len(); i += 2 {
		k, err := d.value(list.At(i), depth+1)
		if err != nil {
			return nil, err
		}
		v, err := d.value(list.At(i+1), depth+1)
		if err != nil {
			return nil, err
		}
		b.Put(k, v)
	}
	return b.Build(), nil
}

// fields converts the other keys of a hash that represents a value.
func (d *richReader) fields(h *Hash, depth int) (*Hash, error) {
	var b HashBuilder
	for k, v := range h.All() {
		if k == Value(String(richType)) {
			continue
		}
		made, err := d.value(v, depth+1)
		if err != nil {
			return nil, err
		}
		b.Put(k, made)
	}
	return b.Build(), nil
}

// instance converts a value of a type. It is represented by one value or by
// attributes.
func (d *richReader) instance(t Type, h *Hash, depth int) (Value, error) {
	if of, ok := h.GetString(richValue); ok {
		v, err := d.value(of, depth+1)
		if err != nil {
			return nil, err
		}
		return New(t, []Value{v})
	}
	fields, err := d.fields(h, depth)
	if err != nil {
		return nil, err
	}
	o, ok := resolveAlias(t).(*ObjectType)
	if !ok {
		return nil, badRich("a %s is not represented by attributes", clip(TypeString(t)))
	}
	if o.isAny() || !o.defined {
		return nil, unsupported(t)
	}
	// Positional, because a single attribute that is a hash could be mistaken
	// for a hash of all attributes.
	args := make([]Value, 0, len(o.slots))
	for _, m := range o.slots {
		v, ok := fields.GetString(m.Name)
		if !ok {
			if m.Value == nil {
				return nil, badRich("a %s needs %s", clip(o.label()), m.Name)
			}
			v = m.Value
		}
		args = append(args, v)
	}
	for k := range fields.All() {
		if name, ok := k.(String); !ok || findMember(o.slots, string(name)) < 0 {
			return nil, badRich("a %s has no %s", clip(o.label()), clip(Inspect(k)))
		}
	}
	if len(args) == 1 {
		return toValue(o.Create([]Value{fields}))
	}
	return toValue(o.Create(args))
}

// reference returns the value at another position of the data. path has the
// form $['a'][0].
func (d *richReader) reference(path string, depth int) (Value, error) {
	raw, err := d.walk(path)
	if err != nil {
		return nil, err
	}
	switch raw.(type) {
	case *Array, *Hash:
	default:
		return raw, nil
	}
	if v, ok := d.refs[raw]; ok {
		if v == nil {
			return nil, badRich("the reference %q leads to where it comes from", clip(path))
		}
		return v, nil
	}
	if d.refs == nil {
		d.refs = make(map[Value]Value)
	}
	d.refs[raw] = nil
	v, err := d.value(raw, depth+1)
	d.refs[raw] = v
	return v, err
}

// walk follows a path from the root.
func (d *richReader) walk(path string) (Value, error) {
	bad := badRich("%q is not a path to a value", clip(path))
	rest, ok := strings.CutPrefix(path, "$")
	if !ok {
		return nil, bad
	}
	at := d.root
	for rest != "" {
		var key Value
		if key, rest, ok = pathStep(rest); !ok {
			return nil, bad
		}
		if at, ok = stepInto(at, key); !ok {
			return nil, bad
		}
	}
	return at, nil
}

// pathStep parses one [0], ['key'] or .key.
func pathStep(s string) (key Value, rest string, ok bool) {
	if s[0] == '.' {
		end := strings.IndexAny(s[1:], ".[")
		if end < 0 {
			return String(s[1:]), "", len(s) > 1
		}
		return String(s[1 : 1+end]), s[1+end:], end > 0
	}
	if s[0] != '[' || len(s) < 3 {
		return nil, "", false
	}
	if quote := s[1]; quote == '\'' || quote == '"' {
		var b strings.Builder
		for i := 2; i < len(s); i++ {
			switch {
			case s[i] == '\\' && i+1 < len(s):
				i++
				b.WriteByte(s[i])
			case s[i] == quote:
				return String(b.String()), s[min(i+2, len(s)):], strings.HasPrefix(s[i+1:], "]")
			default:
				b.WriteByte(s[i])
			}
		}
		return nil, "", false
	}
	end := strings.IndexByte(s, ']')
	if end < 0 {
		return nil, "", false
	}
	n, err := strconv.ParseInt(s[1:end], 10, 64)
	return Int(n), s[end+1:], err == nil
}

// stepInto returns the value at a key. It skips the hashes that represent a
// Sensitive or a Hash with other keys.
func stepInto(v, key Value) (Value, bool) {
	for {
		h, ok := v.(*Hash)
		if !ok {
			break
		}
		t, _ := h.GetString(richType)
		of, _ := h.GetString(richValue)
		switch t {
		case String("Sensitive"):
			v = of
			continue
		case String("Hash"):
			if list, ok := of.(*Array); ok {
				for i := 0; i+1 < list.Len(); i += 2 {
					if Same(list.At(i), key) {
						return list.At(i + 1), true
					}
				}
			}
			return nil, false
		}
		return h.Get(key)
	}
	if a, ok := v.(*Array); ok {
		if i, ok := key.(Int); ok && i >= 0 && i < Int(a.Len()) {
			return a.At(int(i)), true
		}
	}
	return nil, false
}
