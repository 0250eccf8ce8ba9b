package value

import "fmt"

// An AliasType is a type alias: a name for another type.
type AliasType struct {
	name      string
	resolved  Type
	recursive bool // reaches itself
	builtin   bool // printed by its name only
}

// NewAlias returns an alias that is not resolved yet. A type can already be
// made with it, so that aliases can be recursive.
func NewAlias(name string) *AliasType { return &AliasType{name: name} }

// Resolved returns the type that the alias stands for, or nil.
func (a *AliasType) Resolved() Type { return a.resolved }

// Resolve sets the type that the alias stands for. It must be called once,
// before goroutines share the alias. Aliases that refer to each other must all
// be resolved before they are shared. If the alias stands for nothing but
// itself, Resolve returns a [*TypeError].
func (a *AliasType) Resolve(t Type) error {
	if a.resolved != nil {
		return &TypeError{Kind: "resolved", Msg: fmt.Sprintf("the type alias %s is resolved already", a.name), Arg: -1}
	}
	a.resolved = normalize(t)
	if !isReal(a) {
		a.resolved = nil
		return &TypeError{Kind: "recursion", Msg: fmt.Sprintf("the type alias %s stands for nothing but itself", a.name), Arg: -1}
	}
	if !reaches(a, a) {
		return nil
	}
	a.recursive = true
	if v, ok := a.resolved.(*VariantType); ok {
		a.dropUnreal(v)
	}
	walkTypes(a, func(t Type) bool {
		if b, ok := t.(*AliasType); ok && !b.recursive && reaches(b, b) {
			b.recursive = true
		}
		return true
	})
	if o := selfParent(a.resolved); o != nil {
		return &TypeError{Kind: "recursion", Msg: fmt.Sprintf("the object type %s inherits from itself", o.name), Arg: -1}
	}
	return nil
}

// dropUnreal removes from a variant the types that are only aliases of the
// variant.
func (a *AliasType) dropUnreal(v *VariantType) {
	kept := make([]Type, 0, len(v.Types))
	for _, t := range v.Types {
		if t != Type(a) && isReal(t) {
			kept = append(kept, t)
		}
	}
	if len(kept) == len(v.Types) {
		return
	}
	a.resolved = NewVariantType(kept...)
	a.recursive = reaches(a, a)
}

// isReal reports whether t contains a type that is not an alias or a variant,
// or can contain one: an alias in it is not resolved yet.
func isReal(t Type) bool {
	real := false
	walkTypes(t, func(t Type) bool {
		switch t := t.(type) {
		case *AliasType:
			real = real || t.resolved == nil
		case *VariantType:
		default:
			real = true
		}
		return !real
	})
	return real
}

// reaches reports whether t contains the alias.
func reaches(t, alias *AliasType) bool {
	if t.resolved == nil {
		return false
	}
	found := false
	walkTypes(t.resolved, func(t Type) bool {
		found = found || t == Type(alias)
		return !found
	})
	return found
}

// walkTypes calls visit with t and all types that t contains, until visit
// returns false. It visits each alias and each object type once.
func walkTypes(t Type, visit func(Type) bool) {
	w := walker{visit: visit}
	w.walk(t)
}

type walker struct {
	visit func(Type) bool
	seen  map[Type]bool
}

func (w *walker) walk(t Type) bool {
	if t == nil {
		return true
	}
	switch t.(type) {
	case *AliasType, *ObjectType:
		if w.seen[t] {
			return true
		}
		if w.seen == nil {
			w.seen = make(map[Type]bool)
		}
		w.seen[t] = true
	}
	if !w.visit(t) {
		return false
	}
	switch t := t.(type) {
	case *AliasType:
		return w.walk(t.resolved)
	case *ArrayType:
		return w.walk(t.Elem)
	case *HashType:
		return w.walk(t.Key) && w.walk(t.Elem)
	case *TupleType:
		return w.all(t.Types)
	case *VariantType:
		return w.all(t.Types)
	case *StructType:
		for _, e := range t.Elements {
			if !w.walk(e.Elem) {
				return false
			}
		}
	case *OptionalType:
		return w.walk(t.Type)
	case *NotUndefType:
		return w.walk(t.Type)
	case *TypeType:
		return w.walk(t.Type)
	case *SensitiveType:
		return w.walk(t.Type)
	case *IterableType:
		return w.walk(t.Elem)
	case *IteratorType:
		return w.walk(t.Elem)
	case *InitType:
		return w.walk(t.Type)
	case *CallableType:
		return (t.Params == nil || w.walk(t.Params)) && w.walk(t.Block) && w.walk(t.Return)
	case *ExtensionType:
		return w.walk(t.Base)
	case *ObjectType:
		return w.object(t)
	}
	return true
}

func (w *walker) all(types []Type) bool {
	for _, t := range types {
		if !w.walk(t) {
			return false
		}
	}
	return true
}

func (w *walker) object(t *ObjectType) bool {
	if !w.walk(t.parent) {
		return false
	}
	for _, m := range [][]*Member{t.params, t.attributes, t.functions} {
		for _, member := range m {
			if !w.walk(member.Type) {
				return false
			}
		}
	}
	return true
}

// selfParent returns the object type in t that inherits from itself, or nil.
func selfParent(t Type) *ObjectType {
	o, ok := t.(*ObjectType)
	for n := 0; ok; n++ {
		if n > maxParents {
			return o
		}
		o, ok = resolveAlias(o.parent).(*ObjectType)
	}
	return nil
}

// resolveAlias returns the type that t stands for. An alias that is not
// resolved yet stands for itself.
func resolveAlias(t Type) Type {
	for n := 0; n < maxParents; n++ {
		a, ok := t.(*AliasType)
		if !ok || a.resolved == nil {
			break
		}
		t = a.resolved
	}
	return t
}

// maxParents is the largest length of a chain of parents or of aliases of
// aliases.
const maxParents = 1000
