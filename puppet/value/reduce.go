package value

// A reducer finds the common type of values: the common type of the first two,
// then of the result and the third, and so on. It does not make a type in each
// step, so that many strings, or many hashes of strings, take only linear time.
type reducer struct {
	kind    reduction
	ints    IntegerType
	floats  FloatType
	first   string              // of strings
	strings map[string]struct{} // all of them; nil: first alone
	key     *reducer            // of hashes without a size
	elem    *reducer            // of these hashes, and of arrays without a size
	any     Type                // the common type in other cases
}

type reduction uint8

const (
	reduceNothing reduction = iota
	reduceInts
	reduceFloats
	reduceStrings
	reduceArrays
	reduceHashes
	reduceTypes
)

// add adds a value.
func (r *reducer) add(v Value) {
	switch v := v.(type) {
	case Int:
		if r.kind == reduceInts {
			r.ints.Min, r.ints.Max = min(r.ints.Min, int64(v)), max(r.ints.Max, int64(v))
			return
		}
	case Float:
		if r.kind == reduceFloats {
			r.floats.Min, r.floats.Max = min(r.floats.Min, float64(v)), max(r.floats.Max, float64(v))
			return
		}
	case String:
		if r.kind == reduceStrings {
			r.addString(string(v))
			return
		}
	}
	if r.kind == reduceTypes {
		switch r.any.(type) {
		case AnyType:
			return
		case ScalarDataType, ScalarType:
			if instance(r.any, v, trail{}) {
				return
			}
		}
	}
	r.addType(Infer(v))
}

func (r *reducer) addString(s string) {
	if r.strings == nil {
		if s == r.first {
			return
		}
		r.strings = map[string]struct{}{r.first: {}}
	}
	r.strings[s] = struct{}{}
}

// addType adds an inferred type.
func (r *reducer) addType(t Type) {
	if r.kind == reduceNothing {
		r.set(t)
		return
	}
	switch t := t.(type) {
	case UndefType, UnitType: // undef is ignored
		if r.kind != reduceTypes {
			return
		}
	case *IntegerType:
		if r.kind == reduceInts && t.HasMin && t.HasMax {
			r.ints.Min, r.ints.Max = min(r.ints.Min, t.Min), max(r.ints.Max, t.Max)
			return
		}
	case *FloatType:
		if r.kind == reduceFloats {
			r.floats.Min, r.floats.Max = min(r.floats.Min, t.Min), max(r.floats.Max, t.Max)
			return
		}
	case *StringType:
		if r.kind == reduceStrings && t.Literal {
			r.addString(t.Value)
			return
		}
	case *EnumType:
		if r.kind == reduceStrings && len(t.Values) > 1 && !t.IgnoreCase {
			for _, s := range t.Values {
				r.addString(s)
			}
			return
		}
	case *ArrayType:
		if r.kind == reduceArrays {
			r.elem.addType(t.Elem)
			return
		}
	case *HashType:
		if r.kind == reduceHashes {
			r.key.addType(t.Key)
			r.elem.addType(t.Elem)
			return
		}
	}
	r.set(common(r.typ(), t))
}

// set replaces the result so far with t.
func (r *reducer) set(t Type) {
	*r = reducer{kind: reduceTypes, any: t}
	switch t := t.(type) {
	case *IntegerType:
		if t.HasMin && t.HasMax {
			*r = reducer{kind: reduceInts, ints: *t}
		}
	case *FloatType:
		*r = reducer{kind: reduceFloats, floats: *t}
	case *StringType:
		if t.Literal {
			*r = reducer{kind: reduceStrings, first: t.Value}
		}
	case *EnumType:
		if len(t.Values) > 1 && !t.IgnoreCase {
			*r = reducer{kind: reduceStrings, first: t.Values[0]}
			r.addType(t)
		}
	case *ArrayType:
		if t.Size == nil {
			*r = reducer{kind: reduceArrays, elem: new(reducer)}
			r.elem.set(t.Elem)
		}
	case *HashType:
		if t.Size == nil {
			*r = reducer{kind: reduceHashes, key: new(reducer), elem: new(reducer)}
			r.key.set(t.Key)
			r.elem.set(t.Elem)
		}
	}
}

// typ returns the common type of all added values.
func (r *reducer) typ() Type {
	switch r.kind {
	case reduceInts:
		t := r.ints
		return &t
	case reduceFloats:
		t := r.floats
		return &t
	case reduceStrings:
		if r.strings == nil {
			return newStringType(r.first)
		}
		values := make([]string, 0, len(r.strings))
		for s := range r.strings {
			values = append(values, s)
		}
		return newEnumType(values, false)
	case reduceArrays:
		return newArrayType(r.elem.typ(), nil)
	case reduceHashes:
		return newHashType(r.key.typ(), r.elem.typ(), nil)
	case reduceTypes:
		return r.any
	}
	return UnitType{}
}
