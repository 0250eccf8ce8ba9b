package value

import (
	"slices"
	"strings"
)

func makeArray(args []Value) (Type, error) {
	n := len(args)
	if n < 1 || n > 3 {
		return nil, badArity("Array", 1, 3, n)
	}
	elem, ok := args[0].(Type)
	if !ok && n == 2 { // only a size
		elem = AnyType{}
	} else if !ok {
		return nil, badArgument("Array", 0, "a Type", args[0])
	} else {
		args = args[1:]
	}
	if len(args) == 0 {
		return newArrayType(elem, nil), nil
	}
	size, err := makeSize("Array", args, n-len(args))
	if err != nil {
		return nil, err
	}
	return newArrayType(elem, size), nil
}

func makeHash(args []Value) (Type, error) {
	n := len(args)
	if n == 2 {
		_, ok1 := args[0].(Int)
		_, ok2 := args[1].(Int)
		if ok1 && ok2 {
			size, err := makeRange("Hash", args, 0)
			if err != nil {
				return nil, err
			}
			return newHashType(AnyType{}, AnyType{}, size), nil
		}
	}
	for i, v := range args[:min(n, 2)] {
		if _, ok := v.(Type); !ok {
			return nil, badArgument("Hash", i, "a Type", v)
		}
	}
	if n < 2 || n > 4 {
		return nil, badArity("Hash", 2, 4, n)
	}
	var size *IntegerType
	if n > 2 {
		var err error
		if size, err = makeSize("Hash", args[2:], 2); err != nil {
			if n == 3 {
				err.(*TypeError).Arg = -1 // Puppet does not report the argument
			}
			return nil, err
		}
	}
	return newHashType(args[0].(Type), args[1].(Type), size), nil
}

// sizeAtEnd removes a size of one or two arguments from the end of args.
func sizeAtEnd(name string, args []Value) (rest []Value, size *IntegerType, err error) {
	n := len(args)
	from := n
	switch {
	case n >= 2 && isBound(args[n-2]) && isBound(args[n-1]):
		from = n - 2
	case n >= 1 && isBound(args[n-1]):
		from = n - 1
	default:
		return args, nil, nil
	}
	bounds := slices.Clone(args[from:])
	for i, v := range bounds {
		if v == Value(String("default")) {
			bounds[i] = Default{}
		}
	}
	size, err = makeRange(name, bounds, from)
	return args[:from], size, err
}

func isBound(v Value) bool {
	switch v := v.(type) {
	case Int, Default:
		return true
	case String:
		return v == "default"
	}
	return false
}

func makeTuple(args []Value) (Type, error) {
	rest, size, err := sizeAtEnd("Tuple", args)
	if err != nil {
		return nil, err
	}
	types, err := typeArgs("Tuple", rest)
	if err != nil {
		return nil, err
	}
	return newTupleType(types, size), nil
}

// makeStruct makes a struct from a hash. If a key is a string, the key is
// optional if its value can be undef. Optional['k'] and NotUndef['k'] set this
// explicitly.
func makeStruct(args []Value) (Type, error) {
	if len(args) != 1 {
		return nil, badArity("Struct", 1, 1, len(args))
	}
	h, ok := args[0].(*Hash)
	if !ok {
		return nil, badArgument("Struct", 0, "a Hash", args[0])
	}
	elements := make([]StructElement, 0, h.Len())
	for k, v := range h.All() {
		elem, ok := v.(Type)
		if !ok {
			elem = typeOf(v)
		}
		e := StructElement{Elem: elem}
		switch k := k.(type) {
		case String:
			if k == "" {
				return nil, typeErrorf("argument-type", -1, "a key of Struct[] cannot be empty")
			}
			e.Name, e.Optional = string(k), Assignable(elem, UndefType{})
		case *OptionalType:
			e.Optional = true
			e.Name, ok = literal(k.Type)
		case *NotUndefType:
			e.Name, ok = literal(k.Type)
		case *StringType, *EnumType:
			e.Name, ok = literal(k.(Type))
		default:
			ok = false
		}
		if _, isString := k.(String); !isString && !ok {
			return nil, typeErrorf("argument-type", -1, "a key of Struct[] has to be a String, or Optional or NotUndef of one, got %s", DescribeValue(k))
		}
		elements = append(elements, e)
	}
	return newStructType(elements), nil
}

// typeOf returns the type that a value stands for where a type is expected. A
// string is the name of a class of the runtime. Other values stand for their
// own type.
func typeOf(v Value) Type {
	switch v := v.(type) {
	case Type:
		return v
	case String:
		return &RuntimeType{Runtime: "ruby", TypeOf: string(v)}
	}
	return Generalize(Infer(v))
}

// literal returns the string if t is the type of a single string.
func literal(t Type) (string, bool) {
	switch t := t.(type) {
	case *StringType:
		return t.Value, t.Literal
	case *EnumType:
		if len(t.Values) == 1 {
			return t.Values[0], true
		}
	}
	return "", false
}

// makeCallable makes a callable from the types of parameters, a size and the
// type of a block. The arguments can also be an array of these and the type of
// the result.
func makeCallable(args []Value) (Type, error) {
	var result Type
	if len(args) > 0 {
		if params, ok := args[0].(*Array); ok {
			if len(args) != 2 {
				return nil, badArity("Callable", 2, 2, len(args))
			}
			if result, ok = args[1].(Type); !ok {
				return nil, badArgument("Callable", -1, "a Type", args[1])
			}
			args = params.elems
		}
	}
	var block Type
	if n := len(args); n > 0 {
		if t, ok := args[n-1].(Type); ok && isCallable(t, true, nil) {
			block, args = t, args[:n-1]
		}
	}
	rest, size, err := sizeAtEnd("Callable", args)
	if err != nil {
		return nil, err
	}
	types := make([]Type, len(rest))
	for i, v := range rest {
		types[i] = typeOf(v)
	}
	if len(types) == 0 && size != nil && !(size.HasMax && size.Max <= 0) {
		types = []Type{UnitType{}}
	}
	return NewCallableType(newTupleType(types, size), block, result), nil
}

// isCallable reports whether t is a Callable or a union of Callables. If
// optional is set, t can also be optional.
func isCallable(t Type, optional bool, seen *aliasChain) bool {
	switch t := t.(type) {
	case *CallableType:
		return true
	case *OptionalType:
		return optional && t.Type != nil && isCallable(t.Type, optional, seen)
	case *VariantType:
		for _, o := range t.Types {
			if !isCallable(o, optional, seen) {
				return false
			}
		}
		return true
	case *AliasType:
		return t.resolved != nil && !seen.has(t) && isCallable(t.resolved, optional, &aliasChain{t, seen})
	}
	return false
}

func makeInit(args []Value) (Type, error) {
	if len(args) == 0 {
		return nil, badArity("Init", 1, -1, 0)
	}
	t, ok := args[0].(Type)
	if !ok {
		return nil, badArgument("Init", 0, "a Type", args[0])
	}
	return newInitType(t, args[1:]), nil
}

// refer returns the result of a reference to a class, a resource type or a
// resource. t is Class, Resource or a type such as File. The result is a Type.
// For several titles or an array of titles, it is an Array of types. If the
// title is undef, it is Undef. An error is a [*TypeError]. If t is a reference
// to one resource already, the error has the kind "resource-parameter", because
// a resource has parameters and not titles.
func refer(t Type, args []Value) (Value, error) {
	if len(args) == 0 {
		return nil, badArity(t.Name(), 1, -1, 0)
	}
	switch t := t.(type) {
	case *ClassType:
		if t.Title != "" {
			return nil, typeErrorf("resource-parameter", 0, "Class[%s] is a class: its parameters are not types", t.Title)
		}
		return referEach(args, len(args), 0, className)
	case *ResourceType:
		return t.refer(args)
	}
	return Parametrize(t, args)
}

func className(v Value, arg int) (Type, error) {
	s, ok := v.(String)
	name := strings.TrimPrefix(strings.ToLower(string(s)), "::")
	if !ok || !isNameOf(name) {
		return nil, typeErrorf("name", arg, "%s is not the name of a class", Inspect(v))
	}
	return &ClassType{name}, nil
}

func (t *ResourceType) refer(args []Value) (Value, error) {
	all := len(args)
	if t.TypeName == "" {
		switch v := args[0].(type) {
		case *ResourceType:
			if v.TypeName != "" {
				t = &ResourceType{TypeName: v.TypeName, lower: v.lower}
			}
		case String:
			name := capitalize(string(v))
			if !isResourceName(name) {
				return nil, typeErrorf("name", 0, "%s is not the name of a resource type", quoteString(name))
			}
			t = &ResourceType{TypeName: name, lower: strings.ToLower(name)}
		}
		if t.TypeName == "" {
			return nil, typeErrorf("argument-type", 0, "Resource[] expects the name of a type first, got %s", DescribeValue(args[0]))
		}
		args = args[1:]
		if len(args) == 0 {
			return t, nil
		}
	}
	if t.HasTitle {
		return nil, typeErrorf("resource-parameter", 0, "%s is a resource: its parameters are not types", TypeString(t))
	}
	return referEach(args, all, all-len(args), func(v Value, arg int) (Type, error) {
		s, ok := v.(String)
		if !ok {
			return nil, badArgument(t.TypeName, arg, "a title, which is a String,", v)
		}
		return &ResourceType{TypeName: t.TypeName, lower: t.lower, Title: string(s), HasTitle: true}, nil
	})
}

// referEach makes a type for each title. It leaves out undef.
func referEach(args []Value, all, first int, make func(v Value, arg int) (Type, error)) (Value, error) {
	several := len(args) > 1 || isArray(args[0])
	var types []Value
	for i, v := range Flatten(args) {
		if _, ok := v.(Undef); ok {
			continue
		}
		t, err := make(v, min(first+i, all-1))
		if err != nil {
			return nil, err
		}
		types = append(types, t)
	}
	switch {
	case several:
		return NewArray(types...), nil
	case len(types) == 0:
		return Undef{}, nil
	}
	return types[0], nil
}

// isResourceName reports whether s has the form File or My::Type.
func isResourceName(s string) bool {
	return isQualifiedReference(strings.TrimPrefix(s, "::"))
}
