package value

import "slices"

// common returns a type that accepts the values of a and b. This is the wider
// of both, or a type made of both, or a type that includes both: Numeric,
// ScalarData, Scalar, Data, RichData, Any. Undef is ignored.
func common(a, b Type) Type {
	for _, nothing := range []Type{UndefType{}, UnitType{}} {
		if a == nothing {
			return b
		}
		if b == nothing {
			return a
		}
	}
	if Assignable(a, b) {
		return a
	}
	if Assignable(b, a) {
		return b
	}
	if t := commonKind(a, b); t != nil {
		return t
	}
	for _, t := range []Type{NumericType{}, ScalarDataType{}, ScalarType{}, dataType()} {
		if Assignable(t, a) && Assignable(t, b) {
			return t
		}
	}
	if x, ok := a.(*TypeType); ok {
		if y, ok := b.(*TypeType); ok && x.Type != nil && y.Type != nil {
			return newTypeType(common(x.Type, y.Type))
		}
	}
	if Assignable(richDataType(), a) && Assignable(richDataType(), b) {
		return richDataType()
	}
	return AnyType{}
}

// commonKind returns the common type of two types of the same kind, or nil.
func commonKind(a, b Type) Type {
	switch a := a.(type) {
	case *ArrayType:
		if b, ok := b.(*ArrayType); ok {
			return newArrayType(common(a.Elem, b.Elem), nil)
		}
	case *HashType:
		if b, ok := b.(*HashType); ok {
			return newHashType(common(a.Key, b.Key), common(a.Elem, b.Elem), nil)
		}
	case *ClassType:
		if _, ok := b.(*ClassType); ok {
			return anyClass
		}
	case *ResourceType:
		if b, ok := b.(*ResourceType); ok {
			if a.TypeName == b.TypeName {
				return &ResourceType{TypeName: a.TypeName, lower: a.lower}
			}
			return anyResource
		}
	case *IntegerType:
		if b, ok := b.(*IntegerType); ok {
			return hull(a, b)
		}
	case *FloatType:
		if b, ok := b.(*FloatType); ok {
			return &FloatType{min(a.Min, b.Min), max(a.Max, b.Max)}
		}
	case *StringType:
		return commonString(a, b)
	case *PatternType:
		if b, ok := b.(*PatternType); ok {
			return newPatternType(slices.Concat(a.Patterns, b.Patterns))
		}
	case *EnumType:
		switch b := b.(type) {
		case *EnumType:
			return newEnumType(slices.Concat(a.Values, b.Values), false)
		case *StringType:
			if !b.Literal {
				return anyEnum
			}
			return newEnumType(append(slices.Clone(a.Values), b.Value), false)
		}
	case *VariantType:
		if b, ok := b.(*VariantType); ok {
			return NewVariantType(slices.Concat(a.Types, b.Types)...)
		}
	case *RegexpType:
		if _, ok := b.(*RegexpType); ok {
			return anyRegexp
		}
	case *CallableType:
		if _, ok := b.(*CallableType); ok {
			return anyCallable
		}
	}
	return nil
}

func commonString(a *StringType, b Type) Type {
	switch b := b.(type) {
	case *EnumType:
		if !a.Literal {
			return anyEnum
		}
		return newEnumType(append(slices.Clone(b.Values), a.Value), false)
	case *StringType:
		switch {
		case a.Size != nil && b.Size != nil:
			return &StringType{Size: hull(a.Size, b.Size)}
		case a.Literal && b.Literal:
			return newEnumType([]string{a.Value, b.Value}, false)
		}
		return anyString
	}
	return nil
}

// Generalize returns t without sizes, bounds and values. For example, it
// returns Array[Integer] for Array[Integer[1, 2], 2, 2].
func Generalize(t Type) Type {
	switch t := t.(type) {
	case *IntegerType:
		return anyInteger
	case *FloatType:
		return anyFloat
	case *BooleanType:
		return anyBoolean
	case *StringType:
		return anyString
	case *EnumType:
		if len(t.Values) == 0 {
			return anyString
		}
		return &StringType{Size: lengths(t.Values)}
	case *TimespanType:
		return anyTimespan
	case *TimestampType:
		return anyTimestamp
	case *URIType:
		return anyURI
	case *CollectionType:
		return anyCollection
	case *ArrayType:
		if _, ok := t.Elem.(AnyType); ok {
			return anyArray
		}
		if elem := Generalize(t.Elem); elem != t.Elem || t.Size != nil {
			return newArrayType(elem, nil)
		}
	case *HashType:
		if isEmptySize(t.Size) {
			return t
		}
		key, elem := Generalize(t.Key), Generalize(t.Elem)
		if key != t.Key || elem != t.Elem || t.Size != nil {
			return newHashType(key, elem, nil)
		}
	case *TupleType:
		if types, changed := mapTypes(t.Types, Generalize); changed {
			return newTupleType(types, t.Size)
		}
	case *StructType:
		return t.mapElems(Generalize)
	case *VariantType:
		if types, changed := mapTypes(t.Types, Generalize); changed {
			return NewVariantType(types...)
		}
	case *OptionalType:
		if inner, changed := mapInner(t.Type, Generalize); changed {
			return newOptionalType(inner)
		}
	case *NotUndefType:
		if inner, changed := mapInner(t.Type, Generalize); changed {
			return newNotUndefType(inner)
		}
	case *TypeType:
		if inner, changed := mapInner(t.Type, Generalize); changed {
			return newTypeType(inner)
		}
	case *SensitiveType:
		if inner, changed := mapInner(t.Type, Generalize); changed {
			return newSensitiveType(inner)
		}
	case *IterableType:
		if inner, changed := mapInner(t.Elem, Generalize); changed {
			return NewIterableType(inner)
		}
	case *IteratorType:
		if inner, changed := mapInner(t.Elem, Generalize); changed {
			return newIteratorType(inner)
		}
	case *CallableType:
		return t.mapTypes(Generalize)
	case *ExtensionType:
		return t.Base
	}
	return t
}
