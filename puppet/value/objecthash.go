package value

// initHash returns the hash from which the type can be made. Constants whose
// type is the type of their value are under constants.
func (t *ObjectType) initHash() *Hash {
	var b HashBuilder
	put := func(key string, v Value) { b.Put(String(key), v) }
	if t.annotations != nil {
		put("annotations", t.annotations)
	}
	if t.name != "" {
		put("name", String(t.name))
	}
	if t.parent != nil {
		put("parent", t.parent)
	}
	if len(t.params) > 0 {
		put("type_parameters", memberHashes(t.params))
	}
	var attributes []*Member
	var constants HashBuilder
	for _, m := range t.attributes {
		if m.Kind == kindConstant && sameType(m.Type, Generalize(Infer(m.Value))) {
			constants.Put(String(m.Name), m.Value)
		} else {
			attributes = append(attributes, m)
		}
	}
	if len(attributes) > 0 {
		put("attributes", memberHashes(attributes))
	}
	if constants.Len() > 0 {
		put("constants", constants.Build())
	}
	if len(t.functions) > 0 {
		put("functions", memberHashes(t.functions))
	}
	if t.hasEquality {
		names := make([]Value, len(t.equality))
		for i, s := range t.equality {
			names[i] = String(s)
		}
		put("equality", NewArray(names...))
	}
	if t.checks != nil {
		put("checks", t.checks)
	}
	return b.Build()
}

func memberHashes(members []*Member) *Hash {
	var b HashBuilder
	for _, m := range members {
		b.Put(String(m.Name), m.init())
	}
	return b.Build()
}

// init returns the value from which the member can be made: only its type, if
// there is nothing else to describe.
func (m *Member) init() Value {
	typ, value := m.Type, m.Value
	if m.Role == TypeParameter {
		if o, ok := typ.(*OptionalType); ok {
			typ = o.Type
		}
		if _, ok := value.(Undef); ok {
			value = nil
		}
	}
	final := m.Final && m.Kind != kindConstant
	if !final && !m.Override && m.Annotations == nil && m.Kind == "" && value == nil {
		return typ
	}
	var b HashBuilder
	put := func(key string, v Value) { b.Put(String(key), v) }
	put("type", typ)
	if final {
		put("final", Bool(true))
	}
	if m.Override {
		put("override", Bool(true))
	}
	if m.Annotations != nil {
		put("annotations", m.Annotations)
	}
	if m.Kind != "" {
		put("kind", String(m.Kind))
	}
	if value != nil {
		put("value", value)
	}
	return b.Build()
}

// initHash returns the hash from which the type set can be made.
func (t *TypeSetType) initHash() *Hash {
	var b HashBuilder
	put := func(key string, v Value) { b.Put(String(key), v) }
	if t.annotations != nil {
		put("annotations", t.annotations)
	}
	if t.uri != "" {
		put("pcore_uri", String(t.uri))
	}
	put("pcore_version", String(t.pcore.String()))
	if t.authority != "" {
		put("name_authority", String(t.authority))
	}
	if t.name != "" {
		put("name", String(t.name))
	} else {
		put("name", Undef{})
	}
	if t.version != nil {
		put("version", String(t.version.String()))
	}
	if len(t.types) > 0 {
		var types HashBuilder
		for _, n := range t.types {
			types.Put(String(n.name), n.typ)
		}
		put("types", types.Build())
	}
	if len(t.references) > 0 {
		var refs HashBuilder
		for _, r := range t.references {
			refs.Put(String(r.Alias), r.init(t))
		}
		put("references", refs.Build())
	}
	return b.Build()
}
