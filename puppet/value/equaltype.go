package value

import "slices"

// sameType reports whether two types are exactly equal.
func sameType(a, b Type) bool { return typeEquality{}.equal(a, b) }

// sameTypeOrNil is sameType for types that can be nil.
func sameTypeOrNil(a, b Type) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return sameType(a, b)
}

// typeEquality compares types. If loose is set, the order of the types in a
// Variant or of the patterns in a Pattern does not matter, as for the operator
// ==. Otherwise it does, as for keys of a hash. Aliases and object types with
// names are equal if their names are equal, so that the comparison of recursive
// types ends.
type typeEquality struct {
	loose bool
}

func (q typeEquality) equal(a, b Type) bool {
	switch a := a.(type) {
	case *IntegerType:
		b, ok := b.(*IntegerType)
		return ok && *a == *b
	case *FloatType:
		b, ok := b.(*FloatType)
		return ok && *a == *b
	case *BooleanType:
		b, ok := b.(*BooleanType)
		return ok && *a == *b
	case *StringType:
		b, ok := b.(*StringType)
		return ok && a.Literal == b.Literal && a.Value == b.Value && sameSize(a.Size, b.Size)
	case *EnumType:
		b, ok := b.(*EnumType)
		return ok && a.IgnoreCase == b.IgnoreCase && slices.Equal(a.Values, b.Values)
	case *PatternType:
		b, ok := b.(*PatternType)
		return ok && q.patterns(a, b)
	case *RegexpType:
		b, ok := b.(*RegexpType)
		return ok && sameRegexp(a.Pattern, b.Pattern)
	case *SemVerType:
		b, ok := b.(*SemVerType)
		return ok && slices.EqualFunc(a.Ranges, b.Ranges, sameRange)
	case *TimespanType:
		b, ok := b.(*TimespanType)
		return ok && *a == *b
	case *TimestampType:
		b, ok := b.(*TimestampType)
		return ok && a.HasMin == b.HasMin && a.HasMax == b.HasMax && a.Min.Equal(b.Min.Time) && a.Max.Equal(b.Max.Time)
	case *ClassType:
		b, ok := b.(*ClassType)
		return ok && *a == *b
	case *ResourceType:
		b, ok := b.(*ResourceType)
		return ok && a.lower == b.lower && a.HasTitle == b.HasTitle && a.Title == b.Title
	case *ReferenceType:
		b, ok := b.(*ReferenceType)
		return ok && *a == *b
	case *RuntimeType:
		b, ok := b.(*RuntimeType)
		return ok && a.Runtime == b.Runtime && a.TypeOf == b.TypeOf && a.Replacement == b.Replacement && sameRegexp(a.Pattern, b.Pattern)
	case *URIType:
		b, ok := b.(*URIType)
		return ok && (a.Params == b.Params || a.Params != nil && b.Params != nil && Same(a.Params, b.Params))
	case *AliasType:
		b, ok := b.(*AliasType)
		return ok && (a == b || a.name == b.name)
	case *ObjectType:
		b, ok := b.(*ObjectType)
		return ok && a.same(b)
	case *ExtensionType:
		b, ok := b.(*ExtensionType)
		return ok && a.Base.same(b.Base) && Same(a.Params, b.Params)
	case *TypeSetType:
		b, ok := b.(*TypeSetType)
		return ok && a.same(b)
	}
	return q.nested(a, b)
}

// nested is equal for types made of types, and for types that have only a name.
func (q typeEquality) nested(a, b Type) bool {
	switch a := a.(type) {
	case *CollectionType:
		b, ok := b.(*CollectionType)
		return ok && sameSize(a.Size, b.Size)
	case *ArrayType:
		b, ok := b.(*ArrayType)
		return ok && sameSize(a.Size, b.Size) && q.inner(a.Elem, b.Elem)
	case *HashType:
		b, ok := b.(*HashType)
		return ok && sameSize(a.Size, b.Size) && q.inner(a.Key, b.Key) && q.inner(a.Elem, b.Elem)
	case *TupleType:
		b, ok := b.(*TupleType)
		return ok && a.depth == b.depth && sameSize(a.Size, b.Size) && slices.EqualFunc(a.Types, b.Types, q.inner)
	case *StructType:
		b, ok := b.(*StructType)
		return ok && a.depth == b.depth && slices.EqualFunc(a.Elements, b.Elements, func(x, y StructElement) bool {
			return x.Name == y.Name && x.Optional == y.Optional && q.inner(x.Elem, y.Elem)
		})
	case *VariantType:
		b, ok := b.(*VariantType)
		return ok && q.variants(a.Types, b.Types)
	case *OptionalType:
		b, ok := b.(*OptionalType)
		return ok && q.inner(a.Type, b.Type)
	case *NotUndefType:
		b, ok := b.(*NotUndefType)
		return ok && q.inner(a.Type, b.Type)
	case *TypeType:
		b, ok := b.(*TypeType)
		return ok && q.inner(a.Type, b.Type)
	case *SensitiveType:
		b, ok := b.(*SensitiveType)
		return ok && q.inner(a.Type, b.Type)
	case *IterableType:
		b, ok := b.(*IterableType)
		return ok && q.inner(a.Elem, b.Elem)
	case *IteratorType:
		b, ok := b.(*IteratorType)
		return ok && q.inner(a.Elem, b.Elem)
	case *InitType:
		b, ok := b.(*InitType)
		return ok && q.inner(a.Type, b.Type) && slices.EqualFunc(a.Args, b.Args, Same)
	case *CallableType:
		b, ok := b.(*CallableType)
		if !ok || (a.Params == nil) != (b.Params == nil) {
			return false
		}
		return (a.Params == nil || q.equal(a.Params, b.Params)) && q.inner(a.Block, b.Block) && q.inner(a.Return, b.Return)
	}
	return a == b // types without parameters
}

// inner compares parts that can be nil.
func (q typeEquality) inner(a, b Type) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a == b || q.equal(a, b)
}

func (q typeEquality) variants(a, b []Type) bool {
	if len(a) != len(b) {
		return false
	}
	if slices.EqualFunc(a, b, q.inner) {
		return true
	}
	if !q.loose {
		return false
	}
	var in HashBuilder
	for _, t := range b {
		in.Put(t, Undef{})
	}
	for _, t := range a {
		if _, ok := in.Get(t); !ok {
			return false
		}
	}
	return true
}

func (q typeEquality) patterns(a, b *PatternType) bool {
	if len(a.Patterns) != len(b.Patterns) {
		return false
	}
	if slices.EqualFunc(a.Patterns, b.Patterns, func(x, y *RegexpType) bool { return sameRegexp(x.Pattern, y.Pattern) }) {
		return true
	}
	if !q.loose {
		return false
	}
	var in HashBuilder
	for _, p := range b.Patterns {
		in.Put(p, Undef{})
	}
	for _, p := range a.Patterns {
		if _, ok := in.Get(p); !ok {
			return false
		}
	}
	return true
}

func sameSize(a, b *IntegerType) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func sameRegexp(a, b *Regexp) bool {
	return a == b || a != nil && b != nil && a.Source() == b.Source()
}
