package value

import (
	"math"
	"strconv"
)

// The keys of hashes that represent other values in rich data.
const (
	richType  = "__ptype"
	richValue = "__pvalue"
	richFloat = "__float"
)

// MarshalRich returns v as rich data. This is JSON in which hashes with the key
// __ptype represent the values that JSON does not have. Keys keep their order.
// NaN and the infinities are {"__float": "NaN"}. The content of a Sensitive is
// revealed. As in Puppet, some types lose their parameter: Boolean[true],
// Sensitive[T]. Iterators and values of the host cannot be encoded; the error
// is a *[ConversionError].
func MarshalRich(v Value) ([]byte, error) {
	if err := checkSize(v); err != nil {
		return nil, err
	}
	w := richWriter{}
	w.value(v)
	return w.b, w.err
}

// A richWriter writes JSON; err is the first error.
type richWriter struct {
	b      []byte
	err    error
	plain  bool // only plain JSON
	depth  int
	types  []openType // the types around
	places placeScanner
}

func (w *richWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// enter goes one level deeper and reports whether writing continues.
func (w *richWriter) enter() bool {
	if w.depth++; w.depth > MaxDepth {
		w.fail(convErr(KindLimit, "data stand more than %d deep in each other", MaxDepth))
	}
	if len(w.b) > maxText {
		w.fail(errTooLong())
	}
	return w.err == nil
}

func (w *richWriter) value(v Value) {
	switch v := v.(type) {
	case String:
		w.b = appendJSONString(w.b, string(v))
	case Int:
		w.b = strconv.AppendInt(w.b, int64(v), 10)
	case *BigInt:
		w.b = v.n.Append(w.b, 10)
	case Float:
		w.float(float64(v))
	case Bool:
		w.b = strconv.AppendBool(w.b, bool(v))
	case Undef:
		w.b = append(w.b, "null"...)
	case *Array:
		w.array(v)
	case *Hash:
		w.hash(v)
	default:
		if o, is := v.(*Object); is {
			data, ok, err := o.Data()
			switch {
			case err != nil:
				w.fail(err)
				return
			case ok:
				w.value(data)
				return
			}
		}
		if w.plain {
			w.fail(convErr(KindUnsupported, "%s is not plain data", article(v)))
			return
		}
		w.rich(v)
	}
}

func (w *richWriter) float(x float64) {
	if !math.IsNaN(x) && !math.IsInf(x, 0) {
		w.b = appendFloat(w.b, x)
		return
	}
	if w.plain {
		w.fail(convErr(KindUnsupported, "%s has no form in JSON", floatString(x)))
		return
	}
	w.b = append(w.b, `{"`+richFloat+`":"`...)
	w.b = appendFloat(w.b, x)
	w.b = append(w.b, `"}`...)
}

func (w *richWriter) array(a *Array) {
	if !w.enter() {
		return
	}
	w.b = append(w.b, '[')
	for i, e := range a.All() {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.value(e)
	}
	w.b = append(w.b, ']')
	w.depth--
}

// plainKeys reports whether the keys of a hash can be keys of a JSON object.
func plainKeys(h *Hash) bool {
	for k := range h.All() {
		if s, ok := k.(String); !ok || s == richType || s == richFloat && h.Len() == 1 {
			return false
		}
	}
	return true
}

func (w *richWriter) hash(h *Hash) {
	if !w.enter() {
		return
	}
	if plainKeys(h) {
		w.object(h)
	} else if w.plain {
		w.fail(convErr(KindUnsupported, "a hash with keys that are not strings is not plain data"))
	} else {
		w.begin("Hash")
		w.key(richValue)
		w.b = append(w.b, '[')
		for i := range h.Len() {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			e := h.At(i)
			w.value(e.Key)
			w.b = append(w.b, ',')
			w.value(e.Value)
		}
		w.b = append(w.b, "]}"...)
	}
	w.depth--
}

// object writes a hash as a JSON object.
func (w *richWriter) object(h *Hash) {
	w.b = append(w.b, '{')
	for i := range h.Len() {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		e := h.At(i)
		w.b = appendJSONString(w.b, string(e.Key.(String)))
		w.b = append(w.b, ':')
		w.value(e.Value)
	}
	w.b = append(w.b, '}')
}

// begin starts an object that represents a value of a type.
func (w *richWriter) begin(name string) {
	w.b = append(w.b, `{"`+richType+`":`...)
	w.b = appendJSONString(w.b, name)
}

// key writes another key.
func (w *richWriter) key(name string) {
	w.b = append(w.b, ',')
	w.b = appendJSONString(w.b, name)
	w.b = append(w.b, ':')
}

// text writes a value that is represented by a string.
func (w *richWriter) text(name, s string) {
	w.begin(name)
	w.key(richValue)
	w.b = appendJSONString(w.b, s)
	w.b = append(w.b, '}')
}

func (w *richWriter) rich(v Value) {
	if !w.enter() {
		return
	}
	defer func() { w.depth-- }()
	switch v := v.(type) {
	case Default:
		w.b = append(w.b, `{"`+richType+`":"Default"}`...)
	case *Sensitive:
		w.begin("Sensitive")
		w.key(richValue)
		w.value(v.Unwrap())
		w.b = append(w.b, '}')
	case *Binary:
		w.text("Binary", v.base64())
	case *Regexp:
		w.text("Regexp", v.shown("imx"))
	case *SemVer:
		w.text("SemVer", v.String())
	case *SemVerRange:
		w.text("SemVerRange", v.String())
	case Timespan:
		w.text("Timespan", v.String())
	case Timestamp:
		w.text("Timestamp", v.String())
	case *URI:
		w.text("URI", v.String())
	case *Object:
		w.instance(v)
	case Type:
		w.typ(v)
	default:
		w.fail(convErr(KindUnsupported, "%s has no form in rich data", article(v)))
	}
}

// instance writes an object, without the attributes that have their default
// value. For the types of the language itself, it leaves out only trailing
// attributes.
func (w *richWriter) instance(o *Object) {
	w.begin(o.typ.name)
	native := o.typ == ErrorType() || o.typ == DeferredType()
	last := len(o.values)
	usual := func(i int) bool {
		m := o.typ.slots[i]
		return m.Value != nil && Same(m.Value, o.values[i])
	}
	for last > 0 && usual(last-1) {
		last--
	}
	for i, m := range o.typ.slots[:last] {
		if native || !usual(i) {
			w.key(m.Name)
			w.value(o.values[i])
		}
	}
	w.b = append(w.b, '}')
}
