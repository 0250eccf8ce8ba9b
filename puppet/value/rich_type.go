package value

// typ writes a type.
func (w *richWriter) typ(t Type) {
	switch t := t.(type) {
	case *ObjectType:
		w.objectType(t)
		return
	case *ExtensionType:
		w.begin("Pcore::ObjectTypeExtenType")
		w.key("base_type")
		w.typ(t.Base)
		w.key("init_parameters")
		if args := t.args(); len(t.Base.typeParameters()) > 2 {
			w.value(args[0])
		} else {
			w.value(NewArray(args...))
		}
		w.b = append(w.b, '}')
		return
	case *TypeSetType:
		// Differs from Puppet, which fails with an internal error.
		w.begin("Pcore::TypeSetType")
		if t != anyTypeSet {
			w.key("_pcore_init_hash")
			w.value(t.initHash())
		}
		w.b = append(w.b, '}')
		return
	case *AliasType:
		w.alias(t)
		return
	case *StructType:
		w.structure(t)
		return
	case *RuntimeType:
		w.runtime(t)
		return
	case *CallableType:
		w.begin("Pcore::CallableType")
		for _, p := range [...]struct {
			key string
			t   Type
		}{{"param_types", typeOrNil(t.Params)}, {"block_type", t.Block}, {"return_type", t.Return}} {
			w.key(p.key)
			w.value(orUndef(p.t))
		}
		w.b = append(w.b, '}')
		return
	}
	w.begin("Pcore::" + t.Name() + "Type")
	w.attributes(typeAttributes(t))
	w.b = append(w.b, '}')
}

// typeOrNil returns t as a Type. If t is a nil pointer, the result is nil.
func typeOrNil(t *TupleType) Type {
	if t == nil {
		return nil
	}
	return t
}

func sizeOrNil(t *IntegerType) Type {
	if t == nil {
		return nil
	}
	return t
}

func orUndef(t Type) Value {
	if t == nil {
		return Undef{}
	}
	return t
}

// A typeAttribute is a parameter of a type with its name in rich data. If usual
// is set, it can be left out at the end.
type typeAttribute struct {
	key   string
	v     Value
	usual bool
}

func (w *richWriter) attributes(list []typeAttribute) {
	for len(list) > 0 && list[len(list)-1].usual {
		list = list[:len(list)-1]
	}
	for _, a := range list {
		w.key(a.key)
		w.value(a.v)
	}
}

// optional returns an attribute that is a type or nil.
func optional(key string, t Type) typeAttribute {
	return typeAttribute{key, orUndef(t), t == nil}
}

// bounds returns the attributes from and to.
func bounds(hasMin bool, lo Value, hasMax bool, hi Value) []typeAttribute {
	if !hasMin {
		lo = Undef{}
	}
	if !hasMax {
		hi = Undef{}
	}
	return []typeAttribute{{"from", lo, !hasMin}, {"to", hi, !hasMax}}
}

// typeAttributes returns the attributes of a type in order.
func typeAttributes(t Type) []typeAttribute {
	switch t := t.(type) {
	case *IntegerType:
		return bounds(t.HasMin, Int(t.Min), t.HasMax, Int(t.Max))
	case *FloatType:
		return bounds(t.Min > anyFloat.Min, Float(t.Min), t.Max < anyFloat.Max, Float(t.Max))
	case *TimespanType:
		return bounds(t.HasMin, t.Min, t.HasMax, t.Max)
	case *TimestampType:
		return bounds(t.HasMin, t.Min, t.HasMax, t.Max)
	case *StringType:
		if t.Literal {
			return []typeAttribute{{"size_type_or_value", String(t.Value), false}}
		}
		return []typeAttribute{optional("size_type_or_value", sizeOrNil(t.Size))}
	case *EnumType:
		values := make([]Value, len(t.Values))
		for i, s := range t.Values {
			values[i] = String(s)
		}
		return []typeAttribute{{"values", NewArray(values...), false}, {"case_insensitive", Bool(t.IgnoreCase), !t.IgnoreCase}}
	case *PatternType:
		patterns := make([]Value, len(t.Patterns))
		for i, p := range t.Patterns {
			patterns[i] = p
		}
		return []typeAttribute{{"patterns", NewArray(patterns...), false}}
	case *RegexpType:
		if t.Pattern != nil {
			return []typeAttribute{{"pattern", String(t.Pattern.shown("imx")), false}}
		}
	case *SemVerType:
		ranges := make([]Value, len(t.Ranges))
		for i, r := range t.Ranges {
			ranges[i] = r
		}
		return []typeAttribute{{"ranges", NewArray(ranges...), len(ranges) == 0}}
	}
	return nestedAttributes(t)
}

func typeList(types []Type) *Array {
	elems := make([]Value, len(types))
	for i, t := range types {
		elems[i] = t
	}
	return NewArray(elems...)
}

// nestedAttributes returns the attributes of types that are made of types, and
// of other types.
func nestedAttributes(t Type) []typeAttribute {
	switch t := t.(type) {
	case *CollectionType:
		return []typeAttribute{optional("size_type", sizeOrNil(t.Size))}
	case *ArrayType:
		return []typeAttribute{{"element_type", t.Elem, isAnyType(t.Elem)}, optional("size_type", sizeOrNil(t.Size))}
	case *HashType:
		return []typeAttribute{{"key_type", t.Key, isAnyType(t.Key)}, {"value_type", t.Elem, isAnyType(t.Elem)},
			optional("size_type", sizeOrNil(t.Size))}
	case *TupleType:
		return []typeAttribute{{"types", typeList(t.Types), false}, optional("size_type", sizeOrNil(t.Size))}
	case *VariantType:
		return []typeAttribute{{"types", typeList(t.Types), false}}
	case *IterableType:
		return []typeAttribute{optional("type", t.Elem)}
	case *IteratorType:
		return []typeAttribute{optional("type", t.Elem)}
	case *OptionalType:
		return []typeAttribute{optional("type", t.Type)}
	case *NotUndefType:
		return []typeAttribute{optional("type", t.Type)}
	case *TypeType:
		return []typeAttribute{optional("type", t.Type)}
	case *InitType:
		return []typeAttribute{optional("type", t.Type), {"init_args", NewArray(t.Args...), len(t.Args) == 0}}
	case *URIType:
		if t.Params != nil {
			return []typeAttribute{{"parameters", t.Params, false}}
		}
	case *ClassType:
		return []typeAttribute{{"class_name", String(t.Title), t.Title == ""}}
	case *ResourceType:
		return []typeAttribute{{"type_name", String(t.TypeName), t.TypeName == ""}, {"title", String(t.Title), !t.HasTitle}}
	case *ReferenceType:
		return []typeAttribute{{"type_string", String(t.Text), false}}
	}
	return nil
}

func isAnyType(t Type) bool {
	_, ok := t.(AnyType)
	return ok
}

func (w *richWriter) structure(t *StructType) {
	w.begin("Pcore::StructType")
	w.key("elements")
	w.b = append(w.b, '[')
	for i, e := range t.Elements {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		key := Type(newStringType(e.Name))
		if e.Optional {
			key = newOptionalType(key)
		}
		w.begin("Pcore::StructElement")
		w.key("key_type")
		w.value(key)
		w.key("value_type")
		w.value(e.Elem)
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, "]}"...)
}

func (w *richWriter) runtime(t *RuntimeType) {
	w.begin("Pcore::RuntimeType")
	if t.Runtime != "" {
		w.key("runtime")
		w.text("Symbol", t.Runtime)
		switch {
		case t.Pattern != nil:
			w.key("name_or_pattern")
			w.value(NewArray(t.Pattern, String(t.Replacement)))
		case t.TypeOf != "":
			w.key("name_or_pattern")
			w.value(String(t.TypeOf))
		}
	}
	w.b = append(w.b, '}')
}

// alias writes an alias with the type that it stands for.
func (w *richWriter) alias(t *AliasType) {
	if t.recursive && !w.open(t) {
		return
	}
	w.begin("Pcore::TypeAliasType")
	w.key("name")
	w.value(String(t.name))
	w.key("type_expr")
	w.value(Undef{})
	w.key("resolved_type")
	w.value(orUndef(t.resolved))
	w.b = append(w.b, '}')
	if t.recursive {
		w.close()
	}
}

// objectType writes an object type with its definition.
func (w *richWriter) objectType(t *ObjectType) {
	if !w.open(t) {
		return
	}
	w.begin("Pcore::ObjectType")
	w.key("_pcore_init_hash")
	w.value(t.initHash())
	w.b = append(w.b, '}')
	w.close()
}
