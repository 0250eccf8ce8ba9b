package eval

import "bolt/puppet/value"

// An operator or a function can do much work on large values. This work is
// counted in steps, too, of about sixty nanoseconds each, so that a program
// with many such operations ends.

const (
	nodesPerStep = 8   // values that are compared, hashed or matched with a type
	bytesPerStep = 256 // bytes of strings
	copyPerStep  = 16  // elements that are copied

	entriesPerStep = 8 // entries of a hash that are copied
	putPerStep     = 2 // entries that are put into a hash
)

// walk counts the work of visiting all values in a value.
func (t *thread) walk(at pos, v value.Value) error {
	n := 0
	switch v := v.(type) {
	case value.String:
		n = len(v) / bytesPerStep
	case *value.Array, *value.Hash, *value.Object:
		n = bulk(v) / nodesPerStep
	}
	if n == 0 {
		return nil
	}
	return t.step(at, n)
}

// bulk returns the number of values in v. A value that occurs several times
// counts several times, and long strings count by their length. A collection
// that is too large to be visited counts as one value.
func bulk(v value.Value) int {
	switch v := v.(type) {
	case value.String:
		return 1 + len(v)/(bytesPerStep/nodesPerStep)
	case *value.Array:
		if depth, nodes := value.Measure(v); depth > value.MaxDepth || nodes > value.MaxNodes {
			return 1
		}
		n := 1
		for _, e := range v.Elems() {
			n += bulk(e)
		}
		return n
	case *value.Hash:
		if depth, nodes := value.Measure(v); depth > value.MaxDepth || nodes > value.MaxNodes {
			return 1
		}
		n := 1
		for i := range v.Len() {
			e := v.At(i)
			n += bulk(e.Key) + bulk(e.Value)
		}
		return n
	case *value.Object:
		_, nodes := value.Measure(v)
		return min(nodes, value.MaxNodes)
	}
	return 1
}

// typeSize returns the number of types and words in an argument of a type.
// These have to be sorted and compared.
func typeSize(v value.Value) int {
	switch t := v.(type) {
	case *value.EnumType:
		return 1 + len(t.Values)
	case *value.VariantType:
		return 1 + typeSizes(t.Types)
	case *value.TupleType:
		return 1 + typeSizes(t.Types)
	case *value.StructType:
		return 1 + 4*len(t.Elements)
	case *value.ArrayType:
		return 1 + typeSize(t.Elem)
	case *value.HashType:
		return 1 + typeSize(t.Key) + typeSize(t.Elem)
	case *value.OptionalType:
		if t.Type != nil {
			return 1 + typeSize(t.Type)
		}
	case *value.Array, *value.Hash:
		_, nodes := value.Measure(v)
		return min(nodes, value.MaxNodes)
	}
	return 1
}

func typeSizes(list []value.Type) int {
	n := 0
	for _, t := range list {
		n += typeSize(t)
	}
	return n
}

// matchSteps is the number of steps of a regular expression that count as one
// step.
const matchSteps = 8

// budget returns the limits for matches at a position.
func (t *thread) budget(at pos) *value.Budget {
	t.matchAt = at
	if t.matching.Spend == nil {
		t.matching.Size = func(bytes int) error { return t.size(t.matchAt, bytes) }
		t.matching.Spend = func(steps int) error {
			steps += t.matchSteps
			t.matchSteps = steps % matchSteps
			return t.step(t.matchAt, steps/matchSteps)
		}
	}
	return &t.matching
}

// testing counts the work of matching a value with a type.
func (t *thread) testing(at pos, typ value.Type, v value.Value) error {
	n := 0
	switch v := v.(type) {
	case *value.Array, *value.Hash, *value.Object:
		values := reach(typ, v)
		if values == 0 {
			return nil
		}
		n = values / nodesPerStep
	case value.String:
		n = len(v) / bytesPerStep
	default:
		return nil
	}
	if err := t.step(at, n); err != nil {
		return err
	}
	if list := t.patterns(typ); list != nil {
		return t.tryAll(at, list, v)
	}
	return nil
}

// Matching with a type has no budget for regular expressions. Therefore the
// patterns of a type that can take long are first tried with the budget, on all
// strings of the value. If that succeeds, matching with the type ends in time,
// too.

// shortText is a length in bytes. On shorter strings, no pattern takes long.
const shortText = 16

// maxPatterned is the number of types whose patterns are cached.
const maxPatterned = 1000

// patterns returns the patterns in a type.
func (t *thread) patterns(typ value.Type) []*value.Regexp {
	switch typ.(type) {
	case value.AnyType, *value.CollectionType, *value.StringType, *value.EnumType, *value.IntegerType, *value.BooleanType, *value.FloatType, value.UndefType:
		return nil
	}
	list, known := t.patterned[typ]
	if !known {
		list = patternsOf(nil, typ, map[value.Type]bool{})
		if t.patterned == nil || len(t.patterned) >= maxPatterned {
			t.patterned = make(map[value.Type][]*value.Regexp)
		}
		t.patterned[typ] = list
	}
	return list
}

func patternsOf(list []*value.Regexp, typ value.Type, seen map[value.Type]bool) []*value.Regexp {
	if typ == nil || seen[typ] {
		return list
	}
	seen[typ] = true
	switch typ := typ.(type) {
	case *value.PatternType:
		for _, p := range typ.Patterns {
			if p.Pattern != nil {
				list = append(list, p.Pattern)
			}
		}
	case *value.AliasType:
		list = patternsOf(list, typ.Resolved(), seen)
	case *value.OptionalType:
		list = patternsOf(list, typ.Type, seen)
	case *value.NotUndefType:
		list = patternsOf(list, typ.Type, seen)
	case *value.SensitiveType:
		list = patternsOf(list, typ.Type, seen)
	case *value.VariantType:
		for _, o := range typ.Types {
			list = patternsOf(list, o, seen)
		}
	case *value.ArrayType:
		list = patternsOf(list, typ.Elem, seen)
	case *value.HashType:
		list = patternsOf(patternsOf(list, typ.Key, seen), typ.Elem, seen)
	case *value.TupleType:
		for _, o := range typ.Types {
			list = patternsOf(list, o, seen)
		}
	case *value.StructType:
		for i := range typ.Elements {
			list = patternsOf(list, typ.Elements[i].Elem, seen)
		}
	}
	return list
}

// tryAll matches slow patterns with all strings of a value.
func (t *thread) tryAll(at pos, list []*value.Regexp, v value.Value) error {
	switch v := v.(type) {
	case value.String:
		if len(v) < shortText {
			return nil
		}
		for _, r := range list {
			if !r.Backtracks(string(v)) {
				continue
			}
			if _, err := r.Within(t.budget(at)).FindIndex(string(v), 0); err != nil {
				return t.wrap(at, err)
			}
		}
	case *value.Array:
		if _, nodes := value.Measure(v); nodes > value.MaxNodes {
			return nil
		}
		for _, e := range v.Elems() {
			if err := t.tryAll(at, list, e); err != nil {
				return err
			}
		}
	case *value.Hash:
		if _, nodes := value.Measure(v); nodes > value.MaxNodes {
			return nil
		}
		for i := range v.Len() {
			e := v.At(i)
			if err := t.tryAll(at, list, e.Key); err != nil {
				return err
			}
			if err := t.tryAll(at, list, e.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// reach returns the largest number of values in a collection that a type has to
// check.
func reach(typ value.Type, v value.Value) int {
	inner := []value.Type(nil)
	switch t := typ.(type) {
	case value.AnyType, *value.CollectionType, *value.StringType, *value.IntegerType, *value.FloatType, *value.BooleanType, value.UndefType,
		value.ScalarType, value.NumericType:
		return 0
	case *value.OptionalType:
		if t.Type == nil {
			return 0
		}
		return reach(t.Type, v)
	case *value.VariantType:
		n := 0
		for _, o := range t.Types {
			n += reach(o, v)
		}
		return n
	case *value.IterableType:
		if t.Elem == nil {
			return 0
		}
	case *value.ArrayType:
		inner = []value.Type{t.Elem}
	case *value.HashType:
		inner = []value.Type{t.Key, t.Elem}
	}
	_, nodes := value.Measure(v)
	if nodes > value.MaxNodes {
		return 1 // it is not checked
	}
	if inner == nil {
		return nodes
	}
	for _, i := range inner {
		switch i.(type) {
		case *value.StringType, *value.IntegerType, *value.FloatType, *value.BooleanType, value.ScalarType, value.NumericType:
		case value.AnyType:
		default:
			return nodes
		}
	}
	switch v := v.(type) {
	case *value.Array:
		return v.Len()
	case *value.Hash:
		return v.Len()
	}
	return 1
}
