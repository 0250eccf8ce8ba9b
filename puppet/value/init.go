package value

import (
	"sync/atomic"
)

// Init[T] accepts a value that T.new accepts as its only argument, or an array
// that T.new accepts as all of its arguments. For example, Init['Integer']
// accepts 3, '0x10' and ['10', 8].

// initForms are the types of the values that an Init type accepts. They are
// determined on first use, because an alias in the type can be unresolved
// before.
type initForms struct {
	single   []Type       // of a value that is the only argument
	several  []*TupleType // of an array of all arguments
	optional bool         // at least one of several requires at most one argument
	none     bool         // there are no such values
}

// An initChain is the list of Init types whose forms are being determined. An
// object type can occur in the types of its own attributes.
type initChain struct {
	t  *InitType
	up *initChain
}

func (c *initChain) has(t *InitType) bool {
	for ; c != nil; c = c.up {
		if c.t == t {
			return true
		}
	}
	return false
}

func newInitType(t Type, args []Value) *InitType {
	return &InitType{Type: t, Args: args, forms: new(atomic.Pointer[initForms]), nested: deeper(t)}
}

// find returns the forms of t, which must have a type. Two goroutines can both
// determine the forms; the results are the same.
func (t *InitType) find() *initForms { return t.findWithin(nil) }

func (t *InitType) findWithin(within *initChain) *initForms {
	if f := t.forms.Load(); f != nil {
		return f
	}
	f := new(initForms)
	f.fill(t, &initChain{t, within})
	t.forms.Store(f)
	return f
}

func (f *initForms) fill(t *InitType, within *initChain) {
	switch t.Type.(type) {
	case *InitType, *OptionalType, *NotUndefType:
		f.none = true
		return
	}
	f.single = []Type{t.Type}
	ways := newForms(t.Type)
	if ways == nil {
		f.none = true
		return
	}
	if len(t.Args) > 0 {
		f.withArgs(t, ways, within)
		return
	}
	for _, form := range ways {
		size := form.size()
		if size.Min == 1 && size.HasMax && size.Max == 1 {
			f.single = append(f.single, form.Types[0])
			continue
		}
		f.several = append(f.several, form)
		f.optional = f.optional || size.Min == 1
	}
}

// withArgs adds the forms that accept the arguments of the Init type after
// another argument.
func (f *initForms) withArgs(t *InitType, ways []*TupleType, within *initChain) {
	types := make([]Type, len(t.Args)+1)
	for i, v := range t.Args {
		types[i+1] = InferDetailed(v)
	}
	for _, form := range ways {
		if len(form.Types) == 0 || !form.size().holds(int64(len(types))) {
			continue
		}
		types[0] = form.Types[0]
		q := query{inits: within}
		if q.assignable(form, newTupleType(types, nil)) {
			f.single = append(f.single, form.Types[0])
		}
	}
	f.none = len(f.single) == 1
}

// Check returns an error if values of the type cannot be made. The evaluator
// calls it when a value is matched with the type.
//
// Differs from Puppet: Puppet also returns the error if the type is inside
// another type.
func (t *InitType) Check() error {
	if t.Type == nil || !t.find().none {
		return nil
	}
	return typeErrorf("unsupported", -1, "%s is a type that no value can be made of", TypeString(t))
}

// holds reports whether T.new accepts v.
func (t *InitType) holds(v Value, seen trail) bool {
	if t.Type == nil {
		return instance(richDataType(), v, trail{})
	}
	f := t.find()
	if f.none {
		return false
	}
	for _, s := range f.single {
		if instance(s, v, seen) {
			return true
		}
	}
	for _, s := range f.several {
		if instance(s, v, seen) {
			return true
		}
	}
	if f.optional {
		one := NewArray(v)
		for _, s := range f.several {
			if s.holds(one, seen) {
				return true
			}
		}
	}
	return false
}

func (q *query) initAccepts(t *InitType, from Type) bool {
	if f, ok := from.(*InitType); ok {
		return t.Type == nil || f.Type != nil && q.assignable(t.Type, f.Type)
	}
	if t.Type == nil {
		return q.assignable(richDataType(), from)
	}
	if q.inits.has(t) {
		return false
	}
	f := t.findWithin(q.inits)
	if f.none {
		return false
	}
	for _, s := range f.single {
		if q.assignable(s, from) {
			return true
		}
	}
	one := newTupleType([]Type{from}, nil)
	for _, s := range f.several {
		if q.assignable(s, from) || f.optional && q.assignable(s, one) {
			return true
		}
	}
	return false
}

// newForms returns the argument lists that t.new accepts, each as a tuple. If
// t.new does not exist, it returns nil.
func newForms(t Type) []*TupleType {
	table := forms()
	for range maxParents {
		switch x := t.(type) {
		case *AliasType:
			t = x.resolved
		case *OptionalType:
			t = x.Type
		case *NotUndefType:
			if t = x.Type; t == nil {
				return table.unit
			}
		default:
			return formsOf(t, table)
		}
	}
	return nil
}

func formsOf(t Type, table *formTable) []*TupleType {
	switch t := t.(type) {
	case *InitType:
		if t.Type != nil {
			return table.unit
		}
	case *ObjectType:
		return t.forms()
	case *ExtensionType:
		return t.Base.forms()
	case NumericType:
		return table.numeric
	case *IntegerType:
		return table.integer
	case *FloatType:
		return table.float
	case *BooleanType:
		return table.boolean
	case *StringType:
		return table.string
	case *RegexpType:
		return table.regexp
	case *ArrayType, *TupleType:
		return table.array
	case *HashType, *StructType:
		return table.hash
	case *SensitiveType:
		return table.sensitive
	case *TypeType:
		return table.typ
	case *SemVerType:
		return table.semver
	case SemVerRangeType:
		return table.semverRange
	case *TimespanType:
		return table.timespan
	case *TimestampType:
		return table.timestamp
	case BinaryType:
		return table.binary
	case *URIType:
		return table.uri
	}
	return nil
}

// forms returns the argument lists that make an object: a hash, or the
// attributes.
func (t *ObjectType) forms() []*TupleType {
	if !t.defined || t.isAny() {
		return nil
	}
	_, types, required := t.parameters()
	return []*TupleType{
		newTupleType([]Type{t.init}, exactly(1)),
		newTupleType(types, NewIntegerType(int64(required), int64(len(types)))),
	}
}

// formTable holds the argument lists for the types of the language.
type formTable struct {
	unit, numeric, integer, float, boolean, string, regexp, array, hash, sensitive, typ []*TupleType
	semver, semverRange, timespan, timestamp, binary, uri                               []*TupleType
}

// formCache holds the table after its first use. It is not a sync.OnceValue,
// because the code that makes the table can use it.
var formCache atomic.Pointer[formTable]

func forms() *formTable {
	if formCache.Load() == nil {
		formCache.CompareAndSwap(nil, newFormTable())
	}
	return formCache.Load()
}

// Patterns of numbers in strings.
const (
	floatPattern   = `\A[+-]?\s*(?:(?:(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE]-?\d+)?)|(?:0[xX][0-9A-Fa-f]+)|(?:0[0-7]+)|(?:0[bB][01]+))\z`
	integerPattern = `\A[+-]?\s*(?:(?:\d+)|(?:0[xX][0-9A-Fa-f]+)|(?:0[bB][01]+))\z`
)

func newFormTable() *formTable {
	of := func(required int, types ...Type) *TupleType {
		return newTupleType(types, NewIntegerType(int64(required), int64(len(types))))
	}
	parse := func(src string) Type {
		t, err := ParseType(src)
		if err != nil {
			panic(err)
		}
		return t
	}
	numeric := parse("Variant[Integer, Float, Boolean, Pattern[/" + floatPattern + "/], Timespan, Timestamp]")
	float := parse("Variant[Numeric, Boolean, Pattern[/" + floatPattern + "/], Timespan, Timestamp]")
	integer := parse("Variant[Numeric, Boolean, Pattern[/" + integerPattern + "/], Timespan, Timestamp]")
	radix := parse("Variant[Default, Integer[2, 2], Integer[8, 8], Integer[10, 10], Integer[16, 16]]")
	named := func(convertible Type, more ...StructElement) *TupleType {
		elements := []StructElement{{Name: "from", Elem: convertible}}
		elements = append(elements, more...)
		return of(1, newStructType(append(elements, StructElement{Name: "abs", Optional: true, Elem: anyBoolean})))
	}
	times := parse("Variant[String[2], Array[String[2], 1]]")
	return &formTable{
		unit:    []*TupleType{of(1, AnyType{})},
		numeric: []*TupleType{of(1, numeric, anyBoolean), named(numeric)},
		float:   []*TupleType{of(1, float, anyBoolean), named(float)},
		integer: []*TupleType{of(1, integer, radix, anyBoolean), named(integer, StructElement{Name: "radix", Optional: true, Elem: radix})},
		boolean: []*TupleType{of(1, parse("Variant[Integer, Float, Boolean, Enum['false', 'true', 'yes', 'no', 'y', 'n', true]]"))},
		string:  []*TupleType{of(1, AnyType{}, parse("Variant[Default, String[1], Hash[Type, Variant[String[1], Hash]]]"))},
		regexp:  []*TupleType{of(1, anyString, anyBoolean)},
		array: []*TupleType{
			of(1, parse("Variant[Array, Hash, Binary, Iterable]"), falseType),
			of(2, AnyType{}, trueType)},
		hash: []*TupleType{
			of(1, parse("Array[Tuple[Array, Any], 1]"), parse("Enum[tree, hash_tree]")),
			of(1, parse("Array[Tuple[Any, Any], 1]")),
			of(1, AnyType{})},
		sensitive: []*TupleType{of(1, anySensitive), of(1, AnyType{})},
		typ:       []*TupleType{of(1, nonEmptyString)},
		semver: []*TupleType{
			of(1, parse(`Pattern[/\A`+semverPattern+`\Z/]`)),
			of(3, parse("Integer[0]"), parse("Integer[0]"), parse("Integer[0]"), parse(qualifierPattern), parse(qualifierPattern)),
			of(1, parse("Struct[{major => Integer[0], minor => Integer[0], patch => Integer[0], Optional[prerelease] => "+qualifierPattern+", Optional[build] => "+qualifierPattern+"}]"))},
		semverRange: []*TupleType{
			of(1, nonEmptyString),
			of(2, parse("Variant[Default, SemVer]"), parse("Variant[Default, SemVer]"), anyBoolean),
			of(1, parse("Struct[{min => Variant[Default, SemVer], Optional[max] => Variant[Default, SemVer], Optional[exclude_max] => Boolean}]"))},
		timespan: []*TupleType{
			of(1, parse("Variant[Integer, Float]")),
			of(1, nonEmptyString, times),
			of(4, anyInteger, anyInteger, anyInteger, anyInteger, anyInteger, anyInteger, anyInteger),
			of(1, parse("Struct[{string => String[1], Optional[format] => Variant[String[2], Array[String[2], 1]]}]")),
			of(1, parse("Struct[{Optional[negative] => Boolean, Optional[days] => Integer, Optional[hours] => Integer, Optional[minutes] => Integer, "+
				"Optional[seconds] => Integer, Optional[milliseconds] => Integer, Optional[microseconds] => Integer, Optional[nanoseconds] => Integer}]"))},
		timestamp: []*TupleType{
			newTupleType(nil, noSize),
			of(1, parse("Variant[Integer, Float]")),
			of(1, nonEmptyString, times, nonEmptyString),
			of(1, parse("Struct[{string => String[1], Optional[format] => Variant[String[2], Array[String[2], 1]], Optional[timezone] => String[1]}]"))},
		binary: []*TupleType{
			of(1, anyString, parse("Enum['%b', '%u', '%B', '%s', '%r']")),
			of(1, parse("Array[Integer[0, 255]]")),
			of(1, parse("Variant[Struct[{value => String, 'format' => Optional[Enum['%b', '%u', '%B', '%s', '%r']]}], Struct[{value => Array[Integer[0, 255]]}]]"))},
		uri: []*TupleType{
			of(1, nonEmptyString),
			of(1, parse("Struct[{Optional[scheme] => String[1], Optional[userinfo] => String[1], Optional[host] => String[1], Optional[port] => Integer[0], "+
				"Optional[path] => String[1], Optional[query] => String[1], Optional[fragment] => String[1], Optional[opaque] => String[1]}]"))},
	}
}

// Patterns of versions in strings.
const (
	semverPattern    = `(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?`
	qualifierPattern = `Pattern[/\A[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*\z/]`
)
