package value

import (
	"math"
	"slices"
	"strings"
)

// maxTypeDepth is the largest depth of nested types. [Parametrize] returns an
// error for deeper types.
const maxTypeDepth = 500

// maxTypes is the largest number of types in a type. Each is counted as often
// as it would be written. [Parametrize] returns an error for larger types.
const maxTypes = 100_000

// Parametrize returns t[args…]. For most types, an array in args is replaced by
// its elements. An error is a [*TypeError].
func Parametrize(t Type, args []Value) (Type, error) {
	made, err := parametrize(t, args)
	if err != nil {
		return nil, err
	}
	if nestedIn(made).count > maxTypes {
		return nil, typeErrorf("depth", -1, "a type is made of more than %d others", maxTypes)
	}
	if typeDepth(made) > maxTypeDepth {
		return nil, typeErrorf("depth", -1, "types are nested more than %d levels deep", maxTypeDepth)
	}
	return made, nil
}

func parametrize(t Type, args []Value) (Type, error) {
	switch t := t.(type) {
	case *StructType:
		return makeStruct(args)
	case *CallableType:
		return makeCallable(args)
	case *InitType:
		return makeInit(args)
	case *ResourceType, *ClassType:
		v, err := refer(t, args)
		if err != nil {
			return nil, err
		}
		made, ok := v.(Type)
		if !ok {
			return nil, typeErrorf("argument-type", 1, "a reference to one resource is expected here")
		}
		return made, nil
	case *ReferenceType:
		return nil, typeErrorf("unknown-type", -1, "the type %s was not found", t.Text)
	case *ObjectType:
		args = Flatten(args)
		if t.defined && t.name != "" {
			return t.extend(args)
		}
		return makeObject(args)
	}
	args = Flatten(args)
	switch t.(type) {
	case *IntegerType:
		return makeInteger("Integer", args)
	case *FloatType:
		return makeFloat(args)
	case *BooleanType:
		return makeBoolean(args)
	case *StringType:
		return makeString(args)
	case *EnumType:
		return makeEnum(args)
	case *PatternType:
		return makePattern(args)
	case *RegexpType:
		return makeRegexp(args)
	case *SemVerType:
		return makeSemVer(args)
	case *TimespanType:
		return makeTimespan(args)
	case *TimestampType:
		return makeTimestamp(args)
	case *URIType:
		return makeURI(args)
	case *RuntimeType:
		return makeRuntime(args)
	case *TypeSetType:
		return makeTypeSet(args)
	}
	return parametrizeNested(t, args)
}

func parametrizeNested(t Type, args []Value) (Type, error) {
	switch t.(type) {
	case *CollectionType:
		if len(args) < 1 || len(args) > 2 {
			return nil, badArity("Collection", 1, 2, len(args))
		}
		size, err := makeSize("Collection", args, 0)
		if err != nil {
			return nil, err
		}
		return &CollectionType{toSize(size)}, nil
	case *ArrayType:
		return makeArray(args)
	case *HashType:
		return makeHash(args)
	case *TupleType:
		return makeTuple(args)
	case *VariantType:
		types, err := typeArgs("Variant", args)
		if err != nil {
			return nil, err
		}
		return NewVariantType(types...), nil
	case *OptionalType:
		inner, err := oneType("Optional", args, true)
		if err != nil {
			return nil, err
		}
		return newOptionalType(inner), nil
	case *NotUndefType:
		if len(args) == 0 {
			return anyNotUndef, nil
		}
		inner, err := oneType("NotUndef", args, true)
		if err != nil {
			return nil, err
		}
		return newNotUndefType(inner), nil
	case *TypeType:
		inner, err := oneType("Type", args, false)
		if err != nil {
			return nil, err
		}
		return newTypeType(inner), nil
	case *SensitiveType:
		inner, err := oneType("Sensitive", args, false)
		if err != nil {
			return nil, err
		}
		return newSensitiveType(inner), nil
	case *IterableType:
		inner, err := oneType("Iterable", args, false)
		if err != nil {
			return nil, err
		}
		return NewIterableType(inner), nil
	case *IteratorType:
		inner, err := oneType("Iterator", args, false)
		if err != nil {
			return nil, err
		}
		return newIteratorType(inner), nil
	}
	return nil, typeErrorf("not-parametrized", -1, "%s takes no parameters", t.Name())
}

// makeInteger makes a range from one or two numbers. The word default stands
// for an open bound.
func makeInteger(name string, args []Value) (Type, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, badArity(name, 1, 2, len(args))
	}
	t, err := makeRange(name, args, 0)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func makeRange(name string, args []Value, first int) (*IntegerType, error) {
	t := &IntegerType{}
	for i, v := range args {
		switch v := v.(type) {
		case Default:
		case Int:
			if i == 0 {
				t.Min, t.HasMin = int64(v), true
			} else {
				t.Max, t.HasMax = int64(v), true
			}
		default:
			return nil, badArgument(name, first+i, "an Integer or default", v)
		}
	}
	if t.HasMin && t.HasMax && t.Min > t.Max {
		return nil, typeErrorf("range", -1, "%s[]: %d is more than %d", name, t.Min, t.Max)
	}
	return t, nil
}

// makeSize makes a size from a type Integer, or from one or two numbers.
func makeSize(name string, args []Value, first int) (*IntegerType, error) {
	if len(args) == 1 {
		if t, ok := args[0].(*IntegerType); ok {
			return t, nil
		}
	}
	return makeRange(name, args, first)
}

func makeFloat(args []Value) (Type, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, badArity("Float", 1, 2, len(args))
	}
	bounds := [2]float64{math.Inf(-1), math.Inf(1)}
	for i, v := range args {
		switch v := v.(type) {
		case Default:
		case Int:
			bounds[i] = float64(v)
		case Float:
			bounds[i] = float64(v)
		default:
			return nil, badArgument("Float", i, "a number or default", v)
		}
	}
	if bounds[0] > bounds[1] {
		return nil, typeErrorf("range", -1, "Float[]: %v is more than %v", bounds[0], bounds[1])
	}
	return &FloatType{bounds[0], bounds[1]}, nil
}

func makeBoolean(args []Value) (Type, error) {
	if len(args) != 1 {
		return nil, badArity("Boolean", 1, 1, len(args))
	}
	b, ok := args[0].(Bool)
	if !ok {
		return nil, badArgument("Boolean", 0, "true or false", args[0])
	}
	if b {
		return trueType, nil
	}
	return falseType, nil
}

func makeString(args []Value) (Type, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, badArity("String", 1, 2, len(args))
	}
	size, err := makeSize("String", args, 0)
	if err != nil {
		return nil, err
	}
	return &StringType{Size: toSize(size)}, nil
}

func makeEnum(args []Value) (Type, error) {
	ignoreCase := false
	if n := len(args); n > 0 {
		if b, ok := args[n-1].(Bool); ok {
			args, ignoreCase = args[:n-1], bool(b)
		}
	}
	if len(args) == 0 {
		return nil, badArity("Enum", 1, -1, 0)
	}
	values := make([]string, len(args))
	for i, v := range args {
		s, ok := v.(String)
		if !ok {
			return nil, badArgument("Enum", i, "a String", v)
		}
		values[i] = string(s)
	}
	return newEnumType(values, ignoreCase), nil
}

func makePattern(args []Value) (Type, error) {
	if len(args) == 0 {
		return nil, badArity("Pattern", 1, -1, 0)
	}
	var patterns []*RegexpType
	for i, v := range args {
		switch v := v.(type) {
		case String:
			r, err := NewRegexp(string(v))
			if err != nil {
				return nil, typeErrorf("pattern", -1, "Pattern[]: %v", err)
			}
			patterns = append(patterns, &RegexpType{r})
		case *Regexp:
			patterns = append(patterns, &RegexpType{v})
		case *RegexpType:
			patterns = append(patterns, v)
		case *PatternType:
			patterns = append(patterns, v.Patterns...)
		default:
			return nil, badArgument("Pattern", i, "a String, a Regexp, or a type Pattern or Regexp", v)
		}
	}
	return newPatternType(patterns), nil
}

func makeRegexp(args []Value) (Type, error) {
	if len(args) != 1 {
		arg := -1
		if len(args) > 1 {
			arg = 1
		}
		err := badArity("Regexp", 1, 1, len(args))
		err.Arg = arg
		return nil, err
	}
	switch v := args[0].(type) {
	case String:
		r, err := NewRegexp(string(v))
		if err != nil {
			return nil, typeErrorf("pattern", -1, "Regexp[]: %v", err)
		}
		return &RegexpType{r}, nil
	case *Regexp:
		return &RegexpType{v}, nil
	}
	return nil, badArgument("Regexp", 0, "a String or a Regexp", args[0])
}

func makeSemVer(args []Value) (Type, error) {
	if len(args) == 0 {
		return nil, badArity("SemVer", 1, -1, 0)
	}
	ranges := make([]*SemVerRange, len(args))
	for i, v := range args {
		switch v := v.(type) {
		case *SemVerRange:
			ranges[i] = v
		case String:
			r, err := parseSemVerRange(string(v))
			if err != nil {
				return nil, typeErrorf("range", -1, "SemVer[]: %v", err)
			}
			ranges[i] = r
		default:
			return nil, badArgument("SemVer", i, "a String or a SemVerRange", v)
		}
	}
	if len(ranges) == 1 {
		return &SemVerType{ranges}, nil
	}
	return newSemVerType(ranges), nil
}

// timeArgs returns the bounds of a range of Timespans or Timestamps. A bound is
// nil if there is none. Other arguments are converted with T.new.
func timeArgs(t Type, args []Value) (bounds [2]Value, err error) {
	if len(args) > 2 {
		return bounds, badArity(t.Name(), 0, 2, len(args))
	}
	for i, v := range args {
		switch v.(type) {
		case Default, Undef:
			continue
		case Timespan, Timestamp:
			if !Instance(t, v) {
				return bounds, badArgument(t.Name(), -1, "a "+t.Name(), v)
			}
			bounds[i] = v
			continue
		case String, Int, Float, *Hash:
			made, err := New(t, []Value{v})
			if err != nil {
				return bounds, typeErrorf("range", -1, "%s[]: %v", t.Name(), err)
			}
			bounds[i] = made
			continue
		}
		return bounds, badArgument(t.Name(), -1, "a "+t.Name()+", a String, a number or a Hash", v)
	}
	if bounds[0] != nil && bounds[1] != nil {
		if c, err := Compare(bounds[0], bounds[1]); err == nil && c > 0 {
			return bounds, typeErrorf("range", -1, "%s[]: %s is more than %s", t.Name(), timeString(bounds[0]), timeString(bounds[1]))
		}
	}
	return bounds, nil
}

func makeTimespan(args []Value) (Type, error) {
	bounds, err := timeArgs(anyTimespan, args)
	if err != nil {
		return nil, err
	}
	t := &TimespanType{}
	t.Min, t.HasMin = bounds[0].(Timespan)
	t.Max, t.HasMax = bounds[1].(Timespan)
	return t, nil
}

func makeTimestamp(args []Value) (Type, error) {
	bounds, err := timeArgs(anyTimestamp, args)
	if err != nil {
		return nil, err
	}
	t := &TimestampType{}
	t.Min, t.HasMin = bounds[0].(Timestamp)
	t.Max, t.HasMax = bounds[1].(Timestamp)
	return t, nil
}

func makeURI(args []Value) (Type, error) {
	if len(args) != 1 {
		return nil, badArity("URI", 1, 1, len(args))
	}
	switch v := args[0].(type) {
	case String:
		if v == "" {
			break
		}
		u, err := ParseURI(string(v))
		if err != nil {
			return nil, typeErrorf("argument-type", -1, "URI[]: %v", err)
		}
		return &URIType{uriParams(u)}, nil
	case *Hash:
		for k, p := range v.All() {
			name, _ := k.(String)
			if !slices.Contains(uriParts[:], string(name)) || !isURIParam(string(name), p) {
				return nil, typeErrorf("argument-type", 0, "URI[]: %s => %s is not a component of a URI", Inspect(k), Inspect(p))
			}
		}
		if v.Len() == 0 {
			return anyURI, nil
		}
		return &URIType{v}, nil
	}
	return nil, badArgument("URI", 0, "a String or a Hash of components", args[0])
}

func isURIParam(name string, v Value) bool {
	switch v := v.(type) {
	case Undef:
		return true
	case Int:
		return name == "port" && v >= 0
	case String:
		return name != "port" && v != ""
	case *Regexp, *PatternType, *EnumType:
		return name != "port"
	case *NotUndefType, UndefType:
		return true
	case Type:
		return Assignable(anyNotUndef, v) || name != "port" && (Assignable(anyPattern, v) || Assignable(anyEnum, v))
	}
	return false
}

func makeRuntime(args []Value) (Type, error) {
	if len(args) != 2 {
		return nil, badArity("Runtime", 2, 2, len(args))
	}
	var names [2]string
	for i, v := range args {
		s, ok := v.(String)
		if !ok {
			return nil, badArgument("Runtime", i, "a String", v)
		}
		if s == "" {
			return nil, typeErrorf("argument-type", -1, "Runtime[] expects names, got an empty String")
		}
		names[i] = string(s)
	}
	return &RuntimeType{Runtime: names[0], TypeOf: names[1]}, nil
}

func makeTypeSet(args []Value) (Type, error) {
	if len(args) != 1 {
		return nil, badArity("TypeSet", 1, 1, len(args))
	}
	h, ok := args[0].(*Hash)
	if !ok {
		return nil, badArgument("TypeSet", -1, "a Hash", args[0])
	}
	if h.Len() == 0 {
		return anyTypeSet, nil
	}
	t, err := NewTypeSetType("", "", h)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func makeObject(args []Value) (Type, error) {
	if len(args) != 1 {
		return nil, badArity("Object", 1, 1, len(args))
	}
	h, ok := args[0].(*Hash)
	if !ok {
		return nil, badArgument("Object", -1, "a Hash", args[0])
	}
	if h.Len() == 0 {
		return anyObject, nil
	}
	t, err := newObjectType("", h)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// typeArgs returns one or more arguments as types.
func typeArgs(name string, args []Value) ([]Type, error) {
	if len(args) == 0 {
		return nil, badArity(name, 1, -1, 0)
	}
	types := make([]Type, len(args))
	for i, v := range args {
		t, ok := v.(Type)
		if !ok {
			return nil, badArgument(name, i, "a Type", v)
		}
		types[i] = t
	}
	return types, nil
}

// oneType returns the only argument as a type. If text is set, a string stands
// for the type of that string.
func oneType(name string, args []Value, text bool) (Type, error) {
	if len(args) != 1 {
		return nil, badArity(name, 1, 1, len(args))
	}
	switch v := args[0].(type) {
	case Type:
		return v, nil
	case String:
		if text {
			return newStringType(string(v)), nil
		}
	}
	return nil, badArgument(name, 0, "a Type", args[0])
}

// isNameOf reports whether s has the form of the name of a class: segments in
// lower case, each of which begins with a letter.
func isNameOf(s string) bool {
	s = strings.TrimPrefix(s, "::")
	for seg := range strings.SplitSeq(s, "::") {
		if seg == "" || seg[0] < 'a' || seg[0] > 'z' || !isWord(seg) {
			return false
		}
	}
	return true
}
