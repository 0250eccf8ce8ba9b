package value

import (
	"math"
	"slices"
	"strings"
)

// The basic types that others are made of.
var (
	anyInteger     = &IntegerType{}
	anyFloat       = &FloatType{math.Inf(-1), math.Inf(1)}
	anyBoolean     = &BooleanType{}
	trueType       = &BooleanType{Value: true, HasValue: true}
	falseType      = &BooleanType{Value: false, HasValue: true}
	anyString      = &StringType{}
	nonEmptyString = &StringType{Size: oneOrMore}
	anyEnum        = &EnumType{}
	anyPattern     = &PatternType{}
	anyRegexp      = &RegexpType{}
	anySemVer      = &SemVerType{}
	anyTimespan    = &TimespanType{}
	anyTimestamp   = &TimestampType{}
	anyCollection  = &CollectionType{}
	anyArray       = newArrayType(AnyType{}, nil)
	noArray        = newArrayType(UnitType{}, noSize)
	anyHash        = newHashType(AnyType{}, AnyType{}, nil)
	noHash         = newHashType(UnitType{}, UnitType{}, noSize)
	anyTuple       = newTupleType(nil, nil)
	anyStruct      = newStructType(nil)
	anyIterable    = &IterableType{}
	anyIterator    = &IteratorType{}
	anyNotUndef    = &NotUndefType{}
	anyOptional    = &OptionalType{}
	anyVariant     = &VariantType{}
	anyType        = &TypeType{}
	anySensitive   = &SensitiveType{AnyType{}, nested{1, 2}}
	anyCallable    = &CallableType{}
	anyInit        = &InitType{}
	anyRuntime     = &RuntimeType{}
	anyURI         = &URIType{}
	anyClass       = &ClassType{}
	anyResource    = &ResourceType{}

	anySize   = &IntegerType{HasMin: true}
	noSize    = exactly(0)
	oneOrMore = &IntegerType{Min: 1, HasMin: true}
	pairSize  = exactly(2)

	oneCharacter = &StringType{Size: exactly(1)}
	anyPair      = newTupleType([]Type{UnitType{}, UnitType{}}, pairSize)
)

// exactly returns Integer[n, n].
func exactly(n int) *IntegerType {
	return &IntegerType{Min: int64(n), Max: int64(n), HasMin: true, HasMax: true}
}

// deeper returns the depth and the count of a type that contains ts. Elements
// of ts can be nil.
func deeper(ts ...Type) nested {
	n := nested{count: 1}
	for _, t := range ts {
		in := nestedIn(t)
		n.depth = max(n.depth, in.depth)
		n.count = min(n.count+max(1, in.count), maxTypes+1)
	}
	n.depth++
	return n
}

// nestedIn returns the depth and the number of the types in t. An alias or an
// object type counts as one, so that the count of recursive types is finite.
func nestedIn(t Type) nested {
	switch t := t.(type) {
	case *ArrayType:
		return t.nested
	case *HashType:
		return t.nested
	case *TupleType:
		return t.nested
	case *StructType:
		return t.nested
	case *IterableType:
		return t.nested
	case *IteratorType:
		return t.nested
	case *NotUndefType:
		return t.nested
	case *OptionalType:
		return t.nested
	case *VariantType:
		return t.nested
	case *TypeType:
		return t.nested
	case *SensitiveType:
		return t.nested
	case *CallableType:
		return t.nested
	case *InitType:
		return t.nested
	}
	return nested{}
}

func typeDepth(t Type) int32 { return nestedIn(t).depth }

// NewIntegerType returns Integer[lo, hi].
func NewIntegerType(lo, hi int64) *IntegerType {
	return &IntegerType{Min: lo, Max: hi, HasMin: true, HasMax: true}
}

// newStringType returns the type of a single string.
func newStringType(s string) *StringType { return &StringType{Value: s, Literal: true} }

// NewEnumType returns Enum[values].
func NewEnumType(values []string, ignoreCase bool) *EnumType {
	return newEnumType(slices.Clone(values), ignoreCase)
}

// newEnumType is NewEnumType, but keeps the slice.
func newEnumType(values []string, ignoreCase bool) *EnumType {

	slices.Sort(values)
	return &EnumType{Values: slices.Compact(values), IgnoreCase: ignoreCase}
}

// NewArrayType returns Array[elem, size]; size may be nil.
func NewArrayType(elem Type, size *IntegerType) *ArrayType { return newArrayType(elem, size) }

func newArrayType(elem Type, size *IntegerType) *ArrayType {
	if isEmptySize(size) {
		elem = UnitType{}
	}
	return &ArrayType{Elem: elem, Size: toSize(size), nested: deeper(elem)}
}

// NewHashType returns Hash[key, elem, size]; size may be nil.
func NewHashType(key, elem Type, size *IntegerType) *HashType { return newHashType(key, elem, size) }

func newHashType(key, elem Type, size *IntegerType) *HashType {
	if isEmptySize(size) {
		key, elem = UnitType{}, UnitType{}
	}
	return &HashType{Key: key, Elem: elem, Size: toSize(size), nested: deeper(key, elem)}
}

// NewTupleType returns Tuple[types, size]; size may be nil. It keeps the slice.
func NewTupleType(types []Type, size *IntegerType) *TupleType { return newTupleType(types, size) }

func newTupleType(types []Type, size *IntegerType) *TupleType {
	return &TupleType{Types: types, Size: toSize(size), nested: deeper(types...)}
}

// NewStructType returns Struct[{elements}] and keeps the slice.
func NewStructType(elements []StructElement) *StructType { return newStructType(elements) }

func newStructType(elements []StructElement) *StructType {
	t := &StructType{Elements: elements}
	for _, e := range elements {
		t.depth = max(t.depth, typeDepth(e.Elem))
	}
	t.depth++
	if len(elements) >= indexFrom {
		t.index = make(map[string]int, len(elements))
		for i, e := range elements {
			t.index[e.Name] = i
		}
	}
	return t
}

// find returns the index of the element with a name, or -1.
func (t *StructType) find(name string) int {
	if t.index != nil {
		if i, ok := t.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range t.Elements {
		if t.Elements[i].Name == name {
			return i
		}
	}
	return -1
}

// newOptionalType returns Optional[t].
func newOptionalType(t Type) *OptionalType { return &OptionalType{t, deeper(t)} }

// newNotUndefType returns NotUndef[t].
func newNotUndefType(t Type) *NotUndefType {
	if _, ok := t.(AnyType); ok || t == nil {
		return anyNotUndef
	}
	return &NotUndefType{t, deeper(t)}
}

// newTypeType returns Type[t].
func newTypeType(t Type) *TypeType { return &TypeType{t, deeper(t)} }

// NewIterableType returns Iterable[t].
func NewIterableType(t Type) *IterableType { return &IterableType{t, deeper(t)} }

// newIteratorType returns Iterator[t].
func newIteratorType(t Type) *IteratorType { return &IteratorType{t, deeper(t)} }

// NewSensitiveType returns Sensitive[t]. It generalizes t.
func NewSensitiveType(t Type) *SensitiveType { return newSensitiveType(t) }

func newSensitiveType(t Type) *SensitiveType {
	t = Generalize(t)
	return &SensitiveType{t, deeper(t)}
}

// NewCallableType returns the type of a callable that takes params and block
// and returns result. Each can be nil, as the fields of [CallableType].
func NewCallableType(params *TupleType, block, result Type) *CallableType {
	if _, ok := result.(AnyType); ok {
		result = nil
	}
	t := &CallableType{Params: params, Block: block, Return: result, nested: deeper(block, result)}
	if params != nil {
		t.depth = max(t.depth, params.depth+1)
	}
	return t
}

// NewVariantType returns Variant[types]. It flattens nested variants and
// removes equal types. If only one type is left, it returns that type.
func NewVariantType(types ...Type) Type {
	flat := make([]Type, 0, len(types))
	for _, t := range types {
		if v, ok := t.(*VariantType); ok {
			flat = append(flat, v.Types...)
		} else {
			flat = append(flat, t)
		}
	}
	flat = uniqueTypes(flat)
	if len(flat) == 1 {
		return flat[0]
	}
	return &VariantType{flat, deeper(flat...)}
}

// NewClassRef returns Class[name].
func NewClassRef(name string) Type {
	return &ClassType{strings.ToLower(strings.TrimPrefix(name, "::"))}
}

// NewResourceType returns a resource type, such as File.
func NewResourceType(typeName string) Type {
	name := capitalize(typeName)
	return &ResourceType{TypeName: name, lower: strings.ToLower(name)}
}

// NewResourceRef returns a reference to a resource, as File['/x'].
func NewResourceRef(typeName, title string) Type {
	name := capitalize(typeName)
	return &ResourceType{TypeName: name, lower: strings.ToLower(name), Title: title, HasTitle: true}
}

// capitalize capitalizes each segment of the name of a type. It returns a name
// that begins with a capital unchanged.
func capitalize(name string) string {
	if name == "" || 'A' <= name[0] && name[0] <= 'Z' {
		return name
	}
	segments := strings.Split(name, "::")
	for i, s := range segments {
		if s != "" {
			segments[i] = strings.ToUpper(s[:1]) + strings.ToLower(s[1:])
		}
	}
	return strings.Join(segments, "::")
}

// isEmptySize reports whether size is [0, 0].
func isEmptySize(size *IntegerType) bool {
	return size != nil && size.HasMin && size.HasMax && size.Min == 0 && size.Max == 0
}

// toSize returns t without values that a size cannot have.
func toSize(t *IntegerType) *IntegerType {
	if t == nil || t.HasMin && t.Min >= 0 {
		return t
	}
	return &IntegerType{HasMin: true, Max: max(t.Max, 0), HasMax: t.HasMax}
}

// uniqueTypes returns types without duplicates.
func uniqueTypes(types []Type) []Type {
	if len(types) < indexFrom {
		kept := types[:0:0]
		for _, t := range types {
			if !slices.ContainsFunc(kept, func(k Type) bool { return sameType(k, t) }) {
				kept = append(kept, t)
			}
		}
		return kept
	}
	var seen HashBuilder
	kept := make([]Type, 0, len(types))
	for _, t := range types {
		if before := seen.Len(); true {
			seen.Put(t, Undef{})
			if seen.Len() > before {
				kept = append(kept, t)
			}
		}
	}
	return kept
}
