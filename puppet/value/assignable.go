package value

import (
	"math"
	"slices"
	"unicode/utf8"
)

// Assignable reports whether every value of the type from is also a value of
// the type to. This is the operator from <= to. Recursive aliases are allowed.
func Assignable(to, from Type) bool {
	var q query
	return q.assignable(to, from)
}

// A query answers one question about types. For recursive aliases it stores the
// questions that were asked. If a question occurs again while it is being
// answered, the answer is yes, because nothing contradicts it so far. The
// answer no is final.
//
// Differs from Puppet: Puppet answers yes as soon as both sides have returned
// to an alias, even if other parts are not compared yet. Therefore some types
// are assignable in Puppet although they have values that do not fit.
type query struct {
	asked map[question]bool
	order []question // questions with no negative answer, oldest first
	inits *initChain
}

type question struct {
	to, from Type
}

// begin registers a question. If known is set, the question has an answer
// already.
func (q *query) begin(to, from Type) (answer, known bool) {
	at := question{to, from}
	if answer, known = q.asked[at]; known {
		return answer, true
	}
	if q.asked == nil {
		q.asked = make(map[question]bool)
	}
	q.asked[at] = true
	q.order = append(q.order, at)
	return false, false
}

// end sets the answer. If the answer is no, all answers since the question was
// asked are discarded, because they can depend on it.
func (q *query) end(mark int, answer bool) bool {
	if !answer {
		for _, at := range q.order[mark+1:] {
			delete(q.asked, at)
		}
		q.asked[q.order[mark]] = false
		q.order = q.order[:mark]
	}
	return answer
}

// assignable splits from into its parts, all of which must be assignable. It
// leaves the other cases to accepts.
func (q *query) assignable(to, from Type) bool {
	switch t := to.(type) {
	case AnyType, UnitType:
		return true
	case *VariantType:
		if len(t.Types) == 0 {
			switch from.(type) {
			case UndefType:
				return false
			case *VariantType:
				return true
			}
		}
	}
	if !isRecursive(from) && (!isRecursive(to) || to.(*AliasType).builtin) {
		return q.open(to, from) // Data and RichData are only as deep as from
	}
	answer, known := q.begin(to, from)
	if known {
		return answer
	}
	mark := len(q.order) - 1
	return q.end(mark, q.open(to, from))
}

func isRecursive(t Type) bool {
	a, ok := t.(*AliasType)
	return ok && a.recursive
}

func (q *query) open(to, from Type) bool {
	switch f := from.(type) {
	case UnitType:
		return true
	case *AliasType:
		return f.resolved != nil && q.assignable(to, f.resolved)
	case *VariantType:
		if t, ok := to.(*NotUndefType); ok && len(f.Types) == 0 {
			return q.accepts(t, from)
		}
		return len(f.Types) > 0 && q.all(to, f.Types)
	case *OptionalType:
		return q.assignable(to, UndefType{}) && (f.Type == nil || q.assignable(to, f.Type))
	case *NotUndefType:
		if f.Type != nil && !q.assignable(f.Type, UndefType{}) {
			return q.assignable(to, f.Type)
		}
	}
	return q.accepts(to, from)
}

// all reports whether each of types is assignable to to.
func (q *query) all(to Type, types []Type) bool {
	for _, t := range types {
		if !q.assignable(to, t) {
			return false
		}
	}
	return true
}

// accepts decides for a from that is not an alias and not a union of types.
func (q *query) accepts(to, from Type) bool {
	switch t := to.(type) {
	case *AliasType:
		return t.resolved != nil && q.assignable(t.resolved, from)
	case UndefType, DefaultType, BinaryType, SemVerRangeType:
		return to == from
	case ScalarType:
		return isScalar(from)
	case ScalarDataType:
		return isScalarData(from)
	case NumericType:
		switch from.(type) {
		case NumericType, *IntegerType, *FloatType:
			return true
		}
	case *IntegerType:
		f, ok := from.(*IntegerType)
		return ok && t.covers(f)
	case *FloatType:
		f, ok := from.(*FloatType)
		return ok && t.Min <= f.Min && t.Max >= f.Max
	case *BooleanType:
		f, ok := from.(*BooleanType)
		return ok && (!t.HasValue || *t == *f)
	case *StringType:
		return t.accepts(from)
	case *EnumType:
		return t.accepts(from)
	case *PatternType:
		return t.accepts(from)
	case *RegexpType:
		f, ok := from.(*RegexpType)
		return ok && (t.Pattern == nil || sameRegexp(t.Pattern, f.Pattern))
	case *SemVerType:
		f, ok := from.(*SemVerType)
		return ok && t.covers(f)
	case *TimespanType:
		f, ok := from.(*TimespanType)
		return ok && t.covers(f)
	case *TimestampType:
		f, ok := from.(*TimestampType)
		return ok && t.covers(f)
	case CatalogEntryType:
		switch from.(type) {
		case CatalogEntryType, *ClassType, *ResourceType:
			return true
		}
	case *ClassType:
		f, ok := from.(*ClassType)
		return ok && (t.Title == "" || t.Title == f.Title)
	case *ResourceType:
		f, ok := from.(*ResourceType)
		return ok && t.covers(f)
	case *ReferenceType:
		f, ok := from.(*ReferenceType)
		return ok && t.Text == f.Text
	case *RuntimeType:
		f, ok := from.(*RuntimeType)
		return ok && t.covers(f)
	case *URIType:
		f, ok := from.(*URIType)
		return ok && t.covers(f)
	case *ObjectType:
		return q.objectAccepts(t, from)
	case *ExtensionType:
		return q.extensionAccepts(t, from)
	case *TypeSetType:
		f, ok := from.(*TypeSetType)
		return ok && (t == anyTypeSet || t.same(f))
	}
	return q.acceptsNested(to, from)
}

// acceptsNested is accepts for types made of types.
func (q *query) acceptsNested(to, from Type) bool {
	switch t := to.(type) {
	case *VariantType:
		for _, option := range t.Types {
			if q.assignable(option, from) {
				return true
			}
		}
	case *OptionalType:
		if _, ok := from.(UndefType); ok || t.Type == nil {
			return true
		}
		return q.assignable(t.Type, from)
	case *NotUndefType:
		return !q.assignable(from, UndefType{}) && (t.Type == nil || q.assignable(t.Type, from))
	case *TypeType:
		f, ok := from.(*TypeType)
		return ok && (t.Type == nil || f.Type != nil && q.assignable(t.Type, f.Type))
	case *SensitiveType:
		f, ok := from.(*SensitiveType)
		return ok && q.assignable(t.Type, f.Type)
	case *CollectionType:
		size, ok := sizeOf(from)
		return ok && sizeOrAny(t.Size).covers(size)
	case *ArrayType:
		return q.arrayAccepts(t, from)
	case *HashType:
		return q.hashAccepts(t, from)
	case *TupleType:
		return q.tupleAccepts(t, from)
	case *StructType:
		return q.structAccepts(t, from)
	case *IterableType:
		return q.iterableAccepts(t, from)
	case *IteratorType:
		f, ok := from.(*IteratorType)
		return ok && (t.Elem == nil || f.Elem != nil && q.assignable(t.Elem, f.Elem))
	case *CallableType:
		f, ok := from.(*CallableType)
		return ok && q.callableAccepts(t, f)
	case *InitType:
		return q.initAccepts(t, from)
	}
	return false
}

func isScalar(t Type) bool {
	switch t.(type) {
	case ScalarType, *RegexpType, *SemVerType, SemVerRangeType, *TimespanType, *TimestampType:
		return true
	}
	return isScalarData(t)
}

func isScalarData(t Type) bool {
	switch t.(type) {
	case ScalarDataType, NumericType, *IntegerType, *FloatType, *BooleanType, *StringType, *EnumType, *PatternType:
		return true
	}
	return false
}

// covers reports whether the range of f is within that of t.
func (t *IntegerType) covers(f *IntegerType) bool {
	return (!t.HasMin || f.HasMin && t.Min <= f.Min) && (!t.HasMax || f.HasMax && t.Max >= f.Max)
}

// holds reports whether i is in range.
func (t *IntegerType) holds(i int64) bool {
	return (!t.HasMin || t.Min <= i) && (!t.HasMax || i <= t.Max)
}

func (t *TimespanType) covers(f *TimespanType) bool {
	return (!t.HasMin || f.HasMin && t.Min <= f.Min) && (!t.HasMax || f.HasMax && t.Max >= f.Max)
}

func (t *TimestampType) covers(f *TimestampType) bool {
	return (!t.HasMin || f.HasMin && !t.Min.After(f.Min.Time)) && (!t.HasMax || f.HasMax && !t.Max.Before(f.Max.Time))
}

func (t *SemVerType) covers(f *SemVerType) bool {
	if len(t.Ranges) == 0 {
		return true
	}
	if len(f.Ranges) == 0 {
		return false
	}
	for _, r := range f.Ranges {
		if !slices.ContainsFunc(t.Ranges, func(o *SemVerRange) bool { covered, _ := r.coveredBy(o); return covered }) {
			return false
		}
	}
	return true
}

func (t *ResourceType) covers(f *ResourceType) bool {
	return t.TypeName == "" || t.lower == f.lower && (!t.HasTitle || f.HasTitle && t.Title == f.Title)
}

func (t *RuntimeType) covers(f *RuntimeType) bool {
	if t.Runtime != "" && t.Runtime != f.Runtime {
		return false
	}
	return t.TypeOf == "" && t.Pattern == nil || t.TypeOf == f.TypeOf && t.Replacement == f.Replacement && sameRegexp(t.Pattern, f.Pattern)
}

func (t *URIType) covers(f *URIType) bool {
	if t.Params == nil {
		return true
	}
	for k, want := range t.Params.All() {
		if f.Params == nil {
			return false
		}
		have, ok := f.Params.Get(k)
		if !ok || !paramCovers(want, have) {
			return false
		}
	}
	return true
}

// paramCovers reports whether a parameter of a type is within the parameter of
// another type.
func paramCovers(want, have Value) bool {
	if matches(have, want) {
		return true
	}
	w, ok1 := want.(Type)
	h, ok2 := have.(Type)
	return ok1 && ok2 && Assignable(w, h)
}

func (t *StringType) accepts(from Type) bool {
	switch f := from.(type) {
	case *StringType:
		switch {
		case t.Size != nil:
			return t.Size.covers(f.length())
		case t.Literal:
			return f.Literal && t.Value == f.Value
		}
		return true
	case *EnumType:
		switch {
		case t.Size != nil && len(f.Values) == 0:
			return t.Size.covers(anySize)
		case t.Size != nil:
			return t.Size.covers(lengths(f.Values))
		case t.Literal: // as in Puppet, the value itself does not matter
			return len(f.Values) == 1 && !f.IgnoreCase
		}
		return true
	case *PatternType:
		return !t.Literal && (t.Size == nil || t.Size.covers(anySize))
	}
	return false
}

// length returns the range of lengths of t's strings.
func (t *StringType) length() *IntegerType {
	switch {
	case t.Size != nil:
		return t.Size
	case t.Literal:
		return exactly(utf8.RuneCountInString(t.Value))
	}
	return anySize
}

// lengths returns the range of lengths of strings.
func lengths(values []string) *IntegerType {
	lo, hi := math.MaxInt, 0
	for _, s := range values {
		n := utf8.RuneCountInString(s)
		lo, hi = min(lo, n), max(hi, n)
	}
	return NewIntegerType(int64(lo), int64(hi))
}

func (t *EnumType) accepts(from Type) bool {
	switch f := from.(type) {
	case *StringType:
		return len(t.Values) == 0 || f.Literal && t.holds(f.Value)
	case *EnumType:
		if len(t.Values) == 0 {
			return true
		}
		return len(f.Values) > 0 && (t.IgnoreCase || !f.IgnoreCase) && !slices.ContainsFunc(f.Values, func(s string) bool { return !t.holds(s) })
	case *PatternType:
		return len(t.Values) == 0
	}
	return false
}

// holds reports whether s is one of the values.
func (t *EnumType) holds(s string) bool {
	if !t.IgnoreCase {
		if len(t.Values) <= 8 {
			return slices.Contains(t.Values, s)
		}
		_, ok := slices.BinarySearch(t.Values, s)
		return ok
	}
	for _, v := range t.Values {
		if len(v) == len(s) && foldCompare(v, s) == 0 {
			return true
		}
	}
	return false
}

func (t *PatternType) accepts(from Type) bool {
	switch f := from.(type) {
	case *StringType:
		return len(t.Patterns) == 0 || f.Literal && t.holds(f.Value)
	case *EnumType:
		if len(f.Values) == 0 {
			return len(t.Patterns) == 0
		}
		return len(t.Patterns) == 0 || !slices.ContainsFunc(f.Values, func(s string) bool { return !t.holds(s) })
	case *PatternType:
		return len(t.Patterns) == 0 || typeEquality{loose: true}.patterns(t, f)
	}
	return false
}

// holds reports whether a pattern matches s. If the matching of a pattern
// exceeds its limits, the pattern does not match.
func (t *PatternType) holds(s string) bool {
	for _, p := range t.Patterns {
		if p.Pattern == nil {
			return true
		}
		if ok, err := p.Pattern.MatchString(s); ok && err == nil {
			return true
		}
	}
	return false
}
