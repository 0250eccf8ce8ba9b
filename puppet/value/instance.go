package value

import "unicode/utf8"

// Instance reports whether v is an instance of type t. This is the operator v
// =~ t. For types without aliases it does not allocate, for others only a
// little.
func Instance(t Type, v Value) bool { return instance(t, v, trail{}) }

// A trail is the state of a search through aliases.
type trail struct {
	aliases *aliasChain // aliases since v was entered; if one occurs again, the search fails
	levels  int         // arrays and hashes that were entered through aliases
	known   map[alternative]bool
}

// An alternative is an alias and an array or a hash that can be an instance of
// it.
type alternative struct {
	alias *AliasType
	v     Value
}

// rememberFrom is the number of levels from which answers are cached. Then the
// search does not repeat itself if an alias leads to the same value in several
// ways.
const rememberFrom = 4

// into returns the trail for the elements of the value.
func (s trail) into() trail { return trail{nil, s.levels, s.known} }

// instance reports whether v is an instance of the type that the alias stands
// for.
func (a *AliasType) instance(v Value, seen trail) bool {
	if a.resolved == nil {
		return false
	}
	if a.recursive {
		if seen.aliases.has(a) {
			return false
		}
		seen.aliases = &aliasChain{a, seen.aliases}
	}
	switch v.(type) {
	case *Array, *Hash:
	default:
		return instance(a.resolved, v, seen)
	}
	if seen.levels++; seen.levels <= rememberFrom {
		return instance(a.resolved, v, seen)
	}
	if seen.known == nil {
		seen.known = make(map[alternative]bool)
	}
	at := alternative{a, v}
	answer, ok := seen.known[at]
	if !ok {
		answer = instance(a.resolved, v, seen)
		seen.known[at] = answer
	}
	return answer
}

// instance is Instance with the trail that leads to t and v.
func instance(t Type, v Value, seen trail) bool {
	switch t := t.(type) {
	case AnyType, UnitType:
		return true
	case *StringType:
		s, ok := v.(String)
		return ok && t.holds(string(s))
	case *IntegerType:
		switch v := v.(type) {
		case Int:
			return t.holds(int64(v))
		case *BigInt:
			return t.holdsBig(v)
		}
		return false
	case *BooleanType:
		b, ok := v.(Bool)
		return ok && (!t.HasValue || t.Value == bool(b))
	case UndefType:
		return v == Value(Undef{})
	case *OptionalType:
		if _, ok := v.(Undef); ok {
			return true
		}
		return t.Type != nil && instance(t.Type, v, seen)
	case *NotUndefType:
		if _, ok := v.(Undef); ok {
			return false
		}
		return t.Type == nil || instance(t.Type, v, seen)
	case *VariantType:
		for _, option := range t.Types {
			if instance(option, v, seen) {
				return true
			}
		}
		return false
	case *AliasType:
		return t.instance(v, seen)
	case *EnumType:
		s, ok := v.(String)
		return ok && t.holds(string(s))
	case *PatternType:
		s, ok := v.(String)
		return ok && (len(t.Patterns) == 0 || t.holds(string(s)))
	case *ArrayType:
		a, ok := v.(*Array)
		return ok && t.holds(a, seen)
	case *HashType:
		h, ok := v.(*Hash)
		return ok && t.holds(h, seen)
	case *TupleType:
		a, ok := v.(*Array)
		return ok && t.holds(a, seen)
	case *StructType:
		h, ok := v.(*Hash)
		return ok && t.holds(h, seen)
	case *CollectionType:
		switch v := v.(type) {
		case *Array:
			return t.Size == nil || t.Size.holds(int64(len(v.elems)))
		case *Hash:
			return t.Size == nil || t.Size.holds(int64(len(v.entries)))
		}
		return false
	}
	return instanceOther(t, v, seen)
}

// instanceOther is instance for less common types.
func instanceOther(t Type, v Value, seen trail) bool {
	switch t := t.(type) {
	case ScalarType:
		switch v.(type) {
		case String, Int, *BigInt, Float, Bool, *Regexp, Timespan, Timestamp, *SemVer, *SemVerRange:
			return true
		}
	case ScalarDataType:
		switch v.(type) {
		case String, Int, *BigInt, Float, Bool:
			return true
		}
	case NumericType:
		switch v.(type) {
		case Int, *BigInt, Float:
			return true
		}
	case *FloatType:
		f, ok := v.(Float)
		return ok && t.Min <= float64(f) && float64(f) <= t.Max
	case DefaultType:
		_, ok := v.(Default)
		return ok
	case *RegexpType:
		r, ok := v.(*Regexp)
		return ok && (t.Pattern == nil || sameRegexp(t.Pattern, r))
	case *SemVerType:
		s, ok := v.(*SemVer)
		return ok && t.holds(s)
	case SemVerRangeType:
		_, ok := v.(*SemVerRange)
		return ok
	case *TimespanType:
		s, ok := v.(Timespan)
		return ok && (!t.HasMin || t.Min <= s) && (!t.HasMax || s <= t.Max)
	case *TimestampType:
		s, ok := v.(Timestamp)
		return ok && (!t.HasMin || !t.Min.After(s.Time)) && (!t.HasMax || !t.Max.Before(s.Time))
	case BinaryType:
		_, ok := v.(*Binary)
		return ok
	case *URIType:
		u, ok := v.(*URI)
		return ok && t.holds(u)
	case *SensitiveType:
		s, ok := v.(*Sensitive)
		return ok && instance(t.Type, s.v, trail{})
	case *TypeType:
		o, ok := v.(Type)
		return ok && (t.Type == nil || Assignable(t.Type, o))
	case *IterableType:
		return t.holds(v, nil)
	case *IteratorType:
		it, ok := v.(*Iterator)
		return ok && (t.Elem == nil || Assignable(t.Elem, typeOrAny(it.Elem)))
	case *RuntimeType:
		r, ok := v.(*Runtime)
		return ok && t.covers(r.typ())
	case *InitType:
		return t.holds(v, seen)
	case *ObjectType:
		return t.holds(v)
	case *ExtensionType:
		o, ok := v.(*Object)
		return ok && t.holds(o)
	case *TypeSetType:
		_, ok := v.(*TypeSetType)
		return ok
	}
	return false
}

func (t *StringType) holds(s string) bool {
	switch {
	case t.Size != nil:
		return t.holdsLength(s)
	case t.Literal:
		return t.Value == s
	}
	return true
}

// holdsLength checks the number of characters. It counts them only if the
// number of bytes is not sufficient.
func (t *StringType) holdsLength(s string) bool {
	n := int64(len(s)) // the number of characters is between n/4 and n
	if t.Size.HasMin && n < t.Size.Min {
		return false
	}
	if (!t.Size.HasMin || (n+3)/4 >= t.Size.Min) && (!t.Size.HasMax || n <= t.Size.Max) {
		return true
	}
	return t.Size.holds(int64(utf8.RuneCountInString(s)))
}

func (t *SemVerType) holds(v *SemVer) bool {
	for _, r := range t.Ranges {
		if r.Includes(v) {
			return true
		}
	}
	return len(t.Ranges) == 0
}

func (t *URIType) holds(u *URI) bool {
	if t.Params == nil {
		return true
	}
	for k, want := range t.Params.All() {
		name, ok := k.(String)
		if !ok || !matches(u.Part(string(name)), want) {
			return false
		}
	}
	return true
}

func (t *ArrayType) holds(a *Array, seen trail) bool {
	if t.Size != nil && !t.Size.holds(int64(len(a.elems))) || a.tooBig() {
		return false
	}
	if _, ok := t.Elem.(AnyType); ok {
		return true
	}
	seen = seen.into()
	for _, v := range a.elems {
		if !instance(t.Elem, v, seen) {
			return false
		}
	}
	return true
}

func (t *HashType) holds(h *Hash, seen trail) bool {
	if t.Size != nil && !t.Size.holds(int64(len(h.entries))) || h.tooBig() {
		return false
	}
	seen = seen.into()
	for i := range h.entries {
		e := &h.entries[i]
		if !instance(t.Key, e.Key, seen) || !instance(t.Elem, e.Value, seen) {
			return false
		}
	}
	return true
}

func (t *TupleType) holds(a *Array, seen trail) bool {
	if t.Size != nil && !t.Size.holds(int64(len(a.elems))) || a.tooBig() {
		return false
	}
	if len(t.Types) == 0 {
		return true
	}
	if t.Size == nil && len(t.Types) != len(a.elems) {
		return false
	}
	seen = seen.into()
	for i, v := range a.elems {
		if !instance(t.at(i), v, seen) {
			return false
		}
	}
	return true
}

func (t *StructType) holds(h *Hash, seen trail) bool {
	if h.tooBig() {
		return false
	}
	seen = seen.into()
	matched := 0
	for i := range t.Elements {
		e := &t.Elements[i]
		v, ok := h.GetString(e.Name)
		if !ok {
			if !e.Optional {
				return false
			}
			continue
		}
		matched++
		if !instance(e.Elem, v, seen) {
			return false
		}
	}
	return matched == len(h.entries)
}

// holds reports whether v can be iterated and its elements have the type.
func (t *IterableType) holds(v Value, seen *aliasChain) bool {
	if t.Elem != nil && !Assignable(t.Elem, AnyType{}) {
		elem := iterableElem(Infer(v), nil)
		return elem != nil && Assignable(t.Elem, elem)
	}
	switch v := v.(type) {
	case *Iterator, String, *Hash, *Array, *EnumType:
		return true
	case Int:
		return v >= 0
	case *BigInt:
		return v.n.Sign() > 0
	case *IntegerType:
		return v.HasMin && v.HasMax
	case *AliasType:
		return v.resolved != nil && !seen.has(v) && t.holds(v.resolved, &aliasChain{v, seen})
	case *Object:
		return v.typ.native.Elements != nil
	}
	return false
}

func (r *Runtime) typ() *RuntimeType {
	return &RuntimeType{Runtime: r.Runtime, TypeOf: r.Name}
}

// matches reports whether v matches pattern as an option of a case expression
// does. A regular expression or a type matches by its own rules, arrays and
// hashes match by their elements. Versions match ranges of versions. Other
// values match if they are [Equal].
func matches(v, pattern Value) bool {
	switch p := pattern.(type) {
	case Default:
		return true
	case *Regexp:
		s, ok := v.(String)
		if !ok {
			return false
		}
		matched, err := p.MatchString(string(s))
		return matched && err == nil
	case Type:
		return Instance(p, v)
	case *SemVer:
		o, ok := versionOf(v)
		return ok && p.Equal(o)
	case *SemVerRange:
		o, ok := versionOf(v)
		return ok && p.Includes(o)
	case *Array:
		a, ok := v.(*Array)
		if !ok || len(a.elems) != len(p.elems) || p.tooBig() {
			return false
		}
		for i := range a.elems {
			if !matches(a.elems[i], p.elems[i]) {
				return false
			}
		}
		return true
	case *Hash:
		h, ok := v.(*Hash)
		if !ok || p.tooBig() {
			return false
		}
		for k, want := range p.All() {
			have, ok := h.Get(k)
			if !ok {
				have = Undef{}
			}
			if !matches(have, want) {
				return false
			}
		}
		return true
	}
	return Equal(v, pattern)
}

// versionOf returns v as a version if it is a version or a string that is a
// version.
func versionOf(v Value) (*SemVer, bool) {
	switch v := v.(type) {
	case *SemVer:
		return v, true
	case String:
		o, err := ParseSemVer(string(v))
		return o, err == nil
	}
	return nil, false
}
