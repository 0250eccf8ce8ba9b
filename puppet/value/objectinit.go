package value

import (
	"fmt"
	"strings"
)

// Define defines the type with the keys of init: name, parent, type_parameters,
// attributes, constants, functions, equality, equality_include_type, checks and
// annotations. It must be called once, before goroutines share the type and
// after its parent is defined. An error is a [*TypeError].
func (t *ObjectType) Define(init *Hash) error {
	d := definer{t: t, init: init}
	for _, step := range []func() error{d.keys, d.parent, d.params, d.attributes, d.functions, d.equality} {
		if err := step(); err != nil {
			return err
		}
	}
	d.finish()
	return nil
}

// A definer holds the state of defining an object type.
type definer struct {
	t         *ObjectType
	init      *Hash
	inherited []*Member // attributes and functions
}

func (d *definer) errorf(kind, format string, args ...any) error {
	return &TypeError{kind, fmt.Sprintf(format, args...), -1}
}

// wrong returns the error of a part of the description that has the wrong type.
func (d *definer) wrong(what, expected string, v Value) error {
	return d.errorf("object", "%s of %s expects %s, got %s", what, d.t.label(), expected, DescribeValue(v))
}

func (d *definer) keys() error {
	for k, v := range d.init.All() {
		name, _ := k.(String)
		switch name {
		case "name":
			s, ok := v.(String)
			if !ok || !isQualifiedReference(string(s)) {
				return d.wrong("name", "a name like My::Type", v)
			}
			if d.t.name == "" {
				d.t.name = string(s)
			}
		case "parent":
			p, ok := v.(Type)
			if !ok {
				return d.wrong("parent", "a Type", v)
			}
			d.t.parent = p
		case "type_parameters", "attributes", "constants", "functions":
			h, ok := v.(*Hash)
			if !ok {
				return d.wrong(string(name), "a Hash", v)
			}
			for k, m := range h.All() {
				s, ok := k.(String)
				if !ok || !isMemberName(string(s)) && (name != "functions" || s != "[]") {
					return d.errorf("object", "%s of %s: %s is not a name like my_name", name, d.t.label(), Inspect(k))
				}
				if _, ok := m.(Undef); ok && name != "constants" {
					return d.errorf("object", "%s of %s: %s is undef", name, d.t.label(), s)
				}
			}
		case "equality":
			if err := d.checkEquality(v); err != nil {
				return err
			}
		case "equality_include_type":
			if _, ok := v.(Bool); !ok {
				return d.wrong("equality_include_type", "a Boolean", v)
			}
		case "checks":
			d.t.checks = v
		case "annotations":
			h, ok := v.(*Hash)
			if !ok {
				return d.wrong("annotations", "a Hash", v)
			}
			d.t.annotations = h
		default:
			return d.errorf("object", "%s has no use for the key %s", d.t.label(), Inspect(k))
		}
	}
	return nil
}

func (d *definer) checkEquality(v Value) error {
	list, ok := v.(*Array)
	if !ok {
		list = NewArray(v)
	}
	for _, e := range list.elems {
		s, ok := e.(String)
		if !ok || !isMemberName(string(s)) {
			return d.wrong("equality", "names of attributes", v)
		}
	}
	return nil
}

func (d *definer) parent() error {
	t := d.t
	if t.parent == nil {
		return nil
	}
	if r, ok := resolveAlias(t.parent).(*ReferenceType); ok {
		return d.errorf("unknown-type", "the parent of %s, %s, was not found", t.label(), r.Text)
	}
	p := t.super()
	for o, n := p, 0; o != nil; o, n = o.super(), n+1 {
		if o == t || n > maxParents {
			return d.errorf("recursion", "the object type %s inherits from itself", t.label())
		}
	}
	if p == nil {
		return nil
	}
	if !p.defined {
		return d.errorf("undefined", "the parent of %s, %s, is not defined yet", t.label(), p.label())
	}
	d.inherited = p.members()
	return nil
}

// members returns attributes and functions, including inherited ones.
func (t *ObjectType) members() []*Member {
	var members []*Member
	if p := t.super(); p != nil {
		members = p.members()
	}
	return override(override(members, t.attributes), t.functions)
}

func (d *definer) hash(key string) *Hash {
	if v, ok := d.init.GetString(key); ok {
		return v.(*Hash)
	}
	return emptyHash
}

func (d *definer) params() error {
	var inherited []*Member
	if p := d.t.super(); p != nil {
		inherited = p.typeParameters()
	}
	for k, spec := range d.hash("type_parameters").All() {
		m := &Member{Name: string(k.(String)), Of: d.t, Role: TypeParameter}
		if h, ok := spec.(*Hash); ok {
			v, _ := h.GetString("type")
			spec = v
			if v, ok := h.GetString("value"); ok {
				m.Value = v
			}
		}
		typ, ok := spec.(Type)
		if !ok {
			return d.wrong(m.label(), "a Type", spec)
		}
		if _, ok := typ.(*OptionalType); !ok {
			typ = newOptionalType(typ)
		}
		m.Type = typ
		if err := d.checkOverride(m, inherited); err != nil {
			return err
		}
		d.t.params = append(d.t.params, m)
	}
	return nil
}

func (d *definer) attributes() error {
	for k, spec := range d.hash("attributes").All() {
		m := &Member{Name: string(k.(String)), Of: d.t, Role: Attribute}
		if err := d.attribute(m, spec); err != nil {
			return err
		}
	}
	for k, v := range d.hash("constants").All() {
		name := string(k.(String))
		m := &Member{Name: name, Of: d.t, Role: Attribute, Kind: kindConstant, Type: Generalize(Infer(v)), Value: v, Final: true}
		if findMember(d.t.attributes, name) >= 0 {
			return d.errorf("object", "%s is both a constant and an attribute", m.label())
		}
		m.Override = findMember(d.inherited, name) >= 0
		if err := d.addAttribute(m); err != nil {
			return err
		}
	}
	return nil
}

func (d *definer) attribute(m *Member, spec Value) error {
	if strings.HasPrefix(m.Name, "__p") && (m.Name == "__ptype" || m.Name == "__pvalue") {
		return d.errorf("object", "%s: the name is reserved", m.label())
	}
	switch spec := spec.(type) {
	case Type:
		m.Type = spec
		if _, ok := spec.(*OptionalType); ok {
			m.Value = Undef{}
		}
	case *Hash:
		if err := d.member(m, spec); err != nil {
			return err
		}
	default:
		return d.wrong(m.label(), "a Type or a Hash", spec)
	}
	switch {
	case m.Kind == kindConstant && m.Value == nil:
		return d.errorf("object", "%s is a constant and needs a value", m.label())
	case (m.Kind == KindDerived || m.Kind == kindGivenOrDerived) && m.Value != nil:
		return d.errorf("object", "%s is %s and cannot have a value", m.label(), m.Kind)
	}
	if m.Value != nil && m.Value != Value(Default{}) && !Instance(m.Type, m.Value) {
		return d.errorf("object", "%s", Mismatch("value of "+m.label(), m.Type, m.Value))
	}
	return d.addAttribute(m)
}

func (d *definer) addAttribute(m *Member) error {
	if err := d.checkOverride(m, d.inherited); err != nil {
		return err
	}
	d.t.attributes = append(d.t.attributes, m)
	return nil
}

// member reads the description of an attribute or a function.
func (d *definer) member(m *Member, spec *Hash) error {
	final := false
	for k, v := range spec.All() {
		name, _ := k.(String)
		ok := true
		switch name {
		case "type":
			m.Type, ok = v.(Type)
		case "final":
			var b Bool
			b, ok = v.(Bool)
			m.Final, final = bool(b), true
		case "override":
			var b Bool
			b, ok = v.(Bool)
			m.Override = bool(b)
		case "annotations":
			if _, undef := v.(Undef); !undef {
				m.Annotations, ok = v.(*Hash)
			}
		case "kind":
			s, _ := v.(String)
			m.Kind = string(s)
			switch m.Kind {
			case kindConstant, KindDerived, kindGivenOrDerived, kindReference:
				ok = m.Role == Attribute
			default:
				ok = false
			}
		case "value":
			m.Value = v
			ok = m.Role == Attribute
		default:
			return d.errorf("object", "%s has no use for the key %s", m.label(), Inspect(k))
		}
		if !ok {
			return d.errorf("object", "%s: %s cannot be %s", m.label(), name, Inspect(v))
		}
	}
	if m.Type == nil {
		return d.errorf("object", "%s has no type", m.label())
	}
	if m.Kind == kindConstant {
		if final && !m.Final {
			return d.errorf("object", "%s is a constant, which is always final", m.label())
		}
		m.Final = true
	}
	return nil
}

// checkOverride compares a member with the inherited member with the same name.
func (d *definer) checkOverride(m *Member, inherited []*Member) error {
	i := findMember(inherited, m.Name)
	if i < 0 {
		if m.Override {
			return d.errorf("override", "%s overrides nothing: no %s of that name is inherited", m.label(), m.Role)
		}
		return nil
	}
	p := inherited[i]
	switch {
	case p.Role != m.Role:
		return d.errorf("override", "%s cannot override %s", m.label(), p.label())
	case p.Final && !(p.Kind == kindConstant && m.Kind == kindConstant):
		return d.errorf("override", "%s cannot override %s, which is final", m.label(), p.label())
	case !m.Override:
		return d.errorf("override", "%s overrides %s: add override => true", m.label(), p.label())
	case !Assignable(p.Type, m.Type):
		return d.errorf("override", "%s overrides %s with a type that does not fit", m.label(), p.label())
	}
	return nil
}

func (d *definer) functions() error {
	for k, spec := range d.hash("functions").All() {
		m := &Member{Name: string(k.(String)), Of: d.t, Role: Function}
		if h, ok := spec.(*Hash); ok {
			if err := d.member(m, h); err != nil {
				return err
			}
		} else if m.Type, ok = spec.(Type); !ok {
			return d.wrong(m.label(), "a Callable", spec)
		}
		if !Assignable(anyCallable, m.Type) {
			return d.wrong(m.label(), "a Callable", m.Type)
		}
		if findMember(d.t.attributes, m.Name) >= 0 {
			return d.errorf("object", "%s has the name of an attribute", m.label())
		}
		if err := d.checkOverride(m, d.inherited); err != nil {
			return err
		}
		d.t.functions = append(d.t.functions, m)
	}
	return nil
}

func (d *definer) equality() error {
	t := d.t
	t.equalityType = true
	if v, ok := d.init.GetString("equality_include_type"); ok {
		t.equalityType = bool(v.(Bool))
	}
	v, ok := d.init.GetString("equality")
	if !ok {
		return nil
	}
	t.hasEquality = true
	list, ok := v.(*Array)
	if !ok {
		list = NewArray(v)
	}
	if list.Len() > 0 && !t.equalityType {
		return d.errorf("object", "%s: equality cannot name attributes if equality_include_type is false", t.label())
	}
	for _, e := range list.elems {
		name := string(e.(String))
		if err := d.equalityOf(name); err != nil {
			return err
		}
		t.equality = append(t.equality, name)
	}
	return nil
}

func (d *definer) equalityOf(name string) error {
	t := d.t
	i := findMember(d.inherited, name)
	if i >= 0 && d.inherited[i].Role == Attribute {
		for _, n := range t.super().equalityAttributes() {
			if n == name {
				return d.errorf("object", "equality of %s: %s is in the equality of a parent already", t.label(), name)
			}
		}
	}
	var m *Member
	if i >= 0 {
		m = d.inherited[i]
	} else if m, _ = t.Member(name); m == nil {
		return d.errorf("object", "equality of %s: the attribute %s does not exist", t.label(), name)
	}
	if m.Role != Attribute || m.Kind == kindConstant {
		return d.errorf("object", "equality of %s: %s is not an attribute that objects have", t.label(), m.label())
	}
	return nil
}

// finish determines how objects of the type are made.
func (d *definer) finish() {
	t := d.t
	t.all = t.attributes
	if p := t.super(); p != nil {
		t.all = override(p.all, t.attributes)
	}
	var optional []*Member
	var elements []StructElement
	for _, m := range t.all {
		if m.Kind == kindConstant || m.Kind == KindDerived {
			continue
		}
		elements = append(elements, StructElement{Name: m.Name, Optional: m.Value != nil || Assignable(m.Type, UndefType{}), Elem: m.Type})
		if m.Value != nil {
			optional = append(optional, m)
		} else {
			t.slots = append(t.slots, m)
		}
	}
	t.required = len(t.slots)
	t.slots = append(t.slots, optional...)
	t.init = newStructType(elements)
	t.defined = true
}

// isQualifiedReference reports whether s has the form My::Type.
func isQualifiedReference(s string) bool {
	for seg := range strings.SplitSeq(s, "::") {
		if seg == "" || seg[0] < 'A' || seg[0] > 'Z' || !isWord(seg) {
			return false
		}
	}
	return true
}

// isMemberName reports whether s has the form my_name.
func isMemberName(s string) bool {
	return s != "" && (s[0] == '_' || 'a' <= s[0] && s[0] <= 'z') && isWord(s)
}

// isWord reports whether s consists of ASCII letters, digits and underscores.
func isWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}
