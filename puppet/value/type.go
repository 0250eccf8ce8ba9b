package value

import "sync/atomic"

// A Type is a type of the language. Types are data: the structs of this file,
// [ObjectType] and [TypeSetType]. Their fields must only be read. Types are
// made by [Builtin], [Parametrize] and the functions of this package, not by
// composite literals. Once a type is made (for an alias or an object type: once
// it is resolved), it is immutable and safe for concurrent use.
//
// Two equal types can have different pointers. Compare types with [Same].
type Type interface {
	Value
	// Name returns the name of the type without parameters, such as Integer or
	// Array. For an alias, an object type or a type set, it is the given name.
	Name() string
	isType()
}

// Types without parameters.
type (
	AnyType          struct{}
	UndefType        struct{}
	DefaultType      struct{}
	UnitType         struct{} // accepts and is accepted by all; elements of an empty array
	ScalarType       struct{}
	ScalarDataType   struct{}
	NumericType      struct{}
	SemVerRangeType  struct{}
	BinaryType       struct{}
	CatalogEntryType struct{}
)

// Types of scalars.
type (
	// IntegerType is Integer[Min, Max].
	IntegerType struct {
		Min, Max       int64
		HasMin, HasMax bool // if it is false, there is no bound on that side
	}
	// FloatType is Float[Min, Max]. An infinite bound is an open bound.
	FloatType struct {
		Min, Max float64
	}
	// BooleanType is Boolean, or Boolean[Value].
	BooleanType struct {
		Value, HasValue bool
	}
	// StringType is String, String[Size] in characters, or the type of a single
	// string, which is inferred from a value.
	StringType struct {
		Size    *IntegerType // or nil
		Value   string
		Literal bool // the type contains only Value
	}
	// EnumType is Enum[Values], or Enum[Values, true], which ignores case.
	// Values are sorted and unique. Without values, it is all strings.
	EnumType struct {
		Values     []string
		IgnoreCase bool
	}
	// PatternType is Pattern[Patterns]. Without patterns, it is all strings.
	PatternType struct {
		Patterns []*RegexpType
	}
	// RegexpType is Regexp, or Regexp[Pattern].
	RegexpType struct {
		Pattern *Regexp // or nil
	}
	// SemVerType is SemVer[Ranges].
	SemVerType struct {
		Ranges []*SemVerRange
	}
	// TimespanType is Timespan[Min, Max].
	TimespanType struct {
		Min, Max       Timespan
		HasMin, HasMax bool
	}
	// TimestampType is Timestamp[Min, Max].
	TimestampType struct {
		Min, Max       Timestamp
		HasMin, HasMax bool
	}
)

// Types of collections. A Size without limits is nil.
type (
	// CollectionType is Collection[Size].
	CollectionType struct {
		Size *IntegerType
	}
	// ArrayType is Array[Elem, Size].
	ArrayType struct {
		Elem Type // never nil
		Size *IntegerType
		nested
	}
	// HashType is Hash[Key, Elem, Size].
	HashType struct {
		Key, Elem Type // never nil
		Size      *IntegerType
		nested
	}
	// TupleType is Tuple[Types, Size]. The last type is the type of all further
	// elements. Without types and size, it is every array.
	TupleType struct {
		Types []Type
		Size  *IntegerType // nil: as many as Types
		nested
	}
	// StructType is Struct[{Elements}].
	StructType struct {
		Elements []StructElement
		index    map[string]int // nil if few
		nested
	}
	// StructElement is a key of a struct and the type of its value.
	StructElement struct {
		Name     string
		Optional bool // the key can be absent
		Elem     Type
	}
	// IterableType is Iterable[Elem].
	IterableType struct {
		Elem Type // or nil
		nested
	}
	// IteratorType is Iterator[Elem].
	IteratorType struct {
		Elem Type // or nil
		nested
	}
)

// Types made of types.
type (
	// NotUndefType is NotUndef[Type].
	NotUndefType struct {
		Type Type // or nil
		nested
	}
	// OptionalType is Optional[Type].
	OptionalType struct {
		Type Type // or nil
		nested
	}
	// VariantType is Variant[Types].
	VariantType struct {
		Types []Type
		nested
	}
	// TypeType is Type[Type].
	TypeType struct {
		Type Type // or nil
		nested
	}
	// SensitiveType is Sensitive[Type].
	SensitiveType struct {
		Type Type // never nil
		nested
	}
	// CallableType is Callable[Params..., Block], or with Return
	// Callable[[Params..., Block], Return].
	CallableType struct {
		Params *TupleType // nil: all callables
		Block  Type       // nil: a block is not accepted
		Return Type       // nil: any
		nested
	}
	// InitType is Init[Type, Args...]: the values from which Type can be made.
	InitType struct {
		Type  Type // or nil
		Args  []Value
		forms *atomic.Pointer[initForms]
		nested
	}
)

// Types of other things.
type (
	// RuntimeType is Runtime[Runtime, Name].
	RuntimeType struct {
		Runtime string // or empty
		TypeOf  string // name of the type in the runtime, or empty
		// Pattern and Replacement map names of types, as in Runtime[ruby,
		// [/^A::/, 'B::']].
		Pattern     *Regexp
		Replacement string
	}
	// URIType is URI[Params].
	URIType struct {
		Params *Hash // or nil; components and the patterns that they must match
	}
	// ClassType is Class[Title].
	ClassType struct {
		Title string // or empty
	}
	// ResourceType is Resource, File (which is Resource[File]), or File[Title].
	ResourceType struct {
		TypeName string // Capitalized::Like::This; or empty
		Title    string
		HasTitle bool
		lower    string // TypeName in lower case
	}
	// ReferenceType is TypeReference[Text], the name of an unknown type.
	ReferenceType struct {
		Text string
	}
)

// nested holds the depth of nested types and their number, so that types that
// are too deep or too large return an error when they are made and not when
// they are used.
type nested struct {
	depth int32
	count int32 // each as often as it would be written; limited to maxTypes + 1
}

func (AnyType) value()          {}
func (UndefType) value()        {}
func (DefaultType) value()      {}
func (UnitType) value()         {}
func (ScalarType) value()       {}
func (ScalarDataType) value()   {}
func (NumericType) value()      {}
func (SemVerRangeType) value()  {}
func (BinaryType) value()       {}
func (CatalogEntryType) value() {}
func (*IntegerType) value()     {}
func (*FloatType) value()       {}
func (*BooleanType) value()     {}
func (*StringType) value()      {}
func (*EnumType) value()        {}
func (*PatternType) value()     {}
func (*RegexpType) value()      {}
func (*SemVerType) value()      {}
func (*TimespanType) value()    {}
func (*TimestampType) value()   {}
func (*CollectionType) value()  {}
func (*ArrayType) value()       {}
func (*HashType) value()        {}
func (*TupleType) value()       {}
func (*StructType) value()      {}
func (*IterableType) value()    {}
func (*IteratorType) value()    {}
func (*NotUndefType) value()    {}
func (*OptionalType) value()    {}
func (*VariantType) value()     {}
func (*TypeType) value()        {}
func (*SensitiveType) value()   {}
func (*CallableType) value()    {}
func (*InitType) value()        {}
func (*RuntimeType) value()     {}
func (*URIType) value()         {}
func (*ClassType) value()       {}
func (*ResourceType) value()    {}
func (*ReferenceType) value()   {}
func (*AliasType) value()       {}
func (*ObjectType) value()      {}
func (*ExtensionType) value()   {}
func (*TypeSetType) value()     {}

func (AnyType) isType()          {}
func (UndefType) isType()        {}
func (DefaultType) isType()      {}
func (UnitType) isType()         {}
func (ScalarType) isType()       {}
func (ScalarDataType) isType()   {}
func (NumericType) isType()      {}
func (SemVerRangeType) isType()  {}
func (BinaryType) isType()       {}
func (CatalogEntryType) isType() {}
func (*IntegerType) isType()     {}
func (*FloatType) isType()       {}
func (*BooleanType) isType()     {}
func (*StringType) isType()      {}
func (*EnumType) isType()        {}
func (*PatternType) isType()     {}
func (*RegexpType) isType()      {}
func (*SemVerType) isType()      {}
func (*TimespanType) isType()    {}
func (*TimestampType) isType()   {}
func (*CollectionType) isType()  {}
func (*ArrayType) isType()       {}
func (*HashType) isType()        {}
func (*TupleType) isType()       {}
func (*StructType) isType()      {}
func (*IterableType) isType()    {}
func (*IteratorType) isType()    {}
func (*NotUndefType) isType()    {}
func (*OptionalType) isType()    {}
func (*VariantType) isType()     {}
func (*TypeType) isType()        {}
func (*SensitiveType) isType()   {}
func (*CallableType) isType()    {}
func (*InitType) isType()        {}
func (*RuntimeType) isType()     {}
func (*URIType) isType()         {}
func (*ClassType) isType()       {}
func (*ResourceType) isType()    {}
func (*ReferenceType) isType()   {}
func (*AliasType) isType()       {}
func (*ObjectType) isType()      {}
func (*ExtensionType) isType()   {}
func (*TypeSetType) isType()     {}

func (AnyType) Name() string          { return "Any" }
func (UndefType) Name() string        { return "Undef" }
func (DefaultType) Name() string      { return "Default" }
func (UnitType) Name() string         { return "Unit" }
func (ScalarType) Name() string       { return "Scalar" }
func (ScalarDataType) Name() string   { return "ScalarData" }
func (NumericType) Name() string      { return "Numeric" }
func (SemVerRangeType) Name() string  { return "SemVerRange" }
func (BinaryType) Name() string       { return "Binary" }
func (CatalogEntryType) Name() string { return "CatalogEntry" }
func (*IntegerType) Name() string     { return "Integer" }
func (*FloatType) Name() string       { return "Float" }
func (*BooleanType) Name() string     { return "Boolean" }
func (*StringType) Name() string      { return "String" }
func (*EnumType) Name() string        { return "Enum" }
func (*PatternType) Name() string     { return "Pattern" }
func (*RegexpType) Name() string      { return "Regexp" }
func (*SemVerType) Name() string      { return "SemVer" }
func (*TimespanType) Name() string    { return "Timespan" }
func (*TimestampType) Name() string   { return "Timestamp" }
func (*CollectionType) Name() string  { return "Collection" }
func (*ArrayType) Name() string       { return "Array" }
func (*HashType) Name() string        { return "Hash" }
func (*TupleType) Name() string       { return "Tuple" }
func (*StructType) Name() string      { return "Struct" }
func (*IterableType) Name() string    { return "Iterable" }
func (*IteratorType) Name() string    { return "Iterator" }
func (*NotUndefType) Name() string    { return "NotUndef" }
func (*OptionalType) Name() string    { return "Optional" }
func (*VariantType) Name() string     { return "Variant" }
func (*TypeType) Name() string        { return "Type" }
func (*SensitiveType) Name() string   { return "Sensitive" }
func (*CallableType) Name() string    { return "Callable" }
func (*InitType) Name() string        { return "Init" }
func (*RuntimeType) Name() string     { return "Runtime" }
func (*URIType) Name() string         { return "URI" }
func (*ClassType) Name() string       { return "Class" }
func (*ResourceType) Name() string    { return "Resource" }
func (*ReferenceType) Name() string   { return "TypeReference" }
func (a *AliasType) Name() string     { return a.name }
func (t *ObjectType) Name() string    { return t.name }
func (t *ExtensionType) Name() string { return t.Base.name }
func (t *TypeSetType) Name() string   { return t.name }
