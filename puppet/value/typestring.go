package value

import (
	"math"
	"strconv"
	"strings"
)

// TypeString returns t in the syntax of the language: Integer[1, 2]. Aliases
// and object types are written by name.
func TypeString(t Type) string {
	var w typeWriter
	w.typ(t)
	return string(w.b)
}

// Describe returns t as it prints. It is like [TypeString], but for an alias it
// includes the type that the alias stands for (Port = Integer[1, 65535]), and
// for an object type or a type set its definition.
func Describe(t Type) string {
	var w typeWriter
	switch t.(type) {
	case *AliasType, *ObjectType, *TypeSetType:
		w.expand = true
	}
	w.typ(t)
	return string(w.b)
}

// A typeWriter writes types.
type typeWriter struct {
	b       []byte
	expand  bool         // write the definitions of names
	typeSet *TypeSetType // its types are written with their short names
	aliases *aliasChain  // being expanded
	args    int          // number of arguments since [
}

func (w *typeWriter) text(s string) { w.b = append(w.b, s...) }

func (w *typeWriter) int(i int64) { w.b = strconv.AppendInt(w.b, i, 10) }

// open begins a list of arguments. close ends it, or removes it if it is empty.
func (w *typeWriter) open() (args int) {
	args, w.args = w.args, 0
	w.b = append(w.b, '[')
	return args
}

// arg begins the next argument.
func (w *typeWriter) arg() {
	if w.args++; w.args > 1 {
		w.text(", ")
	}
}

func (w *typeWriter) close(args int) {
	w.args = args
	w.b = append(w.b, ']')
}

// plain writes name. It returns plain, which means that only the name is
// written.
func (w *typeWriter) plain(name string, plain bool) bool {
	w.text(name)
	return plain
}

// one writes Name[inner]. If inner is nil, it writes Name.
func (w *typeWriter) one(name string, inner Type) {
	if w.plain(name, inner == nil) {
		return
	}
	args := w.open()
	w.arg()
	w.typ(inner)
	w.close(args)
}

func (w *typeWriter) typ(t Type) {
	switch t := t.(type) {
	case *IntegerType:
		if w.plain("Integer", !t.HasMin && !t.HasMax) {
			return
		}
		args := w.open()
		w.bounds(t)
		w.close(args)
	case *FloatType:
		w.float(t)
	case *BooleanType:
		w.text("Boolean")
		if t.HasValue {
			w.text("[" + strconv.FormatBool(t.Value) + "]")
		}
	case *StringType:
		w.sized("String", t.Size)
	case *EnumType:
		w.enum(t)
	case *PatternType:
		if w.plain("Pattern", len(t.Patterns) == 0) {
			return
		}
		args := w.open()
		for _, p := range t.Patterns {
			w.arg()
			w.text(regexpString(p.Pattern))
		}
		w.close(args)
	case *RegexpType:
		w.text("Regexp")
		if t.Pattern != nil {
			w.text("[" + regexpString(t.Pattern) + "]")
		}
	case *SemVerType:
		if w.plain("SemVer", len(t.Ranges) == 0) {
			return
		}
		args := w.open()
		for _, r := range t.Ranges {
			w.arg()
			w.text("'" + r.String() + "'")
		}
		w.close(args)
	case *TimespanType:
		w.times("Timespan", t.HasMin, t.HasMax, t.Min, t.Max)
	case *TimestampType:
		w.times("Timestamp", t.HasMin, t.HasMax, t.Min, t.Max)
	default:
		w.nested(t)
	}
}

// nested writes types made of types.
func (w *typeWriter) nested(t Type) {
	switch t := t.(type) {
	case *CollectionType:
		w.sized("Collection", t.Size)
	case *ArrayType:
		if isEmptySize(t.Size) {
			w.text("Array[0, 0]")
			return
		}
		if _, ok := t.Elem.(AnyType); w.plain("Array", ok && t.Size == nil) {
			return
		}
		args := w.open()
		w.arg()
		w.typ(t.Elem)
		w.bounds(t.Size)
		w.close(args)
	case *HashType:
		w.hash(t)
	case *TupleType:
		if w.plain("Tuple", len(t.Types) == 0) {
			return
		}
		args := w.open()
		w.types(t.Types)
		w.bounds(t.Size)
		w.close(args)
	case *StructType:
		w.structure(t)
	case *VariantType:
		if w.plain("Variant", len(t.Types) == 0) {
			return
		}
		args := w.open()
		w.types(t.Types)
		w.close(args)
	case *OptionalType:
		w.maybe("Optional", t.Type)
	case *NotUndefType:
		w.maybe("NotUndef", t.Type)
	case *TypeType:
		w.one("Type", t.Type)
	case *IterableType:
		w.one("Iterable", t.Elem)
	case *IteratorType:
		w.one("Iterator", t.Elem)
	case *SensitiveType:
		inner := t.Type
		if _, ok := inner.(AnyType); ok {
			inner = nil
		}
		w.one("Sensitive", inner)
	case *InitType:
		if w.plain("Init", t.Type == nil) {
			return
		}
		args := w.open()
		w.arg()
		w.typ(t.Type)
		for _, v := range t.Args {
			w.arg()
			w.value(v)
		}
		w.close(args)
	case *CallableType:
		w.callable(t)
	default:
		w.named(t)
	}
}

// named writes types that have a name.
func (w *typeWriter) named(t Type) {
	switch t := t.(type) {
	case *RuntimeType:
		w.runtime(t)
	case *URIType:
		w.text("URI")
		if t.Params != nil {
			w.text("[")
			w.value(t.Params)
			w.text("]")
		}
	case *ClassType:
		w.text("Class")
		if t.Title != "" {
			w.text("[" + t.Title + "]")
		}
	case *ResourceType:
		if t.TypeName == "" {
			w.text("Resource")
			return
		}
		w.text(t.TypeName)
		if t.HasTitle {
			w.text("[")
			w.value(String(t.Title))
			w.text("]")
		}
	case *ReferenceType:
		w.text("TypeReference[")
		w.value(String(t.Text))
		w.text("]")
	case *AliasType:
		w.alias(t)
	case *ObjectType:
		if w.expand {
			w.object(t)
			return
		}
		w.name(t, t.label())
	case *ExtensionType:
		// The name without the name of its module, as in Puppet.
		name := t.Base.label()
		w.name(t, name[strings.LastIndexByte(name, ':')+1:])
		args := w.open()
		for _, v := range t.args() {
			w.arg()
			w.value(v)
		}
		w.close(args)
	case *TypeSetType:
		w.set(t)
	default:
		w.text(t.Name())
	}
}

// name writes the name of a type. Within its type set, it writes the short
// name.
func (w *typeWriter) name(t Type, name string) {
	if w.typeSet != nil {
		name = w.typeSet.nameOf(t, name)
	}
	w.text(name)
}

func (w *typeWriter) types(types []Type) {
	for _, t := range types {
		w.arg()
		w.typ(t)
	}
}

// bounds writes a range or a size as further arguments. If there are no bounds,
// it writes nothing.
func (w *typeWriter) bounds(t *IntegerType) {
	if t == nil || !t.HasMin && !t.HasMax {
		return
	}
	w.arg()
	if t.HasMin {
		w.int(t.Min)
	} else {
		w.text("default")
	}
	if t.HasMax {
		w.arg()
		w.int(t.Max)
	}
}

func (w *typeWriter) sized(name string, size *IntegerType) {
	if w.plain(name, size == nil || !size.HasMin && !size.HasMax) {
		return
	}
	args := w.open()
	w.bounds(size)
	w.close(args)
}

func (w *typeWriter) float(t *FloatType) {
	lo, hi := !math.IsInf(t.Min, -1), !math.IsInf(t.Max, 1)
	if w.plain("Float", !lo && !hi) {
		return
	}
	args := w.open()
	w.arg()
	if lo {
		w.value(Float(t.Min))
	} else {
		w.text("default")
	}
	if hi {
		w.arg()
		w.value(Float(t.Max))
	}
	w.close(args)
}

func (w *typeWriter) times(name string, hasMin, hasMax bool, lo, hi Value) {
	if w.plain(name, !hasMin && !hasMax) {
		return
	}
	args := w.open()
	w.arg()
	if hasMin {
		w.text("'" + timeString(lo) + "'")
	} else {
		w.text("default")
	}
	if hasMax && !(hasMin && Same(lo, hi)) {
		w.arg()
		w.text("'" + timeString(hi) + "'")
	}
	w.close(args)
}

func timeString(v Value) string {
	if t, ok := v.(Timespan); ok {
		return t.String()
	}
	return v.(Timestamp).String()
}

func (w *typeWriter) enum(t *EnumType) {
	if w.plain("Enum", len(t.Values) == 0) {
		return
	}
	args := w.open()
	for _, s := range t.Values {
		w.arg()
		w.value(String(s))
	}
	if t.IgnoreCase {
		w.arg()
		w.text("true")
	}
	w.close(args)
}

func (w *typeWriter) hash(t *HashType) {
	if isEmptySize(t.Size) {
		w.text("Hash[0, 0]")
		return
	}
	_, k := t.Key.(AnyType)
	_, e := t.Elem.(AnyType)
	if w.plain("Hash", k && e && t.Size == nil) {
		return
	}
	args := w.open()
	w.arg()
	w.typ(t.Key)
	w.arg()
	w.typ(t.Elem)
	w.bounds(t.Size)
	w.close(args)
}

// structure writes a key as its name if the value determines whether the key is
// optional: it is optional if its value can be undef.
func (w *typeWriter) structure(t *StructType) {
	if w.plain("Struct", len(t.Elements) == 0) {
		return
	}
	w.text("[{")
	for i, e := range t.Elements {
		if i > 0 {
			w.text(", ")
		}
		undef := Assignable(e.Elem, UndefType{})
		switch {
		case e.Optional && !undef:
			w.text("Optional[")
			w.value(String(e.Name))
			w.text("]")
		case !e.Optional && undef:
			w.text("NotUndef[")
			w.value(String(e.Name))
			w.text("]")
		default:
			w.value(String(e.Name))
		}
		w.text(" => ")
		w.typ(e.Elem)
	}
	w.text("}]")
}

// maybe writes Optional or NotUndef. It writes the type of a literal string as
// the string.
func (w *typeWriter) maybe(name string, inner Type) {
	if s, ok := inner.(*StringType); ok && s.Literal {
		w.text(name + "[")
		w.value(String(s.Value))
		w.text("]")
		return
	}
	w.one(name, inner)
}

func (w *typeWriter) callable(t *CallableType) {
	if w.plain("Callable", t.Params == nil && t.Return == nil) {
		return
	}
	args := w.open()
	switch {
	case t.Return == nil:
		w.params(t)
	case t.Params == nil:
		w.text("[], ")
		w.typ(t.Return)
	default:
		inner := w.open()
		w.params(t)
		w.close(inner)
		w.text(", ")
		w.typ(t.Return)
	}
	w.close(args)
}

func (w *typeWriter) params(t *CallableType) {
	for _, p := range t.Params.Types {
		if _, ok := p.(UnitType); !ok {
			w.arg()
			w.typ(p)
		}
	}
	if len(t.Params.Types) == 0 {
		w.arg()
		w.text("0, 0")
	} else {
		w.bounds(t.Params.Size)
	}
	if t.Block != nil {
		w.arg()
		w.typ(t.Block)
	}
}

func (w *typeWriter) runtime(t *RuntimeType) {
	w.text("Runtime")
	if t.Runtime == "" && t.TypeOf == "" {
		return
	}
	w.text("[" + t.Runtime + ", ")
	switch {
	case t.Pattern != nil:
		w.text("[" + regexpString(t.Pattern) + ", ")
		w.value(String(t.Replacement))
		w.text("]")
	case t.TypeOf == "":
		w.text("undef")
	default:
		w.value(String(t.TypeOf))
	}
	w.text("]")
}

func (w *typeWriter) alias(t *AliasType) {
	expand := w.expand
	if expand && t.recursive {
		if w.aliases.has(t) {
			expand = false
		}
		w.aliases = &aliasChain{t, w.aliases}
		defer func() { w.aliases = w.aliases.up }()
	}
	switch {
	case w.typeSet == nil:
		w.text(t.name)
		if expand && !t.builtin && t.resolved != nil {
			w.text(" = ")
			w.typ(t.resolved)
		}
	case expand && t.resolved != nil && w.typeSet.defines(t):
		w.typ(t.resolved)
	default:
		w.text(w.typeSet.nameOf(t, t.name))
	}
}

// value writes an argument that is not a type.
func (w *typeWriter) value(v Value) {
	switch v := v.(type) {
	case Type:
		w.typ(v)
	case String:
		w.text(quoteString(string(v)))
	case Int:
		w.int(int64(v))
	case *Array:
		args := w.open()
		for _, e := range v.elems {
			w.arg()
			w.value(e)
		}
		w.close(args)
	case *Hash:
		w.text("{")
		for i, e := range v.entries {
			if i > 0 {
				w.text(", ")
			}
			w.value(e.Key)
			w.text(" => ")
			w.value(e.Value)
		}
		w.text("}")
	case *SemVer:
		w.text("'" + v.String() + "'")
	case *SemVerRange:
		w.text("'" + v.String() + "'")
	case Timespan, Timestamp:
		w.text("'" + timeString(v) + "'")
	case *Regexp:
		w.text(regexpString(v))
	default:
		w.text(Inspect(v))
	}
}

// regexpString returns an expression between slashes.
func regexpString(r *Regexp) string {
	if r == nil {
		return "//"
	}
	src := r.shown("mix")
	if !strings.Contains(src, "/") {
		return "/" + src + "/"
	}
	b := []byte{'/'}
	for i := 0; i < len(src); i++ {
		switch {
		case src[i] == '\\' && i+1 < len(src):
			b = append(b, src[i], src[i+1])
			i++
		case src[i] == '/':
			b = append(b, '\\', '/')
		default:
			b = append(b, src[i])
		}
	}
	return string(append(b, '/'))
}
