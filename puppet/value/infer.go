package value

import "strings"

// Infer returns the type of v, as type(v, reduced) does. The elements of an
// array or a hash have one common type: Integer[1, 1], Array[Integer[1, 2], 2,
// 2]. The type of a string accepts only this string and prints as String. The
// common type of several strings is an Enum.
func Infer(v Value) Type {
	switch v := v.(type) {
	case *Array:
		return inferArray(v)
	case *Hash:
		return inferHash(v)
	}
	return inferScalar(v)
}

func inferScalar(v Value) Type {
	switch v := v.(type) {
	case String:
		return newStringType(string(v))
	case Int:
		return NewIntegerType(int64(v), int64(v))
	case *BigInt:
		return v.typ()
	case Float:
		return &FloatType{float64(v), float64(v)}
	case Bool:
		if v {
			return trueType
		}
		return falseType
	case Undef:
		return UndefType{}
	case Default:
		return DefaultType{}
	case *Regexp:
		return &RegexpType{v}
	case Type:
		return newTypeType(v)
	case *Sensitive:
		return newSensitiveType(Infer(v.v))
	case Timespan:
		return &TimespanType{v, v, true, true}
	case Timestamp:
		return &TimestampType{v, v, true, true}
	case *SemVer:
		return anySemVer
	case *SemVerRange:
		return SemVerRangeType{}
	case *Binary:
		return BinaryType{}
	case *URI:
		return &URIType{uriParams(v)}
	case *Iterator:
		return newIteratorType(typeOrAny(v.Elem))
	case *Object:
		return v.inferred()
	case *Runtime:
		return v.typ()
	}
	return AnyType{}
}

// uriParams returns the components of a URI as its type lists them, or nil.
func uriParams(u *URI) *Hash {
	var b HashBuilder
	scheme := ""
	for _, name := range uriParts {
		switch part := u.Part(name).(type) {
		case Undef:
		case String:
			s := string(part)
			switch name {
			case "scheme":
				s = strings.ToLower(s)
				scheme = s
			case "host", "path":
				if s == "" {
					continue
				}
				if name == "host" {
					s = strings.ToLower(s)
				}
			}
			b.Put(String(name), String(s))
		case Int:
			if part == 80 && scheme == "http" || part == 443 && scheme == "https" {
				continue
			}
			b.Put(String(name), String(ToString(part)))
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return b.Build()
}

func inferArray(a *Array) Type {
	if len(a.elems) == 0 {
		return noArray
	}
	if a.tooBig() {
		return newArrayType(AnyType{}, exactly(len(a.elems)))
	}
	var r reducer
	for _, v := range a.elems {
		r.add(v)
	}
	return newArrayType(r.typ(), exactly(len(a.elems)))
}

func inferHash(h *Hash) Type {
	if len(h.entries) == 0 {
		return noHash
	}
	if h.tooBig() {
		return newHashType(AnyType{}, AnyType{}, exactly(len(h.entries)))
	}
	var keys, elems reducer
	for _, e := range h.entries {
		keys.add(e.Key)
		elems.add(e.Value)
	}
	return newHashType(keys.typ(), elems.typ(), exactly(len(h.entries)))
}

// InferReduced is [Infer].
func InferReduced(v Value) Type { return Infer(v) }

// InferDetailed returns the type of v with the type of each element of an array
// and each entry of a hash, as type(v) does: Tuple[Integer[1, 1]],
// Struct[{'a' => String}].
func InferDetailed(v Value) Type {
	switch v := v.(type) {
	case *Array:
		return detailArray(v)
	case *Hash:
		return detailHash(v)
	case *SemVer:
		return &SemVerType{[]*SemVerRange{makeSemVerRange(v, v, false)}}
	}
	return inferScalar(v)
}

func detailArray(a *Array) Type {
	if len(a.elems) == 0 {
		return noArray
	}
	if a.tooBig() {
		return newArrayType(AnyType{}, exactly(len(a.elems)))
	}
	types := make([]Type, len(a.elems))
	for i, v := range a.elems {
		types[i] = InferDetailed(v)
	}
	return newTupleType(types, nil)
}

func detailHash(h *Hash) Type {
	if len(h.entries) == 0 {
		return noHash
	}
	if h.tooBig() {
		return newHashType(AnyType{}, AnyType{}, exactly(len(h.entries)))
	}
	elements := make([]StructElement, 0, len(h.entries))
	for _, e := range h.entries {
		k, ok := e.Key.(String)
		if !ok || k == "" {
			return detailHashTypes(h)
		}
		elements = append(elements, StructElement{Name: string(k), Elem: InferDetailed(e.Value)})
	}
	return newStructType(elements)
}

// detailHashTypes is for hashes with keys that are not names.
func detailHashTypes(h *Hash) Type {
	keys := make([]Type, len(h.entries))
	elems := make([]Type, len(h.entries))
	for i, e := range h.entries {
		keys[i], elems[i] = InferDetailed(e.Key), InferDetailed(e.Value)
	}
	return newHashType(NewVariantType(keys...), NewVariantType(elems...), exactly(len(h.entries)))
}
