package value

import (
	"cmp"
	"slices"
	"strings"
)

// normalize returns t in its simplest form: Optional[NotUndef[T]] becomes
// Optional[T], a Variant with Undef becomes an Optional, and the ranges,
// enumerations and patterns in a Variant are joined. An alias of t stands for
// this type.
func normalize(t Type) Type {
	switch t := t.(type) {
	case *ArrayType:
		if _, ok := t.Elem.(AnyType); ok {
			return anyArray // as in Puppet, where the size is lost
		}
		if elem := normalize(t.Elem); elem != t.Elem {
			return newArrayType(elem, t.Size)
		}
	case *CollectionType:
		return anyCollection
	case *HashType:
		key, elem := normalize(t.Key), normalize(t.Elem)
		if key != t.Key || elem != t.Elem {
			return newHashType(key, elem, t.Size)
		}
	case *TupleType:
		if types, changed := mapTypes(t.Types, normalize); changed {
			return newTupleType(types, t.Size)
		}
	case *StructType:
		return t.mapElems(normalize)
	case *OptionalType:
		return normalizeOptional(t)
	case *NotUndefType:
		return normalizeNotUndef(t)
	case *VariantType:
		return normalizeVariant(t)
	case *TypeType:
		if inner, changed := mapInner(t.Type, normalize); changed {
			return newTypeType(inner)
		}
	case *SensitiveType:
		if inner, changed := mapInner(t.Type, normalize); changed {
			return newSensitiveType(inner)
		}
	case *IterableType:
		if inner, changed := mapInner(t.Elem, normalize); changed {
			return NewIterableType(inner)
		}
	case *IteratorType:
		if inner, changed := mapInner(t.Elem, normalize); changed {
			return newIteratorType(inner)
		}
	case *CallableType:
		return t.mapTypes(normalize)
	}
	return t
}

// mapInner applies f to a type that can be nil.
func mapInner(t Type, f func(Type) Type) (mapped Type, changed bool) {
	if t == nil {
		return nil, false
	}
	mapped = f(t)
	return mapped, mapped != t
}

// mapTypes applies f to each of types. If nothing changes, it returns types.
func mapTypes(types []Type, f func(Type) Type) (mapped []Type, changed bool) {
	for i, t := range types {
		m := f(t)
		if m != t && !changed {
			mapped, changed = slices.Clone(types), true
		}
		if changed {
			mapped[i] = m
		}
	}
	if !changed {
		return types, false
	}
	return mapped, true
}

func (t *StructType) mapElems(f func(Type) Type) Type {
	var mapped []StructElement
	for i, e := range t.Elements {
		m := f(e.Elem)
		if m == e.Elem {
			continue
		}
		if mapped == nil {
			mapped = slices.Clone(t.Elements)
		}
		mapped[i].Elem = m
	}
	if mapped == nil {
		return t
	}
	return newStructType(mapped)
}

func (t *CallableType) mapTypes(f func(Type) Type) Type {
	block, c1 := mapInner(t.Block, f)
	result, c2 := mapInner(t.Return, f)
	params := t.Params
	if params != nil {
		if types, changed := mapTypes(params.Types, f); changed {
			params = newTupleType(types, params.Size)
		}
	}
	if !c1 && !c2 && params == t.Params {
		return t
	}
	return NewCallableType(params, block, result)
}

func normalizeOptional(t *OptionalType) Type {
	inner, changed := mapInner(t.Type, normalize)
	switch i := inner.(type) {
	case nil:
		return anyOptional
	case *NotUndefType:
		return normalize(newOptionalType(i.Type))
	}
	if Assignable(inner, UndefType{}) {
		return inner
	}
	if !changed {
		return t
	}
	return newOptionalType(inner)
}

func normalizeNotUndef(t *NotUndefType) Type {
	inner, changed := mapInner(t.Type, normalize)
	switch i := inner.(type) {
	case nil:
		return anyNotUndef
	case *OptionalType:
		return normalize(newNotUndefType(i.Type))
	}
	if !Assignable(inner, UndefType{}) {
		return inner
	}
	if !changed {
		return t
	}
	return newNotUndefType(inner)
}

func normalizeVariant(t *VariantType) Type {
	if len(t.Types) == 0 {
		return t
	}
	types, changed := mapTypes(t.Types, normalize)
	if len(types) == 1 {
		return types[0]
	}
	if slices.ContainsFunc(types, isOptional) {
		return optionalOf(types)
	}
	flat := make([]Type, 0, len(types))
	for _, t := range types {
		if v, ok := t.(*VariantType); ok {
			flat = append(flat, v.Types...)
		} else {
			flat = append(flat, t)
		}
	}
	before := len(flat)
	flat = joinNotUndefs(flat)
	flat = joinEnums(flat)
	flat = joinPatterns(flat)
	flat = joinVersions(flat)
	flat = joinRanges(flat, joinIntegers, func(a, b *IntegerType) int {
		return cmp.Or(boolOrder(a.HasMin, b.HasMin), cmp.Compare(a.Min, b.Min))
	})
	flat = joinRanges(flat, joinFloats, func(a, b *FloatType) int { return cmp.Compare(a.Min, b.Min) })
	flat = joinRanges(flat, joinTimespans, func(a, b *TimespanType) int {
		return cmp.Or(boolOrder(a.HasMin, b.HasMin), cmp.Compare(a.Min, b.Min))
	})
	flat = joinRanges(flat, joinTimestamps, func(a, b *TimestampType) int {
		return cmp.Or(boolOrder(a.HasMin, b.HasMin), a.Min.Compare(b.Min.Time))
	})
	if len(flat) == 1 {
		return flat[0]
	}
	if !changed && len(flat) == before {
		return t
	}
	return NewVariantType(flat...)
}

// boolOrder orders false before true.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func isOptional(t Type) bool {
	switch t.(type) {
	case UndefType, *OptionalType:
		return true
	}
	return false
}

// optionalOf returns an optional variant for a variant that contains Undef or
// an Optional.
func optionalOf(types []Type) Type {
	kept := make([]Type, 0, len(types))
	for _, t := range types {
		switch t := t.(type) {
		case UndefType:
		case *OptionalType:
			if t.Type != nil {
				kept = append(kept, t.Type)
			}
		default:
			kept = append(kept, t)
		}
	}
	return normalize(newOptionalType(NewVariantType(kept...)))
}

// part splits types into those of kind T that satisfy is, and the others.
func part[T Type](types []Type, is func(T) bool) (of []T, others []Type) {
	for _, t := range types {
		if x, ok := t.(T); ok && (is == nil || is(x)) {
			of = append(of, x)
		} else {
			others = append(others, t)
		}
	}
	return of, others
}

func joinNotUndefs(types []Type) []Type {
	of, others := part[*NotUndefType](types, nil)
	if len(of) < 2 {
		return types
	}
	inner := make([]Type, 0, len(of))
	for _, t := range of {
		if t.Type != nil {
			inner = append(inner, t.Type)
		}
	}
	return append(others, newNotUndefType(normalize(NewVariantType(inner...))))
}

// joinEnums joins enumerations and literal strings, and then enumerations that
// ignore case.
func joinEnums(types []Type) []Type {
	var values []string
	var others []Type
	n := 0
	for _, t := range types {
		switch t := t.(type) {
		case *EnumType:
			if len(t.Values) > 0 && !t.IgnoreCase {
				n++
				values = append(values, t.Values...)
				continue
			}
		case *StringType:
			if t.Literal {
				n++
				values = append(values, t.Value)
				continue
			}
		}
		others = append(others, t)
	}
	if n > 1 {
		types = append(others, NewEnumType(values, false))
	}
	folded, others := part(types, func(t *EnumType) bool { return len(t.Values) > 0 && t.IgnoreCase })
	if len(folded) < 2 {
		return types
	}
	values = nil
	for _, t := range folded {
		for _, s := range t.Values {
			values = append(values, strings.ToLower(s))
		}
	}
	return append(others, NewEnumType(values, true))
}

func joinPatterns(types []Type) []Type {
	of, others := part[*PatternType](types, nil)
	if len(of) < 2 {
		return types
	}
	var all []*RegexpType
	for _, t := range of {
		all = append(all, t.Patterns...)
	}
	return append(others, newPatternType(all))
}

// newPatternType returns Pattern[patterns] without duplicates.
func newPatternType(patterns []*RegexpType) *PatternType {
	kept := make([]*RegexpType, 0, len(patterns))
	seen := make(map[string]bool, len(patterns))
	for _, p := range patterns {
		src := ""
		if p.Pattern != nil {
			src = "/" + p.Pattern.Source()
		}
		if !seen[src] {
			seen[src] = true
			kept = append(kept, p)
		}
	}
	return &PatternType{kept}
}

// manyRanges is the number of ranges from which they are joined in a different
// order than in Puppet.
const manyRanges = 200

func joinVersions(types []Type) []Type {
	of, others := part[*SemVerType](types, nil)
	if len(of) < 2 {
		return types
	}
	var all []*SemVerRange
	for _, t := range of {
		all = append(all, t.Ranges...)
	}
	return append([]Type{newSemVerType(all)}, others...)
}

// joinRanges joins the ranges among types in the same order as Puppet. The last
// range is joined with as many of the others as possible. Then the same is done
// with the remaining ranges. If there are very many, they are sorted by order
// first, because that is faster.
func joinRanges[T Type](types []Type, join func(a, b T) (T, bool), order func(a, b T) int) []Type {
	of, others := part[T](types, nil)
	if len(of) < 2 {
		return types
	}
	var joined []Type
	if len(of) > manyRanges {
		slices.SortStableFunc(of, order)
		x := of[0]
		for _, y := range of[1:] {
			if both, ok := join(x, y); ok {
				x = both
			} else {
				joined = append(joined, x)
				x = y
			}
		}
		return append(append(joined, x), others...)
	}
	for len(of) > 0 {
		x := of[len(of)-1]
		rest := of[:0:0]
		for _, y := range of[:len(of)-1] {
			if both, ok := join(x, y); ok {
				x = both
			} else {
				rest = append(rest, y)
			}
		}
		joined = append(joined, x)
		of = rest
	}
	return append(joined, others...)
}

func joinIntegers(a, b *IntegerType) (*IntegerType, bool) {
	// They touch if no integer is between them.
	apart := func(a, b *IntegerType) bool {
		return a.HasMax && b.HasMin && a.Max < b.Min && a.Max+1 < b.Min
	}
	if apart(a, b) || apart(b, a) {
		return nil, false
	}
	return hull(a, b), true
}

// hull returns the range from the smaller lower bound to the larger upper
// bound.
func hull(a, b *IntegerType) *IntegerType {
	t := &IntegerType{}
	if a.HasMin && b.HasMin {
		t.Min, t.HasMin = min(a.Min, b.Min), true
	}
	if a.HasMax && b.HasMax {
		t.Max, t.HasMax = max(a.Max, b.Max), true
	}
	return t
}

func joinFloats(a, b *FloatType) (*FloatType, bool) {
	if a.Max < b.Min || b.Max < a.Min {
		return nil, false
	}
	return &FloatType{min(a.Min, b.Min), max(a.Max, b.Max)}, true
}

func joinTimespans(a, b *TimespanType) (*TimespanType, bool) {
	if a.HasMax && b.HasMin && a.Max < b.Min || b.HasMax && a.HasMin && b.Max < a.Min {
		return nil, false
	}
	t := &TimespanType{}
	if a.HasMin && b.HasMin {
		t.Min, t.HasMin = min(a.Min, b.Min), true
	}
	if a.HasMax && b.HasMax {
		t.Max, t.HasMax = max(a.Max, b.Max), true
	}
	return t, true
}

func joinTimestamps(a, b *TimestampType) (*TimestampType, bool) {
	if a.HasMax && b.HasMin && a.Max.Before(b.Min.Time) || b.HasMax && a.HasMin && b.Max.Before(a.Min.Time) {
		return nil, false
	}
	t := &TimestampType{}
	if a.HasMin && b.HasMin {
		t.Min, t.HasMin = a.Min, true
		if b.Min.Before(a.Min.Time) {
			t.Min = b.Min
		}
	}
	if a.HasMax && b.HasMax {
		t.Max, t.HasMax = a.Max, true
		if b.Max.After(a.Max.Time) {
			t.Max = b.Max
		}
	}
	return t, true
}

// newSemVerType returns SemVer[ranges]. It joins ranges that touch.
func newSemVerType(ranges []*SemVerRange) *SemVerType {
	var joined []*SemVerRange
	for len(ranges) > 0 {
		x := ranges[len(ranges)-1]
		rest := ranges[:0:0]
		for _, y := range ranges[:len(ranges)-1] {
			if both, ok := joinVersionRanges(x, y); ok {
				x = both
			} else {
				rest = append(rest, y)
			}
		}
		joined = append(joined, x)
		ranges = rest
	}
	slices.Reverse(joined)
	return &SemVerType{joined}
}

func joinVersionRanges(a, b *SemVerRange) (*SemVerRange, bool) {
	r, ok := a.Range.Join(&b.Range)
	if !ok {
		return nil, false
	}
	return &SemVerRange{*r}, true
}
