package value

func sizeOrAny(t *IntegerType) *IntegerType {
	if t == nil {
		return anySize
	}
	return t
}

// sizeOf returns the number of elements of a collection of type t.
func sizeOf(t Type) (*IntegerType, bool) {
	switch t := t.(type) {
	case *CollectionType:
		return sizeOrAny(t.Size), true
	case *ArrayType:
		return sizeOrAny(t.Size), true
	case *HashType:
		return sizeOrAny(t.Size), true
	case *TupleType:
		if t.Size != nil {
			return t.Size, true
		}
		return exactly(len(t.Types)), true
	case *StructType:
		return exactly(len(t.Elements)), true
	}
	return nil, false
}

func (q *query) arrayAccepts(t *ArrayType, from Type) bool {
	switch f := from.(type) {
	case *ArrayType:
		return sizeOrAny(t.Size).covers(sizeOrAny(f.Size)) && q.assignable(t.Elem, f.Elem)
	case *TupleType:
		size, _ := sizeOf(f)
		return sizeOrAny(t.Size).covers(size) && q.all(t.Elem, f.Types)
	}
	return false
}

func (q *query) hashAccepts(t *HashType, from Type) bool {
	switch f := from.(type) {
	case *HashType:
		// Hash[K, V, default, 0], which holds only {}, keeps K and V, and is
		// not treated as an empty hash.
		_, noKey := f.Key.(UnitType)
		_, noElem := f.Elem.(UnitType)
		if noKey && noElem && isEmptySize(f.Size) && (t.Size == nil || t.Size.Min == 0) {
			return true
		}
		return sizeOrAny(t.Size).covers(sizeOrAny(f.Size)) && q.assignable(t.Key, f.Key) && q.assignable(t.Elem, f.Elem)
	case *StructType:
		if !sizeOrAny(t.Size).holds(int64(len(f.Elements))) {
			return false
		}
		for _, e := range f.Elements {
			if !instance(t.Key, String(e.Name), trail{}) || !q.assignable(t.Elem, e.Elem) {
				return false
			}
		}
		return true
	}
	return false
}

// size returns the number of elements of arrays of type t.
func (t *TupleType) size() *IntegerType {
	switch {
	case t.Size != nil:
		return t.Size
	case len(t.Types) == 0:
		return anySize
	}
	return exactly(len(t.Types))
}

// at returns the type of element i.
func (t *TupleType) at(i int) Type {
	return t.Types[min(i, len(t.Types)-1)]
}

func (q *query) tupleAccepts(t *TupleType, from Type) bool {
	switch f := from.(type) {
	case *TupleType:
		if t == f {
			return true
		}
		if !t.size().covers(f.size()) {
			return false
		}
		if len(t.Types) == 0 {
			return true
		}
		if len(f.Types) == 0 {
			return t.size().Min == 0
		}
		for i, e := range f.Types {
			if !q.assignable(t.at(i), e) {
				return false
			}
		}
		return true
	case *ArrayType:
		size := sizeOrAny(f.Size)
		if !t.size().covers(size) {
			return false
		}
		n := len(t.Types)
		if size.HasMax {
			n = int(min(int64(n), size.Max))
		}
		for i := range n {
			if !q.assignable(t.Types[i], f.Elem) {
				return false
			}
		}
		return true
	}
	return false
}

func (q *query) structAccepts(t *StructType, from Type) bool {
	switch f := from.(type) {
	case *StructType:
		matched := 0
		for _, e := range t.Elements {
			i := f.find(e.Name)
			if i < 0 {
				if !e.Optional {
					return false
				}
				continue
			}
			matched++
			o := f.Elements[i]
			if o.Optional && !e.Optional || !q.assignable(e.Elem, o.Elem) {
				return false
			}
		}
		return matched == len(f.Elements)
	case *HashType:
		required := 0
		for _, e := range t.Elements {
			if e.Optional {
				continue
			}
			required++
			if !q.assignable(e.Elem, f.Elem) || !q.assignable(anyString, f.Key) {
				return false
			}
		}
		return NewIntegerType(int64(required), int64(len(t.Elements))).covers(sizeOrAny(f.Size))
	}
	return false
}

func (q *query) callableAccepts(t, f *CallableType) bool {
	if t.Return != nil && !q.assignable(t.Return, typeOrAny(f.Return)) {
		return false
	}
	if t.Params == nil {
		return true
	}
	if f.Params == nil || !q.assignable(f.Params, t.Params) {
		return false
	}
	return q.assignable(blockOrUndef(f.Block), blockOrUndef(t.Block))
}

func typeOrAny(t Type) Type {
	if t == nil {
		return AnyType{}
	}
	return t
}

func blockOrUndef(t Type) Type {
	if t == nil {
		return UndefType{}
	}
	return t
}

func (q *query) iterableAccepts(t *IterableType, from Type) bool {
	if t.Elem == nil || q.assignable(t.Elem, AnyType{}) {
		return iterable(from, nil)
	}
	elem := iterableElem(from, nil)
	return elem != nil && q.assignable(t.Elem, elem)
}

// An aliasChain is the list of aliases that lead to the current type. It
// detects an alias that stands for itself.
type aliasChain struct {
	alias *AliasType
	up    *aliasChain
}

func (c *aliasChain) has(a *AliasType) bool {
	for ; c != nil; c = c.up {
		if c.alias == a {
			return true
		}
	}
	return false
}

// iterable reports whether values of type t can be iterated.
func iterable(t Type, seen *aliasChain) bool {
	switch t := t.(type) {
	case *IntegerType, *EnumType, *StringType, *CollectionType, *ArrayType, *HashType, *TupleType, *StructType, *IterableType, *IteratorType:
		return true
	case *TypeType:
		return iterableElem(t, nil) != nil
	case *AliasType:
		return t.resolved != nil && !seen.has(t) && iterable(t.resolved, &aliasChain{t, seen})
	case *ObjectType:
		return t.parent != nil && iterable(t.parent, nil)
	}
	return false
}

// iterableElem returns the type of the elements in an iteration over a value of
// type t, or nil.
func iterableElem(t Type, seen *aliasChain) Type {
	switch t := t.(type) {
	case *IntegerType:
		return anyInteger
	case *EnumType, *StringType:
		return oneCharacter
	case *ArrayType:
		if _, ok := t.Elem.(AnyType); !ok {
			return t.Elem
		}
	case *HashType:
		if sameType(t, anyHash) || sameType(t, noHash) {
			return anyPair
		}
		return newTupleType([]Type{t.Key, t.Elem}, pairSize)
	case *TupleType:
		return NewVariantType(t.Types...)
	case *StructType:
		if len(t.Elements) == 0 {
			return anyPair
		}
		keys := make([]Type, len(t.Elements))
		elems := make([]Type, len(t.Elements))
		for i, e := range t.Elements {
			keys[i], elems[i] = e.key(), e.Elem
		}
		return newTupleType([]Type{NewVariantType(keys...), NewVariantType(elems...)}, pairSize)
	case *IterableType:
		return t.Elem
	case *IteratorType:
		return t.Elem
	case *TypeType:
		switch e := t.Type.(type) {
		case *EnumType:
			return e
		case *IntegerType:
			if e.HasMin && e.HasMax {
				return e
			}
		}
	case *AliasType:
		if t.resolved != nil && !seen.has(t) {
			return iterableElem(t.resolved, &aliasChain{t, seen})
		}
	case *ObjectType:
		if t.parent != nil {
			return iterableElem(t.parent, nil)
		}
	}
	return nil
}

// key returns the type of the element's key.
func (e *StructElement) key() Type {
	key := Type(newStringType(e.Name))
	if e.Optional {
		return newOptionalType(key)
	}
	return key
}
