package value

import (
	"fmt"
	"slices"
)

// An ObjectType is a type with its own attributes and functions. It is made
// from a hash, as in Object[{…}].
type ObjectType struct {
	name    string
	parent  Type // or nil; inherited members come from an object type or an alias of one
	defined bool

	params     []*Member
	attributes []*Member
	functions  []*Member

	equality     []string // names of attributes; see hasEquality
	hasEquality  bool     // if it is false, all attributes are compared
	equalityType bool     // objects of another type are never equal
	checks       Value    // or nil
	annotations  *Hash    // or nil

	native Native // definitions of the host

	all      []*Member   // attributes, those of parents first
	slots    []*Member   // the attributes that an object has values for, in the order of arguments
	required int         // number of required slots
	init     *StructType // type of the hash that an object can be made from
}

// A Member is an attribute, a function or a parameter of an object type.
type Member struct {
	Name string
	Of   *ObjectType // the type that declares it
	Type Type        // of the value of an attribute; for a function, a Callable
	// Kind is empty for ordinary attributes and functions. Otherwise it is
	// constant, derived, given_or_derived or reference.
	Kind        string
	Role        Role
	Final       bool
	Override    bool
	Value       Value // default value of an attribute, or nil
	Annotations *Hash // or nil
}

// A Role is the kind of a member.
type Role uint8

// The roles of members.
const (
	Attribute Role = iota
	Function
	TypeParameter
)

// String returns the role in words.
func (r Role) String() string {
	switch r {
	case Function:
		return "function"
	case TypeParameter:
		return "type parameter"
	}
	return "attribute"
}

// Kinds of attributes.
const (
	kindConstant       = "constant"
	KindDerived        = "derived"
	kindGivenOrDerived = "given_or_derived"
	kindReference      = "reference"
)

// label returns the name of the member for messages.
func (m *Member) label() string {
	return fmt.Sprintf("%s %s[%s]", m.Role, m.Of.label(), m.Name)
}

// anyObject is Object without parameters.
var anyObject = &ObjectType{defined: true, equalityType: true, init: anyStruct}

// DeclareObjectType returns an object type that is not defined yet. Other types
// can already refer to it.
func DeclareObjectType(name string) *ObjectType { return &ObjectType{name: name} }

// newObjectType returns the object type that init describes. If name is empty,
// the name in init is used. An error is a [*TypeError].
func newObjectType(name string, init *Hash) (*ObjectType, error) {
	t := &ObjectType{name: name}
	if err := t.Define(init); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *ObjectType) label() string {
	if t.name == "" {
		return "Object"
	}
	return t.name
}

// super returns the parent if it is an object type, or nil.
func (t *ObjectType) super() *ObjectType {
	p, _ := resolveAlias(t.parent).(*ObjectType)
	return p
}

// Attributes returns all attributes, inherited ones first.
func (t *ObjectType) Attributes() []*Member { return t.all }

// typeParameters returns the parameters of the type, inherited ones first.
func (t *ObjectType) typeParameters() []*Member {
	p := t.super()
	if p == nil {
		return t.params
	}
	return override(p.typeParameters(), t.params)
}

// override returns members with those of more added. A member of more replaces
// the member with the same name.
func override(members, more []*Member) []*Member {
	if len(more) == 0 {
		return members
	}
	out := slices.Clone(members)
	for _, m := range more {
		if i := findMember(out, m.Name); i >= 0 {
			out[i] = m
		} else {
			out = append(out, m)
		}
	}
	return out
}

func findMember(members []*Member, name string) int {
	return slices.IndexFunc(members, func(m *Member) bool { return m.Name == name })
}

// Member returns the attribute or function with a name, including inherited
// ones.
func (t *ObjectType) Member(name string) (*Member, bool) {
	for ; t != nil; t = t.super() {
		if i := findMember(t.attributes, name); i >= 0 {
			return t.attributes[i], true
		}
		if i := findMember(t.functions, name); i >= 0 {
			return t.functions[i], true
		}
	}
	return nil, false
}

// parameters returns the names and types of the attributes of an object in the
// order in which [ObjectType.Create] takes them, and the number of required
// ones.
func (t *ObjectType) parameters() (names []string, types []Type, required int) {
	for _, m := range t.slots {
		names = append(names, m.Name)
		types = append(types, m.Type)
	}
	return names, types, t.required
}

// equalityAttributes returns the names of the attributes that are compared in
// objects of t, including those of its parents.
func (t *ObjectType) equalityAttributes() []string {
	var names []string
	if p := t.super(); p != nil {
		names = p.equalityAttributes()
	}
	return append(names, t.ownEquality()...)
}

// ownEquality returns the names that t itself adds.
func (t *ObjectType) ownEquality() []string {
	if t.hasEquality {
		return t.equality
	}
	var names []string
	for _, m := range t.attributes {
		if m.Kind != kindConstant && m.Kind != KindDerived {
			names = append(names, m.Name)
		}
	}
	return names
}

// same reports whether both types are the same. Types with the same name are,
// because a name belongs to only one type.
func (t *ObjectType) same(o *ObjectType) bool {
	if t == o {
		return true
	}
	if t.name != "" || o.name != "" {
		return t.name == o.name
	}
	return sameTypeOrNil(t.parent, o.parent) && sameMembers(t.params, o.params) && sameMembers(t.attributes, o.attributes) &&
		sameMembers(t.functions, o.functions) && t.hasEquality == o.hasEquality && slices.Equal(t.equality, o.equality)
}

func sameMembers(a, b []*Member) bool {
	return slices.EqualFunc(a, b, func(m, n *Member) bool {
		return m.Name == n.Name && m.Kind == n.Kind && m.Final == n.Final && m.Override == n.Override &&
			(m.Value == nil) == (n.Value == nil) && (m.Value == nil || Same(m.Value, n.Value)) && sameType(m.Type, n.Type)
	})
}

// isAny reports whether t is Object without parameters.
func (t *ObjectType) isAny() bool { return t == anyObject }

// objectAccepts reports whether from is t, or inherits from it.
func (q *query) objectAccepts(t *ObjectType, from Type) bool {
	switch f := from.(type) {
	case *ExtensionType:
		return q.assignable(t, f.Base)
	case *ObjectType:
		for n := 0; f != nil && n < maxParents; n++ {
			if t.isAny() || t.same(f) {
				return true
			}
			f = f.super()
		}
	}
	return false
}

func (q *query) extensionAccepts(t *ExtensionType, from Type) bool {
	f, ok := from.(*ExtensionType)
	if !ok || !q.assignable(t.Base, f.Base) {
		return false
	}
	for k, want := range t.Params.All() {
		have, ok := f.Params.Get(k)
		if !ok || !paramCovers(want, have) {
			return false
		}
	}
	return true
}

// holds reports whether v is an object of the type. All types are objects, too,
// of types without names in the language.
func (t *ObjectType) holds(v Value) bool {
	switch v := v.(type) {
	case *Object:
		return Assignable(t, v.typ)
	case Type:
		return t.isAny()
	}
	return false
}

func (t *ExtensionType) holds(o *Object) bool {
	if !t.Base.holds(o) {
		return false
	}
	for k, want := range t.Params.All() {
		name, _ := k.(String)
		have, ok := o.Get(string(name))
		if !ok || !matches(have, want) {
			return false
		}
	}
	return true
}

// An Object is an instance of an object type. It is immutable.
type Object struct {
	typ    *ObjectType
	values []Value // in the order of the type's slots
	shape
	payload any // the value of the host that it stands for, or nil
}

// Type returns the object's type.
func (o *Object) Type() *ObjectType { return o.typ }

// Get returns the value of an attribute, or of a constant of the type.
func (o *Object) Get(name string) (Value, bool) {
	if i := findMember(o.typ.slots, name); i >= 0 {
		return o.values[i], true
	}
	if i := findMember(o.typ.all, name); i >= 0 && o.typ.all[i].Kind == kindConstant {
		return o.typ.all[i].Value, true
	}
	return nil, false
}

// init returns the hash from which the object can be made. It leaves out
// attributes that have their default value.
func (o *Object) init() *Hash {
	var b HashBuilder
	for _, m := range o.typ.all {
		i := slices.Index(o.typ.slots, m)
		if i < 0 || m.Value != nil && Same(m.Value, o.values[i]) {
			continue
		}
		b.Put(String(m.Name), o.values[i])
	}
	return b.Build()
}

// inferred returns the type, with parameters if it has any.
func (o *Object) inferred() Type {
	params := o.typ.typeParameters()
	if len(params) == 0 {
		return o.typ
	}
	var b HashBuilder
	for _, p := range params {
		v, ok := o.Get(p.Name)
		if !ok {
			v = Undef{}
		}
		b.Put(String(p.Name), v)
	}
	return &ExtensionType{o.typ, b.Build()}
}

// Create returns an object of the type. It is made from its attributes, or from
// a hash of them. An error is a [*TypeError] that describes what does not fit.
func (t *ObjectType) Create(args []Value) (*Object, error) {
	if !t.defined || t.isAny() {
		return nil, &TypeError{"object", "Object without parameters cannot have objects", -1}
	}
	if len(args) == 1 {
		if h, ok := args[0].(*Hash); ok && Instance(t.init, h) {
			return t.fromHash(h), nil
		}
	}
	if len(args) < t.required || len(args) > len(t.slots) {
		return nil, &TypeError{"arity", fmt.Sprintf("%s takes %s, got %d", t.label(), countArguments(t.required, len(t.slots)), len(args)), -1}
	}
	values := make([]Value, len(t.slots))
	for i, m := range t.slots {
		if i >= len(args) {
			values[i] = m.Value
			continue
		}
		if !Instance(m.Type, args[i]) {
			return nil, &TypeError{"argument-type", Mismatch(fmt.Sprintf("%s[%s]", m.Of.label(), m.Name), m.Type, args[i]), i}
		}
		values[i] = args[i]
	}
	return t.object(values), nil
}

func countArguments(lo, hi int) string {
	switch {
	case lo == hi && lo == 1:
		return "1 argument"
	case lo == hi:
		return fmt.Sprintf("%d arguments", lo)
	}
	return fmt.Sprintf("%d to %d arguments", lo, hi)
}

// fromHash returns the object that a hash of the right type describes.
func (t *ObjectType) fromHash(h *Hash) *Object {
	values := make([]Value, len(t.slots))
	for i, m := range t.slots {
		v, ok := h.GetString(m.Name)
		if !ok {
			v = m.Value
		}
		if v == nil {
			v = Undef{} // the type allows it, otherwise the hash would not fit
		}
		values[i] = v
	}
	return t.object(values)
}

func (t *ObjectType) object(values []Value) *Object {
	var s shape
	for _, v := range values {
		s.add(v)
	}
	return &Object{typ: t, values: values, shape: s.close()}
}

// sameObjects compares objects by the attributes that define the equality of
// their type.
func sameObjects(a, b *Object) bool {
	if a == b {
		return true
	}
	if a.payload != nil && b.payload != nil {
		return a.payload == b.payload
	}
	if a.tooBig() || !a.typ.same(b.typ) && !equalAcrossTypes(a.typ, b.typ) {
		return false
	}
	for _, name := range a.typ.equalityAttributes() {
		x, ok1 := a.Get(name)
		y, ok2 := b.Get(name)
		if !ok1 || !ok2 || !Same(x, y) {
			return false
		}
	}
	return true
}

// equalAcrossTypes reports whether an object of type a can be equal to an
// object of type b.
func equalAcrossTypes(a, b *ObjectType) bool {
	for ; a != nil; a = a.super() {
		if a.equalityType {
			return false
		}
	}
	return len(b.slots) > 0
}

func hashObject(o *Object) uint64 {
	h := hashString(o.typ.name)
	if !o.typ.equalityType {
		h = 53
	}
	if o.tooBig() {
		return h
	}
	for _, name := range o.typ.equalityAttributes() {
		if v, ok := o.Get(name); ok {
			h = mix(h ^ hashKey(v))
		}
	}
	return h
}

// An ExtensionType is an object type with values for its parameters.
type ExtensionType struct {
	Base   *ObjectType
	Params *Hash // by name of the parameter
}

// args returns the parameters in the form of the source: positional, or as one
// hash if the type has more than two.
func (t *ExtensionType) args() []Value {
	params := t.Base.typeParameters()
	if len(params) > 2 {
		return []Value{t.Params}
	}
	args := make([]Value, 0, len(params))
	for _, p := range params {
		v, ok := t.Params.GetString(p.Name)
		if !ok {
			v = Default{}
		}
		args = append(args, v)
	}
	for len(args) > 0 && args[len(args)-1] == Value(Default{}) {
		args = args[:len(args)-1]
	}
	return args
}

// extend returns t[args…].
func (t *ObjectType) extend(args []Value) (Type, error) {
	params := t.typeParameters()
	if len(params) == 0 {
		return nil, &TypeError{"not-parametrized", fmt.Sprintf("%s takes no parameters", t.label()), -1}
	}
	var b HashBuilder
	put := func(p *Member, v Value) error {
		if _, ok := v.(Default); ok {
			return nil
		}
		if !Instance(p.Type, v) {
			return &TypeError{"argument-type", Mismatch(p.label(), p.Type, v), -1}
		}
		b.Put(String(p.Name), v)
		return nil
	}
	named, ok := (*Hash)(nil), false
	if len(args) == 1 {
		named, ok = args[0].(*Hash)
	}
	if ok && !Instance(params[0].Type, named) {
		for k, v := range named.All() {
			name, _ := k.(String)
			i := findMember(params, string(name))
			if i < 0 {
				return nil, &TypeError{"unknown-parameter", fmt.Sprintf("%s has no type parameter %s", t.label(), Inspect(k)), -1}
			}
			if err := put(params[i], v); err != nil {
				return nil, err
			}
		}
	} else {
		for i, v := range args[:min(len(args), len(params))] {
			if err := put(params[i], v); err != nil {
				return nil, err
			}
		}
	}
	if b.Len() == 0 {
		return nil, &TypeError{"arity", fmt.Sprintf("%s[] needs at least one parameter", t.label()), -1}
	}
	return &ExtensionType{t, b.Build()}, nil
}
