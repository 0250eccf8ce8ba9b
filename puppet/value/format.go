package value

import (
	"math"
	"math/big"
	"strings"
	"unicode/utf8"
)

// maxText is the largest size of a formatted text.
const maxText = 64 << 20

func errTooLong() error {
	return convErr(KindLimit, "the text would be longer than %d MiB", maxText>>20)
}

// Format returns v as a string, as String.new(v, formats) does. formats can be
// Default for the default format, or a String such as "%08x" for v itself, or a
// Hash of types to formats. In the Hash, the format of an array or a hash can
// be another hash with the keys format, separator, separator2 and
// string_formats. string_formats are the formats of the elements. The error is
// a *[ConversionError].
func Format(v Value, formats Value) (String, error) {
	if err := checkSize(v); err != nil {
		return "", err
	}
	switch f := formats.(type) {
	case nil, Default:
		w := textWriter{}
		w.usual(v)
		return String(w.b), w.err
	case String:
		if spec, err := parseFormat(string(f)); err != nil {
			return "", err
		} else if isSimple(v) {
			b, err := spec.scalar(v, indentation{})
			return String(b), err
		}
	}
	user, err := userFormats(v, formats)
	if err != nil {
		return "", err
	}
	c := converter{budget: maxText}
	b, err := c.convert(v, mergeFormats(usualFormats(), user), indentation{first: true})
	return String(b), err
}

// isSimple reports whether a format for v itself is used because no other type
// of v precedes its own.
func isSimple(v Value) bool {
	switch v := v.(type) {
	case Float:
		return v == v
	case *Array, *Hash, *Iterator, *Object, Type:
		return false
	}
	return true
}

// userFormats returns the formats of the caller as a formatMap, or nil.
func userFormats(v, formats Value) (formatMap, error) {
	switch f := formats.(type) {
	case String:
		spec, err := parseFormat(string(f))
		if err != nil {
			return nil, err
		}
		var t Type
		switch v.(type) {
		case *Array:
			t = anyArray
		case *Hash:
			t = anyHash
		default:
			t = InferDetailed(v)
		}
		return formatMap{{t, spec}}, nil
	case *Hash:
		return formatsOfHash(f, false)
	}
	return nil, convErr(KindArguments, "formats are a string, or a hash of types to formats, not %s", article(formats))
}

// formatsOfHash reads a hash of types to formats. If inside is set, the formats
// are for elements of arrays and hashes, and must be strings.
func formatsOfHash(h *Hash, inside bool) (formatMap, error) {
	m := make(formatMap, 0, h.Len())
	for k, v := range h.All() {
		t, ok := k.(Type)
		if !ok {
			return nil, convErr(KindArguments, "formats are for types, not for %s", article(k))
		}
		var spec *formatSpec
		var err error
		switch v := v.(type) {
		case String:
			spec, err = parseFormat(string(v))
		case *Hash:
			if inside {
				return nil, convErr(KindArguments, "the formats in string_formats are strings, not hashes")
			}
			spec, err = formatOfContainer(v)
		default:
			err = convErr(KindArguments, "the format of %s is a string or a hash, not %s", clip(TypeString(t)), article(v))
		}
		if err != nil {
			return nil, err
		}
		m = append(m, formatEntry{t, spec})
	}
	return m, nil
}

// formatOfContainer reads the format of an array or a hash.
func formatOfContainer(h *Hash) (*formatSpec, error) {
	var spec *formatSpec
	if f, ok := h.GetString("format"); ok {
		s, ok := f.(String)
		if !ok {
			return nil, convErr(KindArguments, "a format is a string, not %s", article(f))
		}
		var err error
		if spec, err = parseFormat(string(s)); err != nil {
			return nil, err
		}
	} else {
		return nil, convErr(KindFormat, "formats of arrays and hashes need the key format")
	}
	for k, v := range h.All() {
		name, _ := k.(String)
		switch name {
		case "format":
		case "separator", "separator2":
			s, ok := v.(String)
			if !ok {
				return nil, convErr(KindArguments, "%s is a string, not %s", string(name), article(v))
			}
			text := string(s)
			if name == "separator" {
				spec.sep = &text
			} else {
				spec.sep2 = &text
			}
		case "string_formats":
			inner, ok := v.(*Hash)
			if !ok {
				return nil, convErr(KindArguments, "string_formats is a hash, not %s", article(v))
			}
			var err error
			if spec.inner, err = formatsOfHash(inner, true); err != nil {
				return nil, err
			}
		default:
			return nil, convErr(KindArguments, "formats of arrays and hashes have no key %s", clip(Inspect(k)))
		}
	}
	return spec, nil
}

// An indentation is the depth of a value in arrays and hashes that are written
// on several lines.
type indentation struct {
	level         int
	first, active bool
}

func (n indentation) active2(on bool) indentation {
	return indentation{n.level, n.first, on}
}

func (n indentation) deeper(on bool) indentation {
	return indentation{n.level + 1, true, on}
}

func (n indentation) breaks() bool { return n.active && n.level > 0 && !n.first }

// A converter writes values with formats. budget is the number of bytes that
// can still be written.
type converter struct {
	budget int
}

// spend subtracts a text from the budget.
func (c *converter) spend(b []byte, err error) ([]byte, error) {
	if c.budget -= len(b); err == nil && c.budget < 0 {
		err = errTooLong()
	}
	return b, err
}

func badVerb(f *formatSpec, what, verbs string) error {
	return convErr(KindFormat, "the format %%%c is not for %s, which has %s", f.verb, what, "%"+strings.Join(strings.Split(verbs, ""), " %"))
}

// convert writes v with the formats.
func (c *converter) convert(v Value, m formatMap, n indentation) ([]byte, error) {
	switch v := v.(type) {
	case *Array:
		return c.spend(c.array(v, m, n))
	case *Hash:
		return c.spend(c.hash(v, m, n))
	case *Iterator:
		elems, err := drain(v)
		if err != nil {
			return nil, err
		}
		return c.convert(NewArray(elems...), m, n)
	}
	f := m.find(v)
	return c.spend(f.scalar(v, n))
}

// scalar writes a value that is not an array or a hash.
func (f *formatSpec) scalar(v Value, n indentation) ([]byte, error) {
	switch v := v.(type) {
	case String:
		return f.str(string(v))
	case Int:
		return f.int(v, big.NewInt(int64(v)))
	case *BigInt:
		return f.int(v, v.n)
	case Float:
		return f.float(float64(v))
	case Bool:
		return f.bool(bool(v))
	case Undef:
		return f.undef()
	case Default:
		return f.dflt()
	case *Binary:
		return f.binary(v)
	case *Regexp:
		return f.regexp(v)
	case *URI:
		return f.uri(v, n)
	case *Object:
		return f.object(v, n)
	case *Runtime:
		return f.runtime(v)
	case Type:
		return f.typ(v)
	}
	return f.kernel(f.orig, v)
}

// kernel formats one value as Ruby's sprintf does.
func (f *formatSpec) kernel(format string, v Value) ([]byte, error) {
	p := printer{args: []Value{v}}
	return p.print(nil, format)
}

// text pads and truncates a string.
func (f *formatSpec) text(s string) ([]byte, error) {
	g := printFlags{minus: f.left, hasWidth: f.width >= 0, width: f.width, hasPrec: f.prec >= 0, prec: f.prec}
	return g.text(nil, s), nil
}

func pick(cond bool, a, b string) string {
	if cond {
		return a
	}
	return b
}

func (f *formatSpec) str(s string) ([]byte, error) {
	changed := s
	switch f.verb {
	case 's':
		return f.kernel(f.orig, String(s))
	case 'p':
		if f.alt {
			return f.text(string(appendDoubleQuoted(nil, s)))
		}
		return f.text(quoteString(s))
	case 'c':
		changed = Capitalize(s)
	case 'C':
		parts := strings.Split(s, "::")
		for len(parts) > 0 && parts[len(parts)-1] == "" {
			parts = parts[:len(parts)-1]
		}
		for i := range parts {
			parts[i] = Capitalize(parts[i])
		}
		changed = strings.Join(parts, "::")
	case 'u':
		changed = Upcase(s)
	case 'd':
		changed = Downcase(s)
	case 't':
		changed = strings.Trim(s, " \t\n\v\f\r\x00")
	default:
		return nil, badVerb(f, "a String", "cCudspt")
	}
	if f.alt {
		return f.text(quoteString(changed))
	}
	return f.kernel(strings.ReplaceAll(f.orig, string(rune(f.verb)), "s"), String(changed))
}

// int writes an integer v. n is its value.
func (f *formatSpec) int(v Value, n *big.Int) ([]byte, error) {
	switch f.verb {
	case 'd', 'x', 'X', 'o', 'b', 'B', 'p':
		return f.kernel(f.orig, v)
	case 'e', 'E', 'f', 'g', 'G', 'a', 'A':
		x, err := toFloat(v)
		if err != nil {
			return nil, err
		}
		return f.kernel(f.orig, Float(x))
	case 'c':
		s, err := character(n)
		if f.prec == 0 && n.Sign() >= 0 && n.Cmp(big.NewInt(math.MaxInt32)) <= 0 { // the result is empty; Ruby makes characters of 31 bits
			s, err = "", nil
		}
		if err != nil {
			return nil, err
		}
		if f.alt {
			s = `"` + s + `"`
		}
		return f.kernel(strings.ReplaceAll(f.orig, "c", "s"), String(s))
	case 's':
		digits := String(n.String())
		return f.kernel(strings.ReplaceAll(f.orig, "s", pick(f.alt, "p", "s")), digits)
	}
	return nil, badVerb(f, "an Integer", "dxXobBeEfgGaAspc")
}

func (f *formatSpec) float(x float64) ([]byte, error) {
	switch f.verb {
	case 'd', 'x', 'X', 'o', 'b', 'B', 'e', 'E', 'f', 'g', 'G', 'a', 'A', 'p':
		return f.kernel(f.orig, Float(x))
	case 's':
		s := floatString(x)
		if f.alt {
			s = `"` + s + `"`
		}
		return f.kernel(f.orig, String(s))
	}
	return nil, badVerb(f, "a Float", "dxXobBeEfgGaAsp")
}

func (f *formatSpec) bool(v bool) ([]byte, error) {
	var s string
	switch f.verb {
	case 't':
		s = pick(v, "true", "false")
	case 'T':
		s = pick(v, "True", "False")
	case 'y':
		s = pick(v, "yes", "no")
	case 'Y':
		s = pick(v, "Yes", "No")
	case 'd', 'x', 'X', 'o', 'b', 'B':
		return f.int(Int(boolInt(v)), big.NewInt(int64(boolInt(v))))
	case 'e', 'E', 'f', 'g', 'G', 'a', 'A':
		return f.float(float64(boolInt(v)))
	case 's', 'p':
		return f.text(pick(v, "true", "false"))
	default:
		return nil, badVerb(f, "a Boolean", "tTyYdxXobBeEfgGaAsp")
	}
	if f.alt {
		s = s[:1]
	}
	return f.text(s)
}

func (f *formatSpec) undef() ([]byte, error) {
	switch f.verb {
	case 'n':
		return f.text(pick(f.alt, "null", "nil"))
	case 'u':
		return f.text(pick(f.alt, "undefined", "undef"))
	case 'd', 'x', 'X', 'o', 'b', 'B', 'e', 'E', 'f', 'g', 'G', 'a', 'A':
		return f.text("NaN")
	case 'v':
		return f.text("n/a")
	case 'V':
		return f.text("N/A")
	case 's':
		return f.text(pick(f.alt, `""`, ""))
	case 'p':
		return f.text(pick(f.alt, `"undef"`, "undef"))
	}
	return nil, badVerb(f, "Undef", "nudxXobBeEfgGaAvVsp")
}

func (f *formatSpec) dflt() ([]byte, error) {
	switch f.verb {
	case 'd', 's', 'p':
		return f.text(pick(f.alt, `"default"`, "default"))
	case 'D':
		return f.text(pick(f.alt, `"Default"`, "Default"))
	}
	return nil, badVerb(f, "Default", "dDsp")
}

func (f *formatSpec) binary(v *Binary) ([]byte, error) {
	var s string
	switch f.verb {
	case 's':
		if !f.alt && !utf8.Valid(v.Bytes()) {
			return nil, convErr(KindValue, "the bytes are not valid UTF-8")
		}
		s = string(v.Bytes())
	case 'p':
		b, err := f.kernel(strings.ReplaceAll(f.orig, "p", "s"), String(v.base64()))
		return append(append([]byte(`Binary("`), b...), `")`...), err
	case 'b':
		s = v.base64Lines()
	case 'B':
		s = v.base64()
	case 'u':
		s = v.base64URL()
	case 't':
		s = "Binary"
	case 'T':
		s = "BINARY"
	default:
		return nil, badVerb(f, "a Binary", "bButTsp")
	}
	p := printer{args: []Value{String(s)}, binaryArgs: f.verb == 's'}
	return p.print(nil, strings.ReplaceAll(f.orig, string(rune(f.verb)), pick(f.alt, "p", "s")))
}

func (f *formatSpec) regexp(r *Regexp) ([]byte, error) {
	switch f.verb {
	case 'p':
		return f.kernel(strings.ReplaceAll(f.orig, "p", "s"), String(appendRegexp(nil, r.shown("mix"))))
	case 's':
		src := r.shown("imx")
		if f.alt {
			src = quoteString(src)
		}
		return f.kernel(f.orig, String(src))
	}
	return nil, badVerb(f, "a Regexp", "sp")
}

func (f *formatSpec) typ(t Type) ([]byte, error) {
	s := Describe(t)
	switch f.verb {
	case 's':
		if f.alt {
			s = `"` + s + `"`
		}
		return f.kernel(f.orig, String(s))
	case 'p':
		return f.kernel(strings.ReplaceAll(f.orig, "p", "s"), String(s))
	}
	return nil, badVerb(f, "a Type", "sp")
}

func (f *formatSpec) uri(u *URI, n indentation) ([]byte, error) {
	switch f.verb {
	case 'p':
		return []byte(Inspect(u)), nil
	case 's':
		s := u.String()
		if f.alt {
			s = quoteString(s)
		}
		return f.kernel(f.orig, String(s))
	}
	return nil, badVerb(f, "a URI", "sp")
}

func (f *formatSpec) object(o *Object, n indentation) ([]byte, error) {
	w := textWriter{}
	l := literalWriter{&w, -1}
	switch f.verb {
	case 'p':
		if f.alt || n.active {
			l.indent = n.level
		}
	case 's', 'q':
	default:
		return nil, badVerb(f, "an Object", "spq")
	}
	l.object(o)
	return w.b, w.err
}

func (f *formatSpec) runtime(v *Runtime) ([]byte, error) {
	switch f.verb {
	case 's', 'q':
		return []byte(v.Name), nil
	case 'p':
		return appendQuoted(nil, v.Name), nil
	}
	return nil, badVerb(f, "a Runtime", "spq")
}
