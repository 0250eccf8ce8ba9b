package stdlib

import (
	"math"
	"strings"
	"unicode/utf8"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// encoders returns the functions that encode values as text. If a part of a value
// is sensitive, the text is sensitive.
func encoders() []*eval.Function {
	rules := newYAMLRules()
	// guarded writes a value without its Sensitive wrappers.
	guarded := func(c *eval.Call, v value.Value, write func(v value.Value) (string, error)) (value.Value, error) {
		v, found := unwrapped(v)
		s, err := write(v)
		if err != nil {
			return nil, err
		}
		if err := c.Size(len(s)); err != nil {
			return nil, err
		}
		if found {
			return value.NewSensitive(value.String(s)), nil
		}
		return value.String(s), nil
	}
	return []*eval.Function{
		{Name: "stdlib::to_json", Doc: "Returns a value as JSON; values that JSON does not support are written as strings.",
			Signatures: one("Any $value", func(c *eval.Call) (value.Value, error) {
				return guarded(c, c.Args[0], func(v value.Value) (string, error) {
					w := jsonWriter{c: c, jsonStyle: jsonStyle{deepest: 100}}
					err := w.write(v, 0)
					return w.b.String(), err
				})
			})},
		{Name: "stdlib::to_json_pretty", Doc: "Returns an array or a hash as JSON in lines. With true as the second argument, undef at the top level is left out; the options are those of Ruby's JSON.pretty_generate.",
			Signatures: one("Variant[Hash, Array] $value, Optional[Boolean] $skip_undef = false, "+
				"Struct[{indent => Optional[String], space => Optional[String], space_before => Optional[String], object_nl => Optional[String], array_nl => Optional[String], allow_nan => Optional[Boolean], max_nesting => Optional[Integer[-1]]}] $options = {}",
				func(c *eval.Call) (value.Value, error) {
					all := c.Args[0]
					if c.Arg(1) == value.Bool(true) {
						all, _ = without(all, func(_, v value.Value) bool { return value.IsUndef(v) })
					}
					return guarded(c, all, func(v value.Value) (string, error) {
						w := jsonWriter{c: c, jsonStyle: prettyStyle(c.Arg(2))}
						err := w.write(v, 0)
						w.b.WriteByte('\n')
						return w.b.String(), err
					})
				})},
		{Name: "stdlib::to_yaml", Doc: "Returns a value as a document of YAML. Options are indentation, line_width, header and version, as of Ruby's Psych.",
			Signatures: one("Any $value, Hash $options = {}", func(c *eval.Call) (value.Value, error) {
				return guarded(c, c.Args[0], func(v value.Value) (string, error) { return toYAML(c, rules(), v) })
			})},
		{Name: "stdlib::to_toml", Doc: "Returns a hash as TOML, with keys in order.",
			Signatures: one("Hash $value", func(c *eval.Call) (value.Value, error) {
				return guarded(c, c.Args[0], func(v value.Value) (string, error) {
					w := tomlWriter{c: c}
					err := w.table(v.(*value.Hash), nil)
					return w.b.String(), err
				})
			})},
		{Name: "stdlib::to_ruby", Doc: "Returns a value as an expression of Ruby; values that are not plain data as rich data.",
			Signatures: one("Any $value", func(c *eval.Call) (value.Value, error) { return literalOf(c, " => ", nil) })},
		{Name: "stdlib::to_python", Doc: "Returns a value as an expression of Python; values that are not plain data as rich data.",
			Signatures: one("Any $value", func(c *eval.Call) (value.Value, error) {
				return literalOf(c, ": ", func(v value.Value) string {
					switch v {
					case value.Bool(true):
						return "True"
					case value.Bool(false):
						return "False"
					case value.Undef{}:
						return "None"
					}
					return ""
				})
			})},
	}
}

// A jsonStyle is the layout of JSON, as in the options of Ruby's JSON.
type jsonStyle struct {
	indent, space, before string
	objectEnd, arrayEnd   string // line ends
	nan                   bool
	deepest               int // largest depth; 0: no limit
}

func prettyStyle(options value.Value) jsonStyle {
	s := jsonStyle{indent: "  ", space: " ", objectEnd: "\n", arrayEnd: "\n", deepest: 100}
	h, ok := options.(*value.Hash)
	if !ok {
		return s
	}
	for name, place := range map[string]*string{"indent": &s.indent, "space": &s.space, "space_before": &s.before, "object_nl": &s.objectEnd, "array_nl": &s.arrayEnd} {
		if v, _ := h.GetString(name); v != nil {
			if text, ok := v.(value.String); ok {
				*place = string(text)
			}
		}
	}
	if v, ok := h.GetString("allow_nan"); ok {
		s.nan = v == value.Bool(true)
	}
	if v, _ := h.GetString("max_nesting"); v != nil {
		if n, ok := v.(value.Int); ok {
			s.deepest = int(max(n, 0))
		}
	}
	return s
}

// A jsonWriter writes JSON as Ruby's JSON::Generator does.
type jsonWriter struct {
	jsonStyle
	c *eval.Call
	b strings.Builder
}

func (w *jsonWriter) write(v value.Value, depth int) error {
	// The margins around the elements of v are not written yet.
	if err := w.c.Size(w.b.Len() + 2*(depth+1)*len(w.indent)); err != nil {
		return err
	}
	if w.deepest > 0 && depth >= w.deepest {
		switch v.(type) {
		case *value.Array, *value.Hash:
			return eval.Errorf("too-deep", "%s(): arrays and hashes stand more than %d deep in each other", bare(w.c), w.deepest)
		}
	}
	switch v := v.(type) {
	case value.Undef:
		w.b.WriteString("null")
	case value.Bool, value.Int, *value.BigInt:
		w.b.WriteString(value.ToString(v))
	case value.Float:
		if x := float64(v); !w.nan && (math.IsNaN(x) || math.IsInf(x, 0)) {
			return eval.Errorf("out-of-range", "%s(): JSON has no number %v", bare(w.c), x)
		}
		w.b.WriteString(value.ToString(v))
	case *value.Array:
		w.b.WriteString("[" + w.arrayEnd)
		for i, e := range v.All() {
			if i > 0 {
				w.b.WriteString("," + w.arrayEnd)
			}
			w.margin(depth + 1)
			if err := w.write(e, depth+1); err != nil {
				return err
			}
		}
		w.b.WriteString(w.arrayEnd)
		w.margin(depth)
		w.b.WriteByte(']')
	case *value.Hash:
		w.b.WriteByte('{')
		for i := range v.Len() {
			if i > 0 {
				w.b.WriteByte(',')
			}
			w.b.WriteString(w.objectEnd)
			w.margin(depth + 1)
			e := v.At(i)
			if err := w.text(e.Key); err != nil {
				return err
			}
			w.b.WriteString(w.before + ":" + w.space)
			if err := w.write(e.Value, depth+1); err != nil {
				return err
			}
		}
		w.b.WriteString(w.objectEnd)
		w.margin(depth)
		w.b.WriteByte('}')
	default:
		return w.text(v)
	}
	return w.c.Size(w.b.Len())
}

func (w *jsonWriter) margin(depth int) {
	for range depth {
		w.b.WriteString(w.indent)
	}
}

func (w *jsonWriter) text(v value.Value) error {
	s, err := builtin.Text(w.c, v)
	if err != nil {
		return err
	}
	if !utf8.ValidString(s) {
		return eval.Errorf("invalid-argument", "%s(): a string has bytes that are not UTF-8", bare(w.c))
	}
	data, err := value.MarshalData(value.String(s))
	w.b.Write(data)
	return err
}
