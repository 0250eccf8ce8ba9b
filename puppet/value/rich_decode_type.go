package value

// typ converts a type that is represented by its attributes.
func (d *richReader) typ(name string, h *Hash, depth int) (Value, error) {
	switch name {
	case "Struct":
		return d.structure(h, depth)
	case "TypeAlias":
		return d.alias(h, depth)
	case "Object":
		return d.object(h, depth)
	case "TypeSet":
		return d.typeSet(h, depth)
	}
	fields, err := d.fields(h, depth)
	if err != nil {
		return nil, err
	}
	f := richFields{h: fields, name: name}
	t, err := f.typ()
	switch {
	case err != nil:
		return nil, err
	case f.bad != "":
		return nil, badRich("the %s of a type %s is wrong", f.bad, clip(name))
	case typeDepth(t) > maxTypeDepth:
		return nil, convErr(KindLimit, "types are nested more than %d deep", maxTypeDepth)
	}
	return t, nil
}

// known sets the target of references to h that are inside of h.
func (d *richReader) known(h *Hash, t Type) {
	if d.refs == nil {
		d.refs = make(map[Value]Value)
	}
	d.refs[h] = t
}

func (d *richReader) alias(h *Hash, depth int) (Value, error) {
	name, _ := h.GetString("name")
	if _, ok := name.(String); !ok {
		return nil, badRich("the name of a type TypeAlias is wrong")
	}
	if t, ok := Builtin(string(name.(String))); ok {
		if data, ok := t.(*AliasType); ok {
			return data, nil
		}
	}
	a := NewAlias(string(name.(String)))
	d.known(h, a)
	fields, err := d.fields(h, depth)
	if err != nil {
		return nil, err
	}
	f := richFields{h: fields, name: "TypeAlias"}
	t := f.typeAt("resolved_type", nil)
	switch {
	case f.bad != "":
		return nil, badRich("the %s of a type TypeAlias is wrong", f.bad)
	case t == nil:
		return a, nil
	case typeDepth(t) >= maxTypeDepth:
		return nil, convErr(KindLimit, "types are nested more than %d deep", maxTypeDepth)
	}
	return a, a.Resolve(t)
}

func (d *richReader) object(h *Hash, depth int) (Value, error) {
	t := DeclareObjectType("")
	if raw, ok := h.GetString("_pcore_init_hash"); ok {
		if init, ok := raw.(*Hash); ok && init.Len() > 0 {
			d.known(h, t)
		}
	}
	fields, err := d.fields(h, depth)
	if err != nil {
		return nil, err
	}
	v, _ := fields.GetString("_pcore_init_hash")
	init, ok := v.(*Hash)
	if !ok || init.Len() == 0 {
		return anyObject, nil
	}
	if parent, ok := init.GetString("parent"); ok && unfinished(parent) {
		return nil, badRich("the parent of an object type is around it")
	}
	return t, t.Define(init)
}

func (d *richReader) typeSet(h *Hash, depth int) (Value, error) {
	fields, err := d.fields(h, depth)
	if err != nil {
		return nil, err
	}
	v, _ := fields.GetString("_pcore_init_hash")
	init, ok := v.(*Hash)
	if !ok {
		return anyTypeSet, nil
	}
	return toValue(NewTypeSetType("", "", init))
}

// unfinished reports whether v is a type that is not complete yet.
func unfinished(v Value) bool {
	for {
		switch t := v.(type) {
		case *AliasType:
			if t.resolved == nil {
				return true
			}
			v = t.resolved
		case *ObjectType:
			return !t.defined
		default:
			return false
		}
	}
}

// richFields are the attributes of a type. bad is the first invalid attribute.
type richFields struct {
	h    *Hash
	name string
	bad  string
}

// get returns an attribute, or nil.
func (f *richFields) get(key string) Value {
	v, ok := f.h.GetString(key)
	if _, undef := v.(Undef); !ok || undef {
		return nil
	}
	return v
}

func (f *richFields) wrong(key string) {
	if f.bad == "" {
		f.bad = key
	}
}

// typeAt returns an attribute that is a type. If the attribute is missing, it
// returns usual.
func (f *richFields) typeAt(key string, usual Type) Type {
	v := f.get(key)
	if v == nil {
		return usual
	}
	t, ok := v.(Type)
	if !ok {
		f.wrong(key)
		return usual
	}
	return t
}

func (f *richFields) size(key string) *IntegerType {
	t := f.typeAt(key, nil)
	if t == nil {
		return nil
	}
	n, ok := t.(*IntegerType)
	if !ok || n.HasMin && n.Min < 0 || n.HasMax && n.Max < 0 {
		f.wrong(key)
	}
	return n
}

func (f *richFields) text(key string) string {
	v := f.get(key)
	s, ok := v.(String)
	if v != nil && !ok {
		f.wrong(key)
	}
	return string(s)
}

func (f *richFields) list(key string) []Value {
	v := f.get(key)
	if v == nil {
		return nil
	}
	a, ok := v.(*Array)
	if !ok {
		f.wrong(key)
		return nil
	}
	return a.Elems()
}

func (f *richFields) typeList(key string) []Type {
	list := f.list(key)
	types := make([]Type, 0, len(list))
	for _, v := range list {
		t, ok := v.(Type)
		if !ok {
			f.wrong(key)
			return nil
		}
		types = append(types, t)
	}
	return types
}

// args returns attributes as parameters, with default for missing attributes.
func (f *richFields) args(keys ...string) []Value {
	args := make([]Value, len(keys))
	some := false
	for i, key := range keys {
		if args[i] = f.get(key); args[i] == nil {
			args[i] = Default{}
		} else {
			some = true
		}
	}
	if !some {
		return nil
	}
	return args
}

func (f *richFields) parametrize(args []Value) (Type, error) {
	t, ok := Builtin(f.name)
	if !ok {
		return nil, badRich("the type %s does not exist", clip(f.name))
	}
	if len(args) == 0 {
		return t, nil
	}
	return Parametrize(t, args)
}

func (f *richFields) typ() (Type, error) {
	switch f.name {
	case "Integer", "Float", "Timespan", "Timestamp":
		return f.parametrize(f.args("from", "to"))
	case "String":
		switch v := f.get("size_type_or_value").(type) {
		case nil:
			return anyString, nil
		case String:
			return newStringType(string(v)), nil
		}
		return &StringType{Size: f.size("size_type_or_value")}, nil
	case "Enum":
		args := f.list("values")
		if fold, ok := f.get("case_insensitive").(Bool); ok && bool(fold) {
			args = append(append([]Value{}, args...), fold)
		}
		return f.parametrize(args)
	case "Pattern":
		return f.parametrize(f.list("patterns"))
	case "SemVer":
		return f.parametrize(f.list("ranges"))
	case "Regexp":
		if f.get("pattern") == nil {
			return anyRegexp, nil
		}
		return f.parametrize([]Value{String(f.text("pattern"))})
	case "Runtime":
		return f.runtime()
	case "URI":
		if p := f.get("parameters"); p != nil {
			return f.parametrize([]Value{p})
		}
		return anyURI, nil
	case "Class":
		if s := f.text("class_name"); s != "" {
			return NewClassRef(s), nil
		}
		return anyClass, nil
	case "Resource":
		return f.resource(), nil
	case "TypeReference":
		return &ReferenceType{f.text("type_string")}, nil
	case "ObjectTypeExten":
		base, ok := f.typeAt("base_type", nil).(*ObjectType)
		if !ok || !base.defined {
			f.wrong("base_type")
			return anyObject, nil
		}
		switch args := f.get("init_parameters").(type) {
		case *Array:
			return base.extend(args.Elems())
		case *Hash:
			return base.extend([]Value{args})
		}
		f.wrong("init_parameters")
		return anyObject, nil
	}
	return f.nested()
}

// nested converts types made of types.
func (f *richFields) nested() (Type, error) {
	switch f.name {
	case "Collection":
		return &CollectionType{Size: f.size("size_type")}, nil
	case "Array":
		return NewArrayType(f.typeAt("element_type", AnyType{}), f.size("size_type")), nil
	case "Hash":
		return NewHashType(f.typeAt("key_type", AnyType{}), f.typeAt("value_type", AnyType{}), f.size("size_type")), nil
	case "Tuple":
		return NewTupleType(f.typeList("types"), f.size("size_type")), nil
	case "Variant":
		if types := f.typeList("types"); len(types) > 0 {
			return NewVariantType(types...), nil
		}
		return anyVariant, nil
	case "Callable":
		params := f.typeAt("param_types", nil)
		tuple, ok := params.(*TupleType)
		if params != nil && !ok {
			f.wrong("param_types")
		}
		return NewCallableType(tuple, f.typeAt("block_type", nil), f.typeAt("return_type", nil)), nil
	case "Init":
		if t := f.typeAt("type", nil); t != nil {
			return newInitType(t, f.list("init_args")), nil
		}
		return anyInit, nil
	case "Unit":
		return UnitType{}, nil
	}
	t := f.typeAt("type", nil)
	if t == nil {
		return f.parametrize(nil)
	}
	switch f.name {
	case "Iterable":
		return NewIterableType(t), nil
	case "Iterator":
		return newIteratorType(t), nil
	case "Optional":
		return newOptionalType(t), nil
	case "NotUndef":
		return newNotUndefType(t), nil
	case "Type":
		return newTypeType(t), nil
	case "Sensitive":
		return NewSensitiveType(t), nil
	}
	return nil, badRich("a type %s is not made of a type", clip(f.name))
}

func (f *richFields) resource() Type {
	name := f.text("type_name")
	switch {
	case name == "":
		return anyResource
	case f.get("title") == nil:
		return NewResourceType(name)
	}
	return NewResourceRef(name, f.text("title"))
}

func (f *richFields) runtime() (Type, error) {
	t := &RuntimeType{Runtime: f.text("runtime")}
	if list, ok := f.get("name_or_pattern").(*Array); ok {
		if list.Len() == 2 {
			pattern, ok1 := list.At(0).(*Regexp)
			replacement, ok2 := list.At(1).(String)
			if ok1 && ok2 {
				t.Pattern, t.Replacement = pattern, string(replacement)
				return t, nil
			}
		}
		f.wrong("name_or_pattern")
		return t, nil
	}
	t.TypeOf = f.text("name_or_pattern")
	if t.Runtime == "" && t.TypeOf == "" {
		return anyRuntime, nil
	}
	return t, nil
}

// structure converts a Struct, whose elements have a special form.
func (d *richReader) structure(h *Hash, depth int) (Value, error) {
	bad := badRich("the elements of a type Struct are wrong")
	v, _ := h.GetString("elements")
	list, ok := v.(*Array)
	if !ok {
		return nil, bad
	}
	elements := make([]StructElement, 0, list.Len())
	seen := make(map[string]bool, list.Len())
	deepest := int32(0)
	for _, raw := range list.All() {
		e, ok := raw.(*Hash)
		if !ok {
			return nil, bad
		}
		fields, err := d.fields(e, depth+1)
		if err != nil {
			return nil, err
		}
		f := richFields{h: fields}
		key := f.typeAt("key_type", nil)
		optional, isOptional := key.(*OptionalType)
		if isOptional {
			key = optional.Type
		}
		name, ok := key.(*StringType)
		value := f.typeAt("value_type", nil)
		if !ok || !name.Literal || value == nil || f.bad != "" || seen[name.Value] {
			return nil, bad
		}
		seen[name.Value] = true
		deepest = max(deepest, typeDepth(value))
		elements = append(elements, StructElement{Name: name.Value, Optional: isOptional, Elem: value})
	}
	if deepest >= maxTypeDepth {
		return nil, convErr(KindLimit, "types are nested more than %d deep", maxTypeDepth)
	}
	return NewStructType(elements), nil
}
