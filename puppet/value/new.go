package value

import "strings"

// New makes a value of type t from args, as T.new(args…) does in the language.
// If the only argument is an instance of the type already, New returns it
// unchanged.
//
// Timestamp.new() without arguments, the current time, is not implemented here,
// because it needs a clock. The error is a *[ConversionError], or a
// *[TypeError] if a type or an object could not be made.
func New(t Type, args []Value) (Value, error) {
	_, isInit := t.(*InitType)
	if len(args) == 1 && !isInit && Instance(t, args[0]) && !noNumber(t, args[0]) {
		return args[0], nil
	}
	for _, a := range args {
		if err := checkSize(a); err != nil {
			return nil, err
		}
	}
	v, err := construct(t, args, 0)
	if err != nil {
		return nil, err
	}
	if !Instance(t, v) {
		return nil, convErr(KindMismatch, "%s", Mismatch("the value converted to "+clip(TypeString(t)), t, v))
	}
	return v, nil
}

// noNumber reports whether v is NaN and t is Numeric, which does not contain
// NaN.
func noNumber(t Type, v Value) bool {
	f, ok := v.(Float)
	_, numeric := t.(NumericType)
	return ok && numeric && f != f
}

// maxInit is the largest number of types between a type and the type that makes
// its values.
const maxInit = 100

// construct makes a value, which can still be outside of the bounds of the
// type.
func construct(t Type, args []Value, depth int) (Value, error) {
	if depth > maxInit {
		return nil, unsupported(t)
	}
	switch t := t.(type) {
	case *IntegerType:
		return newInteger(args)
	case *FloatType:
		return newFloat(args)
	case NumericType:
		return newNumeric(args)
	case *BooleanType:
		return newBoolean(args)
	case *StringType:
		return newString(args)
	case *ArrayType, *TupleType:
		return newArray(args)
	case *HashType, *StructType:
		return newHash(args)
	case *RegexpType:
		return newRegexp(args)
	case *SemVerType:
		return newSemVer(args)
	case SemVerRangeType:
		return newSemVerRange(args)
	case *TimespanType:
		return newTimespan(args)
	case *TimestampType:
		return newTimestamp(args)
	case BinaryType:
		return newBinary(args)
	case *URIType:
		return newURI(args)
	case *SensitiveType:
		return newSensitive(args)
	case *TypeType:
		return newType(args)
	case UnitType:
		return same("Unit", args)
	case *NotUndefType:
		if t.Type == nil {
			return same("NotUndef", args)
		}
		return construct(t.Type, args, depth+1)
	case *OptionalType:
		if t.Type != nil {
			return construct(t.Type, args, depth+1)
		}
	case *AliasType:
		if t.Resolved() != nil {
			return construct(t.Resolved(), args, depth+1)
		}
	case *InitType:
		if t.Type != nil {
			return newInit(t, args, depth+1)
		}
	case *ObjectType:
		return t.create(args)
	case *ExtensionType:
		return t.Base.create(args)
	}
	return nil, unsupported(t)
}

func unsupported(t Type) error {
	return convErr(KindUnsupported, "values of type %s cannot be made with new", clip(TypeString(t)))
}

// create is Create, but returns nil and not a nil *Object with an error.
func (t *ObjectType) create(args []Value) (Value, error) {
	if t.isAny() {
		return nil, unsupported(t)
	}
	o, err := t.Create(args)
	if err != nil {
		return nil, err
	}
	return o, nil
}

// count checks the number of arguments.
func count(name string, args []Value, lo, hi int) error {
	if len(args) >= lo && len(args) <= hi {
		return nil
	}
	return convErr(KindArguments, "%s.new takes %s, got %d", name, countArguments(lo, hi), len(args))
}

// misfit returns the error of arguments whose kinds do not fit the type.
func misfit(name string, args []Value, want string) error {
	kinds := make([]string, 0, len(args))
	for i, a := range args {
		if i == 8 {
			kinds = append(kinds, "…")
			break
		}
		kinds = append(kinds, valueKind(a))
	}
	return convErr(KindArguments, "%s.new takes %s, not (%s)", name, want, strings.Join(kinds, ", "))
}

// argument returns argument i, or nil.
func argument(args []Value, i int) Value {
	if i < len(args) {
		return args[i]
	}
	return nil
}

// hashOnly returns the hash that is the only argument, if it has only the given
// keys.
func hashOnly(args []Value, keys ...string) (*Hash, bool) {
	if len(args) != 1 {
		return nil, false
	}
	h, ok := args[0].(*Hash)
	if !ok {
		return nil, false
	}
next:
	for k := range h.All() {
		s, ok := k.(String)
		if !ok {
			return nil, false
		}
		for _, key := range keys {
			if string(s) == key {
				continue next
			}
		}
		return nil, false
	}
	return h, true
}

// entry returns the value of a key, or nil.
func entry(h *Hash, key string) Value {
	v, ok := h.GetString(key)
	if !ok {
		return nil
	}
	return v
}

func same(name string, args []Value) (Value, error) {
	if err := count(name, args, 1, 1); err != nil {
		return nil, err
	}
	return args[0], nil
}

func newString(args []Value) (Value, error) {
	if err := count("String", args, 1, 2); err != nil {
		return nil, err
	}
	formats := argument(args, 1)
	switch f := formats.(type) {
	case nil, Default, *Hash:
	case String:
		if f == "" {
			return nil, convErr(KindArguments, "the format of String.new is empty")
		}
	default:
		return nil, convErr(KindArguments, "the formats of String.new are a string or a hash of types to formats, not %s", article(f))
	}
	s, err := Format(args[0], formats)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func newRegexp(args []Value) (Value, error) {
	if err := count("Regexp", args, 1, 2); err != nil {
		return nil, err
	}
	src, ok := args[0].(String)
	escape := Bool(false)
	if len(args) == 2 {
		b, isBool := args[1].(Bool)
		escape, ok = b, ok && isBool
	}
	if !ok {
		return nil, misfit("Regexp", args, "a String, and whether to escape it")
	}
	s := string(src)
	if escape {
		s = EscapeRegexp(s)
	}
	r, err := NewRegexp(s)
	if err != nil {
		return nil, convErr(KindValue, "%v", err)
	}
	return r, nil
}

// EscapeRegexp returns the regular expression that matches only s.
func EscapeRegexp(s string) string {
	b := make([]byte, 0, len(s)+8)
	for i := range len(s) {
		switch c := s[i]; c {
		case '\n':
			b = append(b, `\n`...)
		case '\t':
			b = append(b, `\t`...)
		case '\r':
			b = append(b, `\r`...)
		case '\f':
			b = append(b, `\f`...)
		case '\v':
			b = append(b, `\v`...)
		case ' ', '[', ']', '{', '}', '(', ')', '|', '-', '*', '.', '\\', '?', '+', '^', '$', '#':
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

func newURI(args []Value) (Value, error) {
	if err := count("URI", args, 1, 1); err != nil {
		return nil, err
	}
	var u *URI
	var err error
	switch a := args[0].(type) {
	case String:
		if a == "" {
			return nil, convErr(KindArguments, "an empty string is not a URI")
		}
		u, err = ParseURI(string(a))
	case *Hash:
		u, err = NewURI(a)
	default:
		return nil, misfit("URI", args, "a String, or a Hash of its parts")
	}
	if err != nil {
		return nil, err
	}
	return u, nil
}

func newSensitive(args []Value) (Value, error) {
	if err := count("Sensitive", args, 1, 1); err != nil {
		return nil, err
	}
	if s, ok := args[0].(*Sensitive); ok {
		return s, nil
	}
	return NewSensitive(args[0]), nil
}

func newType(args []Value) (Value, error) {
	if err := count("Type", args, 1, 1); err != nil {
		return nil, err
	}
	s, ok := args[0].(String)
	if !ok || s == "" {
		return nil, misfit("Type", args, "a String that is not empty")
	}
	return ParseType(string(s))
}

// newInit makes a value of the type in an Init type. An array is used as the
// list of arguments, unless it fits as a single argument.
func newInit(t *InitType, args []Value, depth int) (Value, error) {
	if err := count("Init", args, 1, 1); err != nil {
		return nil, err
	}
	if depth > maxInit {
		return nil, unsupported(t)
	}
	if t.find().none {
		return nil, unsupported(t)
	}
	if len(t.Args) > 0 {
		return New(t.Type, append([]Value{args[0]}, t.Args...))
	}
	if a, ok := args[0].(*Array); ok && !t.takesWhole(a) {
		return New(t.Type, a.Elems())
	}
	return New(t.Type, args)
}

// takesWhole reports whether an array is a single argument, and not the list of
// arguments.
func (t *InitType) takesWhole(a *Array) bool {
	f := t.find()
	for _, s := range f.single {
		if Instance(s, a) {
			return true
		}
	}
	if !f.optional || len(f.several) == 0 {
		return false
	}
	one := NewArray(a)
	whole := false
	for _, s := range f.several {
		if Instance(s, a) {
			return false
		}
		whole = whole || Instance(s, one)
	}
	return whole
}
